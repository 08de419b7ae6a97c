"""Scores and comparisons as tables in the terminal."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rich import box
from rich.markup import escape
from rich.table import Table

from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.evaluation.answers import AnswerScore
from arqmath_bm25.evaluation.nlps import EXPLANATION, PremiseScore
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.unjudged import KEYS as BOUNDED
from arqmath_bm25.evaluation.unjudged import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from arqmath_bm25.evaluation.comparing import Compared
    from arqmath_bm25.evaluation.evaluator import Scored
    from arqmath_bm25.evaluation.rank_changes import Move
    from arqmath_bm25.evaluation.topic_sets import CategoryMeans, TopicSet
    from arqmath_bm25.evaluation.unjudged import LeftOut

_NAMES: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10", "ar": "AR", "p1": "P@1", "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)", "recall_500": "recall@500", "ndcg": "nDCG",
    "map": "MAP", "p10": "P@10",
}  # fmt: skip
_IDS: Final = {"visual_v2": " (visual ids of v2)", "formula": " (formula ids)"}
_SHOWN: Final = ("ndcg_prime", "map_prime", "p10_prime", "bpref", "judged_at_10")
_FULL: Final = ("ndcg", "map", "p10")  # where primed measures say nothing
_CAUSES: Final = 5  # of a move


def table_console() -> Console:
    """Return where tables are printed; a pipe has no width, and must not cut them."""
    console = PlainConsole(highlight=False)
    return console if console.is_terminal else PlainConsole(highlight=False, width=200)


def _print(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> None:
    """Print a table, its first column to the left, with notes below it."""
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for number, name in enumerate(header):
        if number == 0 or name.startswith("what "):
            table.add_column(escape(name), overflow="fold")
        else:
            table.add_column(escape(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row))
    console = table_console()
    console.print(table)
    for note in notes:
        console.print(f"  {escape(note)}", soft_wrap=True)


def _names(keys: Iterable[str]) -> list[str]:
    return [_NAMES.get(key, key) for key in keys]


def print_scores(scored: Sequence[Scored], extra: Sequence[str] = ()) -> None:
    """Print one table for each task and judgments; `extra` are keys to show beside the usual."""
    for (task, qrels), group in groupby(scored, lambda one: (one.task, one.qrels)):
        runs = list(group)
        keys = _columns(runs[0], extra)
        kind = _IDS.get(runs[0].ids or "", "")
        said: dict[str, list[str]] = {}
        for one in runs:
            for note in _notes(one, keys):
                said.setdefault(note, []).append(one.run)
        notes = [
            note if len(names) == len(runs) else f"{', '.join(names)}: {note}"
            for note, names in said.items()
        ]
        premises = isinstance(runs[0].score, PremiseScore)
        _print(
            " · ".join(filter(None, [task, runs[0].year, qrels.name + kind])),
            ["run", "statements" if premises else "judged topics", *_names(keys)],
            [
                [one.run, _count(one), *(f"{numbers[key]:.4f}" for key in keys)]
                for one in runs
                if (numbers := one.to_json())
            ],
            [*notes, *([EXPLANATION] if premises else [])],
        )


def _columns(one: Scored, extra: Sequence[str]) -> list[str]:
    match one.score:
        case RunScore():
            shown = _FULL if one.score.only_relevant else _SHOWN
            last = one.score.measures[-1].key
            return list(dict.fromkeys([*shown, *extra, *([last] if last == "xinfAP" else [])]))
        case AnswerScore():
            return ["ar", "p1"]
        case PremiseScore():
            return ["map_500_official", "map_500", "recall_500"]


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
        differing: dict[str, list[str]] = {}
        for key in keys:
            if abs(everywhere[key] - own[key]) > 5e-5:
                value = f"{_NAMES.get(key, key)} {own[key]:.4f}"
                differing.setdefault(one.score.averaged_over(key), []).append(value)
        notes[:0] = [
            f"averaged over the {topics}, not all {len(one.score.values)}: {', '.join(values)}"
            for topics, values in differing.items()
        ]
    return notes


def print_topic_sets(
    scored: Sequence[Scored], sets: Mapping[str, Sequence[TopicSet]], column: str
) -> None:
    """Print the scores of every run over the topics with each label of a column."""
    for one in scored:
        if isinstance(one.score, RunScore) and one.run in sets:
            keys, rows = _columns(one, ()), []
            for part in sets[one.run]:
                values = one.score.averages(part.topics)
                cells = (f"{values[key]:.4f}" for key in keys)
                rows.append([part.label, str(len(part.topics)), *cells])
            _print(f"{one.run} by {column}", ["topics", "number", *_names(keys)], rows)


def print_bounds(runs: Sequence[Scored]) -> None:
    """Print between which values the unjudged hits of each run leave its scores."""
    rows = []
    for one in runs:
        found = bounds(one.rankings, one.judged)
        rows.append([one.run, *(f"{b.low:.4f} … {b.high:.4f}" for b in found.values())])
    title = "scores if all unjudged hits are irrelevant … highly relevant"
    _print(title, ["run", *_names(BOUNDED)], rows)


def print_left_out(found: Sequence[LeftOut]) -> None:
    """Print the scores of all runs without what each team alone brought to the pool."""
    first, *others = found
    for one in others:
        rows = []
        for run, values in one.scores.items():
            before = first.scores[run]
            cells = (f"{values[k]:.4f} ({values[k] - before[k]:+.4f})" for k in _SHOWN)
            rows.append([run, *cells])
        title = f"without the {one.judgments:,} judgments ({one.relevant:,} relevant) that only "
        _print(f"{title}{one.team} brought", ["run", *_names(_SHOWN)], rows)


def print_comparison(
    found: Compared, categories: Sequence[CategoryMeans], topics_too: bool = False
) -> None:
    """Print the tests, the means by category, and the values of every topic if asked for."""
    name = _NAMES.get(found.measure, found.measure)
    runs, topics = list(found.values), list(next(iter(found.values.values())))
    mean = fmean(found.values[runs[0]].values())
    _print(
        f"{name} of {len(topics)} topics, compared with {runs[0]} ({mean:.4f})",
        ["run", "mean", "difference", "95 % interval", "wins/ties/losses", "p t-test", "Holm",
         "p randomization", "Holm"],
        [
            [
                one.run, f"{one.mean:.4f}", f"{one.difference:+.4f}",
                f"{one.low:+.4f} … {one.high:+.4f}", f"{one.wins}/{one.ties}/{one.losses}",
                _p(one.t_test_p), _p(one.t_test_holm),
                _p(one.randomization_p), _p(one.randomization_holm),
            ]
            for one in found.comparisons
        ],
        [f"warning: {warning}" for warning in found.warnings],
    )  # fmt: skip
    if categories:
        rows = [
            [f"{group.column}: {group.label}", str(group.topics),
             *(f"{mean:.4f}" for mean in group.means.values())]
            for group in categories
        ]  # fmt: skip
        _print(f"{name} by category", ["category", "topics", *runs], rows)
    if topics_too:
        rows = [[t, *(f"{values[t]:.4f}" for values in found.values.values())] for t in topics]
        _print(f"{name} of every topic", ["topic", *runs], rows)


def print_moves(topic: str, moved: Sequence[Move], unexplained: Sequence[str] = ()) -> None:
    """Print which documents moved, and the parts of their scores that changed most."""
    rows = []
    for move in moved:
        causes = [f"{name} {a:.1%} → {b:.1%}" for name, a, b in move.causes()[:_CAUSES] if a != b]
        ranks = (str(rank or "–") for rank in move.ranks)
        grade = "–" if move.grade is None else str(move.grade)
        rows.append([move.doc_id, grade, *ranks, ", ".join(causes)])
    parts = "what its score is made of, in shares of the best score"
    _print(
        f"{topic}: what moved, and why", ["document", "grade", "from rank", "to", parts], rows,
        unexplained,
    )  # fmt: skip


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
