"""The search for better settings: one number at a time, among few round values, cross-validated.

k1, b and k3 have values of their own; a weight is left out, halved or doubled. The n-grams
of all fields share a factor, and so do the paths through operators. A value is taken if the mean
over the topics grows by a thousandth, and the search ends when none is.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, TypeVar

from arqmath_bm25.evaluation.comparing import compare
from arqmath_bm25.tasks.settings import kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arqmath_bm25.core.configuration import Settings
    from arqmath_bm25.evaluation.comparing import Comparison
    from experiments.tuning.trials import Trials

    Changes = dict[str, float]  # a__b: value of the key a.b

S = TypeVar("S", bound="Settings")
_VALUES: Final = {
    "k1": (0.6, 0.9, 1.2, 1.5, 2.0), "b": (0.3, 0.5, 0.75, 0.9, 1.0), "k3": (1.0, 2.0, 4.0, 8.0)
}  # fmt: skip
_FACTORS: Final = (1.0, 0.0, 0.5, 2.0)
_NOT_SEARCHED: Final = ("penalty", "max_df", "brevity")  # they need a new regression or query
_LEAST_GAIN: Final = 0.001
_ROUNDS: Final = 3


def changed(settings: S, **changes: Any) -> S:
    """Return settings with `changes`, a__b=x for the key a.b; ValueError if they do not fit."""
    raw = settings.model_dump()
    for key, value in changes.items():
        *path, last = key.split("__")
        place = raw
        for step in path:
            place = place[step]
        place[last] = value
    return type(settings).model_validate(raw)


@dataclass(frozen=True)
class Fold:
    """Settings that the other folds chose, on the topics of this one."""

    topics: int
    default: float  # means of the measure
    tuned: float
    changes: Changes


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    settings: Any  # chosen on all topics
    changes: Changes
    folds: list[Fold]
    comparison: Comparison  # over the topics of all folds, each by what others chose


def tune(trials: Trials, number: int, progress: Callable[[int], None] = lambda _: None) -> Tuned:
    """Search on all topics, and for each of `number` folds on the topics of the other folds.

    With one fold, settings are compared on the topics by which they were chosen. `progress` is
    called for each search.
    """
    default: Settings = trials.index.task.settings
    before = trials.values(default)
    folds, held_out = [], dict[str, float]()
    parts = [part for part in trials.folds(number) if part]
    for part in parts:
        others = [topic for topic in before if topic not in set(part)] or part
        changes = climb(trials, others)
        values = trials.values(changed(default, **changes))
        held_out |= {topic: values[topic] for topic in part}
        default_mean, tuned_mean = (
            fmean(map(found.__getitem__, part)) for found in (before, values)
        )
        folds.append(Fold(len(part), default_mean, tuned_mean, changes))
        progress(1)
    changes = folds[0].changes if len(parts) == 1 else climb(trials, list(before))
    both = {"default": before, "tuned": {topic: held_out[topic] for topic in before}}
    return Tuned(changed(default, **changes), changes, folds, compare(both)[0])


def climb(trials: Trials, topics: Sequence[str]) -> Changes:
    """Return the changes that topics choose."""
    default: Settings = trials.index.task.settings

    def value(changes: Changes) -> float:
        try:
            values = trials.values(changed(default, **changes))
        except ValueError:  # no weight is left, or a value is out of its range
            return 0.0
        return fmean(values[topic] for topic in topics)

    best: Changes = {}
    least = value(best) + _LEAST_GAIN
    for _ in range(_ROUNDS):
        start = best
        for alternatives in knobs(default, trials.variant, trials.places):
            for change in alternatives:
                candidate = {**best, **change}
                if (found := value(candidate)) > least:
                    best, least = candidate, found + _LEAST_GAIN
        if best == start:
            break
    raw = flat(default.model_dump())
    return {key: number for key, number in best.items() if raw[key] != number}


def knobs(settings: Settings, variant: str, places: Iterable[str]) -> list[list[Changes]]:
    """Return what may change together, each with its alternatives."""
    together: dict[str, Changes] = {}
    for key, number in flat(settings.model_dump()).items():
        *path, name = key.split("__")
        if not isinstance(number, float) or name in _NOT_SEARCHED or path[0] not in places:
            continue
        if path[0] == "bm25":
            together[key] = {key: number}
        elif path[1:2] in ([], [variant]):
            group = kind(name) if path[0] == "variants" and kind(name) != "text" else name
            together.setdefault(group, {})[key] = number

    return [
        [{key: number * factor for key, number in changes.items()} for factor in _FACTORS]
        if group.rpartition("__")[2] not in _VALUES
        else [dict.fromkeys(changes, value) for value in _VALUES[group.rpartition("__")[2]]]
        for group, changes in together.items()
    ]


def flat(raw: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a__b: value for every value of nested mappings."""
    found: dict[str, Any] = {}
    for key, value in raw.items():
        inner = isinstance(value, dict)
        found |= flat(value, f"{prefix}{key}__") if inner else {f"{prefix}{key}": value}
    return found
