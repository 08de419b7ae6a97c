"""The commands `convert`, `fuse` and `validate`, which work on run files."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path

import typer
import yaml
from rich.text import Text

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import (
    data_of,
    keep_runs,
    out,
    refuse_repeated,
    results,
    task_of_runs,
)
from arqmath_bm25.collection.collection import INDEXES, Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LAB_TASKS, MAX_DEPTH, YEARS, RankingTask, RunTask, official_stem
from arqmath_bm25.core.progress import counted, some
from arqmath_bm25.core.writing import complete, sources
from arqmath_bm25.runs.eligible import Eligible
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.rows import Findings
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import RunForm, hits_of, ir_metadata_of, write_run
from arqmath_bm25.runs.task_rules import RULES, check_teams, detect_task
from arqmath_bm25.version import __version__


@command
def convert(
    run: Path, output: Path | None = None, form: RunForm = "lab", tira: Path | None = None
) -> None:
    """Write a run in the lab's form or TREC's, gzipped or not; or as TIRA takes it.

    Rows are sorted as they are scored, with ranks from 1. TREC's form has no post ids (Task 2), and
    it does not exist for answer texts (Task 3) and premises (NLPS).

    Example: arqmath-bm25 convert Team-task1-bm25-auto-both-P.tsv --format trec -o run.trec.gz

    Example: arqmath-bm25 convert Team-task1-bm25-auto-both-P.tsv --tira submission
    """
    if tira is not None and output is None:
        _write_for_tira(run, tira)
        return
    if output is None or tira is not None:
        raise InputError("give either --output FILE or --tira DIR")

    read = Run.read(run)
    if form == "trec":
        read.rules.require("TREC form", run)
    elif read.has_posts:
        _require_posts(read)

    keep_runs(output, [run])
    tag = read.tag or official_stem(output)
    rows = write_run(output, hits_of(read), tag, read.task, form, by_user=True)
    repeated = len(read) - rows
    note = ""
    if repeated:
        note = f"; {repeated:,} left out, since they repeat a document"
    out.print(f"{output}: {counted(len(read.topics), 'topics')}, {counted(rows, 'rows')}{note}")


def _write_for_tira(run: Path, directory: Path) -> None:
    """Write run.txt and ir-metadata.yml; InputError for a run without a manifest of ours."""
    read = Run.read(run)
    read.rules.require("TREC form", run)
    metadata = ir_metadata_of(run)
    outputs = [directory / "run.txt", directory / "ir-metadata.yml"]
    for output in outputs:
        keep_runs(output, [run])

    tag = read.tag or official_stem(run)
    rows = write_run(outputs[0], hits_of(read), tag, read.task, "trec")
    with complete(outputs[1]) as file:
        yaml.safe_dump(metadata, file, sort_keys=False, allow_unicode=True)
    out.print(f"{directory}: {counted(len(read.topics), 'topics')}, {counted(rows, 'rows')}")


def _require_posts(run: Run) -> None:
    """Raise InputError for a formula without the post that holds it."""
    for row in run.rows:
        if not row.post_id:
            raise InputError(
                f"{run.path}: row {row.line}: it does not say in which post formula {row.doc_id} "
                "stands, as the lab's form must; give --format trec, or the run it was made of"
            )


@command
def fuse(
    runs: list[Path],
    output: Path,
    method: Method = "rrf",
    weights: str | None = None,
    k: int = RRF_K,
    depth: int = MAX_DEPTH,
    form: RunForm = "lab",
    task: RankingTask | None = None,
    data: Path | None = None,
    indexes: Path = INDEXES,
) -> None:
    """Fuse the rankings of several runs of Task 1 or Task 2 into one run.

    Runs may be in the lab's form or TREC's. As in evaluation, the best 1,000 documents of a topic
    count, ordered by score, ties by descending id, each document once. If some runs lack a topic,
    it is fused from the runs that have it.

    Example: arqmath-bm25 fuse text.tsv math.tsv -o Team-task1-rrf-auto-both-A.tsv

    Example: arqmath-bm25 fuse a.tsv b.tsv --method weighted --weights 1,0.3 -o fused.tsv
    """
    refuse_repeated(runs)
    factors = _weights(weights, runs)
    keep_runs(output, runs)
    task = task or task_of_runs(runs, "fuse")
    data = data_of(runs, data)
    ids = None
    if data is not None:
        ids = cache(partial(FormulaIds.from_collection, Collection(data, indexes)))

    read = [Run.read(run, task, ids) for run in runs]
    fused = fuse_runs(read, factors, method, k, depth, posts=form == "lab")
    manifest = {
        "version": __version__,
        "task": task,
        "method": method,
        "k": k if method == "rrf" else None,
        "weights": factors,
        "depth": depth,
        "runs": [asdict(source) for source in sources(runs)],
    }
    rows = write_run(output, fused.items(), output.stem, task, form, manifest, by_user=True)
    lacking = [topic for topic in fused if any(topic not in run.topics for run in read)]
    note = ""
    if lacking:
        note = f"; not in every run: {some(lacking)}"

    size = f"{counted(len(fused), 'topics')}, {counted(rows, 'rows')}"
    out.print(f"{output}: {size}, from {len(runs)} runs{note}")
    for run in read:
        if run.form == "exchanged":
            out.print(f"{run.path}: columns 2 and 3 (formula, post) are exchanged; put right")


def _weights(weights: str | None, runs: Sequence[Path]) -> list[float]:
    if weights is None:
        return check_weights(str(runs[0]), None, len(runs))

    try:
        numbers = [float(weight) for weight in weights.split(",")]
    except ValueError:
        numbers = [math.nan]
    return check_weights(f"--weights {weights}", numbers, len(runs))


_SHOWN = 3  # rows of a rule that are printed; --json has a few more


@command
def validate(
    runs: list[Path],
    task: RunTask | None = None,
    data: Path | None = None,
    topics: str | None = None,
    indexes: Path = INDEXES,
    json_file: Path | None = None,
) -> None:
    """Check runs against the rules of the labs; exit status 1 if one breaks them.

    A lab refuses or drops errors; it tolerates warnings.

    Example: arqmath-bm25 validate runs/*/2021/*.tsv --data /data/ARQMath
    """
    collection = None
    if data is not None:
        collection = Collection(data, indexes)

    tasks = [task or detect_task(run) for run in runs]
    for path, each in zip(runs, tasks, strict=True):
        RULES[each].require("validate", path)
    lookups = {each: _lookup(each, topics, collection) for each in dict.fromkeys(tasks)}
    checked = []
    for path, each in zip(runs, tasks, strict=True):
        run = Run.read(path, each, strict=True)
        checked.append((run, run.faults(*lookups[each])))

    check_teams((run.path, run.task, findings) for run, findings in checked)
    if json_file != Path("-"):
        for run, findings in checked:
            _print(run, findings, collection is not None)

    if json_file is not None:
        reports = [
            {
                "run": str(run.path),
                "task": run.task,
                "rows": len(run),
                "topics": len(run.topics),
                "errors": findings.count("error"),
                "warnings": findings.count("warning"),
                "findings": list(map(asdict, findings.by_rule())),
            }
            for run, findings in checked
        ]
        options.write({json_file: json.dumps(reports, indent=2, ensure_ascii=False) + "\n"})

    if any(findings.count("error") for _, findings in checked):
        raise typer.Exit(1)


def _lookup(
    task: RunTask, topics: str | None, collection: Collection | None
) -> tuple[list[tuple[str, ...]], Eligible | None]:
    """Return the topics of each lab, and the documents that runs may return.

    Raises InputError for a year without DATA, or one whose file is not there.
    """
    if task not in LAB_TASKS:  # topics and documents of one's own have any ids
        return [], None

    if collection is None and topics in YEARS:
        raise InputError(f"--topics {topics}: the topics of a year are in DATA; give --data")

    chosen: Sequence[str] = ()
    if topics is not None:
        chosen = [topics]
    elif collection is not None:
        chosen = collection.layout.years(task)

    may_be_returned = None
    files = [Path(name) for name in chosen]
    if collection is not None:
        may_be_returned = RULES[task].eligible(
            collection, partial(FormulaIds.from_collection, collection)
        )
        if chosen:
            files = [file for _, file in collection.layout.topic_files(task, chosen)]

    labs = [tuple(topic.topic_id for topic in read_topics(file)) for file in files]
    return labs, may_be_returned


def _print(run: Run, findings: Findings, looked_up: bool) -> None:
    levels = Counter(breaches.level for breaches in findings.by_rule())
    verdict = "valid"
    if levels["error"]:
        verdict = "not valid"
    for level, rules in levels.items():
        verdict += f", {level}s of {counted(rules, 'rules')}"
    what = f"{run.task}, {counted(len(run.topics), 'topics')}, {counted(len(run), 'rows')}"
    if not looked_up:
        what += "; ids were not looked up: --data does"
    results.print(Text(f"{run.path}: {verdict} ({what})"))
    for breaches in findings.by_rule():
        style = "red" if breaches.level == "error" else "yellow"
        for example in breaches.examples[:_SHOWN]:
            row = ""
            if example.row is not None:
                row = f"row {example.row}: "
            line = Text(f"  {breaches.level:7} ", style=style)
            results.print(line.append(f"{breaches.rule}: {row}{example.message}", style="default"))

        if breaches.count > _SHOWN:
            more = f"          … and {breaches.count - _SHOWN:,} more of this rule"
            results.print(Text(more, style="dim"))
