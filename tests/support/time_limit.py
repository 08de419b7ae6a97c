"""A limit for the tests as a whole: `--minutes 45` ends them, and says so.

Where a worker is lost, pytest-xdist may wait for its tests for ever.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, metavar="N", help="end the tests after N minutes")


def pytest_configure(config: pytest.Config) -> None:
    minutes = config.getoption("minutes")
    if not minutes or hasattr(config, "workerinput"):
        return

    def end(*_: object) -> None:
        os.write(2, f"\nThe tests did not end within {minutes:g} minutes.\n".encode())
        os._exit(1)  # the workers end as soon as nobody reads what they say

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
