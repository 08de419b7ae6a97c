"""The command `beds`: own documents of several collections, scored and compared on one page.

A bed is a directory as BEIR has it. Beside the variants of `docs` stands bm25s, where it is
installed, with English stop words and Snowball's stemmer on the raw text, as MTEB has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import QRELS, QUERIES, corpus_in, read_documents
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import complete
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.evaluation.comparing import SIGNIFICANT, Comparison, compare
from arqmath_bm25.evaluation.measures import named_measures
from arqmath_bm25.evaluation.qrels import Qrels, read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, of_config
from arqmath_bm25.tasks.open_index import Index

if TYPE_CHECKING:
    Rankings = dict[str, dict[str, float]]  # query → document → score
    Values = dict[str, dict[str, float]]  # measure → query → value

MEASURES: Final = ("nDCG@10", "R@100")
PEER: Final = "bm25s"


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
    collection = Collection(directory)
    paths = [directory / name for name in QRELS]
    judged = [path for path in paths if path.is_file()]
    if not judged:
        raise InputError(f"{paths[0]}: no such file; expected the judgments of the bed")
    qrels = read_qrels(judged[0])

    runs = ranked(collection, qrels)
    if find_spec(PEER):
        runs[PEER] = ranked_by_bm25s(directory, qrels)
    values = {name: scored(rankings, qrels) for name, rankings in runs.items()}
    return "\n".join(_lines(directory, qrels, values))


def ranked(collection: Collection, qrels: Qrels) -> dict[str, Rankings]:
    """Index a bed and rank its judged queries by every variant that it has something for."""
    flat = Engine("flat")
    docs = of_config("docs", collection).index_task
    ensure(IndexContent.of(docs, collection), Processes(options.THREADS), [flat])
    index = Index.open(collection, "docs", engine=flat)
    read = index.task.read(collection, "queries", collection.layout.data / QUERIES)
    topics = [topic for topic in read.topics if topic.topic_id in qrels]

    variants, _ = index.task.runnable(collection)
    runs = {}
    for variant in sorted(variants, key=lambda name: name != "both"):
        hits = index.rank(topics, variant, MAX_DEPTH, options.THREADS)
        rankings = {}
        for topic, of_topic in zip(topics, hits, strict=True):
            rankings[topic.topic_id] = {hit.doc_id: hit.score for hit in of_topic}
        if any(rankings.values()):  # not formulas, where queries have none
            runs[variant] = rankings
    return runs


def ranked_by_bm25s(directory: Path, qrels: Qrels) -> Rankings:
    """Rank the judged queries of a bed by bm25s on raw text."""
    import bm25s
    import Stemmer

    corpus = corpus_in(directory)
    if corpus is None:
        raise InputError(f"{directory}: there are no documents")
    documents = [document for document, _ in read_documents(corpus)]
    queries = [query for query, _ in read_documents(directory / QUERIES) if query.doc_id in qrels]

    stemmer = Stemmer.Stemmer("english")
    texts = [f"{document.title} {document.text}".strip() for document in documents]
    asked = [f"{query.title} {query.text}".strip() for query in queries]
    retriever = bm25s.BM25()
    retriever.index(
        bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    excluded = max((len(query.excluded) for query in queries), default=0)
    rows, scores = retriever.retrieve(
        bm25s.tokenize(asked, stopwords="en", stemmer=stemmer, show_progress=False),
        k=min(MAX_DEPTH + excluded, len(documents)),
        show_progress=False,
    )

    rankings = {}
    for query, of_query, scored_so in zip(queries, rows.tolist(), scores.tolist(), strict=True):
        named = {
            documents[row].doc_id: value for row, value in zip(of_query, scored_so, strict=True)
        }
        rankings[query.doc_id] = {
            doc: value for doc, value in named.items() if value > 0 and doc not in query.excluded
        }
    return rankings


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
