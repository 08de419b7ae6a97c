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
    keep_runs,
    out,
    refuse_repeated,
    results,
    task_of_runs,
)
from arqmath_bm25.collection.collection import INDEXES, CollectionFiles
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError, some
from arqmath_bm25.core.labs import LAB_TASKS, MAX_DEPTH, YEARS, RankingTask, RunTask, official_stem
from arqmath_bm25.core.progress import counted
from arqmath_bm25.core.writing import TEXTS, refuse_endings, sources, together
from arqmath_bm25.runs.eligible import Eligible
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.rows import Findings
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import RunForm, hits_of, ir_metadata_of, write_rows, write_run
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
    elif read.rules.has_posts:
        for row in read.rows:
            if not row.post_id:
                raise InputError(
                    f"{run}: row {row.line}: it does not say in which post formula {row.doc_id} "
                    "stands, as the lab's form must; give --format trec, or the run it was made of"
                )

    keep_runs(output, [run])
    tag = read.tag or official_stem(output)
    rows = write_run(output, hits_of(read), tag, read.task, form, by_user=True, as_read=True)
    note = ""
    if len(read) > rows:
        note = f"; {len(read) - rows:,} left out, since they repeat a document"
    out.print(f"{output}: {counted(len(read.topics), 'topics')}, {counted(rows, 'rows')}{note}")


def _write_for_tira(run: Path, directory: Path) -> None:
    """Write run.txt and ir-metadata.yml; InputError for a run without a manifest of ours."""
    read = Run.read(run)
    read.rules.require("TREC form", run)
    metadata = ir_metadata_of(run)
    run_file = directory / "run.txt"
    metadata_file = directory / "ir-metadata.yml"
    keep_runs(run_file, [run])

    tag = read.tag or official_stem(run)
    with together() as outputs:
        file = outputs.open(run_file)
        rows = write_rows(file, hits_of(read), tag, read.task, "trec", as_read=True)
        described = outputs.open(metadata_file)
        yaml.safe_dump(metadata, described, sort_keys=False, allow_unicode=True)
    out.print(f"{directory}: {counted(len(read.topics), 'topics')}, {counted(rows, 'rows')}")


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
    numbers = None
    name = str(runs[0])
    if weights is not None:
        name = f"--weights {weights}"
        try:
            numbers = [float(weight) for weight in weights.split(",")]
        except ValueError:
            numbers = [math.nan]
    factors = check_weights(name, numbers, len(runs))
    keep_runs(output, runs)
    task = task or task_of_runs(runs, "fuse")
    ids = None
    if data is not None:
        ids = cache(partial(FormulaIds.from_collection, CollectionFiles(data, indexes)))

    parsed = [Run.read(run, task, ids) for run in runs]
    fused = fuse_runs(parsed, factors, method, k, depth, posts=form == "lab")
    manifest = {
        "version": __version__,
        "task": task,
        "method": method,
        "k": None,
        "weights": factors,
        "depth": depth,
        "runs": list(map(asdict, sources(runs))),
    }
    if method == "rrf":
        manifest["k"] = k

    rows = write_run(output, fused.items(), output.stem, task, form, manifest, by_user=True)

    not_in_all = [topic for topic in fused if any(topic not in run.topics for run in parsed)]
    note = ""
    if not_in_all:
        note = f"; not in every run: {some(not_in_all)}"
    size = f"{counted(len(fused), 'topics')}, {counted(rows, 'rows')}"
    out.print(f"{output}: {size}, from {len(parsed)} runs{note}")
    for run in parsed:
        if run.form == "exchanged":
            out.print(f"{run.path}: columns 2 and 3 (formula, post) are exchanged; put right")


# How many rows of a rule are printed; --json has a few more.
_MAX_EXAMPLES = 3


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
        collection = CollectionFiles(data, indexes)

    tasks = [task or detect_task(run) for run in runs]
    for path, run_task in zip(runs, tasks, strict=True):
        RULES[run_task].require("validate", path)
    lookups = {run_task: _lookup(run_task, topics, collection) for run_task in dict.fromkeys(tasks)}

    results_of_check = []
    for path, run_task in zip(runs, tasks, strict=True):
        run = Run.read(path, run_task, strict=True)
        labs, eligible = lookups[run_task]
        results_of_check.append((run, run.faults(labs, eligible)))

    check_teams((run.path, run.task, findings) for run, findings in results_of_check)

    reports = []
    errors = 0
    for run, findings in results_of_check:
        errors += findings.count("error")
        reports.append(
            {
                "run": str(run.path),
                "task": run.task,
                "rows": len(run),
                "topics": len(run.topics),
                "errors": findings.count("error"),
                "warnings": findings.count("warning"),
                "findings": list(map(asdict, findings.by_rule())),
            }
        )
        if json_file != Path("-"):
            _print(run, findings, collection is not None)

    if json_file is not None:
        refuse_endings(json_file, TEXTS - {".json"}, "--json writes JSON")
        text = json.dumps(reports, indent=2, ensure_ascii=False)
        options.write({json_file: f"{text}\n"})

    if errors:
        raise typer.Exit(1)


def _lookup(
    task: RunTask, topics: str | None, collection: CollectionFiles | None
) -> tuple[list[tuple[str, ...]], Eligible | None]:
    """Return the topics of each lab, and the check of documents that runs may return.

    Raises InputError for a year without DATA, and for a year whose file is missing.
    """
    # Topics and documents of users have any ids.
    if task not in LAB_TASKS:
        return [], None

    if collection is None and topics in YEARS:
        raise InputError(f"--topics {topics}: the topics of a year are in DATA; give --data")

    names: Sequence[str] = ()
    if topics is not None:
        names = [topics]
    elif collection is not None:
        names = collection.layout.years(task)

    eligible = None
    files = list(map(Path, names))
    if collection is not None:
        open_ids = partial(FormulaIds.from_collection, collection)
        eligible = RULES[task].eligible(collection, open_ids)
        if names:
            files = [file for _, file in collection.layout.topic_files(task, names)]

    labs = [tuple(topic.topic_id for topic in read_topics(file)) for file in files]
    return labs, eligible


def _print(run: Run, findings: Findings, looked_up: bool) -> None:
    """Print whether a run is valid, and its breaches with a few examples."""
    levels = Counter(breaches.level for breaches in findings.by_rule())
    verdict = "valid"
    if levels["error"]:
        verdict = "not valid"
    for level, rules in levels.items():
        verdict += f", {level}s of {counted(rules, 'rules')}"

    size = f"{run.task}, {counted(len(run.topics), 'topics')}, {counted(len(run), 'rows')}"
    if not looked_up:
        size += "; ids were not looked up: --data does"
    results.print(Text(f"{run.path}: {verdict} ({size})"))

    for breaches in findings.by_rule():
        style = "yellow"
        if breaches.level == "error":
            style = "red"

        for example in breaches.examples[:_MAX_EXAMPLES]:
            row = ""
            if example.row is not None:
                row = f"row {example.row}: "
            line = Text(f"  {breaches.level:7} ", style=style)
            results.print(line.append(f"{breaches.rule}: {row}{example.message}", style="default"))

        if breaches.count > _MAX_EXAMPLES:
            more = f"          … and {breaches.count - _MAX_EXAMPLES:,} more of this rule"
            results.print(Text(more, style="dim"))
