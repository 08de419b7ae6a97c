"""Plant links, pipes and devices under the names that a command writes, and see what it does.

The names are recorded: an audit hook of Python tells every file that is opened to write, and both
names of what is renamed. Names with a random part differ between two recordings, and cannot be
planted by anybody who does not know them. A directory that only holds outputs may be a link, to
another disk perhaps.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

NULL: Final = os.makedev(1, 3)
KINDS: Final = (
    "link to a file",
    "link to a folder",
    "dangling link",
    "hard link",
    "pipe",
    "device",
)
LINKS: Final = KINDS[:3]
THESIS: Final = "years of work"  # without a line end: it looks like an unfinished line of a journal
SECONDS: Final = 20  # a call that waits for somebody at the other end of a pipe never ends

_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_recorded: list[tuple[set[Path], Path]] = []


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    if not _recorded:
        return
    names: tuple[Any, ...] = ()
    if event == "open" and arguments[2] & _WRITES:
        names = arguments[:1]
    elif event in ("os.rename", "os.link", "os.symlink"):
        names = arguments[:2]

    found, folder = _recorded[-1]
    for name in names:
        if isinstance(name, str | bytes | os.PathLike):
            path = Path(os.path.abspath(os.fsdecode(name)))  # noqa: PTH100  # no link is resolved
            if path.is_relative_to(folder) and path != folder:
                found.add(path.relative_to(folder))


sys.addaudithook(_record)


@contextmanager
def recording(folder: Path) -> Iterator[set[Path]]:
    """Yield the set of names below a folder that are written meanwhile."""
    found: set[Path] = set()
    _recorded.append((found, folder))
    try:
        yield found
    finally:
        _recorded.pop()


def makes_devices(folder: Path) -> bool:
    """Return whether this user may make and open devices there."""
    device = folder / "device"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, NULL)
        device.write_text("")
    except OSError:
        return False
    finally:
        device.unlink(missing_ok=True)
    return True


def plant(kind: str, place: Path, victim: Path) -> None:
    """Put a link, a pipe or a device in a place, and remove what is there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    thesis = victim / "thesis.tex"
    if kind == "link to a file":
        place.symlink_to(thesis)
    elif kind == "link to a folder":
        place.symlink_to(victim)
    elif kind == "dangling link":
        place.symlink_to(victim / "new")
    elif kind == "hard link":
        os.link(thesis, place)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        os.mknod(place, stat.S_IFCHR | 0o666, NULL)


def damage(kind: str, place: Path, victim: Path) -> str:
    """Return what a call did to what was planted; nothing if all is well."""
    files = sorted(path.name for path in victim.iterdir())
    if files != ["thesis.tex"] or (victim / "thesis.tex").read_text() != THESIS:
        return "followed"
    if kind in ("pipe", "device") and os.path.lexists(place):
        mode = place.lstat().st_mode
        if not (stat.S_ISFIFO(mode) if kind == "pipe" else stat.S_ISCHR(mode)):
            return "replaced"
    return ""


@contextmanager
def reader_of(pipe: Path) -> Iterator[None]:
    """Have a pipe open to read, so that who writes a little to it need not wait."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(descriptor)


class WaitedTooLongError(Exception):
    """A call did not end."""


@contextmanager
def limited(seconds: int = SECONDS) -> Iterator[None]:
    """Raise WaitedTooLongError if the block takes too long."""

    def stop(*_: object) -> None:
        raise WaitedTooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def groups(names: Iterable[Path]) -> list[list[Path]]:
    """Return the names to plant at once: together those in a folder that a build removes."""
    found: dict[str, list[Path]] = {}
    for name in names:
        key = str(name)
        before, building, _ = key.partition(".building/")
        if building:
            key = f"{before} documents" if name.parent.name == "documents" else before
        found.setdefault(key, []).append(name)
    return list(found.values())


def written_names(call: Callable[[Path], None], template: Path, folder: Path) -> list[Path]:
    """Return the names that a call writes in copies of a folder, those that are always the same."""
    found = []
    for number in range(2):
        copy = folder / f"{number}"
        shutil.copytree(template, copy, symlinks=True)
        with recording(copy) as names:
            call(copy)
        shutil.rmtree(copy)
        found.append(names)
    return sorted(found[0] & found[1])
