"""The command `validate`: would the labs accept these runs, and what must change if not."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.collection import INDEXES, Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LAB_TASKS, LabTask
from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.runs.eligible import Eligible, eligible
from arqmath_bm25.runs.findings import Findings
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import detect_task
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES, check_teams

_SHOWN = 3  # rows of a rule that are printed; --json has a few more


@command
def validate(
    runs: list[Path],
    task: LabTask | None = None,
    data: Path | None = None,
    topics: str | None = None,
    indexes: Path = INDEXES,
    json_file: Path | None = None,
) -> None:
    """Check runs against the rules of the labs; exit status 1 if one breaks them.

    Errors are what a lab refuses or drops, warnings what it tolerates.

    Example: arqmath-bm25 validate runs/*.tsv --data /data/ARQMath
    """
    collection = None if data is None else Collection(data, indexes)
    tasks = [task or _task_of(run) for run in runs]
    lookups = {each: _lookup(each, topics, collection) for each in dict.fromkeys(tasks)}
    checked = []
    for path, each in zip(runs, tasks, strict=True):
        run = Run.read(path, each, strict=True)
        checked.append((run, run.faults(*lookups[each])))
    check_teams((run.path, run.task, findings) for run, findings in checked)
    out = PlainConsole(highlight=False, soft_wrap=True, quiet=json_file == Path("-"))
    for run, findings in checked:
        _print(run, findings, collection is not None, out)
    if json_file is not None:
        reports = [_as_json(run, findings) for run, findings in checked]
        options.write(json_file, json.dumps(reports, indent=2, ensure_ascii=False) + "\n")
    if any(findings.count("error") for _, findings in checked):
        raise typer.Exit(1)


def _lookup(
    task: LabTask, topics: str | None, collection: Collection | None
) -> tuple[list[tuple[str, ...]], Eligible | None]:
    """Return the topics of each lab, and what may be returned."""
    files = options.topic_files(topics, task, collection)
    labs = [tuple(topic.topic_id for topic in read_topics(file)) for file in files]
    if collection is None:
        return labs, None
    return labs, eligible(RULES[task], collection, partial(FormulaIds.of, collection))


def _task_of(run: Path) -> LabTask:
    task = detect_task(run)
    if task not in LAB_TASKS:
        raise InputError(f"{run}: a run of {task}, for which ARQMath has no rules")
    return task


def _print(run: Run, findings: Findings, looked_up: bool, out: Console) -> None:
    levels = Counter(examples[0].level for examples, _ in findings.by_rule())
    verdict = "not valid" if levels["error"] else "valid"
    for level, rules in levels.items():
        verdict += f", {level}s of {rules} {'rule' if rules == 1 else 'rules'}"
    what = f"{run.task}, {len(run.topics):,} topics, {len(run):,} rows"
    if not looked_up:
        what += "; ids were not looked up: --data does"
    out.print(Text(f"{run.path}: {verdict} ({what})"))
    for examples, count in findings.by_rule():
        style = "red" if examples[0].level == "error" else "yellow"
        for finding in examples[:_SHOWN]:
            row = "" if finding.row is None else f"row {finding.row}: "
            line = Text(f"  {finding.level:7} ", style=style)
            out.print(line.append(f"{finding.rule}: {row}{finding.message}", style="default"))
        if count > _SHOWN:
            out.print(Text(f"          … and {count - _SHOWN:,} more of this rule", style="dim"))


def _as_json(run: Run, findings: Findings) -> dict[str, Any]:
    return {
        "run": str(run.path),
        "task": run.task,
        "rows": len(run),
        "topics": len(run.topics),
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "findings": [
            {
                "level": examples[0].level,
                "rule": examples[0].rule,
                "count": count,
                "examples": [{"row": each.row, "message": each.message} for each in examples],
            }
            for examples, count in findings.by_rule()
        ],
    }
