"""A whole ranking run in columns: 40 bytes a row, so that ten million rows fit in memory once."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arqmath_bm25.runs.run_files import RunRow

# Ids are strings: "07" is not "7". Only what is written as a number is stored as one.
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,17}")


class TopicRows(NamedTuple):
    """The rows of one topic in file order."""

    topic_id: str
    line: NDArray[np.int64]  # 1-based line of the file
    doc: NDArray[np.int64]  # code of the post (Task 1) or formula (Task 2)
    post: NDArray[np.int64]  # Task 2: code of the post that is said to hold the formula
    rank: NDArray[np.int64]
    score: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> TopicRows:
        """Return some of the rows, in the order given."""
        return TopicRows(
            self.topic_id, self.line[rows], self.doc[rows], self.post[rows], self.rank[rows],
            self.score[rows],
        )  # fmt: skip


class RunTable:
    """The rows of a Task 1 or Task 2 run; `run_ids` counts how many rows bear each run id."""

    def __init__(self) -> None:
        self.run_ids: dict[str, int] = {}
        self._topics: dict[str, int] = {}  # codes in the order of first appearance
        self._topic = array("q")
        self._line = array("q")
        self._doc = array("q")
        self._post = array("q")
        self._rank = array("q")
        self._score = array("d")
        self._odd_ids: dict[str, int] = {"": -1}  # ids that are no plain numbers -> negative codes
        self._odd_names = [""]

    def __len__(self) -> int:
        return len(self._topic)

    def append(self, row: RunRow) -> None:
        """Add the next row of the file."""
        self._topic.append(self._topics.setdefault(row.topic_id, len(self._topics)))
        self._line.append(row.line)
        self._doc.append(self.code(row.doc_id))
        self._post.append(self.code(row.post_id))
        self._rank.append(row.rank)
        self._score.append(row.score)
        self.run_ids[row.run_id] = self.run_ids.get(row.run_id, 0) + 1

    def topics(self) -> Iterator[TopicRows]:
        """Yield the rows of each topic, gathered from wherever in the file they stand."""
        codes = _view(self._topic)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(self._topics)))
        line, doc, post, rank = map(_view, (self._line, self._doc, self._post, self._rank))
        score = np.frombuffer(self._score, dtype=np.float64)
        begin = 0
        for topic, end in zip(self._topics, ends, strict=True):
            at = order[begin:end]
            yield TopicRows(topic, line[at], doc[at], post[at], rank[at], score[at])
            begin = end

    def code(self, name: str) -> int:
        """Return the number that stands for an id; negative if it is none itself."""
        if _NUMBER.fullmatch(name):
            return int(name)
        code = self._odd_ids.setdefault(name, -1 - len(self._odd_names))
        if code == -1 - len(self._odd_names):
            self._odd_names.append(name)
        return code

    def name(self, code: int) -> str:
        """Return the id as the file has it."""
        return str(code) if code >= 0 else self._odd_names[-1 - code]


def _view(column: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(column, dtype=np.int64)
