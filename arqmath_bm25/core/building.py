"""Directories that are complete or absent.

A directory is built under a temporary name next to its final one and is renamed once, when it is
complete. A lock file next to it allows only one process at a time to build it.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from arqmath_bm25.core.errors import BusyError, InputError, InterruptedWorkError
from arqmath_bm25.core.system import exchange
from arqmath_bm25.core.writing import alone, is_planted, lock_path, naming_errors, refuse_planted

# In a directory that is being built: the documents, with which the next build can resume.
DOCUMENTS = "documents"

# So begins the name of the file that marks a folder of pages, which may be replaced.
PAGES = ".arqmath-bm25-"
_PAUSE = 0.2  # seconds

T = TypeVar("T")


@contextmanager
def building(directory: Path, resumes: bool = False) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without an error.

    With `resumes`, its subdirectory `documents` has the files of an interrupted build of the same
    directory; such a directory must be named by a digest of its content. Without `resumes`, every
    build starts anew. An existing `directory` is replaced. A block that ends with an error leaves
    nothing, unless it was interrupted (KeyboardInterrupt, InterruptedWorkError) and can be resumed.
    Raises InputError if nothing can be written, or if another process is building the same
    directory, which the message names.
    """
    refuse_planted(directory)
    temporary = under_construction(directory)
    refuse_planted(temporary)
    with naming_errors(directory), alone(directory):
        keep = False
        try:
            _prepare(directory, resumes)
            yield temporary
            _publish(temporary, directory)
        except (KeyboardInterrupt, InterruptedWorkError):
            keep = resumes
            raise
        finally:
            if not keep:
                _remove(temporary, directory)


def patiently(build: Callable[[], T]) -> T:
    """Return what `build` returns; wait, and say so, while another process is at the same work."""
    from arqmath_bm25.core.progress import tell  # loads rich, which scoring need not wait for

    waits = False
    while True:
        try:
            return build()
        except BusyError as busy:
            if not waits:
                tell(f"{str(busy).partition(';')[0]}; this one waits")
            waits = True
            time.sleep(_PAUSE)


def sweep(directory: Path) -> None:
    """Remove the remains of killed builds of `directory`, unless a build is running now."""
    left = (under_construction(directory), _removed(directory), lock_path(directory))
    if any(path.exists() for path in left):
        with suppress(InputError, OSError), alone(directory):
            _remove(under_construction(directory), directory)


def remove(directory: Path) -> None:
    """Remove a directory in one step, and the remains of interrupted builds of it."""
    with alone(directory):
        _remove(under_construction(directory), directory)
        _remove(directory, directory)


def unfinished(folder: Path) -> list[Path]:
    """Return the directories in a folder whose builds were interrupted or are still running."""
    paths = sorted(folder.glob(".*.building"))
    return [path.with_name(path.name[1 : -len(".building")]) for path in paths]


def under_construction(directory: Path) -> Path:
    """Return the temporary name of a directory that is being built."""
    return directory.with_name(f".{directory.name}.building")


def _removed(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.removed")


def _remove(path: Path, directory: Path) -> None:
    """Remove a directory; it is renamed first, so that nobody finds half of it under its name."""
    removed = _removed(directory)
    delete(removed)
    with suppress(FileNotFoundError):
        path.rename(removed)
    delete(removed)


def delete(path: Path) -> None:
    """Delete a file, a link (never its target) or a directory, if this user is allowed to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _publish(built: Path, directory: Path) -> None:
    """Give a complete directory its name; an older one with this name gets a temporary name."""
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
    """Make the directory of a build, empty except for the documents of an interrupted build."""
    temporary = under_construction(directory)
    documents = temporary / DOCUMENTS
    delete(_removed(directory))
    if not resumes or any(map(is_planted, (documents, *documents.rglob("*")))):
        _remove(temporary, directory)

    temporary.mkdir(exist_ok=True)
    for left in temporary.iterdir():
        if left.name != DOCUMENTS:
            delete(left)
    if resumes:
        documents.mkdir(exist_ok=True)
