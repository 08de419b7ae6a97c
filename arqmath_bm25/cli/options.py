"""Options that several commands share, and how their values are understood."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arqmath_bm25.collection.layout import YEARS, Layout
from arqmath_bm25.errors import InputError
from arqmath_bm25.sample import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Root of an ARQMath distribution (Collection/, Topics/, Evaluation/), or a directory "
        "with a raw Posts.xml. Default: the bundled sample.",
    ),
]
Indexes = Annotated[Path, typer.Option("--indexes", help="Where indexes are kept.")]
Runs = Annotated[Path, typer.Option("--runs", help="Where run files are kept.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="Configuration. Default: configs/TASK.yaml.")
]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topics", help="2020, 2021, 2022 or a topic file; repeatable. Default: all."),
]
Threads = Annotated[
    int, typer.Option("--threads", min=1, help="Processes and threads to work with.")
]
Task = Annotated[str, typer.Argument(help="task1, or all.")]

INDEXES = Path("indexes")
RUNS = Path("runs")
THREADS = os.cpu_count() or 1
AVAILABLE = ("task1",)  # tasks that can be indexed and run


def layout(data: Path | None) -> Layout:
    """Return the files of a distribution, of the bundled sample without `data`."""
    return Layout(data or SAMPLE)


def tasks(task: str) -> tuple[str, ...]:
    """Expand `all`, refuse what is unknown."""
    if task == "all":
        return AVAILABLE
    if task not in AVAILABLE:
        raise InputError(f"unknown task {task!r}; there are: {', '.join(AVAILABLE)}, all")
    return (task,)


def topic_files(topics: Sequence[str] | None, where: Layout) -> list[tuple[str, Path]]:
    """Return the topic files asked for, each with the name of its folder under runs."""
    chosen = topics or where.task1_years()
    if not chosen:
        where.task1_topics("2020")  # tells what is missing
    files: list[tuple[str, Path]] = []
    for topic in chosen:
        if topic in YEARS:
            files.append((topic, where.task1_topics(topic)))
        elif topic.isdecimal():
            raise InputError(f"--topics {topic}: the labs were held in {', '.join(YEARS)}")
        else:
            files.append((Path(topic).stem, Path(topic)))
    return files
