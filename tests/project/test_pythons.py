"""The Pythons that the tests run by, and the limit of time for what does not end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
import warnings
from pathlib import Path

import pytest

from tools import pythons

ROOT = Path(__file__).parents[2]
THIS = ".".join(map(str, sys.version_info[:3]))


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_pythons_that_answer_are_found_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stubs, versions that no lock file serves and what only begins like a Python are not."""
    one, two = tmp_path / "one", tmp_path / "two"
    script(one / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    first = script(one / "python3.13", "echo 3.13.5")
    second = script(two / "python3.12", "echo 3.12.1")
    script(two / "python3", "echo 3.13.5")
    script(two / "python3.10", "echo 3.10.13")
    script(two / "python3.15", "echo 3.15.2")
    script(two / "python3-config", "echo 3.14.1")
    monkeypatch.setenv("PATH", f"{one}{os.pathsep}{tmp_path / 'none'}{os.pathsep}{two}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RUNNER_TOOL_CACHE", str(tmp_path))
    third = script(tmp_path / ".pyenv/versions/3.11.9/bin/python3", "echo 3.11.9")
    fourth = script(tmp_path / "Python/3.14.2/x64/bin/python3", "echo 3.14.2")

    assert list(pythons.pythons_here().items()) == [
        ("3.11.9", third), ("3.12.1", second), ("3.13.5", first), ("3.14.2", fourth),
    ]  # fmt: skip


def test_one_sentence_says_which_pythons_are_served() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classifiers = re.findall(r"Python :: 3\.(\d+)", " ".join(project["classifiers"]))
    served = [number for number in range(30) if pythons.is_served(f"3.{number}.0")]
    assert served == sorted(map(int, classifiers))
    sentence = f"Python 3.{served[0]} to 3.{served[-1]}"
    for page in ("README.md", "Makefile", "docs/PACKAGE.md"):
        assert sentence in (ROOT / page).read_text(encoding="utf-8"), page


def would_do(python: Path) -> str:
    """Return what `make quick` would do with a Python, were no lock file newer than .venv."""
    older = (
        f"-o{name}" for name in ("pyproject.toml", *(path.name for path in ROOT.glob("*.lock")))
    )
    command = ["make", "-n", *older, "quick", f"PYTHON={python}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_set_up_names_the_pythons_that_it_serves(tmp_path: Path) -> None:
    """Before pip says that it finds no distribution of some package."""
    newer = script(
        tmp_path / "python3.15",
        f'case "$2" in *base_prefix*) echo 3.15;; *) exec {sys.executable} -c '
        '"import sys; sys.version_info = (3, 15, 2); $2";; esac',
    )
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("requirements.lock", "requirements-lucene.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    command = ("make", "setup", f"PYTHON={newer}")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    assert f"Python 3.11 to 3.14 is needed, as requirements.lock serves these; {newer} is" in (
        done.stderr
    )
    assert not (tmp_path / ".venv").exists()


def test_another_python_makes_another_environment(tmp_path: Path) -> None:
    there = ROOT / ".venv" / "bin" / "python"
    if not there.exists():
        pytest.skip("no .venv: make setup")
    other = script(tmp_path / "python3", "echo another")
    assert "Setting up .venv" in would_do(other)
    assert "Setting up .venv" not in would_do(there)


def test_tests_that_do_not_end_are_ended(tmp_path: Path) -> None:
    """Also where a worker is lost, after which pytest-xdist waits for ever."""
    (tmp_path / "test_it.py").write_text(
        "import os, signal, time\n"
        "def test_it(): signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); time.sleep(60)\n"
    )
    started = time.monotonic()
    with (tmp_path / "said").open("w") as said:  # not a pipe, whose end the worker would delay
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "1", "-p", "time_limit", "--minutes", "0.05"],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT / "tests" / "support")},
            stdout=said, stderr=said,
        )  # fmt: skip
    assert done.returncode == 1
    assert "The tests did not end within 0.05 minutes." in (tmp_path / "said").read_text()
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("kind", [DeprecationWarning, PendingDeprecationWarning])
@pytest.mark.parametrize(
    "says",
    [
        "ast.Num is deprecated and will be removed in Python 3.14; use ast.Constant instead",
        "this function\nis slated for removal",
        "It has been removed from the documentation.",
    ],
)
def test_a_warning_of_a_removal_fails_a_test(says: str, kind: type[Warning]) -> None:
    """Whoever calls: nobody reads thousands of warnings of a dependency."""
    with pytest.raises(kind):
        warnings.warn(says, kind, stacklevel=1)
