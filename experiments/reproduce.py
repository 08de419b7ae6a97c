"""The command `reproduce`: make the results of the book again, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import out, results
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.progress import progress


@command
def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go.")
    ],
    data: Path | None = None,
    book: Annotated[
        Path | None,
        typer.Option(help="Expected results. Default: those of configs/expected about DATA."),
    ] = None,
) -> None:
    """Make every result of the book again, from index to score, and compare.

    DIR gets index.html, results.md and results.json (commands, scores, expected scores, CPU time,
    versions, digests) next to the indexes, runs and configurations. The exit status is 1 if a score
    differs. With the official collection, send results.json to fill the empty rows.

    Example: python -m experiments reproduce -o results
    """
    from arqmath_bm25.core.configuration import load
    from arqmath_bm25.pages.page_files import site
    from experiments.results.book import Book, book_of
    from experiments.results.pages import SIGNS, joined, write_results
    from experiments.results.runner import Maker

    expected = book_of(CollectionFiles(data)) if book is None else load(Book, book)
    with site(output, "results") as pages:
        maker = Maker(expected, data, pages.folder)
        with progress("Making results", len(maker.rows), "rows") as advance:

            def tell(table: str, row: str, one: dict[str, Any]) -> None:
                for name, found in one["sets"].items():
                    scores = joined(found["measured"].values())
                    out.print(f"{SIGNS[found['ok']]} {table} {row}, {name}: {scores}")
                advance(1)

            made = maker.make_all(tell)
        write_results(expected, made, pages)
    rows = [row["ok"] for table in made["tables"].values() for row in table.values()]
    told = {True: "as expected", False: "different", None: "without expectation"}
    counts = ", ".join(f"{rows.count(ok)} {what}" for ok, what in told.items() if ok in rows)
    results.print(f"{output / 'index.html'}: {counts}")
    if not made["ok"]:
        raise typer.Exit(1)
