"""The command `beds`: own documents of several collections, scored and compared on one page.

A bed is a directory as BEIR has it. Beside the variants of `docs` stand peers on the raw text, if
they are installed: bm25s with English stop words and Snowball's stemmer, as MTEB has it, and
PyTerrier's BM25.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import QRELS, QUERIES, corpus_in, read_documents
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import complete
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.engines.lucene.jvm import java_home
from arqmath_bm25.evaluation.comparing import SIGNIFICANT, Comparison, compare
from arqmath_bm25.evaluation.measures import named_measures
from arqmath_bm25.evaluation.qrels import Qrels, read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, of_config
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    Rankings = dict[str, dict[str, float]]  # query → document → score
    Values = dict[str, dict[str, float]]  # measure → query → value

MEASURES: Final = ("nDCG@10", "R@100")
_NOT_WORDS: Final = re.compile("[^A-Za-z0-9]+")  # to Terrier other characters are operators


@command
def beds(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="Directories in the form of BEIR.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MD", help="The page.")] = Path(
        "beds.md"
    ),
) -> None:
    """Score the variants of docs on collections in the form of BEIR; write one page of them all.

    A mark says that a run differs from `both` in nDCG@10: + or - for p < .05 in a paired
    randomization test, corrected by Holm over the runs of the bed.

    Example: python -m experiments beds data/proofnet data/stackmathqa -o beds.md
    """
    tables = [bed_table(directory) for directory in directories]
    with complete(output) as file:
        file.write("# Own documents: one default on every bed\n\n")
        file.write("\n".join(tables))
    options.out.print(f"{output}: {len(tables)} beds")


def bed_table(directory: Path) -> str:
    """Return the section of a bed: its runs with their scores, tests and commands."""
    paths = [directory / name for name in QRELS]
    judged = [path for path in paths if path.is_file()]
    if not judged:
        raise InputError(f"{paths[0]}: no such file; expected the judgments of the bed")
    qrels = read_qrels(judged[0])

    runs = ranked(CollectionFiles(directory), qrels)
    texts = read_texts(directory, qrels)
    if find_spec("bm25s"):
        runs["bm25s"] = ranked_by_bm25s(texts)
    if find_spec("pyterrier"):
        runs["PyTerrier BM25"] = ranked_by_terrier(texts)
    values = {name: scored(rankings, qrels) for name, rankings in runs.items()}
    return "\n".join(_lines(directory, qrels, values))


def ranked(collection: CollectionFiles, qrels: Qrels) -> dict[str, Rankings]:
    """Index a bed and rank its judged queries by every variant that it has something for."""
    flat = Engine("flat")
    docs = of_config("docs", collection).index_task
    ensure(IndexContent.of(docs, collection), Processes(options.THREADS), [flat])
    index = OpenIndex.open(collection, "docs", engine=flat)
    index.threads = options.THREADS
    read = index.task.read(collection, collection.layout.data / QUERIES)
    topics = [topic for topic in read if topic.topic_id in qrels]

    variants, _ = index.task.runnable(index)
    runs = {}
    for variant in sorted(variants, key=lambda name: name != "both"):
        hits = index.rank(topics, variant, MAX_DEPTH)
        rankings = {}
        for topic, of_topic in zip(topics, hits, strict=True):
            rankings[topic.topic_id] = {hit.doc_id: hit.score for hit in of_topic}
        if any(rankings.values()):  # not formulas, where queries have none
            runs[variant] = rankings
    return runs


@dataclass(frozen=True)
class BedTexts:
    """What peers read of a bed: title and text of each document and of each judged query."""

    documents: dict[str, str]
    queries: dict[str, str]
    excluded: dict[str, tuple[str, ...]]  # query → documents that its ranking leaves out

    @property
    def depth(self) -> int:
        """How many documents to ask for, so that enough remain when some are left out."""
        most = max((len(documents) for documents in self.excluded.values()), default=0)
        return min(MAX_DEPTH + most, len(self.documents))

    def ranking(self, query: str, found: Iterable[tuple[str, float]]) -> dict[str, float]:
        """Return what was found for a query, without what it excludes."""
        excluded = self.excluded[query]
        return {doc: score for doc, score in found if doc not in excluded}


def read_texts(directory: Path, qrels: Qrels) -> BedTexts:
    """Read the texts of a bed."""
    corpus = corpus_in(directory)
    if corpus is None:
        raise InputError(f"{directory}: there are no documents")
    documents = {}
    for document, _ in read_documents(corpus):
        documents[document.doc_id] = f"{document.title} {document.text}".strip()

    queries = {}
    excluded = {}
    for query, _ in read_documents(directory / QUERIES):
        if query.doc_id in qrels:
            queries[query.doc_id] = f"{query.title} {query.text}".strip()
            excluded[query.doc_id] = query.excluded
    return BedTexts(documents, queries, excluded)


def ranked_by_bm25s(texts: BedTexts) -> Rankings:
    """Rank by bm25s, with English stop words and Snowball's stemmer."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(of: Iterable[str]) -> Any:
        return bm25s.tokenize(list(of), stopwords="en", stemmer=stemmer, show_progress=False)

    retriever = bm25s.BM25()
    retriever.index(tokens(texts.documents.values()), show_progress=False)
    found, scores = retriever.retrieve(
        tokens(texts.queries.values()), k=texts.depth, show_progress=False
    )
    ids = list(texts.documents)
    rankings = {}
    for query, rows, of_query in zip(texts.queries, found.tolist(), scores.tolist(), strict=True):
        # It fills up with documents that hold no word of the query.
        pairs = [(ids[row], value) for row, value in zip(rows, of_query, strict=True) if value > 0]
        rankings[query] = texts.ranking(query, pairs)
    return rankings


def ranked_by_terrier(texts: BedTexts) -> Rankings:
    """Rank by PyTerrier's BM25, with its own stop words and stemmer (Porter's).

    It scores a word that most documents hold below 0, so that scores may be negative.
    """
    os.environ.setdefault("JAVA_HOME", str(java_home()))
    import pandas as pd
    import pyterrier

    ids = list(texts.documents)
    # Row numbers are the documents' names, for Terrier cuts names at 20 characters.
    numbered = ({"docno": str(row), "text": texts.documents[ids[row]]} for row in range(len(ids)))
    asked = [(query, _NOT_WORDS.sub(" ", text)) for query, text in texts.queries.items()]
    with tempfile.TemporaryDirectory() as place:
        index = pyterrier.IterDictIndexer(place).index(numbered)
        model = pyterrier.terrier.Retriever(index, wmodel="BM25", num_results=texts.depth)
        found = model.transform(pd.DataFrame(asked, columns=["qid", "query"]))

    by_query: dict[str, list[tuple[str, float]]] = {query: [] for query in texts.queries}
    for query, row, value in zip(found["qid"], found["docno"], found["score"], strict=True):
        by_query[query].append((ids[int(row)], value))
    return {query: texts.ranking(query, pairs) for query, pairs in by_query.items()}


def scored(rankings: Rankings, qrels: Qrels) -> Values:
    """Return the values of all judged queries by measure."""
    measures = named_measures(*MEASURES)
    result = score(rankings, qrels, further=measures, relevant=1)
    values: Values = {}
    for measure in measures:
        values[measure.key] = {topic: of[measure.key] for topic, of in result.values.items()}
    return values


def _lines(directory: Path, qrels: Qrels, values: Mapping[str, Values]) -> list[str]:
    first = next(iter(values.values()))
    key = next(iter(first))
    comparisons: list[Comparison] = []
    if len(values) > 1:
        comparisons = compare({name: of_run[key] for name, of_run in values.items()})
    by_run = {comparison.run: comparison for comparison in comparisons}

    lines = [f"## {directory.name}", "", f"{len(qrels):,} judged queries.", ""]
    lines.append(f"| run | {' | '.join(MEASURES)} | p against `both` (Holm) |")
    lines.append(f"|---|{'---:|' * len(MEASURES)}---:|")
    for name, of_run in values.items():
        means = [sum(of_query.values()) / len(of_query) for of_query in of_run.values()]
        cells = [f"{mean:.4f}" for mean in means]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {_test(by_run.get(name))} |")
    lines += ["", "```", f"arqmath-bm25 index docs --data {directory.name}"]
    lines += [f"arqmath-bm25 run docs --data {directory.name}", "```", ""]
    return lines


def _test(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    sign = ""
    if comparison.randomization_holm < SIGNIFICANT:
        sign = " +" if comparison.difference > 0 else " -"
    return f"{comparison.randomization_holm:.2g}{sign}"
