"""The labs' rules for runs (guidelines of the three labs), each breach with its row.

An error is what the lab refuses or drops; a warning is what it tolerates though it may not be
what the author meant: trec_eval ignores ranks and orders by score, equal scores by id. What
concerns the rows of a topic among themselves is in `task_rules`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arqmath_bm25.core.errors import shown
from arqmath_bm25.core.labs import MAX_RUNS, official_stem, parse_run_name
from arqmath_bm25.runs.findings import Findings
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from arqmath_bm25.core.labs import Task
    from arqmath_bm25.runs.eligible import Eligible


@dataclass(frozen=True)
class Report:
    """All findings on one run."""

    path: Path
    task: Task
    rows: int  # that could be understood
    topics: int  # that have such rows
    looked_up: bool  # whether documents were looked up in a collection
    findings: Findings


def validate(
    path: Path,
    task: Task,
    labs: Sequence[Collection[str]] = (),
    eligible: Eligible | None = None,
) -> Report:
    """Check one run against every rule that can be checked.

    `labs` are the topics of each lab: a topic of none is unknown, and one is missing if the run
    has others of its lab. Without `eligible`, documents are not looked up. Raises InputError for a
    file that is no text at all.
    """
    findings = Findings()
    run = read_strictly(path, task, findings)
    _check_name(path, run, findings)
    for topic, rows in run.topics.items():
        run.rules.check(topic, rows, findings)
        for row in rows if eligible is not None else ():
            fault = eligible.fault(row.doc_id, row.post_id) if eligible is not None else None
            if fault is not None:
                findings.error(fault.rule, row.line, fault.message)
    if "" in run.run_ids:
        findings.error("run id", None, "there are rows without a run id")
    if len(run.run_ids) > 1:
        some = ", ".join(map(repr, list(run.run_ids)[:3]))
        findings.warn("run id", None, f"{len(run.run_ids)} run ids ({some}, …); expected one")
    _check_topics(run, labs, findings)
    return Report(path, run.task, len(run), len(run.topics), eligible is not None, findings)


def read_strictly(path: Path, task: Task, findings: Findings) -> Run:
    """Read a run as it stands, but for columns that the whole run shows to be out of place."""
    run = Run.read(path, task, sink=findings).put_right()
    if run.form == "exchanged":
        message = "column 2 holds the posts, column 3 the formulas; swap them"
        findings.error("swapped columns", None, message)
    elif run.form == "trec" and not findings.count(rule="TREC form"):
        message = "TREC's columns; the lab expects the post as well"
        findings.error("TREC form", None, message)
    return run


def check_teams(reports: Sequence[Report]) -> None:
    """Add findings on runs that are one too many: more than five, or a second primary one."""
    runs: Counter[tuple[str, Task]] = Counter()
    primaries: dict[tuple[str, Task], Path] = {}
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


def _check_name(path: Path, run: Run, findings: Findings) -> None:
    name, task = parse_run_name(path.stem), run.task
    kind = "" if run.rules.judged == "documents" else "-[extract|generate]"
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


def _check_topics(run: Run, labs: Sequence[Collection[str]], findings: Findings) -> None:
    known = {topic for lab in labs for topic in lab}
    for topic, rows in run.topics.items():
        where = f"here and in {len(rows) - 1:,} more rows"
        if not run.rules.is_topic(topic):
            expected = f"expected one like {run.rules.letter}.1 in {run.task}"
            findings.error("topic", rows[0].line, f"topic is {shown(topic)} {where}; {expected}")
        elif labs and topic not in known:
            message = f"{topic}, {where}, is none of the {len(known)} topics"
            findings.error("unknown topic", rows[0].line, message)
    for lab in labs:
        missing = [topic for topic in lab if topic not in run.topics]
        if 0 < len(missing) < len(lab):
            some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            findings.warn(
                "missing topic", None, f"{len(missing)} of {len(lab)} topics have no rows: {some}"
            )
