"""Builds an index of Task 1, as a process that a test can kill.

Called with MASTER, DATA, INDEXES, and how many posts make a part. MASTER may be `here`, for two
processes. HOLD may name a directory in which a test says which jobs wait for it.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from arqmath_bm25.cli import main
from arqmath_bm25.collection import dump
from arqmath_bm25.core import progress
from arqmath_bm25.core.workers import spark
from arqmath_bm25.engines.lucene import indexing
from arqmath_bm25.engines.lucene.indexing import open_reader
from arqmath_bm25.engines.lucene.jvm import java_cast, java_class
from arqmath_bm25.engines.opensearch import cluster_index
from arqmath_bm25.tasks import index
from arqmath_bm25.tasks.answers import answer_documents


def hold(place: Path) -> None:
    """Let every job write its process to `begun.WORK-N` and wait while `hold.WORK-N` is there."""
    as_it_is = spark.SparkWorkers.map

    def held(work: Any, numbered: tuple[int, Any]) -> Any:
        number, job = numbered
        function = work
        while isinstance(function, partial):
            function = function.func
        name = f"{getattr(function, '__name__', 'other')}-{number}"
        note = place / f"{os.getpid()}.{name}"
        note.write_text(str(os.getpid()))
        note.rename(place / f"begun.{name}")
        while (place / f"hold.{name}").exists():
            time.sleep(0.01)
        return work(job)

    def held_map(self: Any, work: Any, jobs: Any) -> Any:
        return as_it_is(self, partial(held, work), enumerate(jobs))

    spark.SparkWorkers.map = held_map  # type: ignore[method-assign]


def statistics(index: Path) -> dict[str, tuple[int, ...]]:
    """Return what Lucene knows of every field, and of every term of all fields."""
    reader = java_cast("org.apache.lucene.index.IndexReader", open_reader(index / "lucene"))
    counts: dict[str, tuple[int, ...]] = {}
    for field in (
        java_class("org.apache.lucene.index.FieldInfos").getIndexedFields(reader).toArray()
    ):
        terms = java_class("org.apache.lucene.index.MultiTerms").getTerms(reader, field)
        totals = terms.getDocCount(), terms.getSumDocFreq(), terms.getSumTotalTermFreq()
        counts[field] = totals
        each = terms.iterator()
        while term := each.next():
            counts[f"{field} {term.utf8ToString()}"] = each.docFreq(), each.totalTermFreq()
    reader.close()
    return counts


if __name__ == "__main__":
    master, data, indexes, size, *further = sys.argv[1:]
    dump._RANGE, answer_documents._PER_PART = 1 << 17, int(size)
    spark._LOOK, indexing._SHARD = 0.5, 1 << 16
    if place := os.environ.get("HOLD"):
        hold(Path(place))
    progress._PAUSE = 3600  # no lines of what takes long
    spark._PATIENCE = float(os.environ.get("PATIENCE", spark._PATIENCE))
    workers = ["--jobs", "2"] if master == "here" else ["--spark", master]
    arguments = ["index", "task1", "--data", data, "--indexes", indexes, "--keep-documents"]
    if further:  # options of OpenSearch: this process loads nothing, executors do
        index.check_rights = lambda *_: None
        cluster_index._create = None
    else:
        further = ["--engine", "lucene"]
    sys.argv[1:] = [*arguments, *workers, *further]
    main()
