"""Measures, at a small scale, what docs/SCALE.md calculates with: CPU time, bytes, postings.

    python benchmarks/scale.py DATA
    python benchmarks/scale.py --table 10

DATA is a collection of generate.py. It is indexed by two processes here and by a Spark cluster of
two workers on loopback (if pyspark and Java 17 are there). The topics of 2022 are ranked by flat
postings of the same answers. CPU time is that of all processes, the cluster's daemons and their
start included.
With --table, a table of so many million invented posts is made, as the building process does.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

import spark_daemons  # noqa: E402
from spark_build import statistics  # noqa: E402

from arqmath_bm25.analysis.analyzer import Analyzer  # noqa: E402
from arqmath_bm25.collection import dump  # noqa: E402
from arqmath_bm25.collection.collection import Collection  # noqa: E402
from arqmath_bm25.collection.layout import Layout  # noqa: E402
from arqmath_bm25.collection.posts import PostTable  # noqa: E402
from arqmath_bm25.collection.topics import read_topics  # noqa: E402
from arqmath_bm25.core.sample_data import SAMPLE  # noqa: E402
from arqmath_bm25.engines.engine import Engine  # noqa: E402
from arqmath_bm25.tasks import configured  # noqa: E402
from arqmath_bm25.tasks.index import ensure  # noqa: E402
from arqmath_bm25.tasks.index_content import IndexContent  # noqa: E402
from arqmath_bm25.tasks.open_index import Index  # noqa: E402
from arqmath_bm25.tasks.queries import build_query  # noqa: E402
from arqmath_bm25.tasks.settings import FIELDS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arqmath_bm25.tasks.task import Task

J = TypeVar("J")
R = TypeVar("R")

_TICKS = os.sysconf("SC_CLK_TCK")


def build(master: str, data: Path, indexes: Path) -> float:
    """Build an index in processes of their own; return their CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = ROOT / "tests" / "support" / "spark_build.py"
    environment = spark_daemons.environment() if master != "here" else None
    command = [sys.executable, str(script), master, str(data.resolve()), str(indexes), "10000"]
    subprocess.run(command, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def daemons_cpu(cluster: spark_daemons.Cluster) -> float:
    """Return the CPU seconds of the daemons and of the executors that have ended."""
    while cluster.executors():
        time.sleep(0.1)
    ticks = 0
    for process in (cluster.master, *cluster.workers):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own, and those of children that were waited for
    return ticks / _TICKS


def search(indexes: Path, data: Path) -> str:
    """Add flat postings and rank the topics of 2022 by them; return the time of a topic."""
    task, collection = configured("task1"), Collection(data, indexes)
    ensure(IndexContent.of(task.index_task, collection), engines=[Engine("flat")])
    index = Index.of(task, collection, Engine("flat"))
    searcher, analyzer = index.searcher(), Analyzer(task.settings.analysis)
    topics = read_topics(collection.layout.topics("task1", "2022"))
    terms = postings = 0
    for topic in topics:
        weights = task.settings.weights("both")
        chosen = build_query(topic, analyzer, weights, task.settings.query, searcher)
        counts = [*searcher.document_counts(chosen).values()]
        terms += sum(map(len, chosen.values()))
        postings += sum(sum(of_field.values()) for of_field in counts)
    list(index.rank(topics, "both", 1000, threads=1))  # reads what stays in memory
    began = time.process_time()
    list(index.rank(topics, "both", 1000, threads=1))
    milliseconds = (time.process_time() - began) / len(topics) * 1e3
    began = time.process_time()
    list(Index.of(without_reranker(task), collection, Engine("flat")).rank(topics, "both", 1000, 1))
    first = (time.process_time() - began) / len(topics) * 1e3
    return (
        f"a topic: {terms / len(topics):.0f} terms, {postings / len(topics):,.0f} postings "
        f"({postings / len(topics) / searcher.count:.1f} an answer); "
        f"{milliseconds:.1f} CPU ms, {first:.1f} of them without the second stage"
    )


def without_reranker(task: Task[Any]) -> Task[Any]:
    """Return the task with its first stage alone."""
    return type(task)(task.settings.model_copy(update={"rerank": {}}))


def report(name: str, indexes: Path, data: Path, cpu: float) -> None:
    """Print the figures of one build."""
    (index,) = (indexes / data.resolve().name / "task1").glob("lucene-*")
    known = statistics(index)
    documents = known["contents"][0]
    size = sum(path.stat().st_size for path in (index / "lucene").iterdir())
    postings = sum(known[field][1] for field in FIELDS if field in known)
    gigabytes = Layout(data).posts().stat().st_size / 1e9
    print(
        f"{name}: {cpu:.1f} CPU s ({cpu / gigabytes:.0f} for each GB); {documents:,} answers; "
        f"an answer: {size / documents:.0f} bytes, {postings / documents:.0f} postings"
    )


class _Invented:
    """Workers that find invented posts, as many in each range."""

    count, remote = 1, False

    def __init__(self, posts: int) -> None:
        self._posts = posts

    def map(self, _: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        ranges, random = len(list(jobs)), np.random.default_rng(1)
        for ids in np.array_split(np.arange(self._posts), ranges):
            own = random.random(len(ids)) < 0.4
            threads = np.where(own, ids, ids - random.integers(1, 1000, len(ids)))
            places = np.stack([threads, ids, 2 - own, ids * 1600, np.full(len(ids), 1600)], axis=1)
            yield cast("R", (places, Counter(rows=len(ids))))

    def close(self) -> None:
        """Hold nothing."""


def table(millions: float) -> None:
    """Make the table of many posts; print seconds and memory."""
    dump._RANGE, began = 1 << 12, time.process_time()  # type: ignore[misc]
    made = PostTable.scan(Layout(SAMPLE).posts(), _Invented(int(millions * 1e6)))
    made.subset([1])  # sorts by id
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(made):,} posts: {time.process_time() - began:.1f} CPU s, peak {peak:,.0f} MB")


def main() -> None:
    """Run the measurements that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA", nargs="?")
    parser.add_argument("--table", type=float, metavar="MILLIONS")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    if options.data:
        both(options.data)


def both(data: Path) -> None:
    """Build and search here and on a cluster."""
    with tempfile.TemporaryDirectory() as place:
        index = Path(place, "here")
        report("here", index, data, build("here", data, index))
        print(search(index, data))
        if reason := spark_daemons.why_not():
            print(f"Spark: {reason}")
            return
        with spark_daemons.Cluster(Path(place)) as cluster:
            index = Path(place, "spark")
            cpu = build(cluster.url, data, index)
            report("Spark", index, data, cpu + daemons_cpu(cluster))


if __name__ == "__main__":
    main()
