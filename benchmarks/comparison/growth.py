"""Full builds over collections of growing size: time, memory, size of the index, and the line.

What is built is what `make index` builds, by the command line program with two processes and
threads. Memory is looked at ten times a second: resident memory of all its processes together (an
upper bound, see memory.py), and of the largest worker. A straight line by least squares leads from
the sizes to the full collection, of which the posts have 4.1 GB.
"""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from comparison.children import watch
from comparison.results import Goal, Part, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from comparison.results import Value

FULL: Final = 4.1  # GB of posts
_THREADS: Final = 2


class Build(NamedTuple):
    """One build of one index."""

    seconds: float
    together: float  # MB of all processes
    worker: float  # MB
    documents: int
    size: int  # bytes of the index

    @property
    def bytes_each(self) -> float:
        """Bytes of the index for each document."""
        return self.size / self.documents


class Step(NamedTuple):
    """Both builds on one collection."""

    gigabytes: float  # of posts
    task1: Build
    task2: Build

    @property
    def seconds(self) -> float:
        """Seconds of both builds, one after the other."""
        return self.task1.seconds + self.task2.seconds

    @property
    def together(self) -> float:
        """MB of the larger build."""
        return max(self.task1.together, self.task2.together)

    @property
    def worker(self) -> float:
        """MB of the largest worker."""
        return max(self.task1.worker, self.task2.worker)


class Line(NamedTuple):
    """y = at_zero + slope * x, and how much of the variance of y that explains."""

    at_zero: float
    slope: float
    r2: float

    @classmethod
    def fit(cls, x: Sequence[float], y: Sequence[float]) -> Line:
        """Fit by least squares."""
        slope, at_zero = np.polyfit(x, y, 1).tolist()
        rest = np.square(np.subtract(y, at_zero + slope * np.asarray(x))).sum()
        total = np.square(np.subtract(y, np.mean(y))).sum()
        return cls(at_zero, slope, float(1 - rest / total) if total else 1.0)

    def at(self, x: float) -> float:
        """Return y."""
        return self.at_zero + self.slope * x


def build_all(layout: Layout, work: Path) -> Step:
    """Build both indexes of a collection and remove them.

    That of Task 2 comes second: where that of Task 1 is missing, it would be built with it.
    """
    task1, task2 = (_build(task, layout, work) for task in ("task1", "task2"))
    shutil.rmtree(work / layout.name)
    return Step(layout.posts().stat().st_size / 1e9, task1, task2)


def _build(task: str, layout: Layout, work: Path) -> Build:
    seconds, peaks = watch([
        *(sys.executable, "-m", "arqmath_bm25", "index", task, "--data", layout.data),
        *("--indexes", work, "--jobs", _THREADS, "--engine", "flat"),
    ])  # fmt: skip
    (index,) = (work / layout.name / task).glob("flat-*")
    counts = json.loads((index / "manifest.json").read_text(encoding="utf-8"))["counts"]
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    memory = peaks.together / 1e6, peaks.descendant / 1e6
    return Build(seconds, *memory, counts["documents"], size)


def report(steps: Sequence[Step]) -> Part:
    """Return the figures of two sizes or more, and the lines through them."""
    rows: list[dict[str, Value]] = [
        {
            "GB of posts": step.gigabytes,
            "answers": step.task1.documents,
            "formulas": step.task2.documents,
            "Task 1, s": step.task1.seconds,
            "Task 2, s": step.task2.seconds,
            "both, s": step.seconds,
            "Task 1, MB": step.task1.together,
            "Task 2, MB": step.task2.together,
            "a worker, MB": step.worker,
            "bytes/answer": step.task1.bytes_each,
            "bytes/formula": step.task2.bytes_each,
        }
        for step in steps
    ]
    note = (
        "Full builds by the command line program with two processes; formulas are visually "
        "distinct ones. MB: most resident memory of all processes together; of a worker: of one."
    )
    table = Table("Builds over size", rows, note)
    lines = fit(steps)
    smallest, largest = steps[0], steps[-1]
    goals = [
        Goal(f"minutes for both builds at {FULL} GB", lines["both, s"].at(FULL) / 60, 15),
        Goal(f"MB of all processes at {FULL} GB", lines["all processes, MB"].at(FULL), 4000),
        Goal("MB of a worker, whatever the size", max(step.worker for step in steps), 150),
    ]
    if smallest.worker:  # a tiny collection is built without
        growth = largest.worker / smallest.worker
        goals.append(Goal("MB of a worker, largest size beside smallest", growth, 1.1))
    return Part([table, _line_table(lines)], goals)


def fit(steps: Sequence[Step]) -> dict[str, Line]:
    """Fit lines to what grows."""
    sizes = [step.gigabytes for step in steps]
    columns: dict[str, list[float]] = {
        "Task 1, s": [step.task1.seconds for step in steps],
        "Task 2, s": [step.task2.seconds for step in steps],
        "both, s": [step.seconds for step in steps],
        "all processes, MB": [step.together for step in steps],
        "a worker, MB": [step.worker for step in steps],
        "answers": [step.task1.documents for step in steps],
        "formulas": [step.task2.documents for step in steps],
    }
    return {name: Line.fit(sizes, values) for name, values in columns.items()}


def _line_table(lines: dict[str, Line]) -> Table:
    rows: list[dict[str, Value]] = [
        {
            "what": name,
            "at 0 GB": line.at_zero,
            "for each GB": line.slope,
            "R²": f"{line.r2:.4f}",
            f"at {FULL} GB": line.at(FULL),
        }
        for name, line in lines.items()
    ]
    note = (
        f"The full collection has {FULL} GB of posts with 1.45 million answers, and 9.4 million "
        "visually distinct formulas; the last two lines tell how like it generated ones are."
    )
    return Table("Straight lines to the full collection", rows, note)
