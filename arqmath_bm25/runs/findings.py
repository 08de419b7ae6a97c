"""What a run does against the rules: findings by rule, counted all, kept by example."""

from collections import Counter
from pathlib import Path
from typing import Final, Literal, NamedTuple

from arqmath_bm25.core.errors import InputError

Level = Literal["error", "warning"]

# A wrong separator is wrong in every row of ten million: a few rows show what is meant.
EXAMPLES: Final = 5


class Finding(NamedTuple):
    """One breach of one rule."""

    level: Level  # error: the lab refuses the run or drops the row; warning: it is tolerated
    row: int | None  # 1-based line of the file; None if no row is to blame
    rule: str
    message: str


class Findings:
    """The findings on one run, in the order in which they were made.

    Every breach is counted; the first EXAMPLES of each rule and level are kept.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Level, str], list[Finding]] = {}
        self._counts: Counter[tuple[Level, str]] = Counter()

    def error(self, rule: str, row: int | None, message: str) -> None:
        """Note what the lab refuses or drops."""
        self._add(Finding("error", row, rule, message))

    def warn(self, rule: str, row: int | None, message: str) -> None:
        """Note what the lab tolerates."""
        self._add(Finding("warning", row, rule, message))

    def unreadable(self, rule: str, row: int | None, message: str) -> None:
        """Note a row that cannot be understood: the lab drops it, or the whole run."""
        self.error(rule, row, message)

    def _add(self, finding: Finding) -> None:
        key = finding.level, finding.rule
        self._counts[key] += 1
        kept = self._kept.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(finding)

    def count(self, level: Level | None = None, rule: str | None = None) -> int:
        """Count the breaches of a level, of a rule, or all of them."""
        return sum(
            number
            for (kept_level, kept_rule), number in self._counts.items()
            if level in (None, kept_level) and rule in (None, kept_rule)
        )

    def by_rule(self) -> list[tuple[list[Finding], int]]:
        """Return the examples and the count of every rule that was breached, errors first."""
        keys = sorted(self._kept, key=lambda key: key[0] != "error")
        return [(self._kept[key], self._counts[key]) for key in keys]


class Refusing(Findings):
    """What a forgiving reader does: it raises InputError for a row that cannot be understood."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def error(self, rule: str, row: int | None, message: str) -> None:
        """Let it pass."""

    warn = error

    def unreadable(self, rule: str, row: int | None, message: str) -> None:
        """Raise InputError with file and row."""
        raise InputError(f"{self._path}: row {row}: {message}")
