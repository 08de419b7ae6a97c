"""Waiting for what another thread or process does, also on a machine that is busy."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LIMIT: Final = 60.0  # seconds


def wait_until(holds: Callable[[], bool], every: float = 0.05) -> None:
    """Return as soon as something holds; fail where it does not within a minute."""
    until = time.monotonic() + _LIMIT
    while not holds():
        assert time.monotonic() < until, "it did not happen within a minute"
        time.sleep(every)
