"""Options that several commands share, and what they do with them."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from arqmath_bm25.collection.collection import INDEXES as INDEXES
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.files import complete
from arqmath_bm25.core.labs import MAX_DEPTH, YEARS, LabTask, RankingTask
from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.engines.engine import EngineName
from arqmath_bm25.runs.rows import detect_task
from arqmath_bm25.runs.run_files import Form
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.collection.collection import Collection

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="ARQMATH_DATA",
        help="Root of an ARQMath distribution (Collection/, Topics/, Evaluation/), or a directory "
        "with a raw Posts.xml, with one such directory a site, or with the files of NLPS. Default: "
        "the bundled sample.",
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
Variant = Annotated[
    str | None,
    typer.Option("--variant", help="One of the configuration. Default: the primary one."),
]
Depth = Annotated[int, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Hits for a topic.")]
Format = Annotated[
    Form, typer.Option("--format", help="Columns of the guidelines, or of TREC (with Q0).")
]
Threads = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Processes (or threads) that work in parallel.")
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="What searches; the ranking is the same. auto: flat postings where there are any that "
        "fit into half of the memory, else lucene; index builds for lucene where there is Java. "
        "flat: without Java, faster, 4 times the disk. opensearch: a cluster (--hosts), which "
        "index gives the documents.",
    ),
]
Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="URL,...", help="An OpenSearch cluster's nodes.")
]

RUNS: Final = Path("runs")
THREADS: Final = os.cpu_count() or 1
_DEFAULTS: Final = {"indexes": INDEXES, "runs": RUNS}

out: Final = PlainConsole(highlight=False, soft_wrap=True)  # what was done; --quiet shuts it up
results: Final = PlainConsole(highlight=False, soft_wrap=True)  # what was asked for


def command(*words: str, **options: object) -> str:
    """Return a command of this program as it can be pasted; default options are left out."""
    given = [
        f"--{name} {shlex.quote(str(value))}"
        for name, value in options.items()
        if value is not None and value != _DEFAULTS.get(name)
    ]
    return " ".join(["arqmath-bm25", *words, *given])


@contextmanager
def naming_the_build(
    data: Path | None, indexes: Path, config: Path | None = None
) -> Iterator[None]:
    """Say with which command the index is built that is missing."""
    try:
        yield
    except NoIndexError as error:
        build_it = command("index", error.task, data=data, indexes=indexes, config=config)
        how = " --overwrite` builds it anew" if error.stale else "` builds it"
        raise InputError(f"{error}; `{build_it}{how}") from None


def topic_files(topics: str | None, task: LabTask, collection: Collection | None) -> list[Path]:
    """Return the file that `topics` names, or those of its year in DATA, without it of all years.

    Raises InputError for a year without DATA, or one whose file is not there.
    """
    if topics is not None and topics not in YEARS:
        return [Path(topics)]
    if collection is None:
        if topics is not None:
            raise InputError(f"--topics {topics}: the topics of a year are in DATA; give --data")
        return []
    layout = collection.layout
    chosen = [topics] if topics else layout.years(task)
    return [path for _, path in layout.topic_files(task, chosen)] if chosen else []


def task_of_runs(runs: Sequence[Path], verb: str) -> RankingTask:
    """Return the task of runs to `verb` (fuse, pool) together; InputError unless it is one.

    Task 3 has one answer for a topic: nothing can be done with it.
    """
    first = detect_task(runs[0])
    if RULES[first].judged != "documents":
        raise InputError(f"{runs[0]}: a run of {first}; there is nothing to {verb}")
    for run in runs[1:]:
        if (other := detect_task(run)) != first:
            raise InputError(
                f"{run}: a run of {other}, {runs[0]} of {first}; {verb} runs of one task only"
            )
    return cast("RankingTask", first)


def keep_runs(output: Path, runs: Sequence[Path]) -> None:
    """Raise InputError if writing `output` would overwrite a run, or is impossible."""
    if output.is_dir():
        raise InputError(f"{output}: this is a directory; --output names the file to write")
    if any(output.exists() and output.samefile(run) for run in runs):
        raise InputError(f"{output}: this would overwrite a run; name another file")


def write(path: Path, text: str) -> None:
    """Write a file, or to standard output if `path` is `-`."""
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    with complete(path) as file:
        file.write(text)
