"""The labs' rules for runs (guidelines of the three labs), each breach with its row.

An error is what the lab refuses or drops; a warning is what it tolerates though it may not be
what the author meant: trec_eval ignores ranks and orders by score, equal scores by id.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.analysis.answer_text import unpaired_dollars
from arqmath_bm25.core.labs import MAX_ANSWER, MAX_DEPTH, MAX_RUNS, official_stem, parse_run_name
from arqmath_bm25.runs.findings import Findings
from arqmath_bm25.runs.form import read_strictly
from arqmath_bm25.runs.run_files import AnswerRow, RunRow
from arqmath_bm25.runs.run_table import RunTable, TopicRows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.core.labs import LabTask
    from arqmath_bm25.runs.eligible import Eligible

_TOPIC: Final = re.compile(r"([AB])\.[1-9][0-9]*")

_Found = dict[str, tuple[int, int]]  # topic -> number of its rows, line of the first


@dataclass(frozen=True)
class Report:
    """All findings on one run."""

    path: Path
    task: LabTask
    rows: int  # that could be understood
    topics: int  # that have such rows
    looked_up: bool  # whether documents were looked up in a collection
    findings: Findings


def validate(
    path: Path,
    task: LabTask,
    labs: Sequence[Collection[str]] = (),
    eligible: Eligible | None = None,
) -> Report:
    """Hold one run against every rule that can be checked.

    `labs` are the topics of each lab: a topic of none is unknown, and one is missing if the run
    has others of its lab. Without `eligible`, documents are not looked up. Raises InputError for a
    file that is no text at all.
    """
    findings = Findings()
    _check_name(path, task, findings)
    if task == "task3":
        answers = [r for r in read_strictly(path, task, findings) if isinstance(r, AnswerRow)]
        found: _Found = {}
        for row in answers:
            count, line = found.get(row.topic_id, (0, row.line))
            found[row.topic_id] = count + 1, line
        _check_answers(answers, findings)
        run_ids = {row.run_id: None for row in answers}
        rows = len(answers)
    else:
        table = read_table(path, task, findings)
        found = {}
        for topic in table.topics():
            found[topic.topic_id] = len(topic.line), int(topic.line[0])
            _check_topic(topic, table, task, findings)
            if eligible is not None:
                _check_documents(topic, table, eligible, findings)
        run_ids = dict.fromkeys(table.run_ids)
        rows = len(table)
    if "" in run_ids:
        findings.error("run id", None, "there are rows without a run id")
    if len(run_ids) > 1:
        some = ", ".join(list(run_ids)[:3])
        findings.warn("run id", None, f"{len(run_ids)} run ids ({some}, …); expected one")
    _check_topics(found, task, labs, findings)
    return Report(path, task, rows, len(found), eligible is not None, findings)


def read_table(path: Path, task: LabTask, findings: Findings) -> RunTable:
    """Read every row of a Task 1 or Task 2 run that can be understood."""
    table = RunTable()
    for row in read_strictly(path, task, findings):
        if isinstance(row, RunRow):
            table.append(row)
    return table


def check_teams(reports: Sequence[Report]) -> None:
    """Add findings on runs that are one too many: more than five, or a second primary one."""
    runs: Counter[tuple[str, LabTask]] = Counter()
    primaries: dict[tuple[str, LabTask], Path] = {}
    for report in reports:
        name = parse_run_name(report.path.stem)
        if name is None:
            continue
        key = name.team, report.task
        runs[key] += 1
        if runs[key] > MAX_RUNS:
            report.findings.error(
                "runs of a team",
                None,
                f"run {runs[key]} of {name.team} for {report.task}; at most {MAX_RUNS} are taken",
            )
        if name.primary and primaries.setdefault(key, report.path) != report.path:
            report.findings.error(
                "primary run", None, f"{primaries[key].name} is {name.team}'s primary run as well"
            )


def _check_name(path: Path, task: LabTask, findings: Findings) -> None:
    name = parse_run_name(path.stem)
    kind = "-[extract|generate]" if task == "task3" else ""
    if official_stem(path) != path.stem:
        findings.warn("file name", None, f"{path.name}: a prime file: cut to what was judged")
    if name is None or path.suffix != ".tsv":
        expected = f"[team]-{task}-[id]-[manual|auto]-[text|math|both]{kind}-[P|A].tsv"
        findings.warn("file name", None, f"{path.name}; expected {expected}")
        return
    if name.task != task:
        findings.warn("file name", None, f"{path.name} says {name.task}; checked as {task}")
    if "." in path.stem:
        findings.warn("file name", None, f"{path.name}: the lab's scripts cut it at the first dot")


def _check_topics(
    found: _Found, task: LabTask, labs: Sequence[Collection[str]], findings: Findings
) -> None:
    known = {topic for lab in labs for topic in lab}
    for topic, (rows, line) in found.items():
        if not is_topic(topic, task):
            example = "B.1" if task == "task2" else "A.1"
            findings.error(
                "topic",
                line,
                f"topic is {topic!r} here and in {rows - 1:,} more rows; expected one like "
                f"{example} in {task}",
            )
        elif labs and topic not in known:
            findings.error(
                "unknown topic",
                line,
                f"{topic}, here and in {rows - 1:,} more rows, is none of the {len(known)} topics",
            )
    for lab in labs:
        missing = [topic for topic in lab if topic not in found]
        if 0 < len(missing) < len(lab):
            some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            findings.warn(
                "missing topic", None, f"{len(missing)} of {len(lab)} topics have no rows: {some}"
            )


def _check_topic(topic: TopicRows, table: RunTable, task: LabTask, findings: Findings) -> None:
    """Check what concerns the rows of one topic among themselves."""
    name, line = topic.topic_id, topic.line
    columns = {"formula": topic.doc, "post": topic.post} if task == "task2" else {"post": topic.doc}
    for column, codes in columns.items():
        for at in np.flatnonzero(codes < 0):
            found = table.name(int(codes[at]))
            findings.error("id", int(line[at]), f"{column} is {found!r}; expected a plain number")
    first = first_rows(topic.doc)
    for at in np.setdiff1d(np.arange(len(line)), first):
        doc = table.name(int(topic.doc[at]))
        findings.error("duplicate", int(line[at]), f"{doc} is in topic {name} already")
    if len(line) > MAX_DEPTH:
        findings.error(
            "depth",
            int(line[MAX_DEPTH]),
            f"topic {name} has {len(line):,} rows; at most {MAX_DEPTH:,} are taken",
        )
    out_of_order = np.flatnonzero(topic.rank != np.arange(1, len(line) + 1))
    if len(out_of_order):
        at = out_of_order[0]
        findings.warn(
            "rank order",
            int(line[at]),
            f"topic {name}: rank is {topic.rank[at]}; expected {at + 1}: 1, 2, 3, … in file order",
        )
    _check_scores(topic.take(first), table, findings)


def _check_scores(topic: TopicRows, table: RunTable, findings: Findings) -> None:
    """Compare ranks with scores, as trec_eval sees these: 32-bit floats."""
    by_rank = topic.take(np.argsort(topic.rank, kind="stable"))
    score = by_rank.score.astype(np.float32)
    rises = np.flatnonzero(score[1:] > score[:-1]) + 1
    if len(rises):
        at = rises[0]
        findings.warn(
            "score order",
            int(by_rank.line[at]),
            f"topic {topic.topic_id}: rank {by_rank.rank[at]} has score {by_rank.score[at]:g}, "
            f"rank {by_rank.rank[at - 1]} only {by_rank.score[at - 1]:g}; scores decide",
        )
    _, first, counts = np.unique(score, return_index=True, return_counts=True)
    if len(first) < len(score):
        tied = int(counts[counts > 1].sum())
        at = first[counts > 1].min()
        findings.warn(
            "ties",
            int(by_rank.line[at]),
            f"topic {topic.topic_id}: {tied} rows share their score with another "
            f"({by_rank.score[at]:g}, …); trec_eval orders them by id, descending",
        )


def _check_documents(
    topic: TopicRows, table: RunTable, eligible: Eligible, findings: Findings
) -> None:
    """Look every document up in the collection."""
    for line, doc, post in zip(topic.line, topic.doc, topic.post, strict=True):
        fault = eligible.fault(table.name(int(doc)), table.name(int(post)))
        if fault is not None:
            findings.error(fault.rule, int(line), fault.message)


def _check_answers(rows: Iterable[AnswerRow], findings: Findings) -> None:
    """Check what concerns the one answer of a topic (Task 3)."""
    seen: dict[str, int] = {}
    for row in rows:
        if seen.setdefault(row.topic_id, row.line) != row.line:
            findings.error(
                "duplicate",
                row.line,
                f"topic {row.topic_id} has an answer in row {seen[row.topic_id]}",
            )
        if row.rank != 1:
            findings.warn("rank order", row.line, f"rank is {row.rank}; expected 1")
        if len(row.answer) > MAX_ANSWER:
            findings.error(
                "answer length",
                row.line,
                f"{len(row.answer):,} characters; at most {MAX_ANSWER:,} are taken",
            )
        unpaired = unpaired_dollars(row.answer)
        if unpaired:
            findings.warn(
                "dollars",
                row.line,
                f"the $ at character {unpaired[0] + 1} of the answer has no partner; a dollar sign "
                "is written \\$",
            )


def first_rows(docs: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the positions of the first row of each document, in file order."""
    return np.sort(np.unique(docs, return_index=True)[1])


def is_topic(topic: str, task: LabTask) -> bool:
    """Tell whether a topic is one of the task, by its form: A.n, B.n in Task 2."""
    match = _TOPIC.fullmatch(topic)
    return match is not None and (match[1] == "B") == (task == "task2")
