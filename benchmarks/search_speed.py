"""How long the run of Task 1 takes, and how long stock Pyserini takes for the same queries.

    python benchmarks/search_speed.py [--documents 300000] [--repeats 3] [--work DIR]

Generated posts (generate.py), their index, 100 generated topics, 1,000 hits each. All ways work on
the same Lucene index, in this process, in turn; the median of the repeats counts. Time runs from
the topics to the closed run file: analysis, queries, search, ids and writing are in it, opening the
index is not. The ways:

* weighted terms, the first stage of `both` as `arqmath-bm25 run task1` has it: `search_many`; and
  `LuceneSearcher.search`, one query after the other and from as many threads. The stock ways get
  Lucene's query ready-made: Pyserini's own query builder would take longer.
* `batch_search`, the fastest stock way, takes no weighted terms, only text that it looks for in
  every field. So here both sides search for all terms of a topic, as often as they occur, in all
  fields with the weights of `both`; for the first topics only, as it takes seconds for each.

Stock Pyserini orders ties by ascending id, rounds scores to 1e-4 and lowers tied ones by steps of
1e-6; we order ties by descending id. So rankings are compared like this: as many hits; at each rank
scores that differ by 1e-4 at most, and 1e-6 more for each document of the tie; at each rank of the
stock ranking a document that has the same score in ours, or that is missing in ours, at the score
of the last hit, where the cut goes through a tie. "Same" are topics for which all of this holds.
With batch_search, Lucene adds up each field's sum in 32 bits, so scores that differ by less than
1e-4 count as tied.

WORK keeps posts and index for the next call. Ends with status 1 if a topic is not the same.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
import types
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from generation.files import write_collection
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.engines.lucene.jvm import detaching, java_cast, java_class
from arqmath_bm25.engines.lucene.search import query_xml
from arqmath_bm25.runs.run_writing import write_run
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.answer_documents import question_fields
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import Index
from arqmath_bm25.tasks.queries import topic_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.engines.engine import Query

    Ranking = Sequence[tuple[str, float]]  # documents and scores in rank order
    Rankings = dict[str, Ranking]  # of each topic
    Way = Callable[[], Iterable[tuple[str, Ranking]]]

BYTES: Final = 3_650  # of Posts.xml for each answer
THREADS: Final = os.cpu_count() or 1
OURS: Final = {"weighted": "Searcher.search_many", "counted": "Searcher.search_many"}
COUNTED: Final = 20  # topics; batch_search takes seconds for each
ROUNDED: Final = 1e-4  # stock scores
STEP: Final = 1e-6  # between tied documents in stock rankings
TIED: Final = {"weighted": 0.0, "counted": ROUNDED}  # difference up to which scores are a tie


class Row(NamedTuple):
    """What was measured of one way."""

    terms: str  # weighted or counted
    way: str
    topics: int
    seconds: list[float]  # of each repeat
    ratio: float  # our median / this median, of the same terms
    same: int | None  # topics that are ranked the same as by us; None for ourselves
    identical: int | None  # of these, with the same documents in the same order


def measure(collection: Collection, repeats: int) -> list[Row]:
    """Run all ways on an index of Task 1, in turn, and compare their rankings."""
    ways = _ways(Index.open(collection, "task1"))
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in ways}
    rankings: dict[tuple[str, str], Rankings] = {}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(repeats):
            for name, rank in ways.items():
                began = time.perf_counter()
                kept: Rankings = {}
                write_run(Path(directory) / "run.tsv", _keeping(rank(), kept), "run", "task1")
                seconds[name].append(time.perf_counter() - began)
                rankings[name] = kept
    rows = []
    for (terms, way), taken in seconds.items():
        ours = terms, OURS[terms]
        same = identical = None
        if way != OURS[terms]:
            stock = rankings[terms, way]
            pairs = [(hits, stock[topic]) for topic, hits in rankings[ours].items()]
            same = sum(is_same(mine, theirs, TIED[terms]) for mine, theirs in pairs)
            identical = sum([d for d, _ in one] == [d for d, _ in other] for one, other in pairs)
        ratio = statistics.median(seconds[ours]) / statistics.median(taken)
        rows.append(Row(terms, way, len(rankings[ours]), taken, ratio, same, identical))
    return rows


def _keeping(
    ranked: Iterable[tuple[str, Ranking]], kept: Rankings
) -> Iterable[tuple[str, list[Hit]]]:
    for topic, hits in ranked:
        kept[topic] = hits
        yield topic, [Hit(doc_id, score) for doc_id, score in hits]


def is_same(ours: Ranking, stock: Ranking, tied: float) -> bool:
    """Tell whether two rankings are the same but for ties, as the beginning of this file defines.

    Documents of ours are tied with the one before if their scores differ by no more than `tied`.
    """
    if len(ours) != len(stock):
        return False
    tie = [0]  # the number of the tie that each rank is part of
    for (_, above), (_, score) in pairwise(ours):
        tie.append(tie[-1] + (above - score > tied))
    sizes, tie_of = Counter(tie), {doc: t for (doc, _), t in zip(ours, tie, strict=False)}
    cut = tie[-1] if len(ours) == MAX_DEPTH else None  # goes through this tie
    return len({doc for doc, _ in stock}) == len(stock) and all(
        tie_of.get(doc, cut) == t and abs(score - found) <= ROUNDED + STEP * sizes[t]
        for (doc, found), (_, score), t in zip(stock, ours, tie, strict=False)
    )


def _ways(index: Index) -> dict[tuple[str, str], Way]:
    """Return all ways to rank the topics, by terms and name."""
    settings, lucene = index.task.settings, index.directory / "lucene"
    topics = read_topics(index.collection.layout.topics("task1", "2022"))
    some = topics[:COUNTED]
    analyzer, weights = Analyzer(settings.analysis), settings.weights("both")
    searcher = index.searcher()
    stock = stock_searcher(lucene, settings.bm25.k1, settings.bm25.b)

    def rank() -> Iterable[tuple[str, Ranking]]:
        k3 = settings.query.k3
        queries = [topic_query(topic, analyzer, weights, k3) for topic in topics]
        return named(topics, queries)

    def named(ranked: Sequence[Topic], queries: Sequence[Query]) -> Iterable[tuple[str, Ranking]]:
        found = searcher.search_many(queries, MAX_DEPTH, THREADS)
        for topic, hits in zip(ranked, found, strict=True):
            yield topic.topic_id, [(hit.doc_id, hit.score) for hit in hits]

    def stock_search(topic: Topic) -> tuple[str, Ranking]:
        query = topic_query(topic, analyzer, weights, settings.query.k3)
        return topic.topic_id, _read(stock.search(_lucene_query(query), MAX_DEPTH))

    def stock_detached(topic: Topic) -> tuple[str, Ranking]:
        with detaching():
            return stock_search(topic)

    def stock_threads() -> Iterable[tuple[str, Ranking]]:
        with ThreadPoolExecutor(THREADS) as pool:
            yield from pool.map(stock_detached, topics)

    def search_counted() -> Iterable[tuple[str, Ranking]]:
        counts = [Counter(_terms(topic, analyzer)) for topic in some]
        queries: list[Query] = [
            {
                field: {term: weight * n for term, n in count.items()}
                for field, weight in weights.items()
            }
            for count in counts
        ]
        return named(some, queries)

    def batch_search() -> Iterable[tuple[str, Ranking]]:
        texts, names = [" ".join(_terms(t, analyzer)) for t in some], [t.topic_id for t in some]
        found = stock.batch_search(texts, names, MAX_DEPTH, THREADS, fields=weights)
        for name in names:  # a topic without hits is missing
            yield name, _read(found.get(name, ()))

    return {
        ("weighted", OURS["weighted"]): rank,
        ("weighted", "LuceneSearcher.search"): lambda: map(stock_search, topics),
        ("weighted", "LuceneSearcher.search in threads"): stock_threads,
        ("counted", OURS["counted"]): search_counted,
        ("counted", "LuceneSearcher.batch_search"): batch_search,
    }


def stock_searcher(index: Path, k1: float, b: float) -> Any:
    """Open an index with Pyserini's LuceneSearcher; the JVM runs already, with our options.

    The imports of its package are not used here, so an empty module with every name replaces each
    of them: query encoders and torch; a catalogue of indexes, which it would download; progress
    bars.
    """
    for name in ("pyserini.encode", "pyserini.prebuilt_index_info", "tqdm"):
        stand_in = types.ModuleType(name)
        stand_in.__getattr__ = lambda name: type(name, (), {})  # type: ignore[method-assign]
        sys.modules.setdefault(name, stand_in)
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(index))
    searcher.set_bm25(k1, b)
    searcher.set_analyzer(java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
    return searcher


def _lucene_query(query: Query) -> Any:
    analyzer = java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
    parser = java_class("org.apache.lucene.queryparser.xml.CoreParser")("contents", analyzer)
    text = java_class("java.io.ByteArrayInputStream")(query_xml(query).encode())
    return java_cast("org.apache.lucene.search.Query", parser.parse(text))


def _terms(topic: Topic, analyzer: Analyzer) -> list[str]:
    """Return words and math of a topic alike, repeats included."""
    title, body = analyzer(read_title(topic.title)), analyzer(read_body(topic.question))
    fields = question_fields(title, body, topic.tags, analyzer)
    return " ".join(bag.terms for bag in fields.values()).split()


def _read(hits: Iterable[Any]) -> Ranking:
    return [(hit.docid, hit.score) for hit in hits]


def make(work: Path, documents: int) -> Collection:
    """Return generated posts with their index, made where they are missing."""
    data = work / f"generated-{documents}"
    if not data.exists():
        write_collection(data, documents * BYTES, seed=1, slt=False, advance=lambda _: None)
    collection = Collection(data, work / "indexes")
    if not (collection.directory / "task1").exists():
        lucene = [Engine("lucene")]
        ensure(
            IndexContent.of(configured("task1").index_task, collection), Processes(THREADS), lucene
        )
    return collection


def machine() -> str:
    """Describe this machine in a line."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    python = f"Python {platform.python_version()}"
    return ", ".join(filter(None, (f"{THREADS} cores", model or platform.machine(), python)))


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--documents", type=int, default=300_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--work", type=Path, default=Path("search-speed"))
    given = options.parse_args()
    rows = measure(make(given.work, given.documents), given.repeats)
    table = Table(title=f"about {given.documents:,} answers; {machine()}")
    for column in ("terms", "way"):
        table.add_column(column)
    for column in ("topics", "median s", "least-most", "ours / this", "same", "identical"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row.terms,
            row.way,
            str(row.topics),
            f"{statistics.median(row.seconds):.1f}",
            f"{min(row.seconds):.1f}-{max(row.seconds):.1f}",
            f"{row.ratio:.2f}",
            *("" if n is None else str(n) for n in (row.same, row.identical)),
        )
    Console(width=120).print(table)
    return int(any(row.same not in (None, row.topics) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
