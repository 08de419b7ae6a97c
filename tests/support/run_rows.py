"""Runs as tests read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.core.labs import RunTask
    from arqmath_bm25.runs.rows import RunRow


def read_run(path: Path, task: RunTask = "task1") -> Iterator[RunRow]:
    """Yield the rows of a run."""
    return RULES[task].read(path)
