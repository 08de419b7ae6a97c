"""`--cpu N` prints the CPU time of files and tests, with that of the processes that they start."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TESTS = """
import subprocess, sys, time

WORK = "sum(range(20_000_000))"

def test_itself():
    exec(WORK)

def test_a_child():
    subprocess.run([sys.executable, "-c", WORK])

def test_waiting():
    time.sleep(0.2)
"""


def test_the_costliest_files_and_tests_are_printed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ("-n", "1", "-p", "cpu_times", "--cpu", "4")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_it.py"],
        cwd=tmp_path, env={"PYTHONPATH": str(SUPPORT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^ +([\d.]+)  +[\d.]+%  (\S+)$", done.stdout, re.MULTILINE)
    seconds = {name: float(number) for number, name in rows}
    itself = seconds["test_it.py::test_itself"]
    child = seconds["test_it.py::test_a_child"]
    waiting = seconds["test_it.py::test_waiting"]
    assert min(itself, child) >= 0.1 > waiting
    assert seconds["test_it.py"] == pytest.approx(itself + child + waiting, abs=0.2)
