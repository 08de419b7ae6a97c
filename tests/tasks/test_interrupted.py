"""Builds that are killed: the old index stays, no process stays, the next build completes."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chances import exhaustive, seed

from arqmath_bm25.cli import run_program
from arqmath_bm25.core.errors import InterruptedWorkError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.lucene.indexing import count_documents
from configs import edited

# Small parts, so that several worker processes are at work; Java lives for seconds, as in conftest.
BUILD = (
    "import jnius_config; jnius_config.add_options('-XX:TieredStopAtLevel=1');"
    "import arqmath_bm25.tasks.answers.answer_documents as answers; answers._PER_PART = 40;"
    "from arqmath_bm25.cli import main; main()"
)


def start(place: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            BUILD,
            "index",
            "task1",
            "--engine",
            "lucene",
            "--jobs",
            "2",
            *arguments,
        ],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell starts what it runs in the background with Ctrl-C ignored, and so these tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def completed(build: subprocess.Popen[bytes]) -> bool:
    build.communicate(timeout=60)
    return build.returncode == 0


def processes_of(session: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def none_left(session: int) -> bool:
    for _ in range(100):
        if not processes_of(session):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_a_build_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    began = time.monotonic()
    assert completed(start(tmp_path))
    duration = time.monotonic() - began
    folder = tmp_path / "indexes" / "arqmath-sample" / "task1"
    (first,) = folder.iterdir()
    before = Manifest.read(first)
    config = tmp_path / "other.yaml"
    config.write_text(edited("task1", ("ngrams: [1, 3]", "ngrams: [1, 2]")))
    moments = random.Random(seed())
    for attempt in range(10 if exhaustive() else 3):
        build = start(tmp_path, "--config", str(config))
        time.sleep(moments.uniform(0.2, 0.9) * duration)
        victims = processes_of(build.pid)  # in the order of their start: the build, its workers
        if victims:
            victim = victims[0] if attempt % 2 == 0 else moments.choice(victims)
            os.kill(victim, signal.SIGKILL)
        _, message = build.communicate(timeout=60)
        if build.returncode == 1:  # a worker was killed, and the build could say so
            assert b"error: a worker process was killed" in message
        else:  # it was killed itself; what Python's own resource tracker says then is not ours
            assert build.returncode in (0, -signal.SIGKILL)
        assert none_left(build.pid), f"attempt {attempt}: processes left"
        # The old index is whole, and the new one is there and whole, or not there.
        assert Manifest.read(first) == before
        assert count_documents(first / "lucene") == 221
        others = [path for path in folder.glob("lucene-*") if path != first]
        assert others or build.returncode != 0
        for other in others:
            assert Manifest.read(other)
            assert count_documents(other / "lucene") == 221
            shutil.rmtree(other)
    assert completed(start(tmp_path, "--config", str(config)))
    assert len(list(folder.iterdir())) == 2  # and nothing else


@pytest.mark.slow
def test_ctrl_c_ends_a_build_without_noise(tmp_path: Path) -> None:
    build = start(tmp_path)
    place = tmp_path / "indexes" / "arqmath-sample" / "task1"
    while not list(place.glob(".*.building")):
        time.sleep(0.01)
    os.killpg(build.pid, signal.SIGINT)
    _, message = build.communicate(timeout=60)
    assert build.returncode == 130
    assert b"Traceback" not in message
    assert message.endswith(b"stopped; the same command resumes\n")
    assert none_left(build.pid)
    (left,) = place.iterdir()
    assert re.fullmatch(r"\.lucene-\w{16}\.building", left.name)
    assert completed(start(tmp_path))
    (built,) = place.iterdir()
    assert left.name == f".{built.name}.building"


@pytest.mark.slow
def test_finished_parts_are_not_written_again(tmp_path: Path) -> None:
    build = start(tmp_path)
    place = tmp_path / "indexes" / "arqmath-sample" / "task1"
    while not list(place.glob(".*.building/documents/*.counts")):
        time.sleep(0.002)
    (documents,) = place.glob(".*.building/documents")
    os.killpg(build.pid, signal.SIGKILL)
    build.communicate(timeout=60)
    finished = {
        documents / path.name.replace(".json.counts", ".jsonl")
        for path in documents.glob("*.counts")
    }
    marked = {path.name: path.read_bytes() + b"\n" for path in finished}  # Lucene skips the blank
    for name, content in marked.items():
        (documents / name).write_bytes(content)
    assert completed(start(tmp_path, "--keep-documents"))
    (kept,) = place.glob("lucene-*/documents")
    parts = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert len(parts) > len(marked) > 0
    assert {name: parts[name] for name in marked} == marked
    assert sum(part.strip().count(b"\n") + 1 for part in parts.values()) == 221


TOO_MUCH = 1 << 62  # bytes


def test_worker_processes_without_memory_are_told_of() -> None:
    with pytest.raises(InterruptedWorkError, match="had too little memory; try fewer"):
        list(Processes(2).map(bytearray, [TOO_MUCH, TOO_MUCH]))


def test_a_command_without_memory_ends_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    program: Any = lambda prog_name: bytearray(TOO_MUCH)  # noqa: E731
    with pytest.raises(SystemExit):
        run_program(program, "arqmath-bm25")
    assert capsys.readouterr().err.startswith("error: there is too little memory")
