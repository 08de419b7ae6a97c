"""What the organisers publish (published.yaml), and whether a copy can be one of these files.

Line ends differ from file to file on the site (LF and CRLF), and copies change them. A hash is that
of the file as it is served; a copy counts as the same file if it has that hash as it is, or with
all its line ends turned into CRLF, or all into LF.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import yaml

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LabTask, Year

PUBLISHED = "https://www.cs.rit.edu/~dprl/ARQMath-backup/"
DataPart = Literal["topics", "qrels", "posts", "links", "formulas", "slt", "activity", "opt"]
PARTS: tuple[DataPart, ...] = get_args(DataPart)
# What the default configurations and the pages of threads read.
DEFAULT_PARTS: tuple[DataPart, ...] = ("topics", "qrels", "posts", "links", "formulas")

_MB = 1_000_000
_TOLERANCE = 0.1  # of a rounded size; MB and MiB differ by half of it
_PAGE = re.compile(rb"\A\s*+(?:<!doctype html|<html)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Archive:
    """How a zip archive is unpacked below DATA."""

    target: str  # the only member, or the directory of all members
    members: tuple[str, ...]  # file names, whatever directory of the archive they are in
    size: int  # bytes of all members, rounded


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of the site."""

    path: str  # below the site's root
    part: DataPart
    tasks: frozenset[LabTask]  # that read it
    size: int = 0  # bytes, rounded; 0: not published
    sha256: str = ""  # first 16 hexadecimal digits; empty: not known
    archive: Archive | None = None
    optional: bool = False  # whether all commands work without it
    year: Year | None = None  # the year of its official topics, judgments or topic formulas

    @property
    def target(self) -> str:
        """The file or directory below DATA that holds the fetched data."""
        if self.archive:
            return self.archive.target
        return self.path


def _read_catalogue() -> tuple[PublishedFile, ...]:
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load(text, loader)  # noqa: S506

    for entry in entries:
        entry["tasks"] = frozenset(entry["tasks"])
        archive = entry.get("archive")
        if archive is None:
            continue
        members = archive["members"]
        if isinstance(members, int):
            members = [f"{number + 1}.tsv" for number in range(members)]
        entry["archive"] = Archive(archive["target"], tuple(members), archive["size"])

    return tuple(PublishedFile(**entry) for entry in entries)


CATALOGUE = _read_catalogue()


def official(part: DataPart, task: LabTask) -> dict[Year, str]:
    """Return the paths of the official topics, judgments or topic formulas, by year."""
    return {
        file.year: file.path
        for file in CATALOGUE
        if file.part == part and task in file.tasks and file.year
    }


def needed(parts: Sequence[DataPart], task: LabTask | None) -> tuple[PublishedFile, ...]:
    """Return the files of `parts` that `task` reads; without a task, the files of all tasks."""
    files = (file for file in CATALOGUE if file.part in parts)
    return tuple(file for file in files if task is None or task in file.tasks)


def check(file: PublishedFile, copy: Path) -> None:
    """Raise InputError unless `copy` can be this file, by its hash or size if known.

    Some servers send a web page instead of an error.
    """
    size = copy.stat().st_size
    with copy.open("rb") as opened:
        is_page = _PAGE.match(opened.read(1024))
    fault = ""
    if is_page:
        fault = "it is a web page"
    elif not size:
        fault = "it is empty"
    elif file.sha256 and not has_hash(copy, file.sha256):
        fault = f"its SHA-256 does not begin with {file.sha256} under any line ends"
    elif file.size and abs(size - file.size) > _TOLERANCE * file.size:
        fault = f"it has {size / _MB:,.1f} MB, expected about {file.size / _MB:,.1f} MB"

    if fault:
        raise InputError(f"{copy}: not the published {file.path}: {fault}; try another source")


def has_hash(copy: Path, sha256: str) -> bool:
    """Return whether the SHA-256 of `copy` starts with `sha256` under any line ends."""
    as_is = copy.read_bytes()
    lf = as_is.replace(b"\r\n", b"\n")
    crlf = lf.replace(b"\n", b"\r\n")
    for form in (as_is, crlf, lf):
        digest = hashlib.sha256(form).hexdigest()
        if digest.startswith(sha256):
            return True
    return False
