"""What `eval` and `compare` share: their options, and runs scored for each year."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import TASKS, YEARS, Task, Year
from arqmath_bm25.core.progress import console
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.visual_qrels import IdKind
from arqmath_bm25.runs.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.evaluation.evaluator import Evaluator, Scored

TaskName = Annotated[
    str, typer.Option("--task", help=f"{', '.join(TASKS)}, or all: each as it tells itself.")
]
QrelsFile = Annotated[
    Path | None,
    typer.Option(
        "--qrels", help="Judgments to use instead of the official ones; for nlps the gold JSON."
    ),
]
YearNames = Annotated[
    list[str] | None,
    typer.Option(
        "--topics", help="2020, 2021 or 2022; repeatable. Default: as the topics of each run tell."
    ),
]
Formulas = Annotated[
    Path | None, typer.Option("--formulas", help="Formula TSVs for Task 2. Default: those of DATA.")
]
Ids = Annotated[
    IdKind | None,
    typer.Option(
        "--ids", help="Which ids the judgments of Task 2 hold. Default: as their name tells."
    ),
]
AnswerMap = Annotated[
    Path | None,
    typer.Option("--answer-map", help="Task 3: which answer was judged; rows run, topic, d_N."),
]
TopicInfo = Annotated[
    list[Path] | None,
    typer.Option(
        "--topic-info", help="CSV of topic labels (Topic, Dependency, Difficulty, Category)."
    ),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write everything as JSON; - is standard output.")
]
PerTopic = Annotated[
    Path | None, typer.Option("--per-topic", help="Write the values of every topic as CSV.")
]


def chosen_task(name: str) -> Task | None:
    """Return the task of `--task`, None for all; InputError if there is none of this name."""
    if name == "all":
        return None
    for task in TASKS:
        if name == task:
            return task
    raise InputError(f"unknown task {name!r}; there are: {', '.join(TASKS)}, all")


def chosen_years(names: list[str] | None) -> list[Year]:
    """Return the years of `--topics`; InputError for what is none."""
    for name in names or ():
        if name not in YEARS:
            raise InputError(
                f"--topics {name}: expected {', '.join(YEARS)}; for judgments of other topics give "
                "--qrels FILE"
            )
    return [year for year in YEARS if year in (names or ())]


def score_runs(
    evaluator: Evaluator, runs: Sequence[Path], task: Task | None, years: Sequence[Year]
) -> Iterator[Scored]:
    """Score the runs given, against each of the years given."""
    for run in runs:
        if not years:
            yield evaluator.score(run, task)
        for year in years:
            yield evaluator.score(run, task, year)


def per_topic_csv(scored: Sequence[Scored]) -> str:
    """Return the values of every topic as CSV."""
    keys = dict.fromkeys(
        key for one in scored for values in one.score.values.values() for key in values
    )
    text = io.StringIO()
    rows = csv.DictWriter(text, ["run", "task", "topic", *keys], lineterminator="\n")
    rows.writeheader()
    for one in scored:
        for topic, values in one.score.values.items():
            rows.writerow({"run": one.run, "task": one.task, "topic": topic, **values})
    return text.getvalue()


def data_of(runs: Sequence[Path] | None, data: Path | None) -> Path | None:
    """Return DATA: what was given, else what the manifest beside the first run tells."""
    found = provenance(runs[0]) if runs and data is None else None
    if found is None or found.data is None or found.data == SAMPLE:
        return data
    console.print(f"DATA={found.data} (from the manifest beside {runs[0]})", soft_wrap=True)  # type: ignore[index]
    return found.data
