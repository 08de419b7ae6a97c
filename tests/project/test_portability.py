"""Protections are optional towards the system: without one, the runs and scores are the same bytes.

Each case takes something away that this machine has and others lack. A C library in front of the
system's lets calls fail (support/missing_calls.c), `unshare` takes a name and folders away.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from program import process_of

pytestmark = pytest.mark.slow
ROOT: Final = Path(__file__).parents[2]
CALLS: Final = ("flock-lustre", "flock-nfs", "link", "exchange", "fallocate", "sync-directory")
WITHOUT_HOME: Final = ("env", "-u", "HOME", "-u", "XDG_CACHE_HOME")
WITHOUT_NAME: Final = (
    "unshare", "--user", "--map-user=54321", "--",
    "env", "-u", "HOME", "-u", "USER", "-u", "LOGNAME", "-u", "XDG_CACHE_HOME",
)  # fmt: skip


def outputs(folder: Path, *before: str, **environment: str) -> dict[str, str]:
    """Index, rank and score the sample with a command before the program; return digests."""
    folder.mkdir()
    inherited = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    inherited["PATH"] = os.environ["PATH"]
    inherited["HOME"] = str(folder / "home")
    steps = (
        "index task1 --engine flat",
        "run task1 --topics 2021 --variant both",
        "eval --task task1 --json scores.json",
    )
    done = process_of(steps, folder, before, env=inherited | environment)
    assert done.returncode == 0, done.stderr[-1000:]

    written = [*folder.glob("runs/**/*.tsv"), folder / "scores.json"]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in written}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    digests = outputs(tmp_path_factory.mktemp("whole") / "work")
    assert len(digests) == 2
    return digests


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled library of calls that fail."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("library") / "missing_calls.so"
    source = ROOT / "tests" / "support" / "missing_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("missing", [*CALLS, " ".join(CALLS)])
def test_a_system_call_that_fails(
    missing: str, expected: dict[str, str], library: Path, tmp_path: Path
) -> None:
    found = outputs(tmp_path / "work", LD_PRELOAD=str(library), MISSING=missing)
    assert found == expected


def test_no_locks_are_said_once(library: Path, tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(library), "MISSING": "flock-lustre"}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-m", "arqmath_bm25", "index", "task1", "--engine", "flat"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("this file system has no locks") == 1


def test_no_home(expected: dict[str, str], tmp_path: Path) -> None:
    assert outputs(tmp_path / "work", *WITHOUT_HOME) == expected


def test_a_user_id_without_a_name(expected: dict[str, str], tmp_path: Path) -> None:
    possible = subprocess.run([*WITHOUT_NAME, "true"], capture_output=True).returncode == 0
    if not possible:
        pytest.skip("this container makes no user namespaces")
    (tmp_path / "work").parent.chmod(0o777)
    assert outputs(tmp_path / "work", *WITHOUT_NAME) == expected


def test_the_c_locale(expected: dict[str, str], tmp_path: Path) -> None:
    assert outputs(tmp_path / "work", LC_ALL="C", PYTHONUTF8="0") == expected


def test_little_address_space(expected: dict[str, str], tmp_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh")
    assert outputs(tmp_path / "work", *limited) == expected


def test_few_open_files(expected: dict[str, str], tmp_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")
    assert outputs(tmp_path / "work", *limited) == expected


def test_no_shared_memory(expected: dict[str, str], tmp_path: Path) -> None:
    hidden = ("unshare", "--mount", "--map-root-user", "sh", "-c")
    script = 'mount -t tmpfs -o size=0,ro none /dev/shm && exec "$@"'
    possible = subprocess.run([*hidden, script, "sh", "true"], capture_output=True).returncode == 0
    if not possible:
        pytest.skip("this container mounts nothing")
    assert outputs(tmp_path / "work", *hidden, script, "sh") == expected
