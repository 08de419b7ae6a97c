"""Work that is done twice, as on a cluster: parts and shards are what they are when done once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import pytest
from program import arqmath
from spark_build import statistics

import arqmath_bm25 as arq
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.collection import dump
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import ENDINGS
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE, local
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.workers.spark import SparkWorkers
from arqmath_bm25.engines.engine import Bm25, Document
from arqmath_bm25.engines.lucene.indexing import index_documents, index_parts
from arqmath_bm25.engines.lucene.search import LuceneSearcher
from arqmath_bm25.tasks.document_parts import PartForms, write_parts

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from arqmath_bm25.core.workers import Workers

FORMS: Final = PartForms(json=True, flat=True)
J = TypeVar("J")
R = TypeVar("R")


class Twice:
    """Workers as remote ones may be: every job is tried twice, of which the second try counts."""

    count, remote = 3, True

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        for job in jobs:
            work(job)
            yield work(job)


class AtOnce(Twice):
    """The same, with both tries at the same time."""

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        with ThreadPoolExecutor(2) as pool:
            for job in jobs:
                _, second = pool.submit(work, job), pool.submit(work, job)
                yield second.result()


def numbers(job: range, counts: Counter[str]) -> Iterator[Document]:
    for number in job:
        counts["even"] += number % 2 == 0
        own = {"contents": Bag(f"common {'x' * (number % 7)}".split()), "tags": Bag((str(number),))}
        yield Document(str(number), own)


def written(place: Path, workers: Workers) -> Path:
    documents = place / "documents"
    documents.mkdir(parents=True)
    jobs = [range(n, n + 10) for n in range(0, 70, 10)] + [range(0)]
    counts = write_parts(numbers, jobs, documents, workers, FORMS)
    assert counts == {"documents": 70, "even": 35}
    assert [path.name for path in place.iterdir()] == ["documents"]
    return documents


def test_tries_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def slow(job: range, counts: Counter[str]) -> Iterator[Document]:
        for document in numbers(job, counts):
            both.wait(10)
            yield document

    (tmp_path / "twice" / "documents").mkdir(parents=True)
    documents = tmp_path / "twice" / "documents"
    counted = write_parts(slow, [range(10)], documents, AtOnce(), FORMS)
    assert counted == {"documents": 10, "even": 5}
    once = written(tmp_path / "once", HERE)
    files = [*documents.iterdir()]
    endings = ("jsonl", "flat", "json.flat.counts")
    assert {file.name for file in files} == {f"part-00000.{ending}" for ending in endings}
    assert all(file.read_bytes() == (once / file.name).read_bytes() for file in files)


def test_shards_make_the_index_that_one_build_makes(tmp_path: Path) -> None:
    documents = written(tmp_path / "parts", HERE)
    for name in ("one", "shards"):
        (tmp_path / name).mkdir()
    index_documents(documents, tmp_path / "one" / "lucene", ("tags",), 70, threads=2)
    index_parts(documents, tmp_path / "shards" / "lucene", ("tags",), 70, Twice())
    assert statistics(tmp_path / "one") == statistics(tmp_path / "shards")
    there = {path.name for path in (tmp_path / "shards").iterdir()}
    tables = [f"lucene.ids.{ending}" for ending in ENDINGS]
    assert there == {"lucene", *tables, *(f"{table}.crc" for table in tables)}
    query = {"contents": {"common": 1.0, "xxx": 0.7}, "tags": {"33": 2.0, "69": 2.0}}
    one, shards = (LuceneSearcher(tmp_path / name / "lucene", Bm25()) for name in ("one", "shards"))
    assert one.search(query, 50) == shards.search(query, 50)


def test_spark_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InputError, match=r"pip install 'arqmath-bm25\[spark\]'"):
        SparkWorkers("spark://127.0.0.1:7077")


class Executors(SparkWorkers):
    """Executors that this process is; how many jobs each wave has is noted."""

    count, _errors = 2, ()

    def __init__(self) -> None:
        self.waves: list[int] = []

    def _do(self, work: Callable[[J], R], wave: list[J]) -> list[R]:
        self.waves.append(len(wave))
        return [work(job) for job in wave]


def half(number: int) -> int:
    if number % 2:
        raise InputError(f"{number} is odd")
    return number // 2


def test_spark_gets_jobs_in_waves_and_wrong_input_ends_the_work() -> None:
    executors = Executors()
    assert list(executors.map(half, range(0, 40, 2))) == list(range(20))
    assert executors.waves == [8, 8, 4]

    done = executors.map(half, [4, 6, 7, 8])
    assert [next(done), next(done)] == [2, 3]
    with pytest.raises(InputError, match="7 is odd"):
        next(done)


def test_shards_that_lack_documents_are_refused(tmp_path: Path) -> None:
    documents = written(tmp_path / "parts", HERE)
    (documents / "part-00003.jsonl").unlink()
    with pytest.raises(InputError, match="Lucene indexed 60 of 70 documents"):
        index_parts(documents, tmp_path / "lucene", ("tags",), 70, Twice())


@pytest.mark.parametrize("module", ["answers.answer_documents", "formulas.formula_documents"])
def test_workers_load_nothing_that_they_do_not_need(module: str) -> None:
    code = (
        f"import sys, arqmath_bm25.tasks.{module}\n"
        "print(sorted({'rich', 'typer', 'pandas', 'scipy', 'jnius'}.intersection(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def process_of(_: int) -> int:
    return os.getpid()


def test_processes_do_further_work_and_end_with_an_error() -> None:
    workers = Processes(2)
    of_both = set(workers.map(process_of, range(9))) | set(workers.map(process_of, range(9)))
    assert len(of_both) <= 2
    assert os.getpid() not in of_both
    with pytest.raises(ValueError, match="invalid literal"):
        list(workers.map(int, ["1", "one", "2"]))
    assert of_both.isdisjoint(workers.map(process_of, range(9)))
    workers.close()
    assert set(HERE.map(process_of, range(9))) == {os.getpid()}


@pytest.mark.parametrize("command", ["inspect", "threads 10027", "index task1 --engine flat", ""])
def test_no_process_outlives_its_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[SpawnProcess] = []
    start = local._Process.start
    monkeypatch.setattr(dump, "_RANGE", 1 << 14)  # many jobs
    monkeypatch.setattr(local._Process, "start", lambda self: (started.append(self), start(self)))
    if command:
        name, *options = command.split()
        places = [SAMPLE] if name == "inspect" else ["--data", SAMPLE, "--indexes", tmp_path]
        places += ["-o", tmp_path / "threads"] if name == "threads" else []
        arqmath(name, *options, *places, "--jobs", 2)
    else:
        arq.sample(tmp_path).index("task1", threads=2, engine="flat")
    assert len(started) == 2
    assert not any(process.is_alive() for process in started)
