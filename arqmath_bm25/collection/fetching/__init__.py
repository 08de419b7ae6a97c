"""Brings published files to DATA, from the organisers' site, a mirror, or a folder with its files.

A file has its final name only when it is complete and checked; what is there already stays.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from arqmath_bm25.collection.fetching.content import check, has_hash
from arqmath_bm25.collection.fetching.download import SCHEMES, AbsentError, download
from arqmath_bm25.collection.fetching.unpack import unpack
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete, locked

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from arqmath_bm25.collection.fetching.catalogue import PublishedFile

Outcome = Literal["fetched", "there", "differs", "absent"]


def read_source(source: str) -> str | Path:
    """Return the address of a site, or the folder, that `source` names; InputError if neither."""
    if "://" not in source:
        if not Path(source).is_dir():
            raise InputError(f"--from {source}: no such folder, and no http or https address")
        return Path(source)
    try:
        address = urlsplit(source)
        good = address.scheme in SCHEMES and address.hostname and address.port != 0
    except ValueError:  # of a port or an IPv6 address
        good = False
    if not good:
        raise InputError(f"--from {source}: expected an http or https address, or a folder")
    return source.rstrip("/")


def alone(data: Path) -> AbstractContextManager[int]:
    """Make `data` and keep other calls away from it; InputError if one is at work there."""
    return locked(data, lambda: f"{data}: another process is fetching files to it", directory=True)


def fetch(file: PublishedFile, source: str | Path, data: Path) -> Outcome:
    """Bring one file to its place below `data`: copied or downloaded, checked, unpacked.

    What is there already is left alone: "there", or "differs" if its hash is known and another.
    "absent": the source does not have it. Raises InputError as `download` and `unpack` do, and
    naming the file for what the disk refuses.
    """
    target = data / file.target
    if target.exists():
        return "differs" if file.sha256 and not has_hash(target, file.sha256) else "there"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, Path):
            _take(file, source / file.path, target)
        else:
            _download(file, f"{source}/{quote(file.path)}", data)
    except AbsentError:
        return "absent"
    except OSError as error:
        raise InputError(
            f"{error.filename or target}: {error.strerror or error}; call it again to go on"
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


def _download(file: PublishedFile, url: str, data: Path) -> None:
    copy = data / file.path
    if not (file.archive and copy.is_file()):  # else: downloaded by a call that ended then
        download(url, copy, lambda part: check(file, part))
    if file.archive:
        unpack(copy, file.archive, data / file.target)
        copy.unlink()
