"""The command `convert`: a run file in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arqmath_bm25.cli.shared.options import Format, keep_runs, out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.frames import read_run, write_run


def convert(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run file, packed or not.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="What to write; NAME.gz is packed by gzip.")
    ],
    form: Format = "lab",
) -> None:
    """Write a run in the lab's form or TREC's, packed by gzip or not.

    Rows are put in the order in which they are scored, with ranks from 1. TREC's form has no posts
    (Task 2), and there is none of answer texts (Task 3) and premises (NLPS).

    Example: arqmath-bm25 convert Team-task1-bm25-auto-both-P.tsv --format trec -o run.trec.gz
    """
    frame = read_run(run)
    task = frame.attrs["task"]
    if form == "trec" and task in ("task3", "nlps"):
        raise InputError(f"{run}: a run of {task} has no TREC form; give --format lab")
    if form == "lab" and task == "task2" and not frame["post_id"].all():
        raise InputError(
            f"{run}: it does not say in which posts its formulas stand, as the lab's form must; "
            "give --format trec, or the run that it was made from"
        )
    keep_runs(output, [run])
    write_run(frame, output, form=form)
    out.print(f"{output}: {frame['qid'].nunique():,} topics, {len(frame):,} rows")
