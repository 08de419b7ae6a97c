"""Resident memory of processes, as Linux tells it in /proc.

Resident memory counts pages that processes share (libraries, mapped files) once for each of them,
so that a sum over processes is an upper bound. Only the standard library is used: the peers
measure themselves by this too.
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


def own_peak() -> int:
    """Return the most bytes that this process has had.

    Not from getrusage: that remembers what the process was before it became another program.
    """
    status = (_PROC / "self" / "status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def resident(process: int) -> int:
    """Return the bytes that a process has now; 0 if it has ended."""
    try:
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def descendants(process: int) -> Iterator[int]:
    """Yield the children of a process, and theirs."""
    with contextlib.suppress(OSError):
        for thread in (_PROC / str(process) / "task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from descendants(child)


class Peaks:
    """The most memory that was seen, of all processes together and of a single descendant."""

    def __init__(self, process: int) -> None:
        self._process = process
        self.together = self.descendant = 0

    def look(self) -> None:
        """Look at the processes as they are now."""
        below = [resident(child) for child in descendants(self._process)]
        self.together = max(self.together, resident(self._process) + sum(below))
        self.descendant = max(self.descendant, *below, 0)
