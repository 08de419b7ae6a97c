"""BM25 engines: each indexes documents of terms separated by blanks, and ranks for bags of terms.

    python -m comparison.engines NAME index DOCUMENTS INDEX
    python -m comparison.engines NAME search QUERIES INDEX RANKINGS --rounds 3

DOCUMENTS is a directory of JSON lines with `id` (a number) and `contents`; QUERIES is a JSON list
of lists of terms. What was measured is printed as JSON: seconds (indexing: from the JSON lines to
the closed index; searching: of a first round over all queries, and of each further one), the peak
of this process in bytes, and the version of the engine. The exit status is NOT_INSTALLED if
its package is absent. The same for every engine: BM25 with the k1 and b below, no stemming and no
stop words, no positions and no texts in the index, THREADS for indexing where that helps, and one
for searching. Seconds of indexing include the start of a JVM or the import of a library.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comparison.memory import own_peak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Queries = Sequence[Sequence[str]]
    Search = Callable[[Queries], list[list[str]]]  # the ids of each query, the best first

K1: Final = 1.2  # the default of ours, and fixed in Tantivy
B: Final = 0.75
DEPTH: Final = 1000
THREADS: Final = 2
BUFFER_MB: Final = 512  # of documents in memory before a segment is written, as in ours
HEAP_MB: Final = 2048  # of a JVM, as in ours
NOT_INSTALLED: Final = 3


@dataclass(frozen=True)
class Engine:
    """How an engine is called."""

    package: str  # that it comes in
    index: Callable[[Path, Path], None]
    open: Callable[[Path], Search]


def read_documents(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield id and terms of every document."""
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                document = json.loads(line)
                yield document["id"], document["contents"]


def index_with_lucene(documents: Path, index: Path) -> None:
    """Index as `arqmath-bm25 index` does."""
    from arqmath_bm25.engines.lucene.indexing import index_documents

    expected = 0
    for path in documents.glob("*.jsonl"):
        with path.open("rb") as lines:
            expected += sum(1 for _ in lines)
    index_documents(documents, index, [], expected, THREADS)


def open_lucene(index: Path) -> Search:
    """Search as `arqmath-bm25 run` does."""
    from arqmath_bm25.engines.lucene.search import LuceneSearcher

    searcher = LuceneSearcher(index, K1, B)

    def search(queries: Queries) -> list[list[str]]:
        weighted = ({"contents": dict.fromkeys(query, 1.0)} for query in queries)
        return [[hit.doc_id for hit in searcher.search(query, DEPTH)] for query in weighted]

    return search


def index_with_bm25s(documents: Path, index: Path) -> None:
    """Index in memory, in one thread (it has no other way), and save."""
    import bm25s

    ids, terms = [], []
    for document, contents in read_documents(documents):
        ids.append(document)
        terms.append(contents.split())
    engine = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numba")
    engine.index(terms, show_progress=False)
    engine.save(index, show_progress=False)
    (index / "ids.json").write_text(json.dumps(ids))


def open_bm25s(index: Path) -> Search:
    """Load the index; its faster back end, compiled by Numba, searches."""
    import bm25s

    engine = bm25s.BM25.load(index)
    ids = json.loads((index / "ids.json").read_text())

    def search(queries: Queries) -> list[list[str]]:
        found = engine.retrieve(
            [list(query) for query in queries], k=min(DEPTH, len(ids)), n_threads=1,
            show_progress=False,
        )  # fmt: skip
        return [
            [ids[place] for place, score in zip(places, scores, strict=True) if score > 0]
            for places, scores in zip(found.documents.tolist(), found.scores.tolist(), strict=True)
        ]

    return search


def index_with_tantivy(documents: Path, index: Path) -> None:
    """Index with terms as they are, and with ids as a column of numbers."""
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_unsigned_field("id", fast=True)
    schema.add_text_field("contents", tokenizer_name="whitespace", index_option="freq")
    index.mkdir()
    engine = tantivy.Index(schema.build(), str(index))
    engine.register_tokenizer(
        "whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    )
    writer = engine.writer(heap_size=BUFFER_MB << 20, num_threads=THREADS)
    for document, contents in read_documents(documents):
        added = tantivy.Document()
        added.add_unsigned("id", int(document))
        added.add_text("contents", contents)
        writer.add_document(added)
    writer.commit()
    writer.wait_merging_threads()


def open_tantivy(index: Path) -> Search:
    """Search by queries made of terms; the ids are read from their column."""
    import tantivy

    opened = tantivy.Index.open(str(index))
    searcher = opened.searcher()

    def rank(query: Sequence[str]) -> list[str]:
        terms = [
            (
                tantivy.Occur.Should,
                tantivy.Query.term_query(opened.schema, "contents", term, "freq"),
            )
            for term in query
        ]
        found = searcher.search(tantivy.Query.boolean_query(terms), DEPTH, count=False)
        places = [place for _, place in found.hits]
        return list(map(str, searcher.fast_field_values("id", places)))

    return lambda queries: [rank(query) for query in queries]


def start_terrier() -> Any:
    """Start the JVM; the first time, PyTerrier fetches the jars of Terrier from Maven Central."""
    import pyterrier

    pyterrier.java.set_memory_limit(HEAP_MB)
    pyterrier.java.init()
    return pyterrier


def index_with_terrier(documents: Path, index: Path) -> None:
    """Index bags of terms in one pass and one thread (two are slower)."""
    pyterrier = start_terrier()
    # Every term takes as much room as the longest may have. N-grams have up to 53 characters; the
    # default, 20, would cut them.
    pyterrier.terrier.set_property("max.term.length", "64")
    indexer = pyterrier.IterDictIndexer(
        str(index.resolve()), pretokenised=True, type=pyterrier.IndexingType.SINGLEPASS
    )
    indexer.index(
        {"docno": document, "toks": Counter(contents.split())}
        for document, contents in read_documents(documents)
    )


def open_terrier(index: Path) -> Search:
    """Search by bags of terms."""
    import pandas as pd

    pyterrier = start_terrier()
    retriever = pyterrier.terrier.Retriever(
        str(index.resolve()),
        wmodel="BM25",
        num_results=DEPTH,
        controls={"bm25.k_1": K1, "bm25.b": B},
    )

    def search(queries: Queries) -> list[list[str]]:
        asked = pd.DataFrame(
            {"qid": str(number), "query_toks": dict.fromkeys(query, 1.0)}
            for number, query in enumerate(queries)
        )
        found = dict(list(retriever.transform(asked).groupby("qid")["docno"]))
        return [list(found.get(qid, ())) for qid in asked["qid"]]

    return search


OURS: Final = "this (Lucene)"
ENGINES: Final = {
    OURS: Engine("arqmath_bm25", index_with_lucene, open_lucene),
    "bm25s": Engine("bm25s", index_with_bm25s, open_bm25s),
    "Tantivy": Engine("tantivy", index_with_tantivy, open_tantivy),
    "PyTerrier": Engine("pyterrier", index_with_terrier, open_terrier),
}


def index_documents(engine: Engine, documents: Path, index: Path) -> dict[str, Any]:
    """Index documents; return the time that it took."""
    began = time.perf_counter()
    engine.index(documents, index)
    return {"seconds": time.perf_counter() - began}


def search(
    engine: Engine, queries: Path, index: Path, rankings: Path, rounds: int
) -> dict[str, Any]:
    """Rank in several rounds, and write the rankings of the last one; return the times."""
    asked = json.loads(queries.read_text(encoding="utf-8"))
    rank = engine.open(index)
    seconds = []
    for _ in range(1 + rounds):
        began = time.perf_counter()
        ranked = rank(asked)
        seconds.append(time.perf_counter() - began)
    rankings.write_text(json.dumps(ranked), encoding="utf-8")
    return {"first": seconds[0], "seconds": seconds[1:]}


def main() -> int:
    """Run the command line and print the measurements."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("work", choices=("index", "search"))
    parser.add_argument("input", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("rankings", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    engine = ENGINES[options.engine]
    try:
        version = importlib.metadata.version(engine.package)
    except importlib.metadata.PackageNotFoundError:
        return NOT_INSTALLED
    with contextlib.redirect_stdout(sys.stderr):  # for the sake of those that talk
        if options.work == "index":
            measured = index_documents(engine, options.input, options.index)
        else:
            measured = search(
                engine, options.input, options.index, options.rankings, options.rounds
            )
    print(json.dumps({**measured, "peak": own_peak(), "version": version}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
