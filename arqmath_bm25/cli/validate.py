"""The command `validate`: would the labs accept these runs, and what must change if not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from arqmath_bm25.cli.shared import options
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LAB_TASKS, LabTask
from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.runs.repair import repair, repaired_path
from arqmath_bm25.runs.rows import detect_task
from arqmath_bm25.runs.rules import Report, check_teams
from arqmath_bm25.runs.rules import validate as check
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from rich.console import Console

    from arqmath_bm25.runs.eligible import Eligible

    _Known = tuple[list[tuple[str, ...]], Eligible | None]  # topics of each lab, documents

_SHOWN = 3  # rows of a rule that are printed; --json has a few more


def validate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run files.")],
    task: Annotated[
        LabTask | None,
        typer.Option(help="Task of the runs. Default: by file name, else by the first topic."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Root of an ARQMath distribution: topics and documents are looked up in it."
        ),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(
            help="2020, 2021 or 2022 (in DATA) or a topic file. Default: every lab in DATA of "
            "which the run has topics."
        ),
    ] = None,
    indexes: options.Indexes = options.INDEXES,
    fix: Annotated[bool, typer.Option("--fix", help="Write a valid copy of each run.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Name of the valid copy. Default: the official name if it is "
            "free, else RUN.fixed.tsv.",
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE|-", help="Write all findings as JSON; - is stdout."),
    ] = None,
) -> None:
    """Hold runs against the rules of the labs; exit status 1 if one breaks them.

    Errors are what a lab refuses or drops, warnings what it tolerates.

    Example: arqmath-bm25 validate runs/*.tsv --data /data/ARQMath

    Example: arqmath-bm25 validate old-run.txt --fix -o Team-task1-bm25-auto-both-A.tsv
    """
    if output is not None and (not fix or len(runs) > 1):
        raise InputError("--output names the copy that --fix writes of one run")
    collection = None if data is None else Collection(data, indexes)
    tasks = [task or _task_of(run) for run in runs]
    known: dict[LabTask, _Known] = {}
    for each in dict.fromkeys(tasks):
        files = options.topic_files(topics, each, collection)
        labs = [tuple(topic.topic_id for topic in read_topics(file)) for file in files]
        eligible = None if collection is None else RULES[each].eligible(collection)
        known[each] = labs, eligible
    reports = [check(run, each, *known[each]) for run, each in zip(runs, tasks, strict=True)]
    check_teams(reports)
    out = PlainConsole(highlight=False, soft_wrap=True, quiet=json_file == Path("-"))
    for report in reports:
        _print(report, out)
    if json_file is not None:
        found = [_as_json(report) for report in reports]
        options.write(json_file, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if fix:
        for run, each in zip(runs, tasks, strict=True):
            _fix(run, output or repaired_path(run), each, known[each], runs, out)
    if any(report.findings.count("error") for report in reports):
        raise typer.Exit(1)


def _task_of(run: Path) -> LabTask:
    task = detect_task(run)
    if task not in LAB_TASKS:
        raise InputError(f"{run}: a run of {task}, for which ARQMath has no rules")
    return task


def _print(report: Report, out: Console) -> None:
    levels = Counter(examples[0].level for examples, _ in report.findings.by_rule())
    verdict = "not valid" if levels["error"] else "valid"
    for level, rules in levels.items():
        verdict += f", {level}s of {rules} {'rule' if rules == 1 else 'rules'}"
    what = f"{report.task}, {report.topics:,} topics, {report.rows:,} rows"
    if not report.looked_up:
        what += "; ids were not looked up: --data does"
    out.print(Text(f"{report.path}: {verdict} ({what})"))
    for examples, count in report.findings.by_rule():
        style = "red" if examples[0].level == "error" else "yellow"
        for finding in examples[:_SHOWN]:
            row = "" if finding.row is None else f"row {finding.row}: "
            line = Text(f"  {finding.level:7} ", style=style)
            out.print(line.append(f"{finding.rule}: {row}{finding.message}", style="default"))
        if count > _SHOWN:
            out.print(Text(f"          … and {count - _SHOWN:,} more of this rule", style="dim"))


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "run": str(report.path),
        "task": report.task,
        "rows": report.rows,
        "topics": report.topics,
        "errors": report.findings.count("error"),
        "warnings": report.findings.count("warning"),
        "findings": [
            {
                "level": examples[0].level,
                "rule": examples[0].rule,
                "count": count,
                "examples": [{"row": each.row, "message": each.message} for each in examples],
            }
            for examples, count in report.findings.by_rule()
        ],
    }


def _fix(
    run: Path, target: Path, task: LabTask, known: _Known, runs: list[Path], out: Console
) -> None:
    options.keep_runs(target, runs)
    changes = repair(run, target, task, *known)
    out.print(Text(f"{target}: written" if changes else f"{target}: written, nothing changed"))
    for change, rows in sorted(changes.items()):
        out.print(Text(f"  {change}: {rows:,} {'row' if rows == 1 else 'rows'}"))
