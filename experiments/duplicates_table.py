"""Task 1 judged by duplicates: is configs/task1.yaml good for questions that nobody tuned it on?

    python -m experiments.duplicates_table [DATA]

DATA is as in task1_subset.py. Topics are its questions with linked or duplicate ones
(`topics duplicates`), in the halves that the command writes; nDCG@300 of the variant `both`. p is
that of a paired randomization test against the first row, the first stage alone, over all
duplicates. The years are those of task1_subset.py. Takes a minute.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from arqmath_bm25.core.labs import year_of
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.evaluation.comparing import compare
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from experiments.duplicate_topics import HALVES, deal, judge_by_links, related
from experiments.subset import THREADS, YEARS, opened, subset
from experiments.tuning.coordinate_search import changed
from experiments.tuning.trials import DUPLICATES, AnswerTrials, Judged

if TYPE_CHECKING:
    from arqmath_bm25.tasks.settings import Task1Settings


def conditions(default: Task1Settings) -> dict[str, Task1Settings]:
    """Name the settings to compare."""
    return {
        "first stage alone": changed(default, rerank={}),
        "default": default,
    }


def main(data: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as work:
        index = opened(configured("task1"), data, Path(work))
        ensure(IndexContent.of(index.task.index_task, index.collection), engines=[Engine("flat")])
        judged = Judged.read(index, [DUPLICATES, *YEARS])
        trials = AnswerTrials(index, "both", THREADS, judged)
        qrels = judge_by_links(index.collection)
        parts = dict(zip(HALVES, deal(related(index.collection, qrels), 2), strict=True))
        parts["all"] = list(qrels)
        for year in YEARS:
            labs = (topic for topic in judged.qrels if topic not in qrels)
            parts[year] = [topic for topic in labs if year_of([topic]) == year]
        columns = [f"{name} ({len(topics)})" for name, topics in parts.items()]
        table = Table(
            "", *columns, "difference", "wins/losses", "p", title=f"{data.name}: nDCG@300"
        )
        first: dict[str, float] = {}
        for name, settings in conditions(index.task.settings).items():
            values = trials.values(settings)
            means = (f"{fmean(map(values.__getitem__, part)):.4f}" for part in parts.values())
            of_duplicates = {topic: values[topic] for topic in qrels}
            first = first or of_duplicates
            (one,) = compare({"first": first, "this": of_duplicates})
            tests = (
                f"{one.difference:+.4f}",
                f"{one.wins}/{one.losses}",
                f"{one.randomization_p:.4f}",
            )
            table.add_row(name, *means, *(tests if name != "first stage alone" else ()))
    Console(width=120).print(table)


if __name__ == "__main__":
    main(subset())
