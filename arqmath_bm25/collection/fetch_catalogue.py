"""What the organisers' backup site holds of all that the tasks read, and what is known of it.

Paths are those of `layout.py`; posts and formulas are published as zip archives. Sizes are those
that the site's readers report, rounded (no file's exact size is published). Hashes are the first 16
hexadecimal digits of a SHA-256, as far as one is known.

Line ends differ from file to file on the site (LF and CRLF), and copies change them. A hash is that
of the file as it is served; a copy counts as the same file if it has that hash as it is, or with
all its line ends turned into CRLF, or all into LF.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from arqmath_bm25.collection.layout import (
    LINKS,
    POSTS,
    TASK1_QRELS,
    TASK1_TOPICS,
    TASK2_QRELS,
    TASK2_TOPICS,
    YEARS,
    topic_formulas,
)
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Part = Literal["topics", "qrels", "posts", "links", "formulas", "slt", "opt"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
LabTask = Literal["task1", "task2", "task3"]

_MB: Final = 1_000_000
_TOLERANCE: Final = 0.1  # of a rounded size; MB and MiB differ by half of it
_FORMULA_FILES: Final = tuple(f"{number}.tsv" for number in range(1, 102))
_WEB_PAGE: Final = (b"<!doctype html", b"<html")
_ROOT: Final = re.compile(rb"<([A-Za-z]\w*)")
_EDGE: Final = 1024  # bytes at either end of a file that are looked at


@dataclass(frozen=True, slots=True)
class Archive:
    """What a zip archive becomes below DATA."""

    target: str  # the only member, or the directory of all members
    members: tuple[str, ...]  # file names, whatever directory of the archive they are in
    size: int  # bytes of all members, rounded


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of the site."""

    path: str  # below the site's root
    part: Part
    tasks: frozenset[LabTask]  # that read it
    size: int = 0  # bytes, rounded; 0: not published
    sha256: str = ""  # first 16 hexadecimal digits; empty: not known
    archive: Archive | None = None

    @property
    def target(self) -> str:
        """What is there below DATA once the file is fetched: a file or a directory."""
        return self.archive.target if self.archive else self.path

    def check(self, copy: Path) -> None:
        """Raise InputError unless `copy` can be this file: by hash where known, by size else.

        A file without either must still not be a web page, nor an XML file that is cut off.
        """
        if self.sha256 and not self.has_hash(copy):
            raise InputError(
                f"{copy}: not the published {self.path}: its SHA-256 does not begin with "
                f"{self.sha256}, with any line ends"
            )
        size = copy.stat().st_size
        if self.size and abs(size - self.size) > _TOLERANCE * self.size:
            raise InputError(
                f"{copy}: not the published {self.path}: it has {size / _MB:,.1f} MB, expected "
                f"about {self.size / _MB:,.1f} MB"
            )
        with copy.open("rb") as file:
            head = file.read(_EDGE)
            file.seek(max(0, size - _EDGE))
            tail = file.read()
        if head.lstrip().lower().startswith(_WEB_PAGE):
            raise InputError(f"{copy}: a web page was sent instead of {self.path}")
        root = _ROOT.search(head) if self.path.endswith(".xml") else None
        if root and not tail.rstrip().endswith(b"</" + root[1] + b">"):
            raise InputError(f"{copy}: {self.path} is cut off: its root element is not closed")

    def has_hash(self, copy: Path) -> bool:
        """Tell whether `copy` has the published hash, by the rule on line ends."""
        as_is = copy.read_bytes()
        lf = as_is.replace(b"\r\n", b"\n")
        forms = (as_is, lf.replace(b"\n", b"\r\n"), lf)
        return any(hashlib.sha256(form).hexdigest().startswith(self.sha256) for form in forms)


def _formulas(part: Part, representation: str, size: int, unpacked: int) -> PublishedFile:
    target = f"Formulas/{representation}_representation_v3"
    archive = Archive(target, _FORMULA_FILES, unpacked)
    return PublishedFile(f"{target}.zip", part, frozenset({"task2"}), size, archive=archive)


_TASK1: Final[frozenset[LabTask]] = frozenset({"task1", "task3"})  # Task 3 shares their topics
_TASK2: Final[frozenset[LabTask]] = frozenset({"task2"})
_ALL_2021: Final = TASK1_QRELS["2021"].replace("_test", "_all")  # with the 18 topics left out there
_ALL_2022: Final = TASK1_QRELS["2022"].replace("_official", "_all")

CATALOGUE: Final = (
    PublishedFile(TASK1_TOPICS["2020"], "topics", _TASK1, sha256="7e88764849bec590"),
    PublishedFile(TASK1_TOPICS["2021"], "topics", _TASK1, sha256="2c7fec17c0a7f90a"),
    PublishedFile(TASK1_TOPICS["2022"], "topics", _TASK1, sha256="fe6e0e2e3af41d1b"),
    *(PublishedFile(path, "topics", _TASK2) for path in TASK2_TOPICS.values()),
    PublishedFile(TASK1_QRELS["2020"], "qrels", _TASK1, sha256="6b8c248e6a70a79b"),
    PublishedFile(TASK1_QRELS["2021"], "qrels", _TASK1),
    PublishedFile(_ALL_2021, "qrels", _TASK1, sha256="289f4ae6fb0f9a65"),
    PublishedFile(TASK1_QRELS["2022"], "qrels", _TASK1),
    PublishedFile(_ALL_2022, "qrels", _TASK1, sha256="c8a9fc2020a251c8"),
    *(PublishedFile(path, "qrels", _TASK2) for path in TASK2_QRELS.values()),
    PublishedFile(LINKS[0], "links", _TASK1, 29 * _MB),
    PublishedFile(
        POSTS[0].replace(".xml", ".zip"), "posts", _TASK1 | _TASK2, 895 * _MB,
        archive=Archive(POSTS[0], ("Posts.V1.3.xml",), 4_100 * _MB),
    ),
    _formulas("formulas", "latex", 406 * _MB, 2_000 * _MB),
    _formulas("slt", "slt", 835 * _MB, 9_500 * _MB),
    _formulas("opt", "opt", 587 * _MB, 9_500 * _MB),
    *(PublishedFile(topic_formulas(year, "slt"), "slt", _TASK2) for year in YEARS),
    *(PublishedFile(topic_formulas(year, "opt"), "opt", _TASK2) for year in YEARS),
)  # fmt: skip


def needed(parts: Sequence[Part], task: LabTask | None) -> tuple[PublishedFile, ...]:
    """Return the files of `parts` that `task` reads; without a task, that any task reads."""
    return tuple(
        file for file in CATALOGUE if file.part in parts and (task is None or task in file.tasks)
    )
