r"""Commands that make things: `index`, `run` and `search`, for whatever task they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from arqmath_bm25.cli import nlps, options, task1, task2, task3
from arqmath_bm25.cli.options import IndexRequest, RunRequest, SearchRequest
from arqmath_bm25.errors import InputError
from arqmath_bm25.runs import MAX_DEPTH

if TYPE_CHECKING:
    from pathlib import Path


class TaskCommands(Protocol):
    """What a task's module in this folder offers."""

    def has_data(self, data: Path | None) -> bool:
        """Tell whether DATA holds what the task indexes; decides what `all` means."""

    def index(self, request: IndexRequest) -> None:
        """Build the index, or say that it is up to date."""

    def run(self, request: RunRequest) -> None:
        """Write the run files."""

    def search(self, request: SearchRequest) -> None:
        """Show the best hits."""


TASKS: dict[str, TaskCommands] = {
    "task1": task1,
    "task2": task2,
    "task3": task3,
    "nlps": nlps,
}

Task = Annotated[str, typer.Argument(help=f"{', '.join(TASKS)}, or all.")]


def _chosen(task: str, data: Path | None) -> list[TaskCommands]:
    if task == "all":
        found = [commands for commands in TASKS.values() if commands.has_data(data)]
        return found or list(TASKS.values())  # the first will say what is missing
    if task not in TASKS:
        raise InputError(f"unknown task {task!r}; there are: {', '.join(TASKS)}, all")
    return [TASKS[task]]


def index(
    task: Task,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    threads: options.Threads = options.THREADS,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of other data or settings.")
    ] = False,
    keep_documents: Annotated[
        bool,
        typer.Option(
            "--keep-documents", help="Keep the JSON lines that Lucene indexes (task1, task2)."
        ),
    ] = False,
) -> None:
    """Build the index of a task; nothing is done if it is up to date.

    An index is complete or absent: a build that is interrupted leaves the old one, and the next
    build goes on where it stopped.

    Example: arqmath-bm25 index task1 --data /data/ARQMath
    """
    for commands in _chosen(task, data):
        commands.index(IndexRequest(data, indexes, config, threads, overwrite, keep_documents))


def run(
    task: Task,
    data: options.Data = None,
    topics: options.Topics = None,
    indexes: options.Indexes = options.INDEXES,
    runs: options.Runs = options.RUNS,
    config: options.Config = None,
    variant: options.Variants = None,
    depth: options.Depth = MAX_DEPTH,
    form: options.Format = "lab",
    threads: options.Threads = options.THREADS,
) -> None:
    """Rank the documents of a task for its topics and write the run files.

    The run of a year goes to RUNS/COLLECTION/YEAR/[team]-[task]-[id]-auto-[variant]-[P|A].tsv,
    with a manifest beside it.

    Example: arqmath-bm25 run task1 --data /data/ARQMath --topics 2021 --variant both
    """
    request = RunRequest(data, topics, indexes, runs, config, variant, depth, form, threads)
    for commands in _chosen(task, data):
        commands.run(request)


def search(
    task: Task,
    query: Annotated[str, typer.Argument(help="Words and formulas, these between dollars.")],
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    variant: Annotated[
        str | None, typer.Option(help="One of the configuration. Default: the primary one.")
    ] = None,
    depth: options.Depth = 5,
) -> None:
    r"""Show the best hits for a query.

    Example: arqmath-bm25 search task1 'Why does $\sum 1/n$ diverge?'
    """
    for commands in _chosen(task, data):
        commands.search(SearchRequest(query, data, indexes, config, variant, depth))
