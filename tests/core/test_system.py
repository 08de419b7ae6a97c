"""What the operating system is asked for."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from arqmath_bm25.core import system
from arqmath_bm25.core.system import memory, processors
from arqmath_bm25.core.writing import complete

MEMORY: Final = Path("/proc/meminfo")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_process_that_is_bound_to_one_processor_uses_one() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from arqmath_bm25.core.system import processors; print(processors())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.skipif(not MEMORY.exists(), reason="this system has no /proc")
def test_the_memory_is_that_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MEMORY", tmp_path / "memory.max")
    (kilobytes,) = re.findall(r"MemTotal: *(\d+) kB", MEMORY.read_text())
    assert memory() == pytest.approx(1024 * int(kilobytes), rel=0.01)


@pytest.mark.parametrize(
    ("content", "most"),
    [("50000 100000", 1), ("150000 100000", 2), ("1000 100000", 1), ("max 100000", 64), ("", 64)],
)
def test_the_quota_of_a_container_limits_the_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, most: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(system, "_QUOTA", tmp_path / "cpu.max")
    assert processors() == 64  # where there is no such file
    (tmp_path / "cpu.max").write_text(f"{content}\n")
    assert processors() == most


@pytest.mark.parametrize("content", ["max", "", str(2**60)])
def test_a_container_without_a_lower_limit_has_the_memory_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setattr(system, "_MEMORY", tmp_path / "memory.max")
    whole = memory()
    (tmp_path / "memory.max").write_text(f"{content}\n")
    assert memory() == whole


def test_the_limit_of_a_container_limits_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "_MEMORY", tmp_path / "memory.max")
    (tmp_path / "memory.max").write_text("268435456\n")
    assert memory() == 256 * 1024**2


@pytest.mark.parametrize("missing", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_once_and_written_to(
    missing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(missing, os.strerror(missing))

    monkeypatch.setattr(fcntl, "flock", flock)
    system._tell_of_no_locks.cache_clear()
    for name in ("a", "b"):
        with complete(tmp_path / name) as file:
            file.write("written")
        assert (tmp_path / name).read_text() == "written"
    assert caplog.text.count("this file system has no locks") == 1
