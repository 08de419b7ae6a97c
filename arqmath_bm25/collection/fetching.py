"""Brings published files to DATA, from the organisers' site, a mirror, or a folder with its files.

A file has its final name only when it is complete and checked; existing files stay. A zip archive
is unpacked as a stream, completely or not at all. The names of its files come from
`published.yaml`, not from the archive. The sizes that it declares are compared with the published
ones and with the free disk, and no more is written. Contents are checked by their CRC-32.
"""

import errno
import shutil
import struct
import zlib
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote, urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from arqmath_bm25.collection.download import SCHEMES, AbsentError, check_room, download
from arqmath_bm25.collection.published import Archive, PublishedFile, check, has_hash
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress
from arqmath_bm25.core.writing import alone, complete, refuse_planted

Outcome = Literal["fetched", "there", "differs", "absent"]
_BLOCK = 1 << 20
_MB = 1_000_000
_AT_MOST = 2  # times the published size may be declared: the sizes are rounded
# What zipfile raises for archives that are none, or damaged: bad text, numbers and offsets, too.
_DAMAGE = (
    BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, ArithmeticError,
    RuntimeError, MemoryError, OSError,
)  # fmt: skip


def origin_of(source: str) -> str | Path:
    """Return `source` as a URL or a folder; InputError if it is neither."""
    if "://" not in source:
        if not Path(source).is_dir():
            raise InputError(f"{source}: no such folder; a web address begins with https://")
        return Path(source)

    try:
        address = urlsplit(source)
        good = address.scheme in SCHEMES and address.hostname and address.port != 0
    except ValueError:  # of a port or an IPv6 address
        good = False

    if not good:
        raise InputError(f"{source}: expected an http or https address, or a folder")
    return source.rstrip("/")


def alone_in(data: Path) -> AbstractContextManager[None]:
    """Create `data` and keep others from fetching to it; InputError if another process does."""
    return alone(data, data.resolve() / ".fetch.lock")


def fetch(file: PublishedFile, source: str | Path, data: Path) -> Outcome:
    """Copy or download one file to its place below `data`, check and unpack it.

    An existing file is left alone: "there", or "differs" if its hash is known and differs.
    "absent": the source does not have it. Raises InputError as `download` and `unpack` do, and
    naming the file if the disk refuses to read or write it.
    """
    target = data / file.target
    if target.exists():
        if file.sha256 and not has_hash(target, file.sha256):
            return "differs"
        return "there"

    try:
        if isinstance(source, Path):
            _take(file, source / file.path, target)
        else:
            url = f"{source}/{quote(file.path)}"
            copy = data / file.path
            if not (file.archive and copy.is_file()):  # else: downloaded by a call that ended then
                download(url, copy, lambda part: check(file, part))
            if file.archive:
                unpack(copy, file.archive, data / file.target)
                copy.unlink()
    except AbsentError:
        return "absent"
    except OSError as error:
        raise InputError(
            f"{error.filename or target}: {error.strerror or error}; correct this and try again"
        ) from None

    return "fetched"


def _take(file: PublishedFile, source: Path, target: Path) -> None:
    if not source.is_file():
        raise AbsentError(f"{source}: no such file")
    check(file, source)
    if file.archive:
        unpack(source, file.archive, target)
        return

    with source.open("rb") as original, complete(target, encoding=None) as copy:
        shutil.copyfileobj(original, copy)


def unpack(path: Path, archive: Archive, target: Path) -> None:
    """Unpack the members of `archive` from the zip file at `path` to `target`, all or nothing.

    `target` becomes the only member, or a directory with every member. Raises InputError for a file
    that is damaged or no zip archive, for members that are missing, doubled or encrypted, for sizes
    beyond the published ones or the free disk, and for compression that zlib does not read.
    """
    part = target.with_name(f"{target.name}.part")
    refuse_planted(part)
    shutil.rmtree(part, ignore_errors=True)

    try:
        part.mkdir(parents=True)
        _extract(path, archive, target, part)
        unpacked = part
        if (target.name,) == archive.members:
            unpacked = part / target.name
        unpacked.replace(target)
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # an offset beyond all files
            raise

        reason = str(error) or type(error).__name__
        raise InputError(
            f"{path}: damaged, or not a zip archive ({reason}); remove it and fetch it again"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _extract(path: Path, archive: Archive, target: Path, directory: Path) -> None:
    with ZipFile(path) as zipped:
        members = _members(path, zipped, archive)
        # ZipFile reads no more of a member than the size that is declared here.
        declared = sum(member.file_size for member in members)
        if declared > _AT_MOST * archive.size:
            raise InputError(
                f"{path}: it would unpack to {declared / _MB:,.0f} MB; expected about "
                f"{archive.size / _MB:,.0f} MB. Remove it and fetch it again"
            )

        check_room(target, declared)

        with progress(f"Unpacking {path.name}", declared / _MB, "MB") as advance:
            for name, member in zip(archive.members, members, strict=True):
                with zipped.open(member) as packed, (directory / name).open("wb") as file:
                    for block in iter(partial(packed.read, _BLOCK), b""):
                        file.write(block)
                        advance(len(block) / _MB)


def _members(path: Path, zipped: ZipFile, archive: Archive) -> list[ZipInfo]:
    """Return the expected members in their order; others, such as __MACOSX, are skipped."""
    members = {}
    for info in zipped.infolist():
        inside = PurePosixPath(info.filename.replace("\\", "/"))
        if info.filename.endswith("/") or inside.name not in archive.members:
            continue
        if inside.name in members:
            raise InputError(f"{path}: two files in this archive are called {inside.name}")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise InputError(
                f"{path}: {info.filename!r} is compressed by method {info.compress_type}, which "
                f"is not supported; unpack it with another program to {archive.target} in DATA"
            )

        members[inside.name] = info

    for name in archive.members:
        if name not in members:
            raise InputError(f"{path}: no {name} in this archive; remove it and fetch it again")

    return [members[name] for name in archive.members]
