"""Directories that are there and complete, or not there.

A directory is built beside its final name and renamed once, when all is in it. One process at a
time builds it: it locks a file beside the directory.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.system import exchange
from arqmath_bm25.core.writing import alone, lock_path, naming_errors, refuse_link

DOCUMENTS: Final = "documents"  # in a directory that is being built: what the next try can use


@contextmanager
def building(directory: Path, resumes: bool = False) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without an error.

    If the name of `directory` tells all that decides its content, give `resumes`: it then has a
    subdirectory `documents`, with what an interrupted build wrote to it. Without, every build
    starts anew. A directory that exists is replaced. Raises InputError where nothing can be
    written and, naming the process, while another one builds the same.
    """
    refuse_link(directory)
    place = under_construction(directory)
    refuse_link(place)
    with naming_errors(directory), alone(directory):
        keep = False
        try:
            _prepare(directory, resumes)
            yield place
            _publish(place, directory)
        except (KeyboardInterrupt, InterruptedWorkError):
            keep = resumes
            raise
        finally:
            if not keep:
                _remove(place, directory)


def sweep(directory: Path) -> None:
    """Remove what a killed build of `directory` left beside it, unless one is at work now."""
    left = (under_construction(directory), _removed(directory), lock_path(directory))
    if any(path.exists() for path in left):
        with suppress(InputError, OSError), alone(directory):
            _remove(under_construction(directory), directory)


def remove(directory: Path) -> None:
    """Remove a directory, which is there as a whole or not at all, and what is left beside it."""
    with alone(directory):
        _remove(under_construction(directory), directory)
        _remove(directory, directory)


def unfinished(folder: Path) -> list[Path]:
    """Return the directories in a folder whose builds were interrupted, or are still at work."""
    paths = sorted(folder.glob(".*.building"))
    return [path.with_name(path.name[1 : -len(".building")]) for path in paths]


def under_construction(directory: Path) -> Path:
    """Return the temporary name of a directory that is being built."""
    return directory.with_name(f".{directory.name}.building")


def _removed(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.removed")


def _remove(path: Path, directory: Path) -> None:
    """Remove a directory; it loses its name first, so that nobody takes a part for the whole."""
    removed = _removed(directory)
    delete(removed)
    with suppress(FileNotFoundError):
        path.rename(removed)
    delete(removed)


def delete(path: Path) -> None:
    """Delete a file, a link (never what it leads to) or a directory, as far as this user may."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _publish(built: Path, directory: Path) -> None:
    """Give a complete directory its name, in place of the one that has it; that one is removed."""
    if not directory.exists():
        built.rename(directory)
        return
    if exchange(built, directory):
        return

    replaced = _removed(directory)
    directory.rename(replaced)
    try:
        built.rename(directory)
    except OSError:
        replaced.rename(directory)
        raise


def _prepare(directory: Path, resumes: bool) -> None:
    """Leave nothing in the place of a build but the documents of an interrupted one."""
    place = under_construction(directory)
    documents = place / DOCUMENTS
    delete(_removed(directory))
    if not resumes or any(path.is_symlink() for path in (documents, *documents.rglob("*"))):
        _remove(place, directory)

    place.mkdir(exist_ok=True)
    for left in place.iterdir():
        if left.name != DOCUMENTS:
            delete(left)
    if resumes:
        documents.mkdir(exist_ok=True)
