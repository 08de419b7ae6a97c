"""Rules for runs of each task: which rows count, in which order, which are valid, what they return.

One class a task. Scores decide, as 32-bit floats, in trec_eval's order: descending, equal ones by
document id descending as strings ("9" before "13" before "10"). Ranks and the order of the rows
matter only where a class says so.

What a run may return: Task 1 answers of the collection, not questions. Task 2 formulas of titles,
questions and answers, not of comments, none with issue `d` or `dv` (not found in the posts), each
with the post that holds it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Container
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple

import numpy as np

from arqmath_bm25.analysis.answer_text import unpaired_dollars
from arqmath_bm25.core import labs
from arqmath_bm25.core.errors import shown
from arqmath_bm25.runs.formula_ids import COMMENT, DELETED, FormulaIds, id_numbers
from arqmath_bm25.runs.rows import Findings

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.posts import PostTable
    from arqmath_bm25.runs.rows import RunRow

_PLAIN: Final = re.compile("0|[1-9][0-9]*")  # an id: "07" is not "7"


def best(ranking: Mapping[str, float], depth: int | None = None) -> list[str]:
    """Return the first `depth` documents in trec_eval's order, all without."""
    with np.errstate(over="ignore"):
        scores = np.fromiter(ranking.values(), np.float32, len(ranking)).tolist()
    return [doc for _, doc in sorted(zip(scores, ranking, strict=True), reverse=True)[:depth]]


def in_order(rows: Mapping[str, RunRow]) -> dict[str, RunRow]:
    """Return the rows of documents in trec_eval's order."""
    return {doc: rows[doc] for doc in best({doc: row.score for doc, row in rows.items()})}


def _first_rows(rows: Iterable[RunRow]) -> dict[str, RunRow]:
    """Return the first row of each document."""
    first: dict[str, RunRow] = {}
    for row in rows:
        first.setdefault(row.doc_id, row)
    return first


class AnswerRules:
    """Task 1: answers, up to 1,000 a topic; of an answer that is repeated the first row counts."""

    task: ClassVar[labs.Task] = "task1"
    judged: ClassVar[Literal["documents", "answers", "premises"]] = "documents"  # what is scored
    qrels_of: ClassVar[labs.LabTask] = "task1"  # the task whose judgments name its documents
    letter: ClassVar[str] = "A"  # of its topics
    by_formula: ClassVar[bool] = False  # documents are formulas, and visual ids to judgments
    ids: ClassVar[dict[str, str]] = {"post": "doc_id"}  # columns of ids, with their fields

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return the rows that count, best first; none is cut off."""
        return list(in_order(_first_rows(rows)).values())

    def check_name(self, path: Path, findings: Findings) -> None:
        """Tell of the name of a run file."""
        name, departures = labs.parse_run_name(path.stem), []
        kind = "" if self.judged == "documents" else "-[extract|generate]"
        if labs.official_stem(path) != path.stem:
            departures.append(": a prime file: cut to what was judged")
        if name is None or path.suffix != ".tsv":
            form = f"[team]-{self.task}-[id]-[manual|auto]-[text|math|both]{kind}-[P|A].tsv"
            departures.append(f"; expected {form}")
        elif name.task != self.task:
            departures.append(f" says {name.task}; checked as {self.task}")
        if name is not None and path.suffix == ".tsv" and "." in path.stem:
            departures.append(": the lab's scripts cut it at the first dot")
        for departure in departures:
            findings.warn("file name", None, f"{path.name}{departure}")

    def check_topics(
        self, topics: Mapping[str, Sequence[RunRow]], official: Sequence[Container[str]],
        findings: Findings,
    ) -> None:  # fmt: skip
        """Tell of topics that are none of the task, or of no lab, and of those that are missing."""
        of_labs = {topic for year in official for topic in year}
        for topic, rows in topics.items():
            where = f"here and in {len(rows) - 1:,} more rows"
            if not re.fullmatch(rf"{self.letter}\.[1-9][0-9]*", topic):
                message = f"topic is {shown(topic)} {where}; expected one like {self.letter}.1 in "
                findings.error("topic", rows[0].line, message + self.task)
            elif official and topic not in of_labs:
                message = f"{topic}, {where}, is none of the {len(of_labs)} topics"
                findings.error("unknown topic", rows[0].line, message)
        for year in official:
            missing = [topic for topic in year if topic not in topics]
            if 0 < len(missing) < len(year):
                some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
                message = f"{len(missing)} of {len(year)} topics have no rows: {some}"
                findings.warn("missing topic", None, message)

    def check(self, topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
        """Tell of all that is wrong with the rows of one topic among themselves."""
        for column, field in self.ids.items():
            for row in rows:
                name = getattr(row, field)
                if not _PLAIN.fullmatch(name):
                    message = f"{column} is {shown(name)}; expected a plain number"
                    findings.error("id", row.line, message)
        first = _first_rows(rows)
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
    """Compare the ranks of rows, in whose order they stand, with scores as trec_eval sees them."""
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

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return the rows that count, best first; none is cut off."""
        last: dict[str, RunRow] = {}
        for row in rows:
            first = last.get(row.doc_id)
            last[row.doc_id] = row if first is None else first._replace(score=row.score)
        return sorted(last.values(), key=lambda row: -row.score)


class TextRules(AnswerRules):
    """Task 3: one answer a topic: that of the best score, then the lowest rank, the largest id."""

    task = "task3"
    judged = "answers"

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return the rows, best first."""
        return sorted(rows, key=lambda row: (row.score, -row.rank, row.doc_id), reverse=True)

    def check(self, topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
        """Tell of all that is wrong with the rows of one topic."""
        for row in rows:
            if row is not rows[0]:
                message = f"topic {topic} has an answer in row {rows[0].line}"
                findings.error("duplicate", row.line, message)
            if row.rank != 1:
                findings.warn("rank order", row.line, f"rank is {row.rank}; expected 1")
            if len(row.answer) > labs.MAX_ANSWER:
                message = f"{len(row.answer):,} characters; at most {labs.MAX_ANSWER:,} are taken"
                findings.error("answer length", row.line, message)
            if unpaired := unpaired_dollars(row.answer):
                where = f"the $ at character {unpaired[0] + 1} of the answer has no partner"
                findings.warn("dollars", row.line, f"{where}; a dollar sign is written \\$")


class PremiseRules(AnswerRules):
    """NLPS: premises of a statement in the order of the rows; the first 500 distinct ones count."""

    task = "nlps"
    judged = "premises"

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return the rows that count, best first; none is cut off."""
        return list(_first_rows(sorted(rows, key=lambda row: -row.score)).values())


RULES: Final[dict[labs.Task, AnswerRules]] = {
    rules.task: rules for rules in (AnswerRules(), FormulaRules(), TextRules(), PremiseRules())
}


def check_teams(runs: Iterable[tuple[Path, labs.Task, Findings]]) -> None:
    """Tell of runs that are one too many: more than five of a team, or a second primary one."""
    counts: Counter[tuple[str, labs.Task]] = Counter()
    primaries: dict[tuple[str, labs.Task], Path] = {}
    for path, task, findings in runs:
        if name := labs.parse_run_name(path.stem):
            key = name.team, task
            counts[key] += 1
            if counts[key] > labs.MAX_RUNS:
                run = f"run {counts[key]} of {name.team} for {task}"
                findings.error("runs of a team", None, f"{run}; at most {labs.MAX_RUNS} are taken")
            if name.primary and (other := primaries.setdefault(key, path)) != path:
                message = f"{other.name} is {name.team}'s primary run as well"
                findings.error("primary run", None, message)


class Fault(NamedTuple):
    """Why a row may not be returned; `rule` names it in the findings."""

    rule: str
    message: str


Eligible = Callable[[str, str], Fault | None]  # document and post of a row → why it may not be


def eligible(
    rules: AnswerRules, collection: Collection, ids: Callable[[], FormulaIds]
) -> Eligible | None:
    """Return what runs may return of a collection; None: what is not looked up there."""
    if rules.by_formula:
        return eligible_formulas(ids())
    return eligible_answers(collection.posts) if rules.judged == "documents" else None


def eligible_answers(posts: PostTable) -> Eligible:
    """Return what tells the answers of a collection."""
    from arqmath_bm25.collection.posts import ANSWER  # loads lxml, which scoring need not wait for

    @cache  # runs return the same posts again and again
    def fault(doc_id: str, post_id: str = "") -> Fault | None:
        post = posts.read(doc_id)
        if post is None or post.post_id != doc_id:
            return Fault("unknown id", f"the collection has no post {doc_id}")
        if post.post_type != ANSWER:
            return Fault("question id", f"post {doc_id} is a question; expected an answer")
        return None

    return fault


def eligible_formulas(ids: FormulaIds) -> Eligible:
    """Return what tells the formulas of a formula index that stand in posts."""

    def fault(doc_id: str, post_id: str) -> Fault | None:
        places = ids.find(id_numbers([doc_id, post_id]))
        place, swapped = places.tolist()
        post, post_of_swapped = map(str, ids.post[places])
        if swapped >= 0 and post_of_swapped == doc_id and (place < 0 or post != post_id):
            where = f"column 2 has the post, {doc_id}, column 3 the formula, {post_id}"
            return Fault("swapped columns", f"{where}; swap them")
        if place < 0:
            return Fault("unknown id", f"the formula index has no formula {doc_id}")
        if ids.flags[place] & DELETED:
            return Fault("deleted formula", f"formula {doc_id} has issue d: no post holds it")
        if ids.flags[place] & COMMENT:
            return Fault("comment formula", f"formula {doc_id} stands in a comment")
        if post != post_id:
            where = f"formula {doc_id} is in post {post}"
            return Fault("post of formula", f"{where}; the row has {post_id or 'none'}")
        return None

    return fault
