"""Scores and comparisons as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rich import box
from rich.markup import escape
from rich.table import Table

from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.evaluation.evaluator import Scored
from arqmath_bm25.evaluation.measures import NAMES, SHOWN
from arqmath_bm25.evaluation.score import EXPLANATION, RunScore, shared_notes

if TYPE_CHECKING:
    from arqmath_bm25.evaluation.comparing import Compared, Comparison, Move

_IDS: Final = {"visual_v2": " (visual ids of v2)", "formula": " (formula ids)"}
_FULL: Final = ("ndcg", "map", "p10")  # where primed measures say nothing
_CAUSES: Final = 5  # of a move


def print_table(
    title: str | None,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Iterable[str] = (),
    left: Sequence[str] = (),
) -> None:
    """Print a table, its first column and those of `left` to the left, with notes below it."""
    table = Table(title=title and escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for name in header:
        if name in (header[0], *left):
            table.add_column(escape(name), overflow="fold")
        else:
            table.add_column(escape(name), justify="right", no_wrap=True)
    for row in rows:
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*map(escape, cells))
    console = PlainConsole(highlight=False)
    if not console.is_terminal:  # a pipe has no width, and must not cut tables
        console = PlainConsole(highlight=False, width=200)
    console.print(table)
    for note in notes:
        console.print(f"  {escape(note)}", soft_wrap=True)


def _names(keys: Iterable[str]) -> list[str]:
    return [NAMES.get(key, key) for key in keys]


def print_scores(scored: Sequence[Scored], extra: Sequence[str] = ()) -> None:
    """Print one table for each task and judgments; `extra` are keys to show beside the usual."""
    for (task, qrels), group in groupby(scored, lambda run: (run.task, run.judgments.file)):
        runs = list(group)
        keys = _columns(runs[0], extra)
        notes = [(run.run, _notes(run, keys)) for run in runs]
        premises = "statements" in runs[0].score.counts
        judgments = qrels.name + _IDS.get(runs[0].judgments.ids or "", "")
        print_table(
            " · ".join(filter(None, [task, runs[0].year, judgments])),
            ["run", "statements" if premises else "judged topics", *_names(keys)],
            [[run.run, _count(run), *map(run.to_json().get, keys)] for run in runs],
            [*shared_notes(notes), *([EXPLANATION] if premises else [])],
        )


def _columns(run: Scored, extra: Sequence[str]) -> list[str]:
    if not isinstance(run.score, RunScore):
        return run.score.keys
    shown = _FULL if run.score.only_relevant else SHOWN
    return list(dict.fromkeys([*shown, *extra, *({"xinfAP"} & set(run.score.keys))]))


def _count(run: Scored) -> str:
    """Say how many topics the run has of how many that are judged."""
    topics, *parts = run.score.counts.values()
    return f"{parts[-1]} of {topics}" if parts else str(topics)


def _notes(run: Scored, keys: Sequence[str]) -> list[str]:
    notes = [f"warning: {warning}" for warning in run.score.warnings]
    if isinstance(run.score, RunScore):
        everywhere, own = run.score.averages(), run.score.averages_of_run_topics()
        differing: dict[str, list[str]] = {}
        for key in keys:
            if abs(everywhere[key] - own[key]) > 5e-5:
                value = f"{NAMES.get(key, key)} {own[key]:.4f}"
                differing.setdefault(run.score.averaged_over(key), []).append(value)
        notes[:0] = [
            f"averaged over the {topics}, not all {len(run.score.values)}: {', '.join(values)}"
            for topics, values in differing.items()
        ]
    return notes


def print_topic_sets(run: Scored, sets: Mapping[str, Sequence[str]], title: str) -> None:
    """Print the scores of a run over the topics with each label."""
    keys = _columns(run, ())
    rows = [
        [label, len(topics), *map(run.score.averages(topics).get, keys)]
        for label, topics in sets.items()
    ]
    print_table(title, ["topics", "number", *_names(keys)], rows)


def print_comparison(compared: Compared) -> None:
    """Print the mean of the first run, and the tests of each other run against it."""
    (name,), runs = _names([compared.measure]), list(compared.values)
    topics = compared.values[runs[0]]
    header = "run,mean,difference,95 % interval,wins/ties/losses,p t-test,Holm,p randomization,Holm"
    print_table(
        f"{name} of {len(topics)} topics, compared with {runs[0]} ({fmean(topics.values()):.4f})",
        header.split(","),
        map(_compared, compared.comparisons),
        [f"warning: {warning}" for warning in compared.warnings],
    )


def _compared(run: Comparison) -> list[object]:
    tests = (run.t_test_p, run.t_test_holm, run.randomization_p, run.randomization_holm)
    return [
        run.run, run.mean, f"{run.difference:+.4f}", f"{run.low:+.4f} … {run.high:+.4f}",
        f"{run.wins}/{run.ties}/{run.losses}", *(p if p >= 0.0001 else "< 0.0001" for p in tests),
    ]  # fmt: skip


def print_moves(topic: str, moved: Sequence[Move], unexplained: Sequence[str] = ()) -> None:
    """Print which documents moved, and the parts of their scores that changed most."""
    rows = []
    for move in moved:
        causes = [f"{name} {a:.1%} → {b:.1%}" for name, a, b in move.causes()[:_CAUSES] if a != b]
        grade = "–" if move.grade is None else move.grade
        rows.append([move.doc_id, grade, *(rank or "–" for rank in move.ranks), ", ".join(causes)])
    parts = "what its score is made of, in shares of the best score"
    header = ["document", "grade", "from rank", "to", parts]
    print_table(f"{topic}: what moved, and why", header, rows, unexplained, left=[parts])
