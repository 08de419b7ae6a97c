"""Programs run in processes of their own, so that memory, caches and imports are theirs."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comparison.memory import Peaks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BENCHMARKS: Final = Path(__file__).parent.parent
_STEP: Final = 0.1  # seconds between two looks at memory


class ChildError(Exception):
    """A program ended with another status than 0."""

    def __init__(self, status: int, errors: str) -> None:
        super().__init__(f"status {status}\n{errors}")
        self.status = status
        self.reason = (errors.strip().splitlines() or [f"status {status}"])[-1].strip()


def run_module(
    module: str,
    *arguments: object,
    python: Path = Path(sys.executable),
    environment: Mapping[str, str] | None = None,
) -> Any:
    """Run a module of this directory; return the JSON that it prints. Raises ChildError."""
    done = subprocess.run(
        [python, "-m", module, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(_BENCHMARKS), **(environment or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ChildError(done.returncode, done.stderr)
    return json.loads(done.stdout)


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
