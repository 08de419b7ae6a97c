"""The rules of a task for its runs, and those that most tasks share.

Scores decide, as 32-bit floats, in trec_eval's order: descending, equal ones by document id
descending as strings ("9" before "13" before "10"). Ranks and the order of the rows matter only
where a class says so.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from arqmath_bm25.core import labs
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.rows import RUN, Findings, RunRow, plain_columns, read_columns

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.core.arrays import Flags
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.formula_ids import FormulaIds

    Holds = Callable[[Sequence[str]], Flags]  # ids → which of them a collection has
    PlainIds = tuple[Iterable[str], Iterable[str]]  # documents and posts

# What may be done with runs; a task need not support all of it.
Use = Literal["fuse", "pool", "validate", "report", "report scores", "moves", "TREC form"]
Ranked = tuple[int, float, str]  # rank, score and run id of a row

# What rows of three or four columns are told: BEIR's judgments have three, TREC's four.
PERHAPS_QRELS = "; if these are judgments, give them as qrels"

# Ids are compared as strings, so "07" is not "7".
_PLAIN = re.compile("0|[1-9][0-9]*")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_RANK = re.compile("-?[0-9]{1,9}")
_SIGNS = re.compile("[0-9.eE+-]*")

# Ranks are cut to this size: int() takes a float of any size, and the lab reads no such rank.
_LARGEST_RANK = 10**9


def best(ranking: Mapping[str, float]) -> list[str]:
    """Return the documents in trec_eval's order."""
    with np.errstate(over="ignore"):
        values = np.fromiter(ranking.values(), np.float32, len(ranking))

    scores = values.tolist()
    ordered = sorted(zip(scores, ranking, strict=True), reverse=True)
    return [doc for _, doc in ordered]


def in_order(rows: Mapping[str, RunRow]) -> dict[str, RunRow]:
    """Return the rows of documents in trec_eval's order."""
    scores = {doc: row.score for doc, row in rows.items()}
    return {doc: rows[doc] for doc in best(scores)}


def first_rows(rows: Iterable[RunRow]) -> dict[str, RunRow]:
    """Return the first row of each document."""
    first = dict[str, RunRow]()
    for row in rows:
        first.setdefault(row.doc_id, row)
    return first


@contextmanager
def prefix_errors(source: object) -> Iterator[None]:
    """Begin the message of an InputError with the name of the run."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error.args[0]}", **error.settings) from None


def number(text: str) -> float:
    """Return a written number; NaN for text and for infinity."""
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return math.nan


class RunRules:
    """The rules of a task: how rows are read and written, which count, how they are measured."""

    task: ClassVar[labs.RunTask]
    # Names of the columns of a row, as messages say them.
    columns: ClassVar[tuple[str, ...]]

    # How a row is written, a format string of `topic`, `hit`, `rank`, `score` and `tag`.
    row_format: ClassVar[str]

    # The ending of the names of run files.
    ending = ".tsv"

    # What column 2 holds in TREC's form; None if the task has no such form.
    trec_mark: ClassVar[re.Pattern[str] | None] = None

    # Whether columns may be in quotes.
    quoted = False

    # Columns with ids that must be numbers, and the fields of `RunRow` that hold them.
    ids: ClassVar[Mapping[str, str]] = {}

    # The column of the document.
    document = 1

    # The task of the labs whose topics and judgments its runs have.
    lab_task: ClassVar[labs.LabTask] = "task1"

    # The task whose topics its runs answer.
    topic_task: ClassVar[labs.RunTask] = "task1"

    # Fields of a topic.
    topic_columns: ClassVar[tuple[str, ...]] = ("title", "question", "tags")

    # Fields of a hit after document, score and rank.
    hit_columns: ClassVar[tuple[str, ...]] = ()

    # Names of the grades in judgments.
    grades: ClassVar[Mapping[int, str]] = {
        3: "high",
        2: "medium",
        1: "low",
        0: "not relevant",
    }

    # Uses that the task does not support, with the reason; {task} is the name of the task.
    unsupported: ClassVar[Mapping[Use, str]] = {}

    # The relevance level: the lowest grade that counts as relevant.
    relevant = labs.RELEVANT

    # Keys of measures, and their names in ir_measures; binary ones are at the relevance level.
    measures: ClassVar[Mapping[str, str]] = {}

    # Keys of the measures in tables; the first one compares runs.
    table_measures: ClassVar[tuple[str, ...]] = ()

    def read(self, path: Path, findings: Findings | None = None) -> Iterator[RunRow]:
        """Yield the rows of a run in file order; departures from the form go to `findings`.

        Unreadable rows are left out. Without `findings` they raise InputError, as a missing file
        and a file that is not text always do.
        """
        findings = findings or Findings(refused=path)
        for line, columns in read_columns(path, RUN, findings, self.quoted):
            row = self.row(line, columns, findings)
            if row is not None:
                yield row

    def read_plain(self, path: Path) -> list[RunRow] | None:
        """Return the rows of a run without departures, read by columns; None for any other file."""
        if self.quoted or "rank" not in self.columns:
            return None

        columns = plain_columns(path)
        if columns is None or len(columns) not in (5, 6):
            return None

        topics, *documents, rank_texts, score_texts, tags = columns
        ids = self.documents_of(documents)
        ranks = {text: int(text) for text in set(rank_texts) if _RANK.fullmatch(text)}
        if ids is None or not ranks.keys() >= set(rank_texts):
            return None

        try:
            scores = list(map(float, score_texts))
        except ValueError:
            return None
        # float() takes more than a number: nan, 1_000, digits of other scripts.
        if not _SIGNS.fullmatch("".join(score_texts)) or not math.isfinite(sum(scores)):
            return None

        docs, posts = ids
        ordered = map(ranks.__getitem__, rank_texts)
        fields = zip(count(1), topics, docs, ordered, scores, tags, posts, repeat(""), repeat(""))
        make_row = partial(tuple.__new__, RunRow)  # as RunRow._make, in half of its time
        return list(map(make_row, fields))

    def documents_of(self, columns: Sequence[Sequence[str]]) -> PlainIds | None:
        """Return documents and posts from the columns between topic and rank; None if unclear."""
        *marks, documents = columns
        for mark in set(chain.from_iterable(marks)):
            if self.trec_mark and not self.trec_mark.fullmatch(mark):
                return None
        return documents, repeat("")

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row with these columns; None, and a finding, if they make no row."""
        expected = len(self.columns)
        found = len(columns)
        if found == expected:
            ranked = self.ranked_columns(line, columns, findings)
            if ranked is None:
                return None
            return self.record(line, columns, ranked)

        names = ", ".join(self.columns)
        if self.trec_mark:
            names += "; or TREC form"
        message = f"expected {expected} columns ({names}), found {found}"
        if found in (3, 4):
            message += PERHAPS_QRELS
        findings.unreadable("columns", line, message)
        return None

    def record(self, line: int, columns: Sequence[str], ranked: Ranked) -> RunRow:
        """Return the row of the task's columns, by default of a topic and a document."""
        post_id = ""
        if self.has_posts:
            post_id = columns[self.document + 1]
        return RunRow(line, columns[0], columns[self.document], *ranked, post_id)

    def is_trec(self, columns: Sequence[str]) -> bool:
        """Return whether a row has TREC's form in place of the task's own."""
        if self.trec_mark is None or len(columns) != 6:
            return False
        return bool(self.trec_mark.fullmatch(columns[1]))

    def ranked_columns(
        self, line: int, columns: Sequence[str], findings: Findings
    ) -> Ranked | None:
        """Return rank, score and run id of a row; None, and a finding, if one is unreadable."""
        first = self.columns.index("rank")
        rank_text, score_text, tag = columns[first : first + 3]
        rank = number(rank_text)
        score = number(score_text)
        if line == 1 and math.isnan(rank) and math.isnan(score):
            header = shown(" ".join(columns))
            message = f"a header: {header}; runs have none, remove it"
            findings.unreadable("header", 1, message)
            return None

        for name, text, value in (("rank", rank_text, rank), ("score", score_text, score)):
            if math.isnan(value):
                message = f"{name} is {shown(text)}; expected a finite number"
                findings.unreadable("number", line, message)
                return None

        # Floats and very long ranks are understood here, but not by the lab's scripts.
        if not _RANK.fullmatch(rank_text):
            message = f"rank is {shown(rank_text)}; expected a whole number"
            findings.error("rank form", line, message)
            rank = min(max(rank, -_LARGEST_RANK), _LARGEST_RANK)
        return int(rank), score, tag

    @property
    def has_posts(self) -> bool:
        """Whether rows have a formula and the post that holds it."""
        return "post_id" in self.hit_columns

    def supports(self, use: Use) -> bool:
        """Return whether something can be done with its runs."""
        return use not in self.unsupported

    def require(self, use: Use, path: object) -> None:
        """Raise InputError, naming the run, if something cannot be done with it."""
        if not self.supports(use):
            reason = self.unsupported[use].format(task=self.task)
            raise InputError(f"{path}: {reason}")

    def row_task(self, path: Path) -> labs.RunTask:
        """Return the task whose columns a run has when it is read as a run of this task."""
        return self.task

    def eligible(
        self, collection: CollectionFiles, open_ids: Callable[[], FormulaIds]
    ) -> Eligible | None:
        """Return the check of documents that runs may return; None if they may return all."""
        return None

    def thread_of(self, collection: CollectionFiles) -> Callable[[str], str]:
        """Return a function from a post of its hits to the thread that it belongs to."""
        return str

    def judged_years(self, collection: CollectionFiles) -> tuple[str, ...]:
        """Return the years, or sets of statements, whose judgments a collection has."""
        return collection.layout.years(self.lab_task, "qrels")

    def judgments_named(self, collection: CollectionFiles, name: str) -> Path:
        """Return the file with the judgments of a year or of a set; any other name is a path."""
        for year in labs.YEARS:
            if name == year:
                return collection.layout.qrels(self.lab_task, year)
        return Path(name)

    def judgments_for(
        self,
        collection: CollectionFiles,
        run: Path,
        topics: Mapping[str, Any],
        year: labs.Year | None,
    ) -> Path:
        """Return the file with the judgments of a run; InputError if there is none."""
        # The year of an empty run is known from its folder only.
        if not topics and year is None:
            folder = run.resolve().parent.name
            for known in labs.YEARS:
                if known == folder:
                    year = known

        with prefix_errors(run):
            if year is None:
                year = labs.year_of(topics)
            return collection.layout.qrels(self.lab_task, year)

    def holds(self, collection: CollectionFiles) -> Holds | None:
        """Return a function that says which judged ids a collection has; None if unknown."""
        return None

    def judged_apart(self, rows: Iterable[RunRow]) -> bool:
        """Return whether the judgments name documents by ids that the run does not have."""
        return False

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return all rows that count, best first."""
        first = first_rows(rows)
        return list(in_order(first).values())

    def line(self, topic: str, hit: Hit, rank: int, score: float, tag: str) -> str:
        """Return a hit as a row of a run."""
        return self.row_format.format(topic=topic, hit=hit, rank=rank, score=score, tag=tag)

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
                message = f"{row.doc_id} is in topic {topic} already"
                findings.error("duplicate", row.line, message)

        if len(rows) > labs.MAX_DEPTH:
            first_cut = rows[labs.MAX_DEPTH]
            message = f"topic {topic} has {len(rows):,} rows; at most {labs.MAX_DEPTH:,} are taken"
            findings.error("depth", first_cut.line, message)

        for expected, row in enumerate(rows, 1):
            if row.rank != expected:
                message = f"topic {topic}: rank is {row.rank}; expected {expected}"
                findings.warn("rank order", row.line, f"{message}: 1, 2, 3, … in file order")
                break

        by_rank = sorted(first.values(), key=lambda row: row.rank)
        _check_scores(topic, by_rank, findings)


def _check_scores(topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
    """Compare the order of rows by rank with their scores as trec_eval sees them."""
    with np.errstate(over="ignore"):
        scores = np.array([row.score for row in rows], np.float32)

    rises = np.flatnonzero(scores[1:] > scores[:-1])
    if len(rises):
        rise = rises[0]
        before = rows[rise]
        row = rows[rise + 1]
        message = (
            f"topic {topic}: rank {row.rank} has score {row.score:g}, "
            f"rank {before.rank} only {before.score:g}; scores decide"
        )
        findings.warn("score order", row.line, message)

    values = scores.tolist()
    counts = Counter(values)
    tied = [row for row, score in zip(rows, values, strict=True) if counts[score] > 1]
    if tied:
        shared = f"{len(tied)} rows share their score with another ({tied[0].score:g}, …)"
        message = f"topic {topic}: {shared}; trec_eval orders them by id, descending"
        findings.warn("ties", tied[0].line, message)
