"""The command `report`: pages that show what runs did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.labs import MAX_DEPTH, LabTask
from arqmath_bm25.core.progress import progress, status


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of one task; the first is the baseline."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the pages go.")
    ],
    qrels: Annotated[
        Path | None, typer.Option(help="Judgments to use instead of the official ones.")
    ] = None,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    task: Annotated[LabTask | None, typer.Option(help="Default: what the runs say.")] = None,
    topics: Annotated[
        Path | None, typer.Option(help="Topic file. Default: those of all years in DATA.")
    ] = None,
    depth: Annotated[
        int,
        typer.Option("--depth", min=1, max=MAX_DEPTH, help="Results of a topic that are shown."),
    ] = 20,
    threads: Annotated[
        Path | None,
        typer.Option(
            "--thread-pages", metavar="DIR", help="Link posts to the pages that `threads` wrote."
        ),
    ] = None,
) -> None:
    """Write a report of runs as pages that open from disk: scores, charts, and every topic.

    The overview has scores, significance and plots; a page for each topic shows the question and
    the rankings side by side, with formulas drawn and relevance marked. Without --qrels the
    official judgments of the topics' year are used, if DATA has them.

    Example: arqmath-bm25 report runs/arqmath-sample/2021/*.tsv -o report
    """
    # Templates and charts take half a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.report.gather import gather
    from arqmath_bm25.pages.report.site import write_report

    with status("Reading runs") as say:
        gathered = gather(
            runs, Collection(data, indexes), task=task, qrels=qrels, topics=topics, depth=depth,
            status=say,
        )  # fmt: skip
    with progress("Writing pages", len(gathered.questions), "topics") as advance:
        write_report(gathered, output, advance, threads)
    options.out.print(f"{output / 'index.html'}: {len(gathered.questions)} topics")
