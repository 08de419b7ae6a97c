"""Brings published files to DATA, from the organisers' site, a mirror, or a folder with its files.

A file has its final name only when it is complete and checked; what is there already stays.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from arqmath_bm25.collection.fetch_download import SCHEMES, AbsentError, download
from arqmath_bm25.collection.fetch_unpack import unpack
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.collection.fetch_catalogue import PublishedFile

Outcome = Literal["fetched", "there", "differs", "absent"]


def read_source(source: str) -> str | Path:
    """Return the address of a site, or the folder, that `source` names; InputError if neither."""
    if "://" not in source:
        if not Path(source).is_dir():
            raise InputError(f"--from {source}: no such folder, and no http or https address")
        return Path(source)
    address = urlsplit(source)
    if address.scheme not in SCHEMES or not address.hostname:
        raise InputError(f"--from {source}: expected an http or https address, or a folder")
    return source.rstrip("/")


@contextmanager
def alone(data: Path) -> Iterator[None]:
    """Make `data` and keep other calls away from it; InputError if one is at work there."""
    data.mkdir(parents=True, exist_ok=True)
    directory = os.open(data, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(directory)
        raise InputError(f"{data}: another process is fetching files to it") from None
    try:
        yield
    finally:
        os.close(directory)


def fetch(file: PublishedFile, source: str | Path, data: Path) -> Outcome:
    """Bring one file to its place below `data`: copied or downloaded, checked, unpacked.

    What is there already is left alone: "there", or "differs" if its hash is known and another.
    "absent": the source does not have it. Raises InputError as `download` and `unpack` do.
    """
    target = data / file.target
    if target.exists():
        return "differs" if file.sha256 and not file.has_hash(target) else "there"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if isinstance(source, Path):
            _take(file, source / file.path, target)
        else:
            _download(file, f"{source}/{quote(file.path)}", data)
    except AbsentError:
        return "absent"
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise InputError(
            f"{target}: the disk is full; make room and call it again to go on"
        ) from None
    return "fetched"


def _take(file: PublishedFile, source: Path, target: Path) -> None:
    if not source.is_file():
        raise AbsentError(f"{source}: no such file")
    file.check(source)
    if file.archive:
        unpack(source, file.archive, target)
        return
    part = target.with_name(target.name + ".part")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _download(file: PublishedFile, url: str, data: Path) -> None:
    copy = data / file.path
    if not (file.archive and copy.is_file()):  # else: downloaded by a call that ended then
        download(url, copy, file.check)
    if file.archive:
        unpack(copy, file.archive, data / file.target)
        copy.unlink()
