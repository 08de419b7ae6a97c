"""Builds on a Spark cluster: the same bytes as here, whatever is killed meanwhile.

The daemons are real ones, on loopback.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import spark_daemons
from chances import drawn
from program import arqmath
from shared_indexes import store
from spark_build import statistics

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers.spark import SparkWorkers, _look
from arqmath_bm25.engines.lucene.indexing import read_ids
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opensearch_nodes import Nodes

pytestmark = pytest.mark.skipif(
    spark_daemons.why_not() is not None, reason=str(spark_daemons.why_not())
)
Build = subprocess.Popen[str]
INDEXES = Path("indexes", SAMPLE.name, "task1")


def index_in(place: Path) -> Path:
    """Return the index that was built in a directory."""
    (built,) = (place / INDEXES).iterdir()
    return built


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[spark_daemons.Cluster]:
    with spark_daemons.Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("here")
    assert completed(start("here", place)) == ""
    return index_in(place)


def start(
    master: str, place: Path, data: Path = SAMPLE, part: int = 12, further: Sequence[str] = ()
) -> Build:
    """Start a build; the path of the indexes is relative to where it runs."""
    script = Path(__file__).parents[1] / "support" / "spark_build.py"
    return subprocess.Popen(
        [sys.executable, script, master, data, "indexes", str(part), *further],
        cwd=place,
        env=spark_daemons.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def completed(build: Build) -> str:
    """Wait for a build and return its message, without what Java says of itself at its start."""
    _, said = build.communicate(timeout=300)
    lines = [line for line in said.splitlines() if not line.startswith("WARNING: Using incubator")]
    assert build.returncode == bool(lines), said
    return "\n".join(lines)


def assert_same(built: Path, other: Path) -> None:
    """Compare all that decides a ranking, and the files of JSON lines byte by byte."""
    ours, theirs = Manifest.read(built), Manifest.read(other)
    assert ours is not None
    assert theirs is not None
    assert ours.counts == theirs.counts
    assert contents(built) == contents(other)
    assert all_ids(built / "lucene") == all_ids(other / "lucene")
    assert statistics(built) == statistics(other)
    assert sorted(path.name for path in built.iterdir()) == sorted(p.name for p in other.iterdir())


def all_ids(index: Path) -> list[bytes]:
    ids = read_ids(index)
    return sorted(ids.of(np.arange(len(ids))))


def contents(index: Path) -> dict[str, bytes]:
    files = (*sorted((index / "documents").glob("*.jsonl")), index / "posts.npy")
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.slow
def test_the_cluster_builds_what_this_machine_does(
    cluster: spark_daemons.Cluster, here: Path, tmp_path: Path
) -> None:
    assert completed(start(cluster.url, tmp_path)) == ""
    assert len(contents(here)) > 20
    assert_same(index_in(tmp_path), here)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_cluster_builds_a_real_site(
    cluster: spark_daemons.Cluster, shared: Path, tmp_path: Path
) -> None:
    site = shared / "data" / "se-sites" / "quantumcomputing.stackexchange.com"
    for name, master in (("here", "here"), ("there", cluster.url)):
        (tmp_path / name).mkdir()
        assert completed(start(master, tmp_path / name, site, part=150)) == ""
    there, here = (store(tmp_path / name / "indexes", "task1") for name in ("there", "here"))
    assert_same(there, here)


@pytest.mark.slow
@pytest.mark.nightly
def test_executors_load_what_they_build_into_opensearch(
    cluster: spark_daemons.Cluster, here: Path, opensearch: Nodes, tmp_path: Path
) -> None:
    engine = ("--engine", "opensearch", "--hosts", opensearch.hosts[0])
    assert completed(start(cluster.url, tmp_path, further=engine)) == ""
    assert not (index_in(tmp_path) / "lucene").exists()
    runs = []
    for indexes, options in (
        (here.parents[2], ("--engine", "lucene")),
        (tmp_path / "indexes", engine),
    ):
        runs.append(tmp_path / options[1])
        arqmath(
            "run", "task1", "--indexes", indexes, "--topics", "2021", "--runs", runs[-1], *options
        )
    files = [*runs[0].rglob("*.tsv")]
    assert len(files) == 3
    for file in files:
        assert (runs[1] / file.relative_to(runs[0])).read_bytes() == file.read_bytes()


# Jobs that are at work when something is killed: the first, two in each wave of eight, a shard.
MOMENTS = ("_do-0", "_do-3", "_do-9", "_do-14", "_build_shard-0")


def held_at(place: Path, moment: str, build: Build) -> int:
    """Wait until a job has begun, which goes on when its `hold` is removed; return its process."""
    begun = place / f"begun.{moment}"
    while not begun.exists():
        assert build.poll() is None, build.communicate()
        time.sleep(0.01)
    return int(begun.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["executor", pytest.param("worker", marks=pytest.mark.nightly)])
def test_machines_may_be_lost_at_any_moment(
    cluster: spark_daemons.Cluster, here: Path, tmp_path: Path, victim: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOLD", str(tmp_path))
    moments = drawn(MOMENTS, 2 if victim == "executor" else 1, victim)
    for moment in moments:
        (tmp_path / f"hold.{moment}").touch()
    build = start(cluster.url, tmp_path)
    for moment in moments:
        worker = held_at(tmp_path, moment, build)
        if victim == "executor":
            cluster.kill_executor(worker)
        else:
            cluster.kill_worker(worker)
            cluster.add_worker()
        (tmp_path / f"hold.{moment}").unlink()
    assert completed(build) == ""
    assert_same(index_in(tmp_path), here)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_build_itself_may_be_killed_and_called_again(
    cluster: spark_daemons.Cluster, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLD", str(tmp_path))
    place = tmp_path / INDEXES
    finished: list[int] = []
    for moment in [*drawn(MOMENTS[:-1], 1, "a build"), MOMENTS[-1]]:
        (tmp_path / f"hold.{moment}").touch()
        (tmp_path / f"begun.{moment}").unlink(missing_ok=True)
        build = start(cluster.url, tmp_path)
        held_at(tmp_path, moment, build)
        spark_daemons.kill_session(build)
        build.communicate()
        (tmp_path / f"hold.{moment}").unlink()
        assert not list(place.glob("[a-z]*-*"))  # a store, complete
        finished.append(len(list(place.glob(".*.building/documents/*.counts"))))
    assert finished == sorted(finished)
    assert finished[-1] > 14
    assert completed(start(cluster.url, tmp_path)) == ""
    assert_same(index_in(tmp_path), here)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_build_goes_on_without_the_master(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLD", str(tmp_path))
    (tmp_path / "hold._do-3").touch()
    with spark_daemons.Cluster(tmp_path) as headless:
        build = start(headless.url, tmp_path)
        held_at(tmp_path, "_do-3", build)
        headless.kill_master()
        (tmp_path / "hold._do-3").unlink()
        assert completed(build) == ""
    assert_same(index_in(tmp_path), here)


MEMORY = """
import sys
from pathlib import Path
from arqmath_bm25.core.workers.spark import SparkWorkers

place = Path(sys.argv[2])

def work(job):
    tried = place / str(job)
    if job == 4 and not tried.exists():
        tried.touch()
        bytes(4 << 30)
    return job

print(list(SparkWorkers(sys.argv[1]).map(work, range(8))))
"""


@pytest.mark.slow
def test_a_job_that_had_no_memory_is_given_to_another_executor(
    cluster: spark_daemons.Cluster, tmp_path: Path
) -> None:
    limit = "--conf spark.executor.pyspark.memory=400m pyspark-shell"
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, cluster.url, tmp_path],
        env={**spark_daemons.environment(), "PYSPARK_SUBMIT_ARGS": limit},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[0, 1, 2, 3, 4, 5, 6, 7]\n"
    assert (tmp_path / "4").exists()


@pytest.mark.slow
def test_without_executors_a_build_ends_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATIENCE", "2")
    with spark_daemons.Cluster(tmp_path, workers=0) as lonely:
        message = completed(start(lonely.url, tmp_path))
    assert message == (
        f"error: {lonely.url}: no executor for 2 seconds; see whether the cluster's workers run "
        "and have cores to spare"
    )


FAULTS = """
import sys
from pathlib import Path
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers.spark import SparkWorkers, _look

place = Path(sys.argv[1])

def work(job):
    with (place / str(job)).open("a") as tries:
        tries.write("x")
    if job == 30:
        raise InputError("row 30 is broken")
    return job / (job - 60)

workers = SparkWorkers("local[2,4]")
print(list(workers.map(str, range(100))) == [str(n) for n in range(100)])
for first in (29, 59):
    try:
        list(workers.map(work, range(first, first + 3)))
    except InputError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_results_keep_their_order_and_faults_are_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, tmp_path],
        env=spark_daemons.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "True",
        "InputError row 30 is broken",
        "InterruptedWorkError local[2,4]: Spark gave up a job: "
        "localhost: ZeroDivisionError: division by zero",
    ]
    assert (tmp_path / "30").read_text() == "x"  # tried once
    assert (tmp_path / "60").read_text() == "x"  # there is no other executor to try


LOOKS = """
import sys
from pathlib import Path
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers import spark

cluster = spark.SparkWorkers(sys.argv[1])
place = Path(sys.argv[2])
(place / "data").mkdir()
cluster.check(place / "data", place / "indexes")
print(*(place / "indexes").iterdir())
for data, indexes in (("data", "s3a:/bucket/ix"), ("hdfs:/nn/data", "ix"), ("none", "ix")):
    try:
        cluster.check(Path(data), Path(indexes))
    except InputError as error:
        print(error)
spark._code = lambda: "another (digest)"
try:
    cluster.check(place / "data", place / "indexes")
except InputError as error:
    print(error)
"""


@pytest.mark.slow
def test_machines_are_asked_for_code_data_and_indexes_before_the_work(
    cluster: spark_daemons.Cluster, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, cluster.url, tmp_path],
        env=spark_daemons.environment(),
        cwd=tmp_path / "sub",
        capture_output=True,
        text=True,
        check=True,
    )
    left, *messages, code = done.stdout.splitlines()
    assert left == ""
    assert [message.partition(";")[0] for message in messages] == [
        "s3a:/bucket/ix: object stores are not read",
        "hdfs:/nn/data: object stores are not read",
        f"{socket.gethostname()}: {tmp_path}/sub/none is not there",
    ]
    assert code.startswith(f"{socket.gethostname()}: arqmath_bm25 {__version__} (")
    assert code.endswith("here; install the same everywhere")


def test_what_a_machine_lacks_is_said_with_its_name(tmp_path: Path) -> None:
    here = socket.gethostname()
    (tmp_path / "token").touch()
    _look(tmp_path, tmp_path / "token", 0)
    with pytest.raises(InputError, match=f"^{here}: .*/none is not there; mount the same DATA"):
        _look(tmp_path / "none", tmp_path / "token", 0)
    with pytest.raises(InputError, match=f"^{here}: .*/no token is not there; mount the same"):
        _look(tmp_path, tmp_path / "no token", 0)


def test_yarn_needs_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with pytest.raises(InputError, match="yarn: HADOOP_CONF_DIR must name"):
        SparkWorkers("yarn")
    with pytest.raises(InputError, match=r"k8s://https://127\.0\.0\.1:1: nothing answers there"):
        SparkWorkers("k8s://https://127.0.0.1:1")


def test_a_master_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"spark://127\.0\.0\.1:1: nothing answers there"):
        SparkWorkers("spark://127.0.0.1:1")
