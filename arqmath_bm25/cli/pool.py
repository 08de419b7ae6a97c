"""The commands `pool` and `judge`: from runs to a batch for annotation, and back to judgments."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from arqmath_bm25.cli.lab_topics import topic_files
from arqmath_bm25.collection.formula_topics import read_formula_topics
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.annotation import Question, require, write_batch
from arqmath_bm25.evaluation.eligible import EligibleAnswers, EligibleFormulas
from arqmath_bm25.evaluation.judge import judge as read_judgments
from arqmath_bm25.evaluation.pool import Depths, Pool, pool_answers, pool_formulas
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.evaluation.run_form import task_of
from arqmath_bm25.evaluation.visual import VisualIds
from arqmath_bm25.sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

out = Console(highlight=False, soft_wrap=True)


def pool(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of one task.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="BATCH.csv", help="The batch; its template goes beside it."
        ),
    ],
    depth: Annotated[
        int, typer.Option(min=1, help="Hits of a run for each topic (Task 2: distinct formulas).")
    ] = 50,
    primary_depth: Annotated[
        int | None,
        typer.Option(min=1, help="The same for primary runs, named …-P. Default: as --depth."),
    ] = None,
    task: Annotated[
        Literal["task1", "task2"] | None, typer.Option(help="Default: what the runs say.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Root of an ARQMath distribution. Default: the bundled sample."),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(help="2020, 2021 or 2022 (in DATA) or a topic file. Default: all in DATA."),
    ] = None,
    formulas: Annotated[
        Path | None,
        typer.Option(help="LaTeX formula TSVs. Default: those of DATA."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice and the order of what is shown.")] = 0,
) -> None:
    """Pool runs for judging, as the labs do, into a CSV batch for the annotation tool Turkle.

    Task 1 takes the best answers of each run, Task 2 the best distinct formulas, each shown in at
    most five posts. `judge` turns the annotations into qrels.

    Example: arqmath-bm25 pool runs/*-task1-*.tsv --depth 20 --primary-depth 45 -o batch.csv
    """
    layout = Layout(data or SAMPLE)
    task = task or _task(runs)
    depths = Depths(primary=primary_depth or depth, other=depth)
    files = topic_files(topics, task, layout) or [layout.task2_topics("2020")]
    posts = PostTable.scan(layout.posts())
    latex: dict[str, str] = {}
    if task == "task1":
        questions = {t.topic_id: Question(t) for file in files for t in read_topics(file)}
        pooled = pool_answers(runs, depths, EligibleAnswers(posts), seed)
    else:
        questions = {
            topic.topic_id: Question(topic, searched, formula_id)
            for file in files
            for topic, formula_id, searched in read_formula_topics(file)
        }
        formulas = formulas or layout.formulas()
        eligible = EligibleFormulas(VisualIds.read(formulas))
        pooled = pool_formulas(runs, depths, eligible, partial(_thread_of, posts), seed)
        shown = {hit.formula_id for item in pooled.items for hit in item.hits}
        latex = {f.formula_id: f.latex for f in read_formulas(formulas) if f.formula_id in shown}
    if not pooled.items:
        raise InputError(
            f"{runs[0]}: no hit of the runs may be judged; `arqmath-bm25 validate --data` says why"
        )
    rows = write_batch(output, pooled.items, questions, posts, latex)
    posts.close()
    _report(pooled, rows, output)


def _thread_of(posts: PostTable, post_id: str) -> str:
    """Return the question of a post: its parent, or the post itself."""
    return require(posts, post_id).parent_id or post_id


def _task(runs: Sequence[Path]) -> Literal["task1", "task2"]:
    tasks = {run: task_of(run) for run in runs}
    first = tasks[runs[0]]
    for run, each in tasks.items():
        if each != first:
            raise InputError(f"{run}: a run of {each}, {runs[0]} of {first}; pool one task at once")
    if first == "task3":
        raise InputError(f"{runs[0]}: Task 3 has one answer a topic; there is nothing to pool")
    return first


def _report(pooled: Pool, rows: int, output: Path) -> None:
    topics = len({item.topic_id for item in pooled.items})
    hits = sum(len(item.hits) for item in pooled.items)
    out.print(f"{output}: {topics:,} topics, {rows:,} rows, {hits:,} hits to judge")
    out.print(f"{output.with_suffix('.html')}: the template")
    for rule, count in sorted(pooled.left_out.items()):
        out.print(f"  left out: {count:,} hits, {rule}", style="yellow")


def judge(
    results: Annotated[
        Path, typer.Argument(metavar="BATCH_RESULTS.csv", help="Results CSV of the batch.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="QRELS.tsv", help="The judgments.")
    ],
) -> None:
    """Turn the annotations of a batch into qrels.

    A formula gets the highest grade of its instances. "System failure" and "Do not know" are left
    out and counted. Two different labels of one hit are refused.

    Example: arqmath-bm25 judge batch-Batch_1_results.csv -o qrels.tsv
    """
    judged = read_judgments(results)
    if not judged.qrels:
        raise InputError(f"{results}: no hit was given a grade; there is nothing to write")
    write_qrels(output, judged.qrels)
    documents = sum(map(len, judged.qrels.values()))
    out.print(f"{output}: {len(judged.qrels):,} topics, {documents:,} judgments")
    for label, count in judged.labels.items():
        out.print(f"  {count:,} hits: {label}")
    if judged.without_grade:
        out.print(f"  left out: {judged.without_grade:,} documents without any grade")
