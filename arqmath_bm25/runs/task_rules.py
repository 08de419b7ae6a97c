"""What a run of each task means: which rows of a topic count, in which order, and which may stand.

One class a task. Scores decide, as 32-bit floats, in trec_eval's order: descending, equal ones by
document id descending as strings ("9" before "13" before "10"). Ranks and the order of the rows
matter only where a class says so.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np

from arqmath_bm25.analysis.answer_text import shorten, unpaired_dollars
from arqmath_bm25.core.errors import shown
from arqmath_bm25.core.labs import MAX_ANSWER, MAX_DEPTH, PREMISES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.labs import LabTask, Task
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.rows import Row, Sink

_PLAIN: Final = re.compile("0|[1-9][0-9]*")  # an id: "07" is not "7"


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in trec_eval's order."""
    rows = list(rows)
    with np.errstate(over="ignore"):
        scores = np.array([row.score for row in rows], np.float32).tolist()
    ids = [row.doc_id for row in rows]
    places = sorted(range(len(rows)), key=lambda at: (scores[at], ids[at]), reverse=True)
    return [rows[at] for at in places]


class AnswerRules:
    """Task 1: answers, up to 1,000 a topic; of an answer that is repeated the first row counts."""

    task: ClassVar[Task] = "task1"
    judged: ClassVar[Literal["documents", "answers", "premises"]] = "documents"  # what is scored
    qrels_of: ClassVar[LabTask] = "task1"  # the task whose judgments name its documents
    letter: ClassVar[str] = "A"  # of its topics
    depth: ClassVar[int] = MAX_DEPTH
    trec: ClassVar[bool] = True  # there is a TREC form
    by_formula: ClassVar[bool] = False  # documents are formulas, and visual ids to judgments
    ids: ClassVar[dict[str, str]] = {"post": "doc_id"}  # columns of ids, with their fields

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that count, best first; none is cut off."""
        first: dict[str, Row] = {}
        for row in rows:
            first.setdefault(row.doc_id, row)
        return in_order(first.values())

    def eligible(self, collection: Collection) -> Eligible | None:
        """Return what a run may return of a collection."""
        from arqmath_bm25.runs.eligible import EligibleAnswers  # posts take long to load

        return EligibleAnswers(collection.posts)

    def is_topic(self, topic: str) -> bool:
        """Tell whether a topic is one of the task, by its form."""
        return re.fullmatch(rf"{self.letter}\.[1-9][0-9]*", topic) is not None

    def shown(self, doc: str, row: Row) -> tuple[str, str, str]:
        """Return what judgments call a document, the post to show, and the formula in it."""
        return doc, doc, ""

    def has_plain_ids(self, row: Row) -> bool:
        """Tell whether the ids of a row are numbers, as those of the lab."""
        return all(_PLAIN.fullmatch(getattr(row, field)) for field in self.ids.values())

    def columns(
        self, row: Row, rank: int, score: str, run_id: str, changes: Counter[str]
    ) -> list[object]:
        """Return the columns of a row as the lab wants them."""
        return [row.topic_id, *(getattr(row, f) for f in self.ids.values()), rank, score, run_id]

    def check(self, topic: str, rows: Sequence[Row], sink: Sink) -> None:
        """Tell of all that is wrong with the rows of one topic among themselves."""
        for column, field in self.ids.items():
            for row in rows:
                name = getattr(row, field)
                if not _PLAIN.fullmatch(name):
                    message = f"{column} is {shown(name)}; expected a plain number"
                    sink.error("id", row.line, message)
        seen: dict[str, Row] = {}
        for row in rows:
            if seen.setdefault(row.doc_id, row) is not row:
                sink.error("duplicate", row.line, f"{row.doc_id} is in topic {topic} already")
        if len(rows) > self.depth:
            message = f"topic {topic} has {len(rows):,} rows; at most {self.depth:,} are taken"
            sink.error("depth", rows[self.depth].line, message)
        for place, row in enumerate(rows, 1):
            if row.rank != place:
                expected = f"expected {place}: 1, 2, 3, … in file order"
                message = f"topic {topic}: rank is {row.rank}; {expected}"
                sink.warn("rank order", row.line, message)
                break
        _check_scores(topic, sorted(seen.values(), key=lambda row: row.rank), sink)


def _check_scores(topic: str, rows: Sequence[Row], sink: Sink) -> None:
    """Compare the ranks of rows, in whose order they stand, with scores as trec_eval sees them."""
    with np.errstate(over="ignore"):
        scores = np.array([row.score for row in rows], np.float32)
    rises = np.flatnonzero(scores[1:] > scores[:-1])
    if len(rises):
        before, row = rows[rises[0]], rows[rises[0] + 1]
        message = f"rank {row.rank} has score {row.score:g}, rank {before.rank} only "
        message = f"topic {topic}: {message}{before.score:g}; scores decide"
        sink.warn("score order", row.line, message)
    counts = Counter(scores.tolist())
    tied = [row for row, score in zip(rows, scores.tolist(), strict=True) if counts[score] > 1]
    if tied:
        shared = f"{len(tied)} rows share their score with another ({tied[0].score:g}, …)"
        message = f"topic {topic}: {shared}; trec_eval orders them by id, descending"
        sink.warn("ties", tied[0].line, message)


class FormulaRules(AnswerRules):
    """Task 2: formula instances, ranked as the official script (de_duplicate_2022.py) does.

    Instances with equal scores keep the order of the rows; of a formula that is repeated the last
    score counts, at the first position.
    """

    task = "task2"
    qrels_of = "task2"
    letter = "B"
    by_formula = True
    ids: ClassVar = {"formula": "doc_id", "post": "post_id"}

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that count, best first; none is cut off."""
        last: dict[str, Row] = {}
        for row in rows:
            first = last.get(row.doc_id)
            last[row.doc_id] = row if first is None else first._replace(score=row.score)
        return sorted(last.values(), key=lambda row: -row.score)

    def eligible(self, collection: Collection) -> Eligible | None:
        """Return what a run may return of a collection."""
        from arqmath_bm25.runs.eligible import EligibleFormulas

        return EligibleFormulas.of(collection)

    def shown(self, doc: str, row: Row) -> tuple[str, str, str]:
        """Return the visual id, the post to show, and the formula in it."""
        return doc, row.post_id, row.doc_id


class TextRules(AnswerRules):
    """Task 3: one answer a topic: that of the best score, then the lowest rank, the largest id."""

    task = "task3"
    judged = "answers"
    depth = 1
    trec = False
    ids: ClassVar = {}

    def shown(self, doc: str, row: Row) -> tuple[str, str, str]:
        """Return nothing: a text is judged under an id of its own, and stands in no post."""
        return "", "", ""

    def columns(
        self, row: Row, rank: int, score: str, run_id: str, changes: Counter[str]
    ) -> list[object]:
        """Return the columns of a row, with an answer that the lab takes."""
        changes[f"cut to {MAX_ANSWER:,} characters"] += len(row.answer) > MAX_ANSWER
        changes["dollars without a partner escaped"] += bool(unpaired_dollars(row.answer))
        answer = shorten(row.answer.replace("\t", " ").replace("\n", " "))
        return [row.topic_id, 1, score, run_id, row.sources, answer]

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows, best first."""
        return sorted(rows, key=lambda row: (row.score, -row.rank, row.doc_id), reverse=True)

    def eligible(self, collection: Collection) -> Eligible | None:
        """Return None: a text may say anything."""
        return None

    def check(self, topic: str, rows: Sequence[Row], sink: Sink) -> None:
        """Tell of all that is wrong with the rows of one topic."""
        for row in rows:
            if row is not rows[0]:
                message = f"topic {topic} has an answer in row {rows[0].line}"
                sink.error("duplicate", row.line, message)
            if row.rank != 1:
                sink.warn("rank order", row.line, f"rank is {row.rank}; expected 1")
            if len(row.answer) > MAX_ANSWER:
                message = f"{len(row.answer):,} characters; at most {MAX_ANSWER:,} are taken"
                sink.error("answer length", row.line, message)
            if unpaired := unpaired_dollars(row.answer):
                where = f"the $ at character {unpaired[0] + 1} of the answer has no partner"
                sink.warn("dollars", row.line, f"{where}; a dollar sign is written \\$")


class PremiseRules(AnswerRules):
    """NLPS: premises of a statement in the order of the rows; the first 500 distinct ones count."""

    task = "nlps"
    judged = "premises"
    depth = PREMISES
    trec = False
    ids: ClassVar = {"premise": "doc_id"}

    def order(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that count, best first; none is cut off."""
        first: dict[str, Row] = {}
        for row in sorted(rows, key=lambda row: -row.score):
            first.setdefault(row.doc_id, row)
        return list(first.values())

    def eligible(self, collection: Collection) -> Eligible | None:
        """Return None: premises are not looked up."""
        return None

    def is_topic(self, topic: str) -> bool:
        """Tell whether a topic can be the id of a statement."""
        return _PLAIN.fullmatch(topic) is not None


RULES: Final[dict[Task, AnswerRules]] = {
    rules.task: rules for rules in (AnswerRules(), FormulaRules(), TextRules(), PremiseRules())
}
