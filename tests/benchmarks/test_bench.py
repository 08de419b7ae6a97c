"""make bench: the parts of it on tiny collections, and what its figures rest on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from comparison.children import ChildError, watch
from comparison.growth import Build, Line, Step, report
from comparison.results import Goal, Part, Table, write

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_memory_of_a_program_and_of_its_child_is_seen() -> None:
    hold = "import time; kept = b'x' * {size}; time.sleep(1)"
    child = hold.format(size=100_000_000)
    program = (
        f"import subprocess, sys; kept = b'x' * 50_000_000; "
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    seconds, peaks = watch([sys.executable, "-c", program])
    assert seconds > 1
    assert 100e6 < peaks.descendant < 150e6
    assert 150e6 < peaks.together < 250e6


def test_a_program_that_fails_is_told_with_its_message() -> None:
    with pytest.raises(ChildError, match="No module named nothing") as raised:
        watch([sys.executable, "-m", "nothing"])
    assert raised.value.reason.endswith("No module named nothing")


def test_a_line_is_fitted() -> None:
    line = Line.fit([1, 2, 3], [12, 22, 32])
    assert line.at(4.1) == pytest.approx(43)
    assert line.r2 == pytest.approx(1)
    assert Line.fit([1, 2, 3], [1, 3, 1]).r2 == pytest.approx(0)


def test_builds_become_tables_and_goals(tmp_path: Path) -> None:
    steps = [
        Step(size, Build(60 * size, 900, 100, 1000, 5000), Build(120 * size, 800, 90, 10, 50))
        for size in (0.1, 1.0)
    ]
    page = write(tmp_path, "2020-01-01", {"CPU": "fast"}, [report(steps)])
    text = page.read_text()
    assert "| minutes for both builds at 4.1 GB | 12.3 | ≤ 15 | yes |" in text
    kept = json.loads(page.with_suffix(".json").read_text())
    assert kept["tables"][0]["title"] == "Goals"
    assert kept["tables"][1]["rows"][0]["bytes/answer"] == 5


def test_values_that_were_not_measured_are_shown_as_such(tmp_path: Path) -> None:
    table = Table("T", [{"engine": "one", "ms": 1234.5}, {"engine": "other", "ms": None}], "Note.")
    goal = Goal("times", 1.9, 1.8, at_least=True)
    page = write(tmp_path, "2020-01-01", {}, [Part([table], [goal])])
    assert "| engine | ms |\n| --- | ---: |\n| one | 1,234 |\n| other | – |" in page.read_text()
    assert "| times | 1.90 | ≥ 1.80 | yes |" in page.read_text()


@pytest.mark.slow
def test_it_builds_every_size_and_writes_a_page(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, BENCHMARKS / "bench.py", "--sizes", "0.0003,0.0006"),
            *("--work", tmp_path / "work", "--results", tmp_path / "results"),
        ],
        check=True,
    )
    (page,) = (tmp_path / "results").glob("*.md")
    assert "minutes for both builds at 4.1 GB" in page.read_text()
    kept = json.loads(page.with_suffix(".json").read_text())
    assert [table["title"] for table in kept["tables"]][:2] == ["Goals", "Builds over size"]
    assert [row["answers"] > 0 for row in kept["tables"][1]["rows"]] == [True, True]
