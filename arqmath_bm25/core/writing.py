"""Writing files, with their digests and the manifests beside them.

There is one way to write: beside the final name, under a lock, and renamed when all is there. A
process that dies leaves what was there before; a second one that would write the same is refused.
A temporary name is never a link: somebody else would choose what is overwritten.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from arqmath_bm25.core.errors import BusyError, InputError, cause
from arqmath_bm25.core.reading import parse_json
from arqmath_bm25.core.system import lock

_REMEMBERED = 1 << 22  # bytes from which on the digest of a file is kept
_KEPT = 5000  # digests, those that were found last
_MANIFEST = ".manifest.json"
_OTHER_FORMS = frozenset(
    ".7z .arrow .avro .br .bz2 .db .feather .gzip .h5 .lz4 .lzma .npy .npz .ods .orc .parquet .pdf "
    ".pickle .pkl .rar .sqlite .tar .tgz .xls .xlsx .xz .zip .zst".split()
)
TEXTS = frozenset(".csv .html .json .jsonl .md .tex .trec .tsv .xml .yaml .yml".split())
_DESCRIPTOR = re.compile(r"/dev/(fd/|std(out|err)$)|/proc/[^/]+/fd/")


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
    # Of a user without a home nothing is remembered.
    cache = Path(os.devnull)
    with suppress(RuntimeError):
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        cache = home / "arqmath-bm25" / "digests.json"
    kept = {}
    with suppress(OSError, ValueError):  # there is none yet, or it is damaged
        kept = {str(key): str(digest) for key, digest in parse_json(cache.read_bytes()).items()}
    before = dict(kept)
    now = []
    for path in paths:
        state = state_of(path)
        key = " ".join(map(str, state))
        digest = None if read_all else kept.get(key)
        if digest is None:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if state[2] >= _REMEMBERED:
                kept[key] = digest
        now.append(digest)
    if kept != before:
        # In a read-only home, the next call reads the files again.
        with suppress(InputError, OSError), complete(cache) as text:
            json.dump(dict(list(kept.items())[-_KEPT:]), text)
    return now


def state_of(path: str | Path) -> list[int]:
    """Return what the system says of a file: device, inode, size and times of content and state."""
    now = os.stat(path)  # noqa: PTH116  # faster, of ten thousand files
    return [now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns]


@dataclass(frozen=True)
class Source:
    """A file that an index or a run was made from, identified by its content, not its path."""

    name: str = field(compare=False)
    size: int  # bytes
    sha256: str


def sources(paths: Iterable[Path]) -> list[Source]:
    """Describe the current state of files."""
    paths = list(paths)
    described = zip(paths, digests(paths), strict=True)
    return [Source(path.name, path.stat().st_size, digest) for path, digest in described]


def digest_of_sources(files: Iterable[Source]) -> str:
    """Return one digest for the files of a collection."""
    digests = "\n".join(file.sha256 for file in files)
    return hashlib.sha256(digests.encode()).hexdigest()


@contextmanager
def complete(
    path: Path,
    encoding: str | None = "utf-8",
    manifest: Mapping[str, Any] | None = None,
    *,
    by_user: bool = False,
) -> Iterator[IO[Any]]:
    """Yield a file to write, of bytes without `encoding`; it becomes `path` if no error is raised.

    Content for a name that ends in .gz is compressed; text under a name that promises another form
    is refused, if it is the user's. `manifest` becomes PATH.manifest.json, with
    the digest of the file. With `by_user`, for a path that the user named, the target of a link is
    replaced, and a device or a pipe is written to; without, a link is replaced itself, and a device
    or a pipe is refused. Raises InputError if nothing can be written, or while another process
    writes the same file.
    """
    with together() as outputs:
        yield outputs.open(path, encoding, manifest, by_user=by_user)


@contextmanager
def together() -> Iterator[Outputs]:
    """Yield a set of files to write, which appear all or, if an error is raised, none.

    All are flushed and on the disk before the first gets its name.
    """
    outputs = Outputs()
    try:
        with outputs.locks:
            try:
                yield outputs
                for step in (_Output.finish, _Output.publish):
                    for output in outputs.files:
                        with naming_errors(output.path):
                            step(output)
            except BaseException:
                for output in outputs.files:
                    output.discard()
                raise
    except OSError as error:
        if not outputs.files:
            raise
        asked = [output for output in outputs.files if output.describes is None]
        cannot_write(asked[-1].path, error)


class Outputs:
    """The files of `together`."""

    def __init__(self) -> None:
        self.files: list[_Output] = []
        self.locks = ExitStack()

    def open(
        self,
        path: Path,
        encoding: str | None = "utf-8",
        manifest: Mapping[str, Any] | None = None,
        *,
        by_user: bool = False,
    ) -> IO[Any]:
        """Return a file to write, as `complete` does."""
        if by_user and encoding:
            refuse_endings(path, _OTHER_FORMS, "text is written, plain or, with .gz, compressed")
        if by_user and _is_stream(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            output = self._add(_Output(path, None, descriptor))
            return output.begin(encoding)

        target = path.resolve() if by_user and path.is_symlink() else path
        with naming_errors(target):
            # Others would have their names before this one is refused.
            if target.is_dir() and not target.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
            self.locks.enter_context(alone(target))
            output = self._add(_beside(target))
            if manifest is not None:
                # Not by `manifest_path`: a link that is about to be replaced leads somewhere else.
                manifest_of_target = target.with_name(f"{target.name}{_MANIFEST}")
                self._add(_beside(manifest_of_target, (_partial(target), manifest)))
        return output.begin(encoding)

    def _add(self, output: _Output) -> _Output:
        self.locks.callback(os.close, output.descriptor)
        self.files.append(output)
        return output


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Turn what the system says of a file into an InputError that names it."""
    try:
        yield
    except OSError as error:
        cannot_write(path, error)


def refuse_endings(path: Path, endings: Collection[str], written: str) -> None:
    """Raise InputError if a name promises another form than the `written` one."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if ending in endings:
        raise InputError(f"{path}: a file of the form {ending} is not written: {written}")


def _is_stream(path: Path) -> bool:
    """Return whether a name is a device, a pipe or a descriptor of a process (/dev/stdout)."""
    if _DESCRIPTOR.match(str(path)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _partial(target: Path) -> Path:
    """Return the name of a file while it is written."""
    return target.with_name(f".{target.name}.partial")


def _beside(target: Path, describes: tuple[Path, Mapping[str, Any]] | None = None) -> _Output:
    """Open a temporary file in the folder of a free name, or of one that this program chose."""
    if _is_stream(target) and not target.is_symlink():
        raise InputError(f"{target}: this is a pipe or a device; move it away and try again")
    partial = _partial(target)
    refuse_planted(partial)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return _Output(target, partial, os.open(partial, flags, 0o666), describes)


@dataclass
class _Output:
    """A file on its way to its name."""

    path: Path
    partial: Path | None  # None for a stream, which gets its content at once
    descriptor: int
    # A finished file and its manifest, which is the content.
    describes: tuple[Path, Mapping[str, Any]] | None = None
    _opened: ExitStack = field(default_factory=ExitStack)

    def begin(self, encoding: str | None) -> IO[Any]:
        """Return the file that is written."""
        file: Any = self._opened.enter_context(open(self.descriptor, "wb", closefd=False))  # noqa: SIM115
        if self.path.suffix.lower() == ".gz":
            # Without a time, so that the bytes are always the same.
            file = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
            self._opened.enter_context(file)
        if encoding is not None:
            file = io.TextIOWrapper(file, encoding, newline="\n")
            self._opened.enter_context(file)
        return cast(IO[Any], file)

    def finish(self) -> None:
        """Bring the content to the disk."""
        if self.describes is not None:
            finished, manifest = self.describes
            (digest,) = digests([finished])
            content = {**manifest, "sha256": digest}
            self.begin("utf-8").write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        self._opened.close()
        if self.partial is not None:
            _sync(self.descriptor)

    def publish(self) -> None:
        """Give the file its name."""
        if self.partial is not None:
            self.partial.replace(self.path)
            descriptor = os.open(self.path.parent, os.O_RDONLY)
            try:
                _sync(descriptor)
            finally:
                os.close(descriptor)

    def discard(self) -> None:
        """Remove the file if it does not have its final name yet."""
        with suppress(OSError, ValueError):  # the disk may be full, the pipe broken
            self._opened.close()
        if self.partial is not None:
            self.partial.unlink(missing_ok=True)


def _sync(descriptor: int) -> None:
    """Bring a file or the names in a directory to the disk, where the file system can do that."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise


def manifest_path(path: Path) -> Path:
    """Return the path of a file's manifest, which is next to the target if the file is a link."""
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(f"{path.name}{_MANIFEST}")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a file; an empty one if it is missing or describes another content.

    Somebody edited the file, or its writer was killed between the two renames: a note says so.
    """
    manifest = stored_manifest(path)
    with suppress(OSError):
        # Manifests of other programs have no digest.
        asked = manifest.get("sha256")
        if asked and path.is_file() and digests([path]) != [asked]:
            _tell_of_other_content(path)
            return {}
    return manifest


def stored_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a file, even of other content; an empty one if missing."""
    manifest = written_json(manifest_path(path))
    return manifest if isinstance(manifest, dict) else {}


@cache  # so that it is said once
def _tell_of_other_content(path: Path) -> None:
    from arqmath_bm25.core.progress import tell  # loads rich, which scoring need not wait for

    tell(
        f"{path}: the manifest beside it describes another content (SHA-256), so it does not say "
        "how this file was made"
    )


def written_json(path: Path) -> Any:
    """Return the content of a file that this program wrote; None if it is gone or damaged."""
    with suppress(OSError, ValueError):
        if path.is_file():  # a pipe would be waited for
            return parse_json(path.read_bytes())
    return None


def has_digest(path: Path, digest: object) -> bool:
    """Return whether a path is a file with this SHA-256."""
    return path.is_file() and digests([path]) == [digest]


def is_as_written(path: Path) -> bool:
    """Return whether a file is unchanged since its manifest was written; every byte is read."""
    with suppress(OSError):
        return path.is_file() and [stored_manifest(path).get("sha256")] == digests([path], True)
    return False


@contextmanager
def alone(path: Path, lock_file: Path | None = None) -> Iterator[None]:
    """Keep other processes from writing a file or a directory, by locking a file next to it.

    That file is removed while it is locked; if this process dies, the system unlocks it. Raises
    InputError that names the process that is writing.
    """
    lock_file = lock_file or lock_path(path)
    lock_file.parent.mkdir(parents=True, exist_ok=True)

    def busy() -> str:
        writer = "another process"
        with suppress(OSError):
            writer = f"process {lock_file.read_text(encoding='ascii')}"
        return f"{path}: {writer} is writing this; wait for it or end it"

    with locked(lock_file, busy) as descriptor:
        try:
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            yield
        finally:
            lock_file.unlink(missing_ok=True)


def lock_path(path: Path) -> Path:
    """Return the path of the file that is locked while `path` is written."""
    return path.with_name(f".{path.name}.lock")


@contextmanager
def locked(path: Path, busy: Callable[[], str]) -> Iterator[int]:
    """Make a file and keep others out of it; yields its descriptor.

    The system lets go when the process ends. Raises InputError with what `busy` says if another
    one is at work there.
    """
    while True:
        refuse_planted(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
        try:
            try:
                lock(descriptor, wait=False)
            except BlockingIOError:
                raise BusyError(busy()) from None

            # Else its writer has renamed or removed it since it was opened.
            status = _status(path)
            if status and os.path.samestat(status, os.fstat(descriptor)):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path, None if it is missing; other processes may remove it anytime."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def is_planted(path: Path) -> bool:
    """Return whether a name is a link, a pipe, a device or a second name of some file."""
    status = _status(path)
    if status is None or stat.S_ISDIR(status.st_mode):
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1


def refuse_planted(path: Path) -> None:
    """Raise InputError if somebody else made the file in a place where only this program writes."""
    if path.is_symlink():
        raise InputError(
            f"{path}: this is a link, where only this program writes; remove it and try again"
        )
    if not is_planted(path):
        return

    if path.is_file():
        file = shlex.quote(str(path))
        copy = shlex.quote(f"{path}.copy")
        raise InputError(
            f"{path}: this file has another name too (a hard link, as backups make them), and what "
            f"is written here would change it there; `cp -p {file} {copy} && mv {copy} {file}` "
            "makes it a file of its own, with the same content"
        )
    raise InputError(
        f"{path}: this is no ordinary file, and only this program writes here; move it away and "
        "try again"
    )


def cannot_write(path: Path, error: OSError) -> NoReturn:
    """Raise InputError for `path`; errors of other files are raised as they are."""
    if error.filename is not None and not str(error.filename).startswith(str(path.parent)):
        raise error
    # NumPy tells a full disk without a number.
    if error.errno is None and re.fullmatch(r"\d+ requested and \d+ written", str(error)):
        error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise InputError(f"{path}: {cause(error)}. What was there before is as it was.") from None
