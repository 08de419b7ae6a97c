"""Folders and files of somebody else: one sentence that names the path, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import shutil
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program import arqmath, process

from configs import edited

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

NOBODY = 65534
FLAT = ("task1", "--engine", "flat")
RUNS = "runs/arqmath-sample/2021/bm25arq-task1-bm25-auto"
A, B = f"{RUNS}-both-P.tsv", f"{RUNS}-text-A.tsv"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of somebody else"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Iterator[Path]:
    """Yield a folder with an index and runs; what the program remembers is of this module alone."""
    folder = tmp_path_factory.mktemp("made")
    index = Path("indexes", "arqmath-sample", "task1")
    shutil.copytree(sample_indexes / Path(*index.parts[1:]), folder / index)
    config = edited("task1", ("stop_words: true", "stop_words: false"))
    (folder / "other.yaml").write_text(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with chdir(folder):
            arqmath("run", *FLAT)
        yield folder


@pytest.fixture
def place(tmp_path: Path, made: Path) -> Path:
    """Return somebody else's folder with an index and runs, which all may read."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.chown(path, NOBODY, NOBODY)
    return tmp_path


def unprivileged(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as root who may not do more than others."""

    def drop() -> None:
        libc = ctypes.CDLL(None)
        for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP

    return process(*arguments, cwd=place, preexec_fn=drop)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (
            "index task1 --engine flat --config other.yaml --overwrite",
            "indexes/arqmath-sample/task1",
        ),
        ("index task1 --engine flat --indexes new", "new"),
        (f"fuse {A} {B} -o fused.tsv", "fused.tsv"),
        (f"convert {A} -o new/out.tsv", "new"),
        (f"pool {A} -o batch.csv", "batch.html"),
        (f"report {A} -o pages", "pages"),
    ],
)
def test_nothing_is_written_where_this_user_may_not(place: Path, command: str, names: str) -> None:
    before = sorted(place.rglob("*"))
    done = unprivileged(place, *command.split())
    assert done.returncode == 1
    assert names in done.stderr
    assert "Permission denied" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(place.rglob("*")) == before


def test_an_index_of_somebody_else_is_searched(place: Path) -> None:
    done = unprivileged(place, "search", *FLAT, "differential equation")
    assert done.returncode == 0, done.stderr


def test_a_file_that_this_user_may_not_read_is_named(place: Path) -> None:
    (place / A).chmod(0o600)
    done = unprivileged(place, "convert", A, "-o", "never.tsv")
    assert done.returncode == 2
    assert "readable" in done.stderr  # in a box that wraps
