"""The command `tune`: settings chosen on judged topics, and what that is worth on others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.table import Table

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.tasks.open_index import OpenIndex


@command
def tune(
    place: options.Place,
    task: Annotated[str, typer.Argument(metavar="TASK", help="task1, task2 or nlps.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="YAML", help="The tuned configuration.")
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SET",
            help="duplicates (task1), a year, or a file topics_X.xml with qrels_X.tsv beside it; "
            "repeatable. nlps: none, as it has its training set.",
        ),
    ] = None,
    config: Path | None = None,
    variant: str | None = None,
    folds: Annotated[int, typer.Option(min=1, help="Parts of the topics; nlps has 5.")] = 5,
    threads: int = options.THREADS,
) -> None:
    """Search better weights, k1, b and k3 by cross-validation, without a new index.

    Each part of the topics is scored with what the other parts choose; what all choose is
    written. Measured is nDCG@300, for nlps MAP@500. Tasks 1 and 2 need flat postings.

    Example: python -m experiments tune task1 --on duplicates --on 2020 -o tuned.yaml
    """
    from experiments.tuning.coordinate_search import tune as search  # scipy takes a second to load
    from experiments.tuning.trials import trials

    if "duplicates" in (on or []):
        tell(
            "duplicates are a poor judge of weights: ten weights tuned on them alone gained .026 "
            "there and lost .015 on the labs' topics"
        )
    engine = Engine() if task == "nlps" else Engine("flat")
    with place.naming_the_build(config):
        index = OpenIndex.open(place.collection, task, config, engine)
        chosen = index.task.chosen(variant)
        trial = trials(index, chosen, threads, on or [])
        with progress("Searching", folds, "parts") as advance:
            found = search(trial, folds, advance)
    table = Table("part", "topics", "default", "tuned", "changes")
    for number, fold in enumerate(found.folds, 1):
        means = f"{fold.default:.4f}", f"{fold.tuned:.4f}"
        table.add_row(str(number), str(fold.topics), *means, _shown(fold.changes))
    one, topics = found.comparison, sum(fold.topics for fold in found.folds)
    means = f"{one.mean - one.difference:.4f}", f"{one.mean:.4f}"
    table.add_row(
        "all", str(topics), *means, f"{one.difference:+.4f}, p = {one.randomization_p:.4f}"
    )
    options.results.print(table)
    if len(found.folds) == 1:
        tell("one part: the tuned score is of the topics that chose it, and too high")
    tell("do not report scores on these topics for the tuned configuration: it has seen them all")
    head = f"# python -m experiments tune {task} {' '.join(on or [])}: {_shown(found.changes)}\n"
    settings = found.settings.model_dump(mode="json", exclude_none=True)
    options.write({output: head + yaml.safe_dump(settings, sort_keys=False)})
    options.out.print(f"{output}: {_shown(found.changes)}", markup=False)


def _shown(changes: dict[str, float]) -> str:
    pairs = (f"{key.replace('__', '.')} {value:g}" for key, value in changes.items())
    return ", ".join(pairs) or "nothing changed"
