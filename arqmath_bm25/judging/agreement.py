"""How far two assessors agree: Cohen's kappa, as the labs report it for topics judged twice.

kappa = 1 - (weighted disagreement observed) / (weighted disagreement expected by chance), from the
assessors' own shares of each grade (J. Cohen, Educational and Psychological Measurement 20, 1960;
weighted: Psychological Bulletin 70, 1968). A disagreement weighs 1, the distance of the grades
(linear) or its square (quadratic); binary kappa knows relevant and not relevant alone.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from arqmath_bm25.evaluation.measures import RELEVANT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.judging.judge import HitKey

Weights = Literal["none", "linear", "quadratic"]
_GRADES: Final = 4  # 0 … 3


class Agreement(NamedTuple):
    """Agreement of two assessors; kappa is NaN where chance alone makes them agree."""

    assessors: tuple[str, str]
    hits: int  # to which both gave a grade
    equal: float  # share of the same grade
    kappa: float  # of grades
    linear: float
    quadratic: float
    binary: float

    def to_json(self) -> dict[str, object]:
        """Return the numbers under their names, None for NaN."""
        values = self._asdict().items()
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values}


def kappa(
    first: Sequence[int], second: Sequence[int], weights: Weights = "none", grades: int = _GRADES
) -> float:
    """Return Cohen's kappa of two lists of grades 0 … `grades` - 1 of the same hits."""
    observed = np.zeros((grades, grades))
    np.add.at(observed, (np.asarray(first, np.intp), np.asarray(second, np.intp)), 1)
    distance = np.abs(np.subtract.outer(np.arange(grades), np.arange(grades)))
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    weight = np.where(distance > 0, np.power(distance, power, dtype=float), 0.0)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(1, len(first))
    chance = float((weight * expected).sum())
    return 1 - float((weight * observed).sum()) / chance if chance else math.nan


def agreements(grades: Mapping[HitKey, Mapping[str, int]]) -> dict[str, list[Agreement]]:
    """Compare every two assessors who share hits: over all topics (under ``), and topic by topic.

    `grades` are hit → assessor → grade.
    """
    pairs: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}
    for hit, by_assessor in grades.items():
        for two in combinations(sorted(by_assessor), 2):
            topics = pairs.setdefault(two, {"": []})
            both = by_assessor[two[0]], by_assessor[two[1]]
            topics[""].append(both)
            topics.setdefault(hit.topic_id, []).append(both)
    found: dict[str, list[Agreement]] = {}
    for two in sorted(pairs):
        for topic, judged in pairs[two].items():
            found.setdefault(topic, []).append(_agreement(two, judged))
    return found


def _agreement(assessors: tuple[str, str], pairs: list[tuple[int, int]]) -> Agreement:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    relevant, also = ([int(grade >= RELEVANT) for grade in grades] for grades in (first, second))
    return Agreement(
        assessors,
        len(pairs),
        sum(a == b for a, b in pairs) / len(pairs),
        kappa(first, second),
        kappa(first, second, "linear"),
        kappa(first, second, "quadratic"),
        kappa(relevant, also, grades=2),
    )
