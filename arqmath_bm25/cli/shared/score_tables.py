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
from arqmath_bm25.evaluation.bounds import KEYS as BOUNDED
from arqmath_bm25.evaluation.bounds import bounds
from arqmath_bm25.evaluation.nlps import EXPLANATION, PremiseScore
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.topic_sets import topic_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.evaluation.evaluator import Scored
    from arqmath_bm25.evaluation.leave_out import LeftOut
    from arqmath_bm25.evaluation.rank_changes import Move
    from arqmath_bm25.evaluation.significance import Comparison
    from arqmath_bm25.evaluation.topic_sets import CategoryMeans, TopicInfo

_NAMES: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10", "ar": "AR", "p1": "P@1", "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)", "recall_500": "recall@500",
}  # fmt: skip
_IDS: Final = {"visual_v2": " (visual ids of v2)", "formula": " (formula ids)"}
_BOUNDED: Final = [_NAMES.get(key, key) for key in BOUNDED]
_SHOWN: Final = ("ndcg_prime", "map_prime", "p10_prime", "bpref", "judged_at_10")

_CAUSES: Final = 5  # of a move


def table_console() -> Console:
    """Return where tables are printed; a pipe has no width, and must not cut them."""
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
    console = table_console()
    for (task, qrels), group in groupby(scored, lambda one: (one.task, one.qrels)):
        runs = list(group)
        keys = _columns(runs[0], extra)
        names = [_NAMES.get(key, key) for key in keys]
        year, kind = runs[0].year, _IDS.get(runs[0].ids or "", "")
        title = " · ".join(filter(None, [task, year, qrels.name + kind]))
        table = _table(title, "run", [_counted(runs[0]), *names])
        for one in runs:
            numbers = one.to_json()
            table.add_row(escape(one.run), _count(one), *(f"{numbers[key]:.4f}" for key in keys))
        console.print(table)
        notes = {one.run: _notes(one, keys) for one in runs}
        for note in dict.fromkeys(note for found in notes.values() for note in found):
            of = [run for run, found in notes.items() if note in found]
            about = "" if len(of) == len(runs) else f"{', '.join(map(escape, of))}: "
            console.print(f"  {about}{escape(note)}", soft_wrap=True)
        if isinstance(runs[0].score, PremiseScore):
            console.print(f"  {EXPLANATION}", soft_wrap=True)


def _columns(one: Scored, extra: Sequence[str]) -> list[str]:
    match one.score:
        case RunScore():
            last = one.score.measures[-1].key
            return list(dict.fromkeys([*_SHOWN, *extra, *([last] if last == "xinfAP" else [])]))
        case AnswerScore():
            return ["ar", "p1"]
        case PremiseScore():
            return ["map_500_official", "map_500", "recall_500"]


def _counted(one: Scored) -> str:
    return "statements" if isinstance(one.score, PremiseScore) else "judged topics"


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
        return [one.score.note] if one.score.note else []
    notes = [f"warning: {warning}" for warning in one.score.warnings]
    if isinstance(one.score, RunScore):
        everywhere, own = one.score.averages(), one.score.averages_of_run_topics()
        differing = [key for key in keys if abs(everywhere[key] - own[key]) > 5e-5]
        if differing:
            values = ", ".join(f"{_NAMES.get(key, key)} {own[key]:.4f}" for key in differing)
            answered, judged = len(one.score.answered), len(one.score.values)
            notes.insert(
                0,
                f"averaged over the {answered} topics that the run has, not all {judged}: {values}",
            )
    return notes


def print_topic_sets(scored: Sequence[Scored], info: TopicInfo, column: str) -> None:
    """Print the scores of every run over the topics with each label of a column."""
    names = [_NAMES[key] for key in _SHOWN]
    for one in scored:
        if isinstance(one.score, RunScore):
            table = _table(f"{one.run} by {column}", "topics", ["number", *names])
            for part in topic_sets(one.score.values, info, [column]):
                values = one.score.averages(part.topics)
                cells = (f"{values[key]:.4f}" for key in _SHOWN)
                table.add_row(escape(part.label), str(len(part.topics)), *cells)
            table_console().print(table)


def print_bounds(runs: Sequence[Scored]) -> None:
    """Print between which values the unjudged hits of each run leave its scores."""
    table = _table("scores if all unjudged hits are irrelevant … highly relevant", "run", _BOUNDED)
    for one in runs:
        found = bounds(one.rankings, one.judged)
        table.add_row(escape(one.run), *(f"{b.low:.4f} … {b.high:.4f}" for b in found.values()))
    table_console().print(table)


def print_left_out(found: Sequence[LeftOut]) -> None:
    """Print the scores of all runs without what each team alone brought to the pool."""
    first, *others = found
    for one in others:
        title = f"without the {one.judgments:,} judgments ({one.relevant:,} relevant) that only "
        table = _table(f"{title}{one.team} brought", "run", [_NAMES[key] for key in _SHOWN])
        for run, values in one.scores.items():
            before = first.scores[run]
            cells = (f"{values[k]:.4f} ({values[k] - before[k]:+.4f})" for k in _SHOWN)
            table.add_row(escape(run), *cells)
        table_console().print(table)


def print_comparison(
    key: str,
    values: Mapping[str, Mapping[str, float]],
    comparisons: Sequence[Comparison],
    categories: Sequence[CategoryMeans],
    topics_too: bool = False,
) -> None:
    """Print the tests, the means by category, and the values of every topic if asked for."""
    console = table_console()
    name = _NAMES.get(key, key)
    topics = next(iter(values.values()))
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
            _p(one.t_test_p), _p(one.t_test_holm),
            _p(one.randomization_p), _p(one.randomization_holm),
        )  # fmt: skip
    console.print(table)

    if categories:
        table = _table(f"{name} by category", "category", ["topics", *map(escape, values)])
        for group in categories:
            means = (f"{mean:.4f}" for mean in group.means.values())
            table.add_row(f"{group.column}: {escape(group.label)}", str(group.topics), *means)
        console.print(table)

    if topics_too:
        table = _table(f"{name} of every topic", "topic", map(escape, values))
        for topic in topics:
            table.add_row(escape(topic), *(f"{found[topic]:.4f}" for found in values.values()))
        console.print(table)


def print_moves(topic: str, moved: Sequence[Move]) -> None:
    """Print which documents moved, and the parts of their scores that changed most."""
    table = _table(f"{topic}: what moved, and why", "document", ["from rank", "to"])
    table.add_column("what its score is made of, in shares of the best score", overflow="fold")
    for move in moved:
        causes = [f"{name} {a:.1%} → {b:.1%}" for name, a, b in move.causes()[:_CAUSES] if a != b]
        ranks = (str(rank or "–") for rank in move.ranks)
        table.add_row(escape(move.doc_id), *ranks, escape(", ".join(causes)))
    table_console().print(table)


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
