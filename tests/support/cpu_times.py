"""CPU time of the tests: `make quick CPU=20` prints the 20 files and the 20 tests that take most.

The time of a test is that of its process and of the children that ended meanwhile, in user and
system mode. What a shared fixture takes belongs to the test that asks for it first.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_COLLECTION: Final = "start and collection in all workers"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", type=int, metavar="N", help="print the N costliest files and tests")


def pytest_configure(config: pytest.Config) -> None:
    rows = config.getoption("cpu")
    if rows:
        config.pluginmanager.register(_CpuTimes(rows))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    total = 0.0
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(whose)
        total += usage.ru_utime + usage.ru_stime
    return total


class _CpuTimes:
    """Measures each test where it runs; the process that the workers report to prints the sums."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._seconds: dict[str, float] = defaultdict(float)  # by the id of the test

    def pytest_collection_finish(self) -> None:
        self._seconds[_COLLECTION] = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = cpu_seconds()
        result = yield
        self._seconds[item.nodeid] = cpu_seconds() - before
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu seconds"] = dict(self._seconds)

    @pytest.hookimpl(optionalhook=True)  # of xdist
    def pytest_testnodedown(self, node: Any) -> None:
        worker_output = getattr(node, "workeroutput", {})  # none of a worker that crashed
        for test, seconds in worker_output.get("cpu seconds", {}).items():
            self._seconds[test] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        by_file: dict[str, float] = defaultdict(float)
        for test, seconds in self._seconds.items():
            file = test.partition("::")[0]
            by_file[file] += seconds

        total = sum(self._seconds.values())
        terminalreporter.section(f"CPU time of the tests: {total:.1f} s")
        for table in (by_file, self._seconds):
            terminalreporter.line("\nseconds  share")
            costliest = sorted(table, key=table.__getitem__, reverse=True)[: self._rows]
            for name in costliest:
                seconds = table[name]
                terminalreporter.line(f"{seconds:7.1f}  {seconds / total:5.1%}  {name}")
