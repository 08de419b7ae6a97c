"""The command `topics`: topics and judgments made from what DATA holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.core.progress import status
from experiments.duplicate_topics import TOPICS, write_duplicates


@command
def topics(
    place: options.Place,
    kind: Annotated[
        Literal["duplicates"],
        typer.Argument(help="duplicates: questions with linked ones, whose answers are relevant."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the files go.")
    ],
    number: Annotated[
        int, typer.Option("--count", min=2, help="Number of topics, drawn at random.")
    ] = TOPICS,
    seed: Annotated[int, typer.Option(help="Seed of the random draw.")] = 0,
) -> None:
    """Make topics and judgments of linked and duplicate questions, for any system.

    Answers to duplicates of a question have grade 3, to other linked questions 2. Topics and
    qrels are in the labs' formats, in halves that have no thread in common. Topic D.ID is the
    question ID: its own thread does not count. `run` leaves that out by itself.

    Example: python -m experiments topics duplicates --data /data/ARQMath -o duplicates
    """
    with status("Reading links"):
        written = write_duplicates(place.collection, output, number, seed)
    for half, count in written.items():
        files = f"{output / f'topics_{half}.xml'}, qrels_{half}.tsv"
        options.out.print(f"{files}: {count:,} {kind}", markup=False)
