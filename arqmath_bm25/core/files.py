"""Files as they are read, files and directories as they are written, and what they were made from.

Reading unpacks what gzip packed, and says what is wrong with a file as a whole: missing, a
directory, an archive, not UTF-8. There is one way to write: beside the final name, under a lock,
and renamed when all is there. A process that dies leaves what was there before; a second one that
would write the same is refused.
"""

from __future__ import annotations

import csv
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, cast

from arqmath_bm25.core.errors import InputError, InterruptedWorkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

DOCUMENTS: Final = "documents"  # in a directory that is being built: what a next try can use
_BUILDER: Final = "builder.pid"
_MADE_OF: Final = "made_of"
BUILDING: Final = (_BUILDER, _MADE_OF)  # what is in a directory only while it is being built
_REMEMBERED: Final = 1 << 24  # bytes from which on the digest of a file is kept
GZIP: Final = b"\x1f\x8b"
# By the first bytes of a file.
ARCHIVES: Final = {
    b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"BZh": "bzip2", b"\xfd7zXZ": "xz",
}  # fmt: skip
_BOM: Final = b"\xef\xbb\xbf"


@contextmanager
def open_bytes(path: Path, kind: str = "file") -> Iterator[BinaryIO]:
    """Yield a file to read; what gzip packed, whatever its name, is unpacked on the way.

    `kind` says in messages what was expected. Raises InputError for what is no such file, and
    within the block for gzip data that are damaged.
    """
    if not path.exists():
        raise InputError(f"{path}: no such {kind}")
    if path.is_dir():
        raise InputError(f"{path}: this is a directory; expected a {kind}")
    with path.open("rb") as file:
        magic = file.peek(8)
        for begins, archive in ARCHIVES.items():
            if magic.startswith(begins):
                raise InputError(f"{path}: this is a {archive} archive; unpack it first")
        if not magic.startswith(GZIP):
            yield file
            return
        try:
            with gzip.open(file) as unpacked:
                yield cast("BinaryIO", io.BufferedReader(unpacked, 1 << 17))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{path}: damaged gzip data: {error}; copy or download it again"
            ) from None


def read_bytes(path: Path, kind: str = "file") -> bytes:
    """Return all of a file, unpacked. Raises InputError as `open_bytes` does."""
    with open_bytes(path, kind) as file:
        return file.read()


def read_text(path: Path, kind: str = "file") -> str:
    """Return a UTF-8 file, unpacked, without its byte order mark.

    Raises InputError as `open_bytes` does, and for bytes that are not UTF-8.
    """
    return decoded(read_bytes(path, kind), str(path))


def decoded(data: bytes, where: str, line: int = 1) -> str:
    """Decode UTF-8 of the file (and, if it begins later, `line`) that `where` names."""
    try:
        return data.removeprefix(_BOM if line == 1 else b"").decode()
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        found = error.object[error.start]
        raise InputError(
            f"{where}: row {line}: not UTF-8 text (byte 0x{found:02x}: {error.reason}); "
            "save it as UTF-8"
        ) from None


def read_csv(path: Path, kind: str, *columns: str) -> list[dict[str, str]]:
    """Return the rows of a CSV by the names in its header; what a short row lacks is empty.

    Raises InputError as `read_text` does, and for a file without one of the `columns`.
    """
    csv.field_size_limit(sys.maxsize)  # a cell may hold a long post
    table = csv.DictReader(io.StringIO(read_text(path, kind), newline=""), restval="")
    try:
        rows = list(table)
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file: {error}") from None
    for name in columns:
        if name not in (table.fieldnames or ()):
            raise InputError(f"{path}: row 1: no column {name}; expected a {kind}")
    return rows


def load_array(path: Path) -> NDArray[Any]:
    """Map a NumPy file into memory; InputError if it is missing or damaged."""
    import numpy as np  # takes a tenth of a second, which a command may not need

    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path}: a damaged file of an index ({' '.join(str(error).split())[:80]}); build the "
            "index again with --overwrite"
        ) from None


def new_array(path: Path, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new file as an array to write to. Raises OSError if there is no room for all of it.

    Room is made before: a disk that fills up under a map ends the process.
    """
    import numpy as np

    table = np.lib.format.open_memmap(path, "w+", kind, shape)
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return table


def contents(directory: Path, *without: str) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of every file below a directory, `without` some names in it."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if path.is_file() and name.parts[0] not in without:
            found[name.as_posix()] = path.stat().st_size, _digest(path)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Source:
    """A file that something was made from, known by its content wherever it lies."""

    name: str = field(compare=False)
    size: int  # bytes
    sha256: str


def sources(paths: Iterable[Path]) -> list[Source]:
    """Describe files as they are now.

    The digest of a large file is kept in the user's cache under its path, size and time of change,
    so that it is read once.
    """
    cache = _cache()
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # there is none yet, or it is damaged
        known = json.loads(cache.read_bytes())
    before, found = dict(known), []
    for path in paths:
        status, key = path.stat(), str(path.resolve())
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        kept = known.get(key)
        if isinstance(kept, list) and kept[:3] == state and isinstance(kept[-1], str):
            digest = kept[-1]
        else:
            digest = _digest(path)
            if status.st_size >= _REMEMBERED:
                known[key] = [*state, digest]
        found.append(Source(path.name, status.st_size, digest))
    if known != before:
        # In a read-only home, the next call reads the files again.
        with suppress(InputError, OSError), complete(cache) as file:
            json.dump(known, file)
    return found


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "arqmath-bm25" / "digests.json"


@contextmanager
def complete(
    path: Path, encoding: str | None = "utf-8", manifest: Mapping[str, Any] | None = None
) -> Iterator[IO[Any]]:
    """Yield a file to write, of bytes without `encoding`; it becomes `path` if no error is raised.

    What is written to a name that ends in .gz is packed on the way.
    `manifest` becomes NAME.manifest.json in the same step: no file ever stands beside that of
    another. Raises InputError where nothing can be written, or another process writes the same.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        busy = "another process is writing this; wait for it, or name another file"
        with locked(partial, lambda: f"{path}: {busy}") as descriptor:
            try:
                newline = None if encoding is None else "\n"
                mode = "wb" if encoding is None else "w"
                with open(descriptor, mode, encoding=encoding, newline=newline, closefd=False) as f:
                    f.truncate(0)
                    if path.suffix == ".gz":
                        with _packing(f, encoding) as packed:
                            yield packed
                    else:
                        yield f
                _rename(partial, path, manifest)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        _cannot_write(path, error)


@contextmanager
def _packing(file: IO[Any], encoding: str | None) -> Iterator[IO[Any]]:
    """Yield a file that packs what is written into another; the same bytes at any time."""
    raw = file if encoding is None else file.buffer  # type: ignore[attr-defined]
    with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        if encoding is None:
            yield packed  # type: ignore[misc]  # it has all that is needed of a file
        else:
            with io.TextIOWrapper(packed, encoding, newline="\n") as text:
                yield text


def _rename(partial: Path, path: Path, manifest: Mapping[str, Any] | None) -> None:
    """Give a file its name, with its manifest: never does one stand beside that of another."""
    if manifest is None:
        partial.replace(path)
        return
    beside = manifest_path(path)
    written = beside.with_name(f".{beside.name}.{os.getpid()}")
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    written.write_text(text, encoding="utf-8")
    # The lock of the file ends with its first name; that of the directory lasts for both names.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        beside.unlink(missing_ok=True)
        partial.replace(path)
        written.replace(beside)
    finally:
        os.close(directory)
        written.unlink(missing_ok=True)


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a run file stands."""
    return path.with_suffix(".manifest.json")


@contextmanager
def building(directory: Path, *made_of: object) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without error.

    `made_of` says by its repr what decides the content. If it is given, the directory has a
    `documents/`, which may hold what an interrupted build of the same wrote; without it, every
    build starts anew. Raises InputError where nothing can be written, or, naming the process,
    while another one builds the same.
    """
    place = directory.with_name(f".{directory.name}.building")

    def busy() -> str:
        builder = (place / _BUILDER).read_text(encoding="ascii")
        return f"{directory}: process {builder} is writing this; wait for it or end it"

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
                previous = _previous(directory)
                if directory.exists():
                    directory.rename(previous)
                place.rename(directory)
                shutil.rmtree(previous, ignore_errors=True)
            except (KeyboardInterrupt, InterruptedWorkError):
                keep = bool(made_of)
                raise
            finally:
                if not keep:
                    shutil.rmtree(place, ignore_errors=True)
    except OSError as error:
        _cannot_write(directory, error)


def restore(directory: Path) -> None:
    """Undo the swap of a build that was killed between its two renames."""
    if not directory.exists() and _previous(directory).exists():
        _previous(directory).rename(directory)


def _previous(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.previous")


def _prepare(place: Path, made_of: str) -> None:
    """Remove what a build that was killed left, except documents that are still good."""
    state = place / _MADE_OF
    resumed = bool(made_of) and state.exists() and state.read_text(encoding="utf-8") == made_of
    for left in place.iterdir():
        if left.is_dir() and not (resumed and left.name == DOCUMENTS):
            shutil.rmtree(left)
        elif not left.is_dir() and left != state:
            left.unlink()
    (place / _BUILDER).write_text(str(os.getpid()), encoding="ascii")
    if made_of:
        state.write_text(made_of, encoding="utf-8")
        (place / DOCUMENTS).mkdir(exist_ok=True)


@contextmanager
def locked(path: Path, busy: Callable[[], str], directory: bool = False) -> Iterator[int]:
    """Make a file or a directory and keep others out of it; yields its descriptor.

    The system lets go when the process ends. Raises InputError with what `busy` says if another
    one is at work there.
    """
    while True:
        if directory:
            path.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDONLY if directory else os.O_RDWR | os.O_CREAT
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(busy()) from None
            # Else its writer has renamed or removed it since it was opened.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> NoReturn:
    """Say that `path` cannot be written; what concerns other files is raised as it is."""
    if error.filename is not None and not str(error.filename).startswith(str(path.parent)):
        raise error
    # NumPy tells a full disk without a number.
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, None)
    why = "the disk is full; make room and try again" if full else error.strerror
    raise InputError(f"{path}: {why}. What was there before is as it was.") from None
