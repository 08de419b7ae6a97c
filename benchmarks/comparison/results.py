"""What a benchmark found: tables and goals, kept as JSON and shown as Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Value = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows of the same columns; a value that could not be measured is None."""

    title: str
    rows: list[dict[str, Value]]
    note: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown, numbers to the right, with its title and its note."""
        columns = list(self.rows[0])
        numeric = {c for c in columns if not any(isinstance(row[c], str) for row in self.rows)}
        lines = [
            columns,
            ["---:" if column in numeric else "---" for column in columns],
            *([shown(row[column]) for column in columns] for row in self.rows),
        ]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"### {self.title}\n\n{table}\n" + (f"\n{self.note}\n" if self.note else "")


@dataclass(frozen=True)
class Goal:
    """A figure that the project has set itself."""

    what: str
    measured: float
    goal: float
    at_least: bool = False  # else at most

    @property
    def met(self) -> bool:
        """Tell whether it is reached."""
        return self.measured >= self.goal if self.at_least else self.measured <= self.goal

    def row(self) -> dict[str, Value]:
        """Return the goal as a row of a table."""
        bound = f"{'≥' if self.at_least else '≤'} {shown(self.goal)}"
        met = "yes" if self.met else "no"
        return {"what": self.what, "measured": self.measured, "goal": bound, "met": met}


@dataclass(frozen=True)
class Part:
    """What one part of the benchmark found."""

    tables: list[Table]
    goals: list[Goal]


def shown(value: Value) -> str:
    """Write a value with about three figures."""
    if value is None:
        return "–"
    if isinstance(value, float):
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else value


def write(directory: Path, date: str, machine: dict[str, str], parts: Sequence[Part]) -> Path:
    """Write DATE.json and DATE.md; return the path of the latter."""
    goals = Table("Goals", [goal.row() for part in parts for goal in part.goals])
    tables = ([goals] if goals.rows else []) + [table for part in parts for table in part.tables]
    raw = {"date": date, "machine": machine, "tables": [asdict(table) for table in tables]}
    text = json.dumps(raw, indent=1, ensure_ascii=False)
    (directory / f"{date}.json").write_text(text + "\n", encoding="utf-8")
    described = "; ".join(f"{name} {value}" for name, value in machine.items())
    page = directory / f"{date}.md"
    page.write_text(
        "\n".join(
            [
                f"## {date}\n\n`make bench` on: {described}.\n",
                *(table.markdown() for table in tables),
            ]
        ),
        encoding="utf-8",
    )
    return page
