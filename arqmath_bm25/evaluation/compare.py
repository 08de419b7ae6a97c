"""Is one run better than another? Paired tests over topics, intervals, and means by category.

Every run is compared with the first. Both tests look at the differences per topic: Student's
paired t-test, and the randomization test, which flips their signs at random (exactly, where the
topics are few). Holm's step-down correction is over the comparisons of one call. The interval is
the percentile bootstrap of the mean difference. All by scipy, seeded.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

RESAMPLES: Final = 9_999
CONFIDENCE: Final = 0.95
_SEED: Final = 2020
_TIE: Final = 1e-9  # differences below it are rounding
CATEGORIES: Final = ("Dependency", "Difficulty", "Category")

TopicInfo = dict[str, dict[str, str]]  # column -> topic -> label


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against the first one, over the same topics."""

    run: str
    baseline: str
    mean: float
    difference: float  # mean of run minus mean of baseline
    low: float  # confidence interval of the difference
    high: float
    wins: int  # topics on which the run is better than the baseline
    ties: int
    losses: int
    t_test_p: float
    randomization_p: float
    t_test_holm: float  # corrected
    randomization_holm: float


def compare(values: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    """Compare every run with the first; `values` are run → topic → value, of the same topics.

    Raises InputError for fewer than two runs or two topics, and for runs of unequal topics.
    """
    names = list(values)
    if len(names) < 2:
        raise InputError("a comparison needs two runs or more")
    topics = list(values[names[0]])
    if any(list(values[name]) != topics for name in names) or len(topics) < 2:
        raise InputError("the runs have to be scored on the same topics, two or more")
    table = {name: np.array([values[name][t] for t in topics]) for name in names}
    baseline, *others = names
    differences = {name: table[name] - table[baseline] for name in others}
    t_tests = [_t_test(differences[name]) for name in others]
    randomizations = [_randomization(differences[name]) for name in others]
    corrected = zip(holm(t_tests), holm(randomizations), strict=True)
    rows = zip(others, t_tests, randomizations, corrected, strict=True)
    return [
        _comparison(name, baseline, table[name], differences[name], p, q, *holms)
        for name, p, q, holms in rows
    ]


def _comparison(
    run: str, baseline: str, values: NDArray[np.float64], difference: NDArray[np.float64],
    t_test: float, randomization: float, t_test_holm: float, randomization_holm: float,
) -> Comparison:  # fmt: skip
    low, high = _interval(difference)
    wins, losses = int((difference > _TIE).sum()), int((difference < -_TIE).sum())
    return Comparison(
        run, baseline, float(values.mean()), float(difference.mean()), low, high,
        wins, len(difference) - wins - losses, losses,
        t_test, randomization, t_test_holm, randomization_holm,
    )  # fmt: skip


def _t_test(difference: NDArray[np.float64]) -> float:
    if np.ptp(difference) <= _TIE:  # no variance, no test: equal runs, or a constant shift
        return 1.0 if abs(difference[0]) <= _TIE else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _randomization(difference: NDArray[np.float64]) -> float:
    if np.abs(difference).max() <= _TIE:
        return 1.0
    test = stats.permutation_test(
        (difference,), np.mean, permutation_type="samples", vectorized=True,
        n_resamples=RESAMPLES, rng=np.random.default_rng(_SEED),
    )  # fmt: skip
    return float(test.pvalue)


def _interval(difference: NDArray[np.float64]) -> tuple[float, float]:
    if np.ptp(difference) <= _TIE:
        return float(difference.mean()), float(difference.mean())
    interval = stats.bootstrap(
        (difference,), np.mean, confidence_level=CONFIDENCE, method="percentile",
        n_resamples=RESAMPLES, rng=np.random.default_rng(_SEED),
    ).confidence_interval  # fmt: skip
    return float(interval.low), float(interval.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = least
    return corrected


def read_topic_info(path: Path) -> TopicInfo:
    """Read the lab's topic labels: a CSV with columns Topic and Dependency, Difficulty, Category.

    Raises InputError for a missing or binary file, one without the column Topic or without any of
    the three, and a row that is too short.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such topic information file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[field.strip() for field in row] for row in csv.reader(file) if any(row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file: {error}") from None
    header = [name.lower() for name in rows[0]] if rows else []
    columns = {name: header.index(name.lower()) for name in CATEGORIES if name.lower() in header}
    if "topic" not in header or not columns:
        raise InputError(
            f"{path}: row 1: expected the columns Topic and {', '.join(CATEGORIES)}, "
            f"found {', '.join(rows[0] if rows else [])[:80] or 'nothing'}"
        )
    topic = header.index("topic")
    for number, row in enumerate(rows[1:], 2):
        if len(row) < len(header):
            raise InputError(
                f"{path}: row {number}: expected {len(header)} columns, found {len(row)}"
            )
    return {name: {row[topic]: row[at] for row in rows[1:]} for name, at in columns.items()}


@dataclass(frozen=True, slots=True)
class CategoryMeans:
    """Means of every run over the topics with one label."""

    column: str  # Dependency, Difficulty, Category
    label: str
    topics: int
    means: dict[str, float]  # run -> mean


def by_category(values: Mapping[str, Mapping[str, float]], info: TopicInfo) -> list[CategoryMeans]:
    """Average over the topics of each label; topics that the labels lack are left out.

    Raises InputError if no topic has a label.
    """
    topics = next(iter(values.values()))
    result: list[CategoryMeans] = []
    for column, labels in info.items():
        for label in sorted({labels[topic] for topic in topics if topic in labels}):
            chosen = [topic for topic in topics if labels.get(topic) == label]
            means = {run: fmean(found[t] for t in chosen) for run, found in values.items()}
            result.append(CategoryMeans(column, label, len(chosen), means))
    if not result:
        raise InputError("the topic information is about none of the judged topics")
    return result
