"""`python -m experiments` with its commands, from a checkout."""

from __future__ import annotations

import typer

from arqmath_bm25.cli import run_program
from experiments.beds import beds
from experiments.cut import cut
from experiments.perturb import perturb
from experiments.remix import remix
from experiments.reproduce import reproduce
from experiments.topics import topics
from experiments.tune import tune

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.command()(tune)
app.command()(reproduce)
app.command()(topics)
app.command()(perturb)
app.command()(cut)
app.command()(remix)
app.command()(beds)

if __name__ == "__main__":
    run_program(app, "python -m experiments")
