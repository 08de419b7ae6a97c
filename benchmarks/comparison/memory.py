"""Memory of processes, as Linux tells it in /proc.

Resident memory counts pages that processes share (libraries, mapped files) once for each of them,
so that a sum over processes is an upper bound. Proportional memory divides each shared page among
its processes, so that a sum is exact. Only the standard library is used: the peers measure
themselves by this too.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_PROC: Final = Path("/proc")


def resident(process: int) -> int:
    """Return the bytes that a process has now; 0 if it has ended."""
    try:
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def proportional(process: int) -> int:
    """Return the bytes of a process, with its share of the pages that it shares; 0 if it ended."""
    try:
        lines = (_PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    counts = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return sum(map(int, counts)) * 1024


def descendants(process: int) -> Iterator[int]:
    """Yield the children of a process, and theirs."""
    with contextlib.suppress(OSError):
        for thread in (_PROC / str(process) / "task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from descendants(child)


class Peaks:
    """The most memory that was seen, of all processes together and of a single descendant.

    `shared_once` is that of all processes, where a page that some of them share counts once.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self.together = self.descendant = self.shared_once = 0

    def look(self) -> None:
        """Look at the processes as they are now."""
        children = list(descendants(self._process))
        below = [resident(child) for child in children]
        self.together = max(self.together, resident(self._process) + sum(below))
        self.descendant = max(self.descendant, *below, 0)
        once = sum(map(proportional, [self._process, *children]))
        self.shared_once = max(self.shared_once, once)
