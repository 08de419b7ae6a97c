"""The command line program. Its commands are thin: each composes the rooms of the package.

Exit status: 0 done; 1 the input is at fault, with one message that says where; 2 wrong usage.
"""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from arqmath_bm25 import __version__
from arqmath_bm25.cli import build, evaluate, fetch, fuse, pool, report, serve, validate
from arqmath_bm25.errors import InputError

app = typer.Typer(
    name="arqmath-bm25",
    help="Sparse retrieval for mathematics: BM25 baselines for the ARQMath labs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"arqmath-bm25 {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


app.command("fetch")(fetch.fetch)
app.command("index")(build.index)
app.command("run")(build.run)
app.command("search")(build.search)
app.command("eval")(evaluate.evaluate)
app.command("compare")(evaluate.compare)
app.command("fuse")(fuse.fuse)
app.command("validate")(validate.validate)
app.command("pool")(pool.pool)
app.command("judge")(pool.judge)
app.command("report")(report.report)
app.command("serve")(serve.serve)


def main() -> None:
    """Run the program; the entry point of the console script."""
    errors = Console(stderr=True, highlight=False)
    try:
        app()
    except InputError as error:
        errors.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        errors.print(f"[bold red]error:[/] {escape(f'{where}{error.strerror}')}", soft_wrap=True)
        sys.exit(1)
