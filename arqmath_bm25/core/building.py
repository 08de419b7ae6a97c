"""Building directories: complete or absent, one builder at a time, resumed.

A directory is built beside its final name and swapped in when all is there. A build that was
interrupted leaves its documents for the next build of the same.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.system import exchange, lock
from arqmath_bm25.core.writing import cannot_write, locked, refuse_link

DOCUMENTS: Final = "documents"  # in a directory that is being built: what a next try can use
_BUILDER: Final = "builder.pid"
_MADE_OF: Final = "made_of"
BUILDING: Final = (_BUILDER, _MADE_OF)  # what is in a directory only while it is being built


@contextmanager
def building(directory: Path, *made_of: object) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without error.

    `made_of` says by its repr what decides the content. If it is given, the directory has a
    `documents/`, which may hold what an interrupted build of the same wrote; without it, every
    build starts anew. Raises InputError where nothing can be written, or, naming the process,
    while another one builds the same.
    """
    refuse_link(directory)
    place = _building(directory)

    def busy() -> str:
        builder = "another process"
        with suppress(OSError):
            builder = "process " + (place / _BUILDER).read_text(encoding="ascii")
        return f"{directory}: {builder} is writing this; wait for it or end it"

    try:
        with locked(place, busy, directory=True):
            keep = False
            try:
                _prepare(place, repr(made_of) if made_of else "")
                restore(directory)
                shutil.rmtree(_previous(directory), ignore_errors=True)
                yield place
                (place / _BUILDER).unlink()
                (place / _MADE_OF).unlink(missing_ok=True)
                _swap(place, directory, busy)
            except (KeyboardInterrupt, InterruptedWorkError):
                keep = bool(made_of)
                raise
            finally:
                if not keep:
                    # First what a next one would trust, if this is killed on the way.
                    (place / _MADE_OF).unlink(missing_ok=True)
                    shutil.rmtree(place, ignore_errors=True)
    except OSError as error:
        cannot_write(directory, error)


def _building(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.building")


def sweep(directory: Path) -> None:
    """Remove the old `directory` that a build left when it was killed after its swap."""
    place = _building(directory)
    if place.is_dir() and not place.is_symlink() and not (place / _MADE_OF).exists():
        with suppress(InputError, OSError), locked(place, str, directory=True):
            shutil.rmtree(place)


def _swap(built: Path, directory: Path, busy: Callable[[], str]) -> None:
    """Put the new directory in place of the old one, which is removed."""
    if not directory.exists():
        built.rename(directory)
        return
    with locked(directory, busy, directory=True):  # under whatever name, until it is removed
        if exchange(built, directory):
            shutil.rmtree(built, ignore_errors=True)
            return
        previous = _previous(directory)
        directory.rename(previous)
        built.rename(directory)
        shutil.rmtree(previous, ignore_errors=True)


def restore(directory: Path) -> None:
    """Undo the swap of a build that was killed between two renames; wait for a living one."""
    previous = _previous(directory)
    with suppress(OSError):  # it is restored by now, or this user may not
        while not directory.exists() and previous.exists():
            held = os.open(previous, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                lock(held)
                same = os.path.samestat(previous.lstat(), os.fstat(held))
                if same and not directory.exists():
                    previous.rename(directory)
            finally:
                os.close(held)


def _previous(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.previous")


def _prepare(place: Path, made_of: str) -> None:
    """Remove the remains of a killed build, except documents that are still good.

    Links are removed, never followed: this program makes none here.
    """
    state = place / _MADE_OF
    resumed = bool(made_of) and _is_resumable(place, made_of)
    kept = {_MADE_OF, DOCUMENTS} if resumed else set()
    if not resumed:
        state.unlink(missing_ok=True)

    for left in place.iterdir():
        if left.name in kept:
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()

    (place / _BUILDER).write_text(str(os.getpid()), encoding="ascii")
    if made_of:
        state.write_text(made_of, encoding="utf-8")
        (place / DOCUMENTS).mkdir(exist_ok=True)


def _is_resumable(place: Path, made_of: str) -> bool:
    """Return whether an interrupted build of the same left documents, with no link among them."""
    state = place / _MADE_OF
    documents = place / DOCUMENTS
    if any(path.is_symlink() for path in (state, documents, *documents.rglob("*"))):
        return False
    return state.is_file() and state.read_text(encoding="utf-8") == made_of
