"""Scores and comparisons as tables in the terminal."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from arqmath_bm25.evaluation.answers import AnswerScore
from arqmath_bm25.evaluation.nlps import EXPLANATION, PremiseScore
from arqmath_bm25.evaluation.score import RunScore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.evaluation.compare import CategoryMeans, Comparison
    from arqmath_bm25.evaluation.evaluator import Scored

_NAMES: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10", "ar": "AR", "p1": "P@1", "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)", "recall_500": "recall@500",
}  # fmt: skip
_SHOWN: Final = ("ndcg_prime", "map_prime", "p10_prime", "bpref", "judged_at_10")


def _console() -> Console:
    # A pipe has no width; tables must not be cut to 80 columns there.
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=200)


def _table(title: str, first: str, others: Iterable[str]) -> Table:
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_scores(scored: Sequence[Scored], extra: Sequence[str] = ()) -> None:
    """Print one table for each task and judgments; `extra` are keys to show beside the usual."""
    console = _console()
    for (task, qrels), group in groupby(scored, lambda one: (one.task, one.qrels)):
        runs = list(group)
        keys = _columns(runs[0], extra)
        names = [_NAMES.get(key, key) for key in keys]
        table = _table(f"{task} · {qrels.name}", "run", [_counted(runs[0]), *names])
        for one in runs:
            numbers = one.to_json()
            table.add_row(escape(one.run), _count(one), *(f"{numbers[key]:.4f}" for key in keys))
        console.print(table)
        for one in runs:
            for note in _notes(one, keys):
                console.print(f"  {escape(one.run)}: {escape(note)}", soft_wrap=True)
        if isinstance(runs[0].score, PremiseScore):
            console.print(f"  {EXPLANATION}", soft_wrap=True)


def _columns(one: Scored, extra: Sequence[str]) -> list[str]:
    match one.score:
        case RunScore():
            return [*_SHOWN, *extra]
        case AnswerScore():
            return ["ar", "p1"]
        case PremiseScore():
            return ["map_500_official", "map_500", "recall_500"]


def _counted(one: Scored) -> str:
    return "statements" if isinstance(one.score, PremiseScore) else "topics"


def _count(one: Scored) -> str:
    """Say how many topics the run has of how many that are judged."""
    match one.score:
        case RunScore(answered=answered, values=values):
            return f"{len(answered)} of {len(values)}"
        case AnswerScore(grades=grades, topics=topics):
            return f"{len(grades)} of {topics}"
        case PremiseScore(values=values):
            return str(len(values))


def _notes(one: Scored, keys: Sequence[str]) -> list[str]:
    if isinstance(one.score, AnswerScore):
        return []
    notes = [f"warning: {warning}" for warning in one.score.warnings]
    if isinstance(one.score, RunScore):
        everywhere, own = one.score.averages(), one.score.averages_of_run_topics()
        differing = [key for key in keys if abs(everywhere[key] - own[key]) > 5e-5]
        if differing:
            values = ", ".join(f"{_NAMES.get(key, key)} {own[key]:.4f}" for key in differing)
            notes.insert(0, f"over the topics of the run only: {values}")
    return notes


def print_comparison(
    key: str,
    values: Mapping[str, Mapping[str, float]],
    comparisons: Sequence[Comparison],
    categories: Sequence[CategoryMeans],
) -> None:
    """Print the values of every topic, the tests, and the means by category."""
    console = _console()
    name = _NAMES.get(key, key)
    topics = next(iter(values.values()))
    table = _table(f"{name} of every topic", "topic", map(escape, values))
    for topic in topics:
        table.add_row(escape(topic), *(f"{found[topic]:.4f}" for found in values.values()))
    console.print(table)

    baseline = comparisons[0].baseline
    mean = fmean(values[baseline].values())
    title = f"{name} of {len(topics)} topics, compared with {baseline} ({mean:.4f})"
    tests = ("mean", "difference", "95 % interval", "wins/ties/losses", "p t-test", "Holm",
             "p randomization", "Holm")  # fmt: skip
    table = _table(title, "run", tests)
    for one in comparisons:
        table.add_row(
            escape(one.run), f"{one.mean:.4f}", f"{one.difference:+.4f}",
            f"{one.low:+.4f} … {one.high:+.4f}", f"{one.wins}/{one.ties}/{one.losses}",
            f"{one.t_test_p:.4f}", f"{one.t_test_holm:.4f}",
            f"{one.randomization_p:.4f}", f"{one.randomization_holm:.4f}",
        )  # fmt: skip
    console.print(table)

    if categories:
        table = _table(f"{name} by category", "category", ["topics", *map(escape, values)])
        for group in categories:
            means = (f"{mean:.4f}" for mean in group.means.values())
            table.add_row(f"{group.column}: {escape(group.label)}", str(group.topics), *means)
        console.print(table)
