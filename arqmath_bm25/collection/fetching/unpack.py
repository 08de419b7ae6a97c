"""Unpacks a published zip archive as a stream: everything that was expected, or nothing at all.

An archive decides neither where its files go (their names are compared with the expected ones and
then built anew) nor how much is written (no more than the sizes it declares, which are compared
with what is published and with the free disk). Contents are checked by their CRC-32, and by what
they begin and end with.
"""

from __future__ import annotations

import errno
import shutil
import struct
import zlib
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from arqmath_bm25.collection.fetching.content import check_form
from arqmath_bm25.collection.fetching.download import check_room
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.collection.fetching.catalogue import Archive

_BLOCK: Final = 1 << 20
_MB: Final = 1_000_000
_AT_MOST: Final = 2  # times the published size may be declared: the sizes are rounded
# What zipfile raises for archives that are none, or damaged: bad text, numbers and offsets, too.
_DAMAGE: Final = (
    BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, ArithmeticError,
    RuntimeError, MemoryError,
)  # fmt: skip


def unpack(path: Path, archive: Archive, target: Path) -> None:
    """Unpack the members of `archive` from the zip file at `path` to `target`, all or nothing.

    `target` becomes the only member, or a directory with every member. Raises InputError for a file
    that is damaged or no zip archive, for members that are missing, doubled, encrypted or not what
    they should be, for sizes beyond what is published or what the disk has, and for compression
    that zlib does not read.
    """
    part = target.with_name(target.name + ".part")
    _remove(part)
    try:
        with _reading(path), ZipFile(path) as zipped:
            members = _members(path, zipped, archive)
            _check_sizes(path, members, archive, target)
            single = (target.name,) == archive.members
            if not single:
                part.mkdir(parents=True)
            total = sum(member.file_size for member in members) / _MB
            with progress(f"unpacking {path.name}", total, "MB") as advance:
                for name, member in zip(archive.members, members, strict=True):
                    copy = part if single else part / name
                    with zipped.open(member) as packed, copy.open("wb") as file:
                        while block := packed.read(_BLOCK):
                            file.write(block)
                            advance(len(block) / _MB)
                    check_form(archive.target if single else f"{archive.target}/{name}", copy)
        part.replace(target)
    finally:
        _remove(part)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # an offset beyond all files
            raise
        reason = str(error) or type(error).__name__
        raise InputError(
            f"{path}: damaged, or no zip archive: {reason}. Remove it and fetch it again"
        ) from None


def _members(path: Path, zipped: ZipFile, archive: Archive) -> list[ZipInfo]:
    """Return the expected members in their order; others, such as __MACOSX, are passed over."""
    found: dict[str, ZipInfo] = {}
    for info in zipped.infolist():
        inside = PurePosixPath(info.filename.replace("\\", "/"))
        if info.filename.endswith("/") or inside.name not in archive.members:
            continue
        if inside.name in found:
            raise InputError(f"{path}: two members are called {inside.name}")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise InputError(
                f"{path}: member {info.filename!r} is compressed by method {info.compress_type}, "
                f"which is not read here; unpack it with another program to {archive.target}"
            )
        found[inside.name] = info
    for name in archive.members:
        if name not in found:
            raise InputError(
                f"{path}: no member {name}; expected {len(archive.members)} "
                f"({archive.members[0]} … {archive.members[-1]})"
            )
    return [found[name] for name in archive.members]


def _check_sizes(path: Path, members: list[ZipInfo], archive: Archive, target: Path) -> None:
    # ZipFile reads no more of a member than the size that is declared here.
    declared = sum(member.file_size for member in members)
    if declared > _AT_MOST * archive.size:
        raise InputError(
            f"{path}: would unpack to {declared / _MB:,.0f} MB; about "
            f"{archive.size / _MB:,.0f} MB are published"
        )
    check_room(target, declared)


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)
