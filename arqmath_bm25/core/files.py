"""Files as they are read, files and directories as they are written, and what they were made from.

Reading unpacks what gzip packed, and says what is wrong with a file as a whole: missing, a
directory, an archive, not UTF-8. There is one way to write: beside the final name, under a lock,
and renamed when all is there. A process that dies leaves what was there before; a second one that
would write the same is refused.
"""

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, NoReturn, cast

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.system import exchange, lock

DOCUMENTS: Final = "documents"  # in a directory that is being built: what a next try can use
_BUILDER: Final = "builder.pid"
_MADE_OF: Final = "made_of"
BUILDING: Final = (_BUILDER, _MADE_OF)  # what is in a directory only while it is being built
_REMEMBERED: Final = 1 << 22  # bytes from which on the digest of a file is kept
_KEPT: Final = 5000  # digests, those that were found last
_LARGEST: Final = 1 << 29  # bytes of packed text that is read at once
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
                yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", unpacked), 1 << 17))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{path}: damaged gzip data: {error}; copy or download it again"
            ) from None


def read_bytes(path: Path, kind: str = "file") -> bytes:
    """Return all of a file, unpacked. Raises InputError as `open_bytes` does."""
    with open_bytes(path, kind) as file:
        if not isinstance(getattr(file, "raw", None), gzip.GzipFile):
            return file.read()
        data = file.read(_LARGEST)
    if len(data) == _LARGEST:
        raise InputError(f"{path}: {_LARGEST:,} bytes or more; no {kind} unpacks to that")
    return data


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
        byte = error.object[error.start]
        raise InputError(
            f"{where}: row {line}: not UTF-8 text (byte 0x{byte:02x}: {error.reason}); "
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


def contents(directory: Path, *without: str) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of every file below a directory, `without` some names in it."""
    names = {path: path.relative_to(directory) for path in sorted(directory.rglob("*"))}
    paths = [path for path in names if path.is_file() and names[path].parts[0] not in without]
    described = zip(paths, sources(paths), strict=True)
    return {names[path].as_posix(): (source.size, source.sha256) for path, source in described}


def digests(paths: Iterable[Path], read_all: bool = False) -> list[str]:
    """Return the SHA-256 of files as they are now.

    That of a large file is kept in the user's cache, under what the system says of the file (inode,
    size, times), so that it is read once; with `read_all` it is read again.
    """
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    cache = Path(home).expanduser() / "arqmath-bm25" / "digests.json"
    kept: dict[str, str] = {}
    with suppress(OSError, ValueError):  # there is none yet, or it is damaged
        kept = {str(key): str(digest) for key, digest in json.loads(cache.read_bytes()).items()}
    before, now = dict(kept), []
    for path in paths:
        status = path.stat()
        key = f"{status.st_dev} {status.st_ino} {status.st_size} "
        key += f"{status.st_mtime_ns} {status.st_ctime_ns}"
        digest = None if read_all else kept.get(key)
        if digest is None:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if status.st_size >= _REMEMBERED:
                kept[key] = digest
        now.append(digest)
    if kept != before:
        # In a read-only home, the next call reads the files again.
        with suppress(InputError, OSError), complete(cache) as text:
            json.dump(dict(list(kept.items())[-_KEPT:]), text)
    return now


@dataclass(frozen=True)
class Source:
    """A file that something was made from, known by its content wherever it lies."""

    name: str = field(compare=False)
    size: int  # bytes
    sha256: str


def sources(paths: Iterable[Path]) -> list[Source]:
    """Describe files as they are now."""
    paths = list(paths)
    described = zip(paths, digests(paths), strict=True)
    return [Source(path.name, path.stat().st_size, digest) for path, digest in described]


@contextmanager
def complete(
    path: Path, encoding: str | None = "utf-8", manifest: Mapping[str, Any] | None = None
) -> Iterator[IO[Any]]:
    """Yield a file to write, of bytes without `encoding`; it becomes `path` if no error is raised.

    What is written to a name that ends in .gz is packed on the way.
    `manifest` becomes NAME.manifest.json, with the digest of the file, in the same step for all
    that ask `read_manifest`. Raises InputError where nothing can be written, or another process
    writes the same.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        busy = "another process is writing this; wait for it, or name another file"
        with locked(partial, lambda: f"{path}: {busy}") as descriptor:
            try:
                with ExitStack() as stack:
                    file: Any = stack.enter_context(open(descriptor, "wb", closefd=False))
                    file.truncate(0)
                    if path.suffix == ".gz":  # the same bytes at any time
                        file = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
                        stack.enter_context(file)
                    if encoding is not None:
                        file = io.TextIOWrapper(file, encoding, newline="\n")
                        stack.enter_context(file)
                    yield file
                _rename(partial, path, manifest)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        _cannot_write(path, error)


def _rename(partial: Path, path: Path, manifest: Mapping[str, Any] | None) -> None:
    """Give a file its name, and its manifest after it: `read_manifest` finds the one that fits."""
    if manifest is None:
        partial.replace(path)
        return
    beside, coming = manifest_path(path), _coming_manifest(path)
    (digest,) = digests([partial])
    text = json.dumps({**manifest, "sha256": digest}, indent=2, ensure_ascii=False) + "\n"
    # The lock of the file ends with its first name; that of the directory lasts for both names.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        lock(directory)
        coming.write_text(text, encoding="utf-8")
        partial.replace(path)
        coming.replace(beside)
    finally:
        if partial.exists():  # it has no other name yet
            coming.unlink(missing_ok=True)
        os.close(directory)


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a file stands."""
    return path.with_suffix(".manifest.json")


def _coming_manifest(path: Path) -> Path:
    return path.with_name(f".{manifest_path(path).name}.coming")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a file; nothing if there is none, or something else in its place.

    A writer that was killed when the file had its name, and its manifest had not, left that beside.
    """
    for place in (_coming_manifest(path), manifest_path(path)):
        with suppress(OSError, ValueError, RecursionError):
            manifest = json.loads(place.read_bytes())
            coming = place != manifest_path(path)
            if isinstance(manifest, dict) and (not coming or _is_of(manifest, path)):
                return manifest
    return {}


def is_as_written(path: Path) -> bool:
    """Tell whether a file that has a manifest is what was written with it."""
    with suppress(OSError):
        return _is_of(read_manifest(path), path)
    return False


def _is_of(manifest: Mapping[str, Any], path: Path) -> bool:
    return [manifest.get("sha256")] == digests([path])


@contextmanager
def building(directory: Path, *made_of: object) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without error.

    `made_of` says by its repr what decides the content. If it is given, the directory has a
    `documents/`, which may hold what an interrupted build of the same wrote; without it, every
    build starts anew. Raises InputError where nothing can be written, or, naming the process,
    while another one builds the same.
    """
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
        _cannot_write(directory, error)


def _building(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.building")


def sweep(directory: Path) -> None:
    """Remove what is left of an earlier `directory` by a build that was killed after its swap."""
    place = _building(directory)
    if place.is_dir() and not (place / _MADE_OF).exists():
        with suppress(InputError, OSError), locked(place, str, directory=True):
            shutil.rmtree(place)


def _swap(built: Path, directory: Path, busy: Callable[[], str]) -> None:
    """Put what was built in the place of what is there, which is removed."""
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
    """Undo the swap of a build that was killed between two renames; wait for one that is alive."""
    previous = _previous(directory)
    with suppress(OSError):  # it is restored by now, or this user may not
        while not directory.exists() and previous.exists():
            held = os.open(previous, os.O_RDONLY)
            try:
                lock(held)
                same = os.path.samestat(previous.stat(), os.fstat(held))
                if same and not directory.exists():
                    previous.rename(directory)
            finally:
                os.close(held)


def _previous(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.previous")


def _prepare(place: Path, made_of: str) -> None:
    """Remove what a build that was killed left, except documents that are still good."""
    state = place / _MADE_OF
    resumed = bool(made_of) and state.exists() and state.read_text(encoding="utf-8") == made_of
    if not resumed:
        state.unlink(missing_ok=True)
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
                lock(descriptor, wait=False)
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
    few = error.errno is None and re.fullmatch(r"\d+ requested and \d+ written", str(error))
    full = few or error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full; make room and try again" if full else error.strerror or error
    raise InputError(f"{path}: {why}. What was there before is as it was.") from None
