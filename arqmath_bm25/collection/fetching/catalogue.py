"""What the organisers' backup site holds of all that is read here, and what is known of it.

Paths are those of `layout.py`; posts and formulas are published as zip archives. Sizes are those
that the site's readers report, rounded (no file's exact size is published). Hashes are the first 16
hexadecimal digits of a SHA-256, as far as one is known. Counts are those of the labs' papers and
readmes, and of the judgments themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from arqmath_bm25.collection.layout import (
    COMMENTS,
    LINKS,
    POSTS,
    TAGS,
    TASK1_QRELS,
    TASK1_TOPICS,
    TASK2_QRELS,
    TASK2_TOPICS,
    USERS,
    VOTES,
    Representation,
    topic_formulas,
)
from arqmath_bm25.core.labs import YEARS, LabTask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Part = Literal["topics", "qrels", "posts", "links", "formulas", "slt", "activity", "opt"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)
# What the default configurations read.
DEFAULT_PARTS: Final[tuple[Part, ...]] = ("topics", "qrels", "posts", "links", "formulas")

_MB: Final = 1_000_000
_FORMULA_FILES: Final = tuple(f"{number}.tsv" for number in range(1, 102))
_TASK1: Final[frozenset[LabTask]] = frozenset({"task1", "task3"})  # Task 3 shares their topics
_TASK2: Final[frozenset[LabTask]] = frozenset({"task2"})


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
    optional: bool = False  # everything goes on without it
    known: Mapping[str, int | str] = field(default_factory=dict)  # as `inspection.py` counts

    @property
    def target(self) -> str:
        """What is there below DATA once the file is fetched: a file or a directory."""
        return self.archive.target if self.archive else self.path


def _formulas(
    representation: Representation, part: Part, size: int, unpacked: int, empty: int
) -> tuple[PublishedFile, ...]:
    """Return the formulas of the collection in one representation, then those of the topics."""
    target = f"Formulas/{representation}_representation_v3"
    known = {"rows": 28_320_920, "issue v": 55_812, "issue d": 4_065_932, "issue dv": 9_869}
    if empty:
        known["without formula"] = empty
    return (
        PublishedFile(
            f"{target}.zip", part, _TASK2, size,
            archive=Archive(target, _FORMULA_FILES, unpacked), known=known,
        ),
        *(
            PublishedFile(
                topic_formulas(year, representation), part, _TASK2, sha256=sha256, optional=True,
                known={"rows": rows - (year == "2020" and representation != "latex")},
            )
            for year, sha256, rows in zip(
                YEARS, _TOPIC_FORMULA_HASHES[representation], (1_008, 843, 1_050), strict=True
            )
        ),
    )  # fmt: skip


_TOPIC_FORMULA_HASHES: Final[dict[Representation, tuple[str, ...]]] = {
    "latex": ("6ec6f4e091e74f5a", "d7aed84f201eb772", "fcb5d4caffe38d50"),
    "slt": ("9a06c51c5c2bc639", "960d126401ae3469", "299a2bf3d067bd05"),
    "opt": ("9975e6b6dede434a", "ca1bf1d759b5b47c", "2bf154a2c9161945"),
}


def _topics(path: str, tasks: frozenset[LabTask], rows: int, sha256: str = "") -> PublishedFile:
    return PublishedFile(path, "topics", tasks, sha256=sha256, known={"rows": rows})


def _qrels(
    path: str, tasks: frozenset[LabTask], rows: int, topics: int, sha256: str = ""
) -> PublishedFile:
    known = {"rows": rows, "topics": topics} if rows else {}
    optional = "_all" in path  # with the topics that the official scores leave out
    return PublishedFile(path, "qrels", tasks, sha256=sha256, optional=optional, known=known)


_ALL_2021: Final = TASK1_QRELS["2021"].replace("_test", "_all")
_ALL_2022: Final = TASK1_QRELS["2022"].replace("_official", "_all")

CATALOGUE: Final = (
    _topics(TASK1_TOPICS["2020"], _TASK1, 98, "7e88764849bec590"),
    _topics(TASK1_TOPICS["2021"], _TASK1, 100, "2c7fec17c0a7f90a"),
    _topics(TASK1_TOPICS["2022"], _TASK1, 100, "fe6e0e2e3af41d1b"),
    _topics(TASK2_TOPICS["2020"], _TASK2, 85),
    _topics(TASK2_TOPICS["2021"], _TASK2, 100),
    _topics(TASK2_TOPICS["2022"], _TASK2, 100, "c26d35a2505343ed"),
    _qrels(TASK1_QRELS["2020"], _TASK1, 39_124, 77, "6b8c248e6a70a79b"),
    _qrels(TASK1_QRELS["2021"], _TASK1, 31_788, 71, "672def41ac25052b"),
    _qrels(_ALL_2021, _TASK1, 40_288, 89, "289f4ae6fb0f9a65"),
    _qrels(TASK1_QRELS["2022"], _TASK1, 34_847, 78, "16b09495fc7b4f41"),
    _qrels(_ALL_2022, _TASK1, 0, 0, "c8a9fc2020a251c8"),
    _qrels(TASK2_QRELS["2020"], _TASK2, 12_115, 45),
    _qrels(TASK2_QRELS["2021"], _TASK2, 8_108, 58, "f0d7f7868bc9f1de"),
    _qrels(TASK2_QRELS["2022"], _TASK2, 11_538, 76, "f68f5229338af8d7"),
    PublishedFile(LINKS[0], "links", _TASK1, 29 * _MB, optional=True),
    PublishedFile(
        POSTS[0].replace(".xml", ".zip"), "posts", _TASK1 | _TASK2, 895 * _MB,
        archive=Archive(POSTS[0], ("Posts.V1.3.xml",), 4_100 * _MB),
        known={
            "rows": 2_466_080, "questions": 1_020_585, "answers": 1_445_495,
            "first": "2010-07-20", "last": "2018-12-31",
        },
    ),
    *_formulas("latex", "formulas", 406 * _MB, 2_000 * _MB, empty=0),
    *_formulas("slt", "slt", 835 * _MB, 9_500 * _MB, empty=53_610),
    *_formulas("opt", "opt", 587 * _MB, 9_500 * _MB, empty=53_610),
    *(
        PublishedFile(versions[0], "activity", _TASK1, size, optional=True)
        for versions, size in ((COMMENTS, 0), (VOTES, 0), (USERS, 0), (TAGS, 169_000))
    ),
)  # fmt: skip


def needed(parts: Sequence[Part], task: LabTask | None) -> tuple[PublishedFile, ...]:
    """Return the files of `parts` that `task` reads; without a task, that any task reads."""
    return tuple(
        file for file in CATALOGUE if file.part in parts and (task is None or task in file.tasks)
    )
