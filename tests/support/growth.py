"""How the CPU time of a function grows with its input, on a machine that others use too."""

import time
import timeit
from collections.abc import Callable
from typing import Any

import pytest


def seconds(work: Callable[[], object], attempts: int) -> float:
    """Return the least CPU time of several attempts, without the garbage collector's, as timeit."""
    return min(timeit.repeat(work, timer=time.process_time, repeat=attempts, number=1))


def check_growth(
    read: Callable[[Any], object], short: Any, long: Any, limit: float, floor: float = 2e-3
) -> None:
    """Fail where `long` takes more than `limit` times as long as `short`, or as `floor` seconds.

    Other work on the machine slows one of them down, so a failure is measured again, after a pause.
    Below the floor, the system's time for new memory counts for more than the work.
    """
    for attempt in range(8):
        time.sleep(attempt / 4)
        long_seconds = seconds(lambda: read(long), 1 if attempt == 0 else 2)
        if long_seconds < limit * floor:
            return
        short_seconds = max(seconds(lambda: read(short), 5), floor)
        if long_seconds < limit * short_seconds:
            return
    growth = long_seconds / short_seconds
    pytest.fail(f"{growth:.1f} times as long, at most {limit:.1f} expected, of {str(short)[:60]!r}")
