"""Programs run in processes of their own, so that memory, caches and imports are theirs."""

from __future__ import annotations

import resource
import subprocess
import time
from typing import TYPE_CHECKING, Final

from comparison.memory import Peaks

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP: Final = 0.1  # seconds between two looks at memory


class ChildError(Exception):
    """A program ended with another status than 0."""

    def __init__(self, status: int, errors: str) -> None:
        super().__init__(f"status {status}\n{errors}")
        self.status = status
        self.reason = (errors.strip().splitlines() or [f"status {status}"])[-1].strip()


def cpu() -> float:
    """Return the seconds of CPU of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch(command: Sequence[object]) -> tuple[float, Peaks]:
    """Run a command; return its seconds and what memory it and its children had."""
    began = time.perf_counter()
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        peaks = Peaks(process.pid)
        while True:
            peaks.look()
            try:
                _, errors = process.communicate(timeout=_STEP)
                break
            except subprocess.TimeoutExpired:
                continue
    if process.returncode:
        raise ChildError(process.returncode, errors)
    return time.perf_counter() - began, peaks
