"""How far two assessors agree: Cohen's kappa, as the labs report it for topics judged twice.

A disagreement weighs 1 or, in quadratic kappa, the square of the distance of the grades; binary
kappa knows relevant and not relevant alone. By scikit-learn.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arqmath_bm25.core.labs import GRADES, RELEVANT
from arqmath_bm25.core.system import needed_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from arqmath_bm25.evaluation.judging.judge import HitKey


class Agreement(NamedTuple):
    """Agreement of two assessors; kappa is NaN where chance alone makes them agree."""

    assessors: tuple[str, str]
    hits: int  # to which both gave a grade
    equal: float  # share of the same grade
    kappa: float  # of grades
    quadratic: float
    binary: float


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
    grades = np.array(pairs)
    equal = float((grades[:, 0] == grades[:, 1]).mean())
    return Agreement(
        assessors, len(pairs), equal, _kappa(grades), _kappa(grades, "quadratic"),
        _kappa((grades >= RELEVANT).astype(int)),
    )  # fmt: skip


def _kappa(pairs: NDArray[np.int64], weights: str | None = None) -> float:
    with needed_by("kappa", "nlps"):
        from sklearn.metrics import cohen_kappa_score  # takes a second to import
    with warnings.catch_warnings(action="ignore"):  # of a division by zero
        return float(cohen_kappa_score(*pairs.T, weights=weights, labels=GRADES))
