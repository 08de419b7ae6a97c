"""Choose the tests of `make first`: files that reach most lines of the package in few seconds.

    .venv/bin/pytest -p tools.first_tests -m "not slow and not extra"    # on Python 3.12 or newer

Each file of tests is watched for the lines that it reaches (`sys.monitoring`) and for its CPU time.
A file that takes long is cut short and not chosen; the others are taken by the lines that they add
in a second, as many as fit. tests/first.txt gets their names and says how many lines they reach.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import pytest
from cpu_times import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = f"{ROOT / 'arqmath_bm25'}/"
CHOSEN: Final = ROOT / "tests" / "first.txt"
_OF_A_FILE: Final = 2.0  # CPU seconds, beyond which a file is not chosen
_OF_ALL: Final = 6.0
_TOOL: Final = 3  # a number that sys.monitoring leaves to programs

Line = tuple[str, int]


def lines_of(code: CodeType) -> Iterator[Line]:
    """Yield the lines of a compiled module that something stands in."""
    for _, _, line in code.co_lines():
        if line:
            yield code.co_filename, line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)


def all_lines() -> set[Line]:
    """Return the lines of the package."""
    lines: set[Line] = set()
    for path in Path(PACKAGE).rglob("*.py"):
        lines |= set(lines_of(compile(path.read_text(encoding="utf-8"), str(path), "exec")))
    return lines


def choose(
    reached: dict[str, set[Line]], seconds: dict[str, float], known: set[Line]
) -> tuple[list[str], set[Line]]:
    """Return files of tests and all lines that they reach, beyond those known before any test."""
    chosen: list[str] = []
    lines, left = set(known), _OF_ALL
    while True:
        fitting = [file for file in reached if file not in chosen and seconds[file] <= left]
        gains = {file: len(reached[file] - lines) / (seconds[file] + 0.05) for file in fitting}
        best = max(gains, key=gains.__getitem__, default="")
        if not gains.get(best):
            return sorted(chosen), lines
        chosen.append(best)
        lines |= reached[best]
        left -= seconds[best]


class _Watch:
    """Notes which lines each file of tests reaches, and how long it takes."""

    def __init__(self) -> None:
        self._reached: dict[str, set[Line]] = defaultdict(set)
        self._seconds: dict[str, float] = defaultdict(float)
        self._file = ""  # none: at the import of modules
        self._failed: set[str] = set()

    def start(self) -> None:
        """Begin to watch; each line is noted once for each file of tests."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        monitoring.use_tool_id(_TOOL, "first tests")
        monitoring.register_callback(_TOOL, monitoring.events.LINE, self._note)
        monitoring.set_events(_TOOL, monitoring.events.LINE)

    def _note(self, code: CodeType, line: int) -> object:
        if code.co_filename.startswith(PACKAGE):
            self._reached[self._file].add((code.co_filename, line))
        return sys.monitoring.DISABLE  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        file = item.path.relative_to(ROOT).as_posix()
        if file != self._file:
            self._file = file
            sys.monitoring.restart_events()  # type: ignore[attr-defined]
        if self._seconds[file] > _OF_A_FILE:
            item.add_marker(pytest.mark.skip(reason="its file takes long"))
        before = cpu_seconds()
        result = yield
        self._seconds[file] += cpu_seconds() - before
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.fspath)

    def pytest_sessionfinish(self) -> None:
        known = self._reached.pop("", set())
        reached = {
            file: lines
            for file, lines in self._reached.items()
            if self._seconds[file] <= _OF_A_FILE and file not in self._failed
        }
        chosen, lines = choose(reached, self._seconds, known)
        every = all_lines()
        seconds = sum(self._seconds[file] for file in chosen)
        says = (
            f"{len(chosen)} files of tests reach {len(lines & every):,} of {len(every):,} lines "
            f"({len(lines & every) / len(every):.0%}) in {seconds:.1f} CPU seconds"
        )
        CHOSEN.write_text("\n".join([f"# {says}.", *chosen, ""]), encoding="utf-8")
        print(f"\n{says}")


def pytest_configure(config: pytest.Config) -> None:
    """Watch from the start, before anything of the package is imported."""
    watch = _Watch()
    watch.start()
    config.pluginmanager.register(watch)
