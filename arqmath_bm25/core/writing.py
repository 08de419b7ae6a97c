"""Writing files, with their digests and the manifests beside them.

There is one way to write: beside the final name, under a lock, and renamed when all is there. A
process that dies leaves what was there before; a second one that would write the same is refused.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.system import lock

_REMEMBERED: Final = 1 << 22  # bytes from which on the digest of a file is kept
_KEPT: Final = 5000  # digests, those that were found last


def contents(directory: Path, *without: str) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of every file below a directory, `without` some names in it."""
    names = {path: path.relative_to(directory) for path in sorted(directory.rglob("*"))}
    paths = [path for path in names if path.is_file() and names[path].parts[0] not in without]
    described = zip(paths, sources(paths), strict=True)
    return {names[path].as_posix(): (source.size, source.sha256) for path, source in described}


def digests(paths: Iterable[Path], read_all: bool = False) -> list[str]:
    """Return the current SHA-256 of files.

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
    """Describe the current state of files."""
    paths = list(paths)
    described = zip(paths, digests(paths), strict=True)
    return [Source(path.name, path.stat().st_size, digest) for path, digest in described]


@contextmanager
def complete(
    path: Path, encoding: str | None = "utf-8", manifest: Mapping[str, Any] | None = None
) -> Iterator[IO[Any]]:
    """Yield a file to write, of bytes without `encoding`; it becomes `path` if no error is raised.

    What is written to a name that ends in .gz is packed on the way.
    `manifest` becomes PATH.manifest.json, with the digest of the file, in the same step for all
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
        cannot_write(path, error)


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
    return path.with_name(f"{path.name}.manifest.json")


def _coming_manifest(path: Path) -> Path:
    return path.with_name(f".{manifest_path(path).name}.coming")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a file; nothing if there is none, or if it is no manifest.

    A writer that was killed when the file had its name, and its manifest had not, left that beside.
    Before 0.4 the manifests of X.tsv and X.trec had one name, X.manifest.json.
    """
    before = path.with_suffix(".manifest.json")
    for place in (_coming_manifest(path), manifest_path(path), before):
        with suppress(OSError, ValueError, RecursionError):
            manifest = json.loads(place.read_bytes())
            named = place == manifest_path(path)
            if isinstance(manifest, dict) and (named or _is_of(manifest, path)):
                return manifest
    return {}


def is_as_written(path: Path) -> bool:
    """Return whether a file is unchanged since its manifest was written."""
    with suppress(OSError):
        return _is_of(read_manifest(path), path)
    return False


def _is_of(manifest: Mapping[str, Any], path: Path) -> bool:
    return [manifest.get("sha256")] == digests([path])


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


def cannot_write(path: Path, error: OSError) -> NoReturn:
    """Raise InputError for `path`; errors of other files are raised as they are."""
    if error.filename is not None and not str(error.filename).startswith(str(path.parent)):
        raise error
    # NumPy tells a full disk without a number.
    few = error.errno is None and re.fullmatch(r"\d+ requested and \d+ written", str(error))
    full = few or error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full; make room and try again" if full else error.strerror or error
    raise InputError(f"{path}: {why}. What was there before is as it was.") from None
