"""What this program needs from the operating system and from optional packages.

Linux and macOS have all of it; the package says at import that Windows does not.
"""

import ctypes
import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from math import ceil
from pathlib import Path

from arqmath_bm25.core.errors import InputError

_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_CURRENT = -100  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2)
_EXCHANGE = 2
# Of a container: "QUOTA PERIOD", or "max PERIOD"; bytes, or "max".
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_MEMORY = Path("/sys/fs/cgroup/memory.max")


def lock(descriptor: int, wait: bool = True, shared: bool = False) -> None:
    """Lock an open file or directory until it is closed; BlockingIOError if another has it.

    Several may have it `shared`, while nobody has it alone.

    On a file system without locks (Lustre mounted `noflock`, NFS without lockd) this says so once.
    """
    operation = fcntl.LOCK_EX
    if shared:
        operation = fcntl.LOCK_SH
    if not wait:
        operation |= fcntl.LOCK_NB
    try:
        fcntl.flock(descriptor, operation)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        _tell_of_no_locks()


@cache  # so that it is said once
def _tell_of_no_locks() -> None:
    from arqmath_bm25.core.progress import tell  # loads rich, which scoring need not wait for

    tell("this file system has no locks: two processes must not write the same files at once")


def exchange(first: Path, second: Path) -> bool:
    """Swap the names of two directories in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = (_CURRENT, os.fsencode(first), _CURRENT, os.fsencode(second))
    return rename is not None and rename(*names, _EXCHANGE) == 0


def memory() -> int:
    """Return the bytes of memory of this machine, or that a container around it may use."""
    usable = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        usable = min(usable, int(_MEMORY.read_text()))
    return usable


def give_back_memory() -> None:
    """Give the memory that this process has freed back to the system, where the system can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def processors() -> int:
    """Return the number of processors that this process, and a container around it, may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    usable = len(affinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = map(int, _QUOTA.read_text().split())
        usable = min(usable, max(1, ceil(quota / period)))
    return usable


@contextmanager
def needed_by(what: str, extra: str) -> Iterator[None]:
    """Turn the import of a missing package into an InputError that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{what} needs the package {error.name}: pip install 'arqmath-bm25[{extra}]'"
        ) from None
