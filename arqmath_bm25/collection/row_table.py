"""What users did, by post or user, in little memory: where the rows lie, and votes as numbers.

A dump is scanned once, over ranges of its bytes by as many workers as there are. Rows are then
read by their places where they are needed, as `posts.py` does it.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Self, TypeVar

import numpy as np

from arqmath_bm25.collection.activity import ACCEPTED, DOWN, FAVOURITE, UP, VOTES, good_rows, is_id
from arqmath_bm25.collection.dump import ParsedRows, attributes, scan
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers.local import HERE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.collection.activity import Kind
    from arqmath_bm25.core.workers import Workers

    IntMatrix = NDArray[np.int64]

R = TypeVar("R")
_COLUMNS: Final = 4  # key, id (-1: rows of this kind have none), offset, length
_TALLIED: Final = (ACCEPTED, UP, DOWN, FAVOURITE)


class RowTable(Generic[R]):
    """Where the rows of a dump lie by one of their ids, 32 bytes each: of comments, the post.

    `counts` accounts for every row: rows = rows kept + all that was left out.
    """

    def __init__(
        self, path: Path, kind: Kind[R], key: str, places: IntMatrix, counts: Counter[str]
    ) -> None:
        self.path = path
        self.counts = counts
        self._kind = kind
        self._key = key
        self._places = places

    @classmethod
    def scan(cls, path: Path, kind: Kind[R], key: str, workers: Workers = HERE) -> Self:
        """Note the place of every row by its attribute `key`, one of the kind's `ids`.

        Left out and counted: rows that are broken or lack what is required, and every further one
        with the Id of an earlier one. Raises InputError as `scan` does.
        """
        parts = scan(path, kind.root, partial(_places, kind=kind, key=key), workers)
        counts = sum((counted for _, counted in parts), Counter[str]())
        places = np.concatenate([found for found, _ in parts])
        if "Id" in kind.ids:
            first = np.unique(places[:, 1], return_index=True)[1]
            counts["rows with an Id seen before"] += len(places) - len(first)
            places = places[np.sort(first)]
        counts["rows kept"] = len(places)
        places = places[np.argsort(places[:, 0], kind="stable")]
        return cls(path, kind, key, places, +counts)

    def __len__(self) -> int:
        return len(self._places)

    def part(self, keys: NDArray[np.int64]) -> RowTable[R]:
        """Return the rows of some posts or users."""
        places = self._places[np.isin(self._places[:, 0], keys)]
        return RowTable(self.path, self._kind, self._key, places, self.counts)

    def of(self, key: str) -> list[R]:
        """Read the records of a post or user, in the order of the file.

        Raises InputError if the file has changed meanwhile.
        """
        if not is_id(key):
            return []
        begin = bisect_left(self._places[:, 0], int(key))  # NumPy would copy the column
        end = bisect_right(self._places[:, 0], int(key), begin)
        places = self._places[begin:end, 2:].tolist()
        with self.path.open("rb") as file:
            descriptor = file.fileno()
            rows = attributes([os.pread(descriptor, length, offset) for offset, length in places])
        for row, (offset, _) in zip(rows, places, strict=True):
            if row is None or self._kind.lacks(row) or row[self._key] != key:
                raise InputError(
                    f"{self.path}: there is no row of {self._key} {key} at byte {offset:,} any "
                    "more: the file has changed since it was read. Start again."
                )
        return [self._kind.record(row) for row in rows if row]


def _places(rows: ParsedRows, kind: Kind[R], key: str) -> tuple[IntMatrix, Counter[str]]:
    counts: Counter[str] = Counter()
    found = array("q")
    for place, row in good_rows(rows, kind, counts):
        number = int(row["Id"]) if "Id" in kind.ids else -1
        found.extend((int(row[key]), number, place.offset, len(place.xml)))
    return np.frombuffer(found, np.int64).reshape(-1, _COLUMNS), counts


class Tally(NamedTuple):
    """The votes of one post that say what was thought of it."""

    accepted: int = 0
    up: int = 0
    down: int = 0
    favourite: int = 0


class VoteTable:
    """The votes of every post, as a sorted vector of posts and a row of numbers for each.

    `counts` accounts for every row: rows = rows kept + all that was left out.
    """

    def __init__(
        self, posts: NDArray[np.int64], votes: NDArray[np.int64], counts: Counter[str]
    ) -> None:
        self.posts = posts
        self.votes = votes  # columns: those of Tally
        self.counts = counts

    @classmethod
    def scan(cls, path: Path, workers: Workers = HERE) -> Self:
        """Count the votes of a dump; InputError as `scan` raises it.

        Left out and counted: rows that are broken or lack what is required, and votes of the types
        that Tally does not have (to close, to delete, …).
        """
        parts = scan(path, VOTES.root, _tallies, workers)
        counts = sum((counted for _, counted in parts), Counter[str]())
        key, number = (np.concatenate(found) for found in zip(*(p for p, _ in parts), strict=True))
        counts["rows kept"] = int(number.sum())
        posts, row = np.unique(key // len(_TALLIED), return_inverse=True)
        cells = len(_TALLIED) * row + key % len(_TALLIED)
        votes = np.bincount(cells, number, len(_TALLIED) * len(posts))
        return cls(posts, votes.astype(np.int64).reshape(-1, len(_TALLIED)), +counts)

    def of(self, post_id: str) -> Tally:
        """Return the votes of a post, zeros if it has none."""
        at = np.searchsorted(self.posts, int(post_id)) if is_id(post_id) else len(self.posts)
        found = at < len(self.posts) and self.posts[at] == int(post_id)
        return Tally(*self.votes[at].tolist()) if found else Tally()


def _tallies(rows: ParsedRows) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Counter[str]]:
    """Return (4 · post + column, how many of them there are), and count the rows."""
    counts: Counter[str] = Counter()
    found = array("q")
    columns = {str(kind): column for column, kind in enumerate(_TALLIED)}
    for _, row in good_rows(rows, VOTES, counts):
        column = columns.get(row["VoteTypeId"])
        if column is None:
            counts["votes of other types"] += 1
        else:
            found.append(len(_TALLIED) * int(row["PostId"]) + column)
    return np.unique(np.frombuffer(found, np.int64), return_counts=True), counts
