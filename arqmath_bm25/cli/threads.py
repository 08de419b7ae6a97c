"""The command `threads`: questions with all that belongs to them, as pages."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import Annotated

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress, status
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.pages.judging.annotation import posts_of_batch


def threads(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the pages go.")
    ],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of questions or answers.")
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(metavar="BATCH", help="The threads of a batch that `pool` wrote.")
    ] = None,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    workers: options.Threads = options.THREADS,
) -> None:
    """Write threads as the labs' assessors saw them, as pages that open from disk.

    Question, answers with votes and acceptance, comments, users, dates, tags, duplicates and
    links, as far as DATA has them. Every post and formula has an anchor: ID.html#post-ID,
    ID.html#formula-ID. Links lead to other pages that are written, or nowhere.

    Example: arqmath-bm25 threads --pool batch.csv --data /data/ARQMath -o threads
    """
    wanted = [*(ids or ()), *(posts_of_batch(pool) if pool else ())]
    if not wanted:
        raise InputError(
            "threads of which posts? Give ids of questions or answers, or --pool BATCH"
        )
    # Templates take a quarter of a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.threads.gather import ThreadReader
    from arqmath_bm25.pages.threads.site import write_threads

    with status("Reading comments, votes, users and links"):
        reader = ThreadReader(Collection(data, indexes), Processes(workers))
    for line in reader.left_out():
        options.out.print(f"left out: {line}", markup=False)
    with progress("Writing pages", len(wanted), "posts") as advance:
        written = write_threads(reader, wanted, output, advance)
    options.out.print(f"{output / 'index.html'}: {written} threads", markup=False)
