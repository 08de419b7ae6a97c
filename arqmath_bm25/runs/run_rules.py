"""The rules of a task for its runs, and those that most tasks share.

Scores decide, as 32-bit floats, in trec_eval's order: descending, equal ones by document id
descending as strings ("9" before "13" before "10"). Ranks and the order of the rows matter only
where a class says so.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np

from arqmath_bm25.core import labs
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.rows import RUN, Findings, RunRow, read_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.formula_ids import FormulaIds

    Mask = NDArray[np.bool_]

# What may be done with runs: a task may not support all of it.
Use = Literal["fuse", "pool", "validate", "report", "report scores", "moves", "TREC form"]

_PLAIN: Final = re.compile("0|[1-9][0-9]*")  # an id: "07" is not "7"
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_RANK: Final = re.compile("-?[0-9]{1,9}")
_FAR: Final = 10**9  # larger ranks all mean the same: nothing


def best(ranking: Mapping[str, float], depth: int | None = None) -> list[str]:
    """Return the first `depth` documents in trec_eval's order, all without."""
    with np.errstate(over="ignore"):
        scores = np.fromiter(ranking.values(), np.float32, len(ranking)).tolist()
    return [doc for _, doc in sorted(zip(scores, ranking, strict=True), reverse=True)[:depth]]


def in_order(rows: Mapping[str, RunRow]) -> dict[str, RunRow]:
    """Return the rows of documents in trec_eval's order."""
    scores = {doc: row.score for doc, row in rows.items()}
    return {doc: rows[doc] for doc in best(scores)}


def first_rows(rows: Iterable[RunRow]) -> dict[str, RunRow]:
    """Return the first row of each document."""
    first: dict[str, RunRow] = {}
    for row in rows:
        first.setdefault(row.doc_id, row)
    return first


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Begin the message of an InputError with the name of the run."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def number(text: str) -> float:
    """Return a written number; NaN for text and for infinity."""
    if not _NUMBER.fullmatch(text):
        return math.nan

    value = float(text)
    if math.isinf(value):
        return math.nan
    return value


class RunRules(ABC):
    """The rules of a task: how rows are read and written, which count, how they are measured."""

    task: ClassVar[labs.RunTask]
    columns: ClassVar[tuple[str, ...]]  # of a row
    written: ClassVar[str]  # a row as it is written: `topic`, `hit`, `rank`, `score`, `tag`
    ending: ClassVar[str] = ".tsv"  # of its files
    trec_mark: ClassVar[re.Pattern[str] | None] = None  # column 2 of TREC's form, if it has one
    quoted: ClassVar[bool] = False  # whether columns may stand in quotes
    ids: ClassVar[Mapping[str, str]] = {}  # columns of ids that are numbers, with their fields
    lab_task: ClassVar[labs.LabTask] = "task1"  # whose topics and judgments its runs have
    topic_columns: ClassVar[tuple[str, ...]] = ("title", "question", "tags")  # fields of a topic
    hit_columns: ClassVar[tuple[str, ...]] = ()  # fields of a hit, beside document, score and rank
    grades: ClassVar[Mapping[int, str]] = {3: "high", 2: "medium", 1: "low", 0: "not relevant"}
    unsupported: ClassVar[Mapping[Use, str]] = {}  # with the reason; {task} is its task
    relevant: ClassVar[int] = labs.RELEVANT  # the least grade that counts as relevant
    # Keys, and names of ir_measures, in which {n} is that grade.
    measures: ClassVar[Mapping[str, str]] = {}
    shown: ClassVar[tuple[str, ...]] = ()  # keys in tables, the first of which compares runs

    def read(self, path: Path, findings: Findings | None = None) -> Iterator[RunRow]:
        """Yield the rows of a run in file order; departures from the form go to `findings`.

        Unreadable rows are left out; without `findings` they raise InputError, as does a file that
        is missing or no text.
        """
        findings = findings or Findings(refused=path)
        for line, columns in read_columns(path, RUN, findings, self.quoted):
            row = self.row(line, columns, findings)
            if row is not None:
                yield row

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row that columns make; None, and a finding, if they make none."""
        if len(columns) == len(self.columns):
            return self.record(line, columns, findings)

        names = ", ".join(self.columns)
        if self.trec_mark:
            names += "; or TREC form"
        message = f"expected {len(self.columns)} columns ({names}), found {len(columns)}"
        if len(columns) == 4:
            message += "; if these are judgments, give them as qrels"
        findings.unreadable("columns", line, message)
        return None

    @abstractmethod
    def record(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row of the task's columns."""

    def is_trec(self, columns: Sequence[str]) -> bool:
        """Return whether a row has TREC's form in place of the task's own."""
        mark = self.trec_mark
        return mark is not None and len(columns) == 6 and bool(mark.fullmatch(columns[1]))

    def scored(
        self, line: int, columns: Sequence[str], findings: Findings
    ) -> tuple[int, float, str] | None:
        """Return rank, score and run id of a row; None, and a finding, if one is unreadable."""
        first = self.columns.index("rank")
        rank_text, score_text, tag = columns[first : first + 3]
        rank, score = number(rank_text), number(score_text)
        if line == 1 and math.isnan(rank) and math.isnan(score):
            header = shown(" ".join(columns))
            findings.unreadable("header", 1, f"a header: {header}; runs have none, remove it")
            return None

        for name, text, value in (("rank", rank_text, rank), ("score", score_text, score)):
            if math.isnan(value):
                message = f"{name} is {shown(text)}; expected a finite number"
                findings.unreadable("number", line, message)
                return None

        if not _RANK.fullmatch(rank_text):  # understood, but not by the lab's scripts
            message = f"rank is {shown(rank_text)}; expected a whole number"
            findings.error("rank form", line, message)
            rank = min(max(rank, -_FAR), _FAR)

        return int(rank), score, tag

    @property
    def topic_task(self) -> labs.RunTask:
        """The task whose topics its runs answer."""
        return self.lab_task

    def supports(self, use: Use) -> bool:
        """Return whether something can be done with its runs."""
        return use not in self.unsupported

    def require(self, use: Use, path: object) -> None:
        """Raise InputError, naming the run, if something cannot be done with it."""
        if not self.supports(use):
            raise InputError(f"{path}: {self.unsupported[use].format(task=self.task)}")

    def row_task(self, path: Path) -> labs.RunTask:
        """Return the task whose columns a run has, if it is to be read as one of this task."""
        del path
        return self.task

    def formula_ids(self, open_ids: Callable[[], FormulaIds] | None) -> FormulaIds | None:
        """Return the formula index, if documents of its runs are formulas and there is one."""
        del open_ids
        return None

    def eligible(
        self, collection: Collection, open_ids: Callable[[], FormulaIds]
    ) -> Eligible | None:
        """Return the check of what its runs may return; None if they may return anything."""
        del collection, open_ids
        return None

    def thread_of(self, collection: Collection) -> Callable[[str], str]:
        """Return a function from a post of its hits to the thread that it belongs to."""
        del collection
        return str

    def judged_years(self, collection: Collection) -> tuple[str, ...]:
        """Return the years, or sets of statements, whose judgments a collection has."""
        return collection.layout.years(self.lab_task, "qrels")

    def judgments_named(self, collection: Collection, name: str) -> Path:
        """Return the file with the judgments of a year or of a set; any other name is a path."""
        for year in labs.YEARS:
            if name == year:
                return collection.layout.qrels(self.lab_task, year)
        return Path(name)

    def judgments_for(
        self, collection: Collection, run: Path, topics: Iterable[str], year: labs.Year | None
    ) -> Path:
        """Return the file with the judgments of a run; InputError if there is none."""
        topics = list(topics)
        if not topics and year is None:  # an empty run lies in the folder of its year
            folder = run.resolve().parent.name
            for known in labs.YEARS:
                if known == folder:
                    year = known

        with naming(run):
            return collection.layout.qrels(self.lab_task, year or labs.year_of(topics))

    def holds(self, collection: Collection) -> Callable[[NDArray[np.int32]], Mask] | None:
        """Return a function that says which judged ids a collection has; None if unknown."""
        del collection
        return None

    def judged_apart(self, rows: Iterable[RunRow]) -> bool:
        """Return whether documents are judged under ids that the run does not have."""
        del rows
        return False

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return all rows that count, best first."""
        return list(in_order(first_rows(rows)).values())

    def line(self, topic: str, hit: Hit, rank: int, score: float, tag: str) -> str:
        """Return a hit as a row of a run."""
        return self.written.format(topic=topic, hit=hit, rank=rank, score=score, tag=tag)

    def check(self, topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
        """Report faults among the rows of one topic."""
        for column, field in self.ids.items():
            for row in rows:
                name = getattr(row, field)
                if not _PLAIN.fullmatch(name):
                    message = f"{column} is {shown(name)}; expected a plain number"
                    findings.error("id", row.line, message)

        first = first_rows(rows)
        for row in rows:
            if row is not first[row.doc_id]:
                findings.error("duplicate", row.line, f"{row.doc_id} is in topic {topic} already")

        if len(rows) > labs.MAX_DEPTH:
            message = f"topic {topic} has {len(rows):,} rows; at most {labs.MAX_DEPTH:,} are taken"
            findings.error("depth", rows[labs.MAX_DEPTH].line, message)

        for place, row in enumerate(rows, 1):
            if row.rank != place:
                message = f"topic {topic}: rank is {row.rank}; expected {place}"
                findings.warn("rank order", row.line, f"{message}: 1, 2, 3, … in file order")
                break

        _check_scores(topic, sorted(first.values(), key=lambda row: row.rank), findings)


def _check_scores(topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
    """Compare the order of rows by rank with their scores as trec_eval sees them."""
    with np.errstate(over="ignore"):
        scores = np.array([row.score for row in rows], np.float32)
    rises = np.flatnonzero(scores[1:] > scores[:-1])
    if len(rises):
        before, row = rows[rises[0]], rows[rises[0] + 1]
        message = f"rank {row.rank} has score {row.score:g}, rank {before.rank} only "
        message = f"topic {topic}: {message}{before.score:g}; scores decide"
        findings.warn("score order", row.line, message)

    counts = Counter(scores.tolist())
    tied = [row for row, score in zip(rows, scores.tolist(), strict=True) if counts[score] > 1]
    if tied:
        shared = f"{len(tied)} rows share their score with another ({tied[0].score:g}, …)"
        message = f"topic {topic}: {shared}; trec_eval orders them by id, descending"
        findings.warn("ties", tied[0].line, message)
