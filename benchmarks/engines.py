"""Engines side by side on the weighted fielded queries of a run of Task 1.

    python benchmarks/engines.py --work DIR [--gigabytes 0.3] [--hosts URL,URL] [--peers VENV]

Generated posts (generate.py), their index, and the queries of the variant `both` for 100 generated
topics, 1,000 hits each, one thread. Every engine searches in a process of its own; CPU time and the
peak of memory are that process's (of OpenSearch, which --hosts adds, the client's alone). Tantivy
is looked for in --peers, .venv-bench if not given; its k1 and b are fixed, so that it ranks by
other scores unless the configuration has 1.2 and 0.75. bm25s and PyTerrier know no weighted fields:
bench.py compares with them. Agreement is the share of Lucene's first 10 and 1,000 documents that
are among the engine's; "same" are the queries with the same ids and scores in the same order.

WORK keeps posts, documents and indexes for the next call.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from comparison.memory import own_peak

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Query = dict[str, dict[str, float]]
    Ranking = Sequence[Sequence[Any]]  # id and score of each hit

ROOT: Final = Path(__file__).parent.parent
DEPTH: Final = 1000
TOPICS: Final = 100
INDEX: Final = Path("indexes", "data", "task1")  # under WORK
BUFFER: Final = 512 << 20


def _store(work: Path, engine: str) -> Path:
    """Return the index of the package for an engine."""
    (store,) = (work / INDEX).glob(f"{engine}-*")
    return store


def open_package(engine: str, work: Path, settings: Any) -> Callable[[Query], Ranking]:
    """Search as `arqmath-bm25 run` does."""
    from arqmath_bm25.engines.opening import open_searcher

    bm25 = settings["k1"], settings["b"]
    store = _store(work, "flat" if engine == "flat" else "lucene")
    searcher = open_searcher(store / "lucene", *bm25)
    return partial(searcher.search, k=DEPTH)


def open_cluster(work: Path, settings: Any) -> Callable[[Query], Ranking]:
    """Load the documents where they are not there yet, and search."""
    from arqmath_bm25.engines.opensearch.cluster_index import (
        ClusterIndex,
        is_loaded,
        load_documents,
    )
    from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
    from arqmath_bm25.engines.opensearch.connection import connect

    client, fields = connect(settings["hosts"]), tuple(settings["fields"][1:])
    count, place = settings["documents"], str(work.resolve())
    index = ClusterIndex("engines", place, count, fields, settings["k1"], settings["b"])
    if not is_loaded(client, index):
        parts = sorted((work / INDEX).glob("*/documents/*.jsonl"))
        load_documents(settings["hosts"], index, parts)
    searcher = OpenSearchSearcher(client, index)
    return partial(searcher.search, k=DEPTH)


def open_tantivy(work: Path, settings: Any) -> Callable[[Query], Ranking]:
    """Index where that is not done yet, and search by boosted terms; ids come from a column."""
    import tantivy

    place = work / "tantivy"
    if not place.exists():
        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("id", fast=True)
        for field in settings["fields"]:
            schema.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        place.mkdir()
        engine = tantivy.Index(schema.build(), str(place))
        blanks = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        engine.register_tokenizer("whitespace", blanks)
        writer = engine.writer(heap_size=BUFFER, num_threads=1)
        for file in sorted((work / INDEX).glob("*/documents/*.jsonl")):
            for document in map(json.loads, file.open(encoding="utf-8")):
                added = tantivy.Document()
                added.add_unsigned("id", int(document.pop("id")))
                for field, text in document.items():
                    added.add_text(field, text)
                writer.add_document(added)
        writer.commit()
        writer.wait_merging_threads()
    opened = tantivy.Index.open(str(place))
    searcher, schema = opened.searcher(), opened.schema

    def search(query: Query) -> Ranking:
        make = tantivy.Query
        clauses = [
            (
                tantivy.Occur.Should,
                make.boost_query(make.term_query(schema, field, term, "freq"), weight),
            )
            for field, terms in query.items()
            for term, weight in terms.items()
        ]
        found = searcher.search(make.boolean_query(clauses), DEPTH, count=False).hits
        ids = searcher.fast_field_values("id", [place for _, place in found])
        return [(str(number), score) for number, (score, _) in zip(ids, found, strict=True)]

    return search


def search(engine: str, work: Path) -> dict[str, float]:
    """Search for all queries by one engine, in this process."""
    settings = json.loads((work / "queries.json").read_text(encoding="utf-8"))
    if engine in ("lucene", "flat"):
        rank = open_package(engine, work, settings)
    else:
        rank = {"opensearch": open_cluster, "tantivy": open_tantivy}[engine](work, settings)
    rank(settings["queries"][0])
    began = time.process_time()
    rankings = [rank(query) for query in settings["queries"]]
    seconds = time.process_time() - began
    pairs = [[hit[:2] for hit in ranking] for ranking in rankings]  # ids and scores
    (work / f"{engine}.json").write_text(json.dumps(pairs), encoding="utf-8")
    return {"seconds": seconds, "whole": time.process_time(), "peak": own_peak()}


def prepare(work: Path, gigabytes: float, hosts: list[str]) -> None:
    """Make the collection, the indexes of this system, and the queries."""
    from generation.files import write_collection

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.topics import read_topics
    from arqmath_bm25.core.workers.local import Processes
    from arqmath_bm25.engines.engine import Engine
    from arqmath_bm25.tasks import configured
    from arqmath_bm25.tasks.index import ensure
    from arqmath_bm25.tasks.index_content import IndexContent
    from arqmath_bm25.tasks.open_index import Index
    from arqmath_bm25.tasks.queries import build_query
    from arqmath_bm25.tasks.settings import FIELDS

    if not (work / "data").exists():
        write_collection(work / "data", int(gigabytes * 1e9), 1, False, lambda _: None)
    task, collection = configured("task1").index_task, Collection(work / "data", work / "indexes")
    index, settings, layout = work / INDEX, task.settings, collection.layout
    if not index.exists():
        both = [Engine("lucene"), Engine("flat")]
        ensure(IndexContent.of(task, collection), Processes(2), both, keep_documents=True)
    weights, analyzer = settings.weights("both"), Analyzer(settings.analysis)
    topics = read_topics(layout.topics("task1", layout.years("task1")[-1]))[:TOPICS]
    searcher = Index.of(task, collection, Engine("flat")).searcher()
    made = [build_query(topic, analyzer, weights, settings.query, searcher) for topic in topics]
    documents = sum(file.read_bytes().count(b"\n") for file in index.glob("*/documents/*.jsonl"))
    described = {
        "queries": made, "k1": settings.bm25.k1, "b": settings.bm25.b, "hosts": hosts,
        "fields": FIELDS, "documents": documents,
    }  # fmt: skip
    (work / "queries.json").write_text(json.dumps(described), encoding="utf-8")


def compare(work: Path, hosts: list[str], peers: Path) -> None:
    """Run every engine and print a table."""
    from comparison.children import ChildError, run_module
    from rich.console import Console
    from rich.table import Table

    places = {
        "lucene": _store(work, "lucene") / "lucene",
        "flat": _store(work, "flat") / "lucene.flat",
        **({"opensearch": work / "none"} if hosts else {}),
        "tantivy": work / "tantivy",
    }
    table = Table()
    columns = ("engine", "CPU ms/query", "/ Lucene", "CPU s, whole", "MB of memory", "MB on disk")
    for column in (*columns, "top 10", "top 1,000", "same"):
        table.add_column(column, justify="right")
    path = {"PYTHONPATH": f"{ROOT / 'benchmarks'}:{ROOT}"}
    reference: list[Ranking] = []
    slowest = 0.0
    for engine, place in places.items():
        python = peers / "bin" / "python" if engine == "tantivy" else Path(sys.executable)
        try:
            found = run_module("engines", "--child", engine, "--work", work, python=python,
                               environment=path)  # fmt: skip
        except (ChildError, FileNotFoundError) as error:
            table.add_row(engine, f"not measured: {getattr(error, 'reason', error)}")
            continue
        rankings = json.loads((work / f"{engine}.json").read_text(encoding="utf-8"))
        reference, slowest = reference or rankings, slowest or found["seconds"]
        pairs = list(zip(reference, rankings, strict=True))
        table.add_row(
            engine,
            f"{1000 * found['seconds'] / len(rankings):.1f}",
            f"{found['seconds'] / slowest:.2f}",
            f"{found['whole']:.1f}",
            f"{found['peak'] / 1e6:.0f}",
            f"{sum(file.stat().st_size for file in place.glob('*')) / 1e6:.0f}",
            *(f"{mean(shared(a, b, k) for a, b in pairs):.3f}" for k in (10, DEPTH)),
            f"{sum(a == b for a, b in pairs)} of {len(pairs)}",
        )
    Console(width=130).print(table)


def shared(ours: Ranking, theirs: Ranking, k: int) -> float:
    """Return the share of the first k documents that are among the other's first k."""
    first = {doc_id for doc_id, _ in ours[:k]}
    return len(first & {doc_id for doc_id, _ in theirs[:k]}) / (len(first) or 1)


def main() -> None:
    """Prepare, measure and print; or measure one engine, in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--gigabytes", type=float, default=0.3)
    parser.add_argument("--hosts", type=lambda text: text.split(","), default=[])
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(search(options.child, options.work)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    prepare(options.work, options.gigabytes, options.hosts)
    compare(options.work, options.hosts, options.peers)


if __name__ == "__main__":
    main()
