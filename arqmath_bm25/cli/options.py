"""Options that several commands share, and what is asked of a task by each command."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.runs import MAX_DEPTH
from arqmath_bm25.sample import SAMPLE

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Root of an ARQMath distribution (Collection/, Topics/, Evaluation/), or a directory "
        "with a raw Posts.xml or the files of NLPS. Default: the bundled sample.",
    ),
]
Indexes = Annotated[Path, typer.Option("--indexes", help="Where indexes are kept.")]
Runs = Annotated[Path, typer.Option("--runs", help="Where run files are kept.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="Configuration. Default: configs/TASK.yaml.")
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topics",
        help="2020, 2021, 2022 (nlps: dev, test) or a topic file; repeatable. Default: all.",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", help="One of the configuration; repeatable. Default: all."),
]
Depth = Annotated[int, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Hits for a topic.")]
Format = Annotated[
    Literal["lab", "trec"],
    typer.Option("--format", help="Columns of the guidelines, or of TREC (with Q0)."),
]
Threads = Annotated[
    int, typer.Option("--threads", min=1, help="Processes and threads to work with.")
]

INDEXES = Path("indexes")
RUNS = Path("runs")
THREADS = os.cpu_count() or 1

out = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class IndexRequest:
    """What `index` was asked for."""

    data: Path | None  # None: the bundled sample
    indexes: Path
    config: Path | None  # None: the task's default
    threads: int
    overwrite: bool
    keep_documents: bool = False


@dataclass(frozen=True)
class RunRequest:
    """What `run` was asked for."""

    data: Path | None
    topics: list[str] | None  # years or files; None: all that DATA has
    indexes: Path
    runs: Path
    config: Path | None
    variants: list[str] | None  # None: all of the configuration
    depth: int
    form: Literal["lab", "trec"]
    threads: int


@dataclass(frozen=True)
class SearchRequest:
    """What `search` was asked for."""

    query: str
    data: Path | None
    indexes: Path
    config: Path | None
    variant: str | None  # None: the primary one
    depth: int


def layout(data: Path | None) -> Layout:
    """Return the files of a distribution, of the bundled sample without `data`."""
    return Layout(data or SAMPLE)
