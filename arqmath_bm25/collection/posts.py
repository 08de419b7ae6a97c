"""Posts.xml of the lab (Posts.V1.2/V1.3.xml) or of the raw archive dump: questions and answers.

A first pass over the bytes records the offset of every post in the file (40 bytes a post, 100 MB
for the whole collection); later each post is read from its offset. So an answer is joined with its
question at any distance, no text is held in memory or copied to disk, and the same table finds the
text of a hit. Attribute names and defects: README_DATA.md of the lab and
the archive's schema; only Id, PostTypeId and Body are required (and ParentId of answers).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from html import unescape
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from arqmath_bm25.collection.dump import ID, read_places, scan_places
from arqmath_bm25.core.arrays import Flags, Ints, lookup, rows_of
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.tested import read_array, write_checksums
from arqmath_bm25.core.workers import HERE, Workers

POST_TABLE = "posts.npy"  # under this name an index keeps the table of its posts
QUESTION = 1  # PostTypeId
ANSWER = 2
_ODD = 0x1E3779B97F4A7C15  # of 64 bits: times it, different digests stay different
_ROWS_TOGETHER = 100  # are read without another look at the file
_NO_CONTENTS = np.empty(0, np.int64)


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

    @property
    def kind(self) -> str:
        """Whether it is a `question` or an `answer`."""
        if self.post_type == QUESTION:
            return "question"
        return "answer"

    @classmethod
    def from_attributes(cls, row: dict[str, str]) -> Self:
        """Build a post from the attributes of its row."""
        score = None
        if _INTEGER.fullmatch(row.get("Score", "")):
            score = int(row["Score"])
        return cls(
            post_id=row["Id"],
            post_type=int(row["PostTypeId"]),
            body=row["Body"],
            parent_id=row.get("ParentId"),
            title=row.get("Title"),
            tags=read_tags(row.get("Tags", "")),
            creation_date=row.get("CreationDate"),
            score=score,
            accepted_answer_id=row.get("AcceptedAnswerId"),
            owner_user_id=row.get("OwnerUserId"),
        )


def read_tags(tags: str) -> tuple[str, ...]:
    """Read `<a><b>` (the lab, dumps until 2023), `|a|b|` (dumps from 2024) or `a,b` (topics)."""
    parts = re.split(r"[<>|,\s]+", tags)
    return tuple(filter(None, parts))


_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TYPES = (str(QUESTION), str(ANSWER))


class Thread(NamedTuple):
    """A question with its answers in order of their ids; the question may be missing."""

    question: Post | None
    answers: tuple[Post, ...]


class PostTable:
    """The offset of every post of a dump, by thread: a question, then its answers.

    `counts` accounts for every row: rows = questions + answers + all that was left out.
    """

    counts: dict[str, int]

    def __init__(self, path: Path, places: Ints, contents: Ints = _NO_CONTENTS) -> None:
        self.path = path.absolute()
        self._places = places  # of each post: thread, id, type, offset, length, CRC-32
        self._contents = contents  # of each post: a digest, if the scan made them

    @cached_property
    def _by_id(self) -> tuple[Ints, Ints]:
        """The sorted ids, copied once since a search would copy the column, and their rows."""
        rows = np.argsort(self._places[:, 1], kind="stable")
        ids = self._places[rows, 1]
        return ids, rows

    @classmethod
    def scan(
        cls,
        path: Path,
        workers: Workers = HERE,
        until: int | None = None,
        with_contents: bool = False,
    ) -> Self:
        """Record the offset of every question and answer of the dump at `path`.

        With `with_contents`, it also makes the digests that `answer_contents` returns.
        Left out and counted: posts of other types (wikis and so on), posts after the year `until`,
        rows that are broken, lack a required attribute or have an id in another form than `ID`, and
        every further row with the Id of an earlier one.
        """
        place = partial(_place, until=until, with_contents=with_contents)
        places, counts = scan_places(path, "posts", place, workers)
        if not len(places):
            message = (
                f"{path}: none of the {counts['rows']:,} rows is a question or an answer; expected "
                'rows with PostTypeId="1" or "2", an Id and a Body'
            )
            late = counts[_after(until)]
            if late:
                message += f" ({late:,} {_after(until)} were left out)"
                raise InputError(message, until="none")
            raise InputError(message)

        # A question sorts before its answers, whatever their ids: merged threads have both orders.
        places = places[np.lexsort((places[:, 1], places[:, 2], places[:, 0]))]
        contents = _NO_CONTENTS
        if with_contents:
            contents = places[:, 3].copy()
            places = np.delete(places, 3, axis=1)
        table = cls(path, places, contents)
        answers = table.answer_count
        table.counts = {**counts, "questions": len(places) - answers, "answers": answers}
        return table

    def save(self, path: Path) -> None:
        """Write the table as a NumPy file."""
        np.save(path, self._places)
        write_checksums(path)

    @classmethod
    def load(cls, path: Path, posts: Path) -> Self:
        """Read a table that `save` wrote; `posts` is the dump that it describes."""
        return cls(posts, read_array(path))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def ids(self) -> Ints:
        """Numbers of the posts, in the order of the table."""
        return self._places[:, 1]

    @property
    def answer_count(self) -> int:
        """Number of answers."""
        return int(self._is_answer.sum())

    @property
    def answers(self) -> Ints:
        """Numbers of the answers, in the order of the table."""
        return self.ids[self._is_answer]

    @property
    def _is_answer(self) -> Flags:
        return np.asarray(self._places[:, 2] == ANSWER)

    def answer_contents(self) -> Ints:
        """Return a digest of each answer together with its question, if present, in order.

        It depends on the number, thread, type, title, tags and body of both posts. The table must
        come from a scan `with_contents`.
        """
        starts = self.thread_starts()
        first = np.repeat(starts, np.diff(starts, append=len(self)))
        of_question = np.where(self._is_answer[first], 0, self._contents[first])
        both: Ints = self._contents + of_question * _ODD
        return both[self._is_answer]

    def of_answers(self, chosen: Flags) -> PostTable:
        """Return a table of some of the answers, and of their questions."""
        rows = np.flatnonzero(self._is_answer)[chosen]
        threads = self._places[:, 0]
        kept = ~self._is_answer & np.isin(threads, threads[rows])
        kept[rows] = True
        return PostTable(self.path, self._places[kept])

    def thread_starts(self) -> Ints:
        """Row numbers of the table at which a thread begins."""
        threads = self._places[:, 0]
        is_first = np.ones(len(threads), np.bool_)
        is_first[1:] = threads[1:] != threads[:-1]
        return np.flatnonzero(is_first)

    def part(self, start: int, end: int) -> PostTable:
        """Return a table of the posts in rows `start` … `end` - 1."""
        return PostTable(self.path, self._places[start:end])

    def threads(self) -> Iterator[Thread]:
        """Read all threads in the order of the table."""
        for _, group in groupby(self._posts(), itemgetter(0)):
            yield _thread([post for _, post in group])

    def thread(self, number: int) -> Thread | None:
        """Read the thread with a number from `threads_of`; None if there is none."""
        places = self._places_of_thread(number)
        if not len(places):
            return None
        return _thread(self._read(places))

    def ids_of_thread(self, number: int) -> list[str]:
        """Return the ids of the posts of a thread with a number from `threads_of`."""
        return list(map(str, self._places_of_thread(number)[:, 1].tolist()))

    def _places_of_thread(self, number: int) -> Ints:
        return self._places[rows_of(self._places[:, 0], number)]

    def _posts(self) -> Iterator[tuple[int, Post]]:
        """Read every post of the table, with the number of its thread."""
        for begin in range(0, len(self), _ROWS_TOGETHER):
            places = self._places[begin : begin + _ROWS_TOGETHER]
            threads = places[:, 0].tolist()
            posts = self._read(places)
            yield from zip(threads, posts, strict=True)

    def read(self, post_id: str) -> Post | None:
        """Read one post; None if the collection has none with this id."""
        (row,) = self.find(self.numbers([post_id]))
        if row < 0:
            return None
        (post,) = self._read(self._places[row, None])
        return post

    def threads_of(self, post_ids: Sequence[str]) -> Ints:
        """Return the thread number of each post; -1 for unknown posts."""
        rows = self.find(self.numbers(post_ids))
        return np.where(rows >= 0, self._places[rows, 0], -1)

    def numbers(self, post_ids: Sequence[str]) -> Ints:
        """Return the numbers of posts from their ids; -1 for a text that is not an id."""
        numbers = []
        for post_id in post_ids:
            is_id = ID.fullmatch(post_id) is not None
            numbers.append(int(post_id) if is_id else -1)

        return np.array(numbers, np.int64)

    def thread_of(self, post_id: str) -> str | None:
        """Return the id of the thread of a post, its question's; None if there is no such post."""
        (thread,) = self.threads_of([post_id])
        if thread < 0:
            return None
        return str(thread)

    def find(self, post_ids: Ints) -> Ints:
        """Return the rows of posts; -1 for unknown posts."""
        ids, rows = self._by_id
        positions, is_there = lookup(ids, post_ids)
        return np.where(is_there, rows[positions], -1)

    def _read(self, places: Ints) -> list[Post]:
        ids_and_offsets = places[:, [1, 3, 4, 5]].tolist()
        rows = read_places(self.path, "Id", ids_and_offsets)
        return [Post.from_attributes(row) for row in rows]


def _thread(posts: list[Post]) -> Thread:
    if posts[0].post_type == QUESTION:
        return Thread(posts[0], tuple(posts[1:]))
    return Thread(None, tuple(posts))


def _after(until: int | None) -> str:
    return f"posts after {until}"


def _place(row: dict[str, str], until: int | None, with_contents: bool) -> tuple[int, ...] | str:
    """Return (thread, post, type) of a row, or the reason why it is left out.

    With `with_contents`, a digest of the post is the fourth number.
    """
    if not row.keys() >= {"Id", "PostTypeId", "Body"}:
        return "rows without Id, PostTypeId or Body"
    if row["PostTypeId"] not in _TYPES:
        return "posts of other types"

    post_id = row["Id"]
    post_type = int(row["PostTypeId"])
    # An answer without a question is its own thread: ids are unique over both types.
    thread = post_id
    if post_type == ANSWER:
        thread = row.get("ParentId") or post_id
    if not ID.fullmatch(post_id) or not ID.fullmatch(thread):
        return "rows whose Id or ParentId is not a positive number"
    if until is not None and row.get("CreationDate", "")[:4] > str(until):
        return _after(until)
    place = int(thread), int(post_id), post_type
    if with_contents:
        return *place, _content(row, thread)
    return place


def _content(row: dict[str, str], thread: str) -> int:
    """Return a digest of 64 bits of what documents are made of."""
    tags = read_tags(unescape(row.get("Tags", "")))
    texts = (
        thread,
        row["Id"],
        row["PostTypeId"],
        row.get("Title", ""),
        " ".join(tags),
        row["Body"],
    )
    # No text holds the character U+0000, which XML forbids.
    text = "\0".join(texts).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
