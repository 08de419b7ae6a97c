"""Posts.xml of the lab (Posts.V1.2/V1.3.xml) or of the raw archive dump: questions and answers.

A first pass over the bytes notes the place of every post in the file (40 bytes a post, 100 MB for
the whole collection); later each post is read from its place. So an answer meets its question
wherever that is in the file, no text is held in memory or copied to disk, and the same table finds
the text of a hit. Attribute names and defects: README_DATA.md of the lab and
the archive's schema; only Id, PostTypeId and Body are required (and ParentId of answers).
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.collection.dump import ID, ROWS_TOGETHER, IntMatrix, read_places, scan_places
from arqmath_bm25.core.arrays import load_array
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE

IntVector = NDArray[np.int64]
POST_TABLE: Final = "posts.npy"  # under this name an index keeps the table of its posts
QUESTION: Final = 1  # PostTypeId
ANSWER: Final = 2


class Post(NamedTuple):
    """A question (has title and tags) or an answer (has parent_id); absent attributes are None."""

    post_id: str
    post_type: int  # QUESTION or ANSWER
    body: str  # HTML fragment
    parent_id: str | None = None  # of an answer: its question, which may be missing
    title: str | None = None
    tags: tuple[str, ...] = ()
    creation_date: str | None = None  # ISO 8601 without zone (UTC)
    score: int | None = None  # votes; may be negative
    accepted_answer_id: str | None = None  # may point outside the collection
    owner_user_id: str | None = None

    @classmethod
    def from_attributes(cls, row: dict[str, str]) -> Self:
        """Build a post from the attributes of its row."""
        return cls(
            post_id=row["Id"],
            post_type=int(row["PostTypeId"]),
            body=row["Body"],
            parent_id=row.get("ParentId"),
            title=row.get("Title"),
            tags=read_tags(row["Tags"]) if "Tags" in row else (),
            creation_date=row.get("CreationDate"),
            score=_number(row.get("Score")),
            accepted_answer_id=row.get("AcceptedAnswerId"),
            owner_user_id=row.get("OwnerUserId"),
        )


def read_tags(tags: str) -> tuple[str, ...]:
    """Read `<a><b>` (the lab, dumps until 2023), `|a|b|` (dumps from 2024) or `a,b` (topics)."""
    return tuple(tag for tag in re.split(r"[<>|,\s]+", tags) if tag)


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and _INTEGER.fullmatch(value) else None


_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_TYPES: Final = (str(QUESTION), str(ANSWER))
_IDS: Final = ("Id", "ParentId", "AcceptedAnswerId")  # of posts, among the attributes of a row
_SITE_BITS: Final = 40  # of an id, where the number of a site stands above it


class Thread(NamedTuple):
    """A question with its answers in order of their ids; the question may be missing."""

    question: Post | None
    answers: tuple[Post, ...]


class PostTable:
    """Where every post of a dump, or of several, lies, by thread: a question, then its answers.

    Of one dump the ids are those of the file. Of several an id is `SITE:ID`, and its number has the
    number of the site above the 40 bits of the id. `counts` accounts for every row: rows =
    questions + answers + all that was left out.
    """

    counts: dict[str, int]

    def __init__(self, dumps: Mapping[str, Path], places: IntMatrix) -> None:
        """`dumps` are files by the names of their sites; one alone has the name ""."""
        self._dumps = dumps
        self._files = [path.absolute() for path in dumps.values()]
        self.path = Path(os.path.commonpath(self._files))
        self._places = places  # of each post: thread, id, type, offset, length
        self._prefixes = [f"{name}:" if name else "" for name in dumps]
        self._bits = _SITE_BITS if len(dumps) > 1 else 63

    @cached_property
    def _by_id(self) -> IntVector:
        return np.argsort(self._places[:, 1], kind="stable")

    @classmethod
    def scan(cls, path: Path, workers: Workers = HERE, until: int | None = None) -> Self:
        """Note the place of every question and answer of the dump at `path`.

        Left out and counted: posts of other types (wikis and so on), posts after the year `until`,
        rows that are broken, lack a required attribute or have an id in another form than `ID`, and
        every further row with the Id of an earlier one.
        """
        places, counts = scan_places(path, "posts", partial(_place, until=until), workers)
        if not len(places):
            late = counts[_after(until)]
            raise InputError(
                f"{path}: none of the {counts['rows']:,} rows is a question or an answer; expected "
                'rows with PostTypeId="1" or "2", an Id and a Body'
                + (f" ({late:,} {_after(until)} were left out: see --until)" if late else "")
            )
        # A question sorts before its answers, whatever their ids: merged threads have both orders.
        places = places[np.lexsort((places[:, 1], places[:, 2], places[:, 0]))]
        return cls._counted({"": path}, places, counts)

    @classmethod
    def joined(cls, tables: Mapping[str, PostTable]) -> Self:
        """Return the posts of several sites, by the names of these.

        Posts whose ids leave no room for the number of a site are left out, and counted.
        """
        counts = sum((Counter(table.counts) for table in tables.values()), Counter[str]())
        places = [with_site(table._places, n) for n, table in enumerate(tables.values())]
        if left_out := sum(map(len, tables.values())) - sum(map(len, places)):
            counts[f"ids of more than {_SITE_BITS} bits"] = left_out
        dumps = {name: table.path for name, table in tables.items()}
        return cls._counted(dumps, np.concatenate(places), counts)

    @classmethod
    def _counted(cls, dumps: Mapping[str, Path], places: IntMatrix, counts: Counter[str]) -> Self:
        table = cls(dumps, places)
        answers = table.answer_count
        table.counts = {**counts, "questions": len(places) - answers, "answers": answers}
        return table

    def save(self, path: Path) -> None:
        """Write the table as a NumPy file."""
        np.save(path, self._places)

    @classmethod
    def load(cls, path: Path, posts: Path | Mapping[str, Path]) -> Self:
        """Read a table that `save` wrote; `posts` is the dump, or are those, that it describes."""
        return cls({"": posts} if isinstance(posts, Path) else posts, load_array(path))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def ids(self) -> IntVector:
        """Numbers of the posts, in the order of the table."""
        return self._places[:, 1]

    @property
    def answer_count(self) -> int:
        """Number of answers."""
        return int((self._places[:, 2] == ANSWER).sum())

    @property
    def questions(self) -> IntVector:
        """Numbers of the questions, in the order of the table."""
        return self.ids[np.flatnonzero(self._places[:, 2] == QUESTION)]

    def thread_starts(self) -> IntVector:
        """Row numbers of the table at which a thread begins."""
        threads = self._places[:, 0]
        return np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]])

    def part(self, start: int, end: int) -> PostTable:
        """Return a table of the posts in rows `start` … `end` - 1."""
        return PostTable(self._dumps, self._places[start:end])

    def subset(self, post_ids: Iterable[int]) -> PostTable:
        """Return a table of those of some posts that the collection has, in its order."""
        rows = self.find(np.fromiter(post_ids, np.int64))
        return PostTable(self._dumps, self._places[np.unique(rows[rows >= 0])])

    def threads(self) -> Iterator[Thread]:
        """Read all threads in the order of the table."""
        for _, group in groupby(self._posts(), itemgetter(0)):
            yield _thread([post for _, post in group])

    def thread(self, number: int) -> Thread | None:
        """Read the thread with the number that `threads_of` tells; None if there is none."""
        begin = bisect_left(self._places[:, 0], number)
        places = self._places[begin : bisect_right(self._places[:, 0], number, begin)]
        return _thread(self._read(places)) if len(places) else None

    def _posts(self) -> Iterator[tuple[int, Post]]:
        """Read every post of the table, with the number of its thread."""
        for begin in range(0, len(self), ROWS_TOGETHER):
            places = self._places[begin : begin + ROWS_TOGETHER]
            yield from zip(places[:, 0].tolist(), self._read(places), strict=True)

    def read(self, post_id: str) -> Post | None:
        """Read one post; None if the collection has none with this id."""
        row = self.find(self.numbers([post_id]))[0]
        return self._read(self._places[row, None])[0] if row >= 0 else None

    def threads_of(self, post_ids: Sequence[str]) -> IntVector:
        """Return the thread of every post, as a number; -1 of posts that the collection lacks."""
        return self.thread_numbers(self.find(self.numbers(post_ids)))

    def thread_numbers(self, rows: IntVector) -> IntVector:
        """Return the threads of the posts in some rows; -1 for a row of -1."""
        return np.where(rows >= 0, self._places[rows, 0], -1)

    def numbers(self, post_ids: Sequence[str]) -> IntVector:
        """Return ids as the numbers that they are in the table; -1 of what is no id here."""
        number = _number_of if self._prefixes == [""] else self._number
        return np.fromiter(map(number, post_ids), np.int64, len(post_ids))

    def _number(self, post_id: str) -> int:
        site, colon, post = post_id.rpartition(":")
        if f"{site}{colon}" not in self._prefixes or not ID.fullmatch(post):
            return -1
        fits = int(post) >> self._bits == 0
        return self._prefixes.index(f"{site}{colon}") << self._bits | int(post) if fits else -1

    def text(self, number: int) -> str:
        """Return the id of a number of the table."""
        return f"{self._prefixes[number >> self._bits]}{number & ((1 << self._bits) - 1)}"

    def thread_of(self, post_id: str) -> str | None:
        """Return the id of the thread of a post, its question's; None if there is no such post."""
        (thread,) = self.threads_of([post_id])
        return self.text(int(thread)) if thread >= 0 else None

    def find(self, post_ids: IntVector) -> IntVector:
        """Return the rows of posts, -1 of those that the table lacks."""
        ids = self._places[:, 1]
        places = np.minimum(np.searchsorted(ids, post_ids, sorter=self._by_id), len(ids) - 1)
        rows = self._by_id[places]
        return np.where(ids[rows] == post_ids, rows, -1)

    def _read(self, places: IntMatrix) -> list[Post]:
        posts: list[Post] = []
        columns = places[:, [1, 3, 4]].tolist()
        for site, group in groupby(columns, lambda row: row[0] >> self._bits):
            mask, prefix = (1 << self._bits) - 1, self._prefixes[site]
            rows = [(number & mask, offset, length) for number, offset, length in group]
            for row in read_places(self._files[site], "Id", rows):
                if prefix:
                    row.update({name: f"{prefix}{row[name]}" for name in _IDS if name in row})
                posts.append(Post.from_attributes(row))
        return posts


def _number_of(post_id: str) -> int:
    return int(post_id) if ID.fullmatch(post_id) else -1


def with_site(numbers: IntMatrix, site: int) -> IntMatrix:
    """Put the number of a site above the ids in the first two columns.

    Rows with ids that leave no room for it are left out.
    """
    numbers = numbers[(numbers[:, :2] >> _SITE_BITS == 0).all(axis=1)]  # of negative ones: -1
    numbers[:, :2] |= site << _SITE_BITS
    return numbers


def _thread(posts: list[Post]) -> Thread:
    question = posts.pop(0) if posts[0].post_type == QUESTION else None
    return Thread(question, tuple(posts))


def _after(until: int | None) -> str:
    return f"posts after {until}"


def _place(row: dict[str, str], until: int | None) -> tuple[int, int, int] | str:
    """Return (thread, post, type) of a row, or why it is left out."""
    if not row.keys() >= {"Id", "PostTypeId", "Body"}:
        return "rows without Id, PostTypeId or Body"
    if row["PostTypeId"] not in _TYPES:
        return "posts of other types"
    post_type = int(row["PostTypeId"])
    parent = row.get("ParentId", "") if post_type == ANSWER else ""
    if not (ID.fullmatch(row["Id"]) and (not parent or ID.fullmatch(parent))):
        return "rows whose Id or ParentId is no positive number"
    if until is not None and row.get("CreationDate", "")[:4] > str(until):
        return _after(until)
    # An answer without a question is a thread of its own: ids are unique over both types.
    return int(parent or row["Id"]), int(row["Id"]), post_type
