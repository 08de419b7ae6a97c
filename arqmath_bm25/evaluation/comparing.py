"""Comparing runs: is one better than another, and which documents does it rank differently?

Every run is compared with the first. Both tests look at the differences per topic: Student's
paired t-test, and the randomization test, which flips their signs at random (exactly, where the
topics are few). Holm's step-down correction covers all comparisons of one call. The interval is
the percentile bootstrap of the mean difference. All by scipy, seeded.

Of two runs, `moves` lists the documents that they rank differently for a topic, and why: the parts
of their scores. Parts are shares of the score of the run's best document for the topic, since two
configurations may score on different scales. What a run is made of is said by the manifest beside
it: only runs of this program can be explained, and only while their index is as it was. Of others
the moves are listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
import scipy  # which loads scipy.stats, a second's work, where a test needs it
from numpy.typing import NDArray

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.evaluation.evaluator import ScoredRun
from arqmath_bm25.evaluation.measures import key_of
from arqmath_bm25.evaluation.score import shared_notes
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.run_writing import provenance, topics_of
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import task_class
from arqmath_bm25.tasks.open_index import Index

Parts = dict[str, float]  # a field, or evidence as the configuration names it → what it gave


RESAMPLES: Final = 9_999
CONFIDENCE: Final = 0.95
SIGNIFICANT: Final = 0.05  # p below it
_SEED: Final = 2020
_TIE: Final = 1e-9  # differences below it are rounding


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

    table = {name: np.array([values[name][topic] for topic in topics]) for name in names}
    baseline, *others = names
    differences = [table[name] - table[baseline] for name in others]

    t_tests = [_t_test(difference) for difference in differences]
    randomizations = [_randomization(difference) for difference in differences]
    t_tests_holm, randomizations_holm = holm(t_tests), holm(randomizations)

    comparisons = []
    for place, (name, difference) in enumerate(zip(others, differences, strict=True)):
        low, high = _interval(difference)
        wins = int((difference > _TIE).sum())
        losses = int((difference < -_TIE).sum())
        comparison = Comparison(
            run=name,
            baseline=baseline,
            mean=float(table[name].mean()),
            difference=float(difference.mean()),
            low=low,
            high=high,
            wins=wins,
            ties=len(topics) - wins - losses,
            losses=losses,
            t_test_p=t_tests[place],
            randomization_p=randomizations[place],
            t_test_holm=t_tests_holm[place],
            randomization_holm=randomizations_holm[place],
        )
        comparisons.append(comparison)

    return comparisons


def _t_test(difference: NDArray[np.float64]) -> float:
    if np.ptp(difference) <= _TIE:  # no variance, no test: equal runs, or a constant shift
        return 1.0 if abs(difference[0]) <= _TIE else 0.0
    return float(scipy.stats.ttest_1samp(difference, 0.0).pvalue)


def _randomization(difference: NDArray[np.float64]) -> float:
    if np.abs(difference).max() <= _TIE:
        return 1.0

    test = scipy.stats.permutation_test(
        (difference,), np.mean, permutation_type="samples", vectorized=True,
        n_resamples=RESAMPLES, rng=np.random.default_rng(_SEED),
    )  # fmt: skip
    return float(test.pvalue)


def _interval(difference: NDArray[np.float64]) -> tuple[float, float]:
    if np.ptp(difference) <= _TIE:
        return float(difference.mean()), float(difference.mean())

    interval = scipy.stats.bootstrap(
        (difference,), np.mean, confidence_level=CONFIDENCE, method="percentile",
        n_resamples=RESAMPLES, rng=np.random.default_rng(_SEED),
    ).confidence_interval  # fmt: skip
    return float(interval.low), float(interval.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    raised = np.minimum(1, np.arange(len(order), 0, -1) * np.array(p_values)[order])
    corrected = np.empty(len(order))
    corrected[order] = np.maximum.accumulate(raised)
    return [float(p_value) for p_value in corrected]


def differing(runs: Sequence[ScoredRun], key: str) -> set[int]:
    """Return the places of the runs that differ from the first in a measure.

    Those are of p < .05 in the randomization test, corrected by Holm. Runs that are not scored on
    the same topics, two or more, cannot be tested.
    """
    first, values = runs[0].score.values, {}
    for place, run in enumerate(runs):
        values[str(place)] = {topic: of[key] for topic, of in run.score.values.items()}
    same_topics = all(list(run.score.values) == list(first) for run in runs)
    if len(runs) < 2 or len(first) < 2 or not same_topics:
        return set()
    return {int(pair.run) for pair in compare(values) if pair.randomization_holm < SIGNIFICANT}


def contradicting(shown: Sequence[str]) -> Sequence[str]:
    """Return the measures shown in tables that may contradict the first."""
    return [key for key in shown[1:] if key != "judged_at_10"]


@dataclass(frozen=True, slots=True)
class RunComparisons:
    """Several runs against the first one."""

    measure: str
    qrels: str
    relevant: int  # the least grade that counts as relevant
    values: dict[str, dict[str, float]]  # run -> topic -> value
    comparisons: list[Comparison]
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the object of `compare --json`."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "relevant": self.relevant,
            "topics": len(next(iter(self.values.values()))),
            "means": {run: fmean(of_topics.values()) for run, of_topics in self.values.items()},
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
            "warnings": self.warnings,
        }


def compare_runs(runs: Sequence[ScoredRun], measure: str | None = None) -> RunComparisons:
    """Compare runs with the first; see `compare`.

    Without `measure` it is the first one in tables of such runs. Raises InputError unless all
    runs have the same judgments.
    """
    first = runs[0]
    measure = key_of(measure) if measure else first.score.shown[0]
    if measure not in first.score.keys:
        raise InputError(f"{measure}: {first.file} is scored by {', '.join(first.score.keys)}")

    scored: dict[str, ScoredRun] = {}
    for run in runs:
        file = run.judgments.file
        if (file, run.task) != (first.judgments.file, first.task):
            raise InputError(
                f"{run.file}: scored as {run.task} with {file}, but {first.file} as {first.task} "
                f"with {first.judgments.file}; runs can be compared on the same judgments only"
            )

        name = run.run
        if name in scored:
            name = str(run.file)
        scored[name] = run

    values: dict[str, dict[str, float]] = {}
    for name, run in scored.items():
        values[name] = {topic: of[measure] for topic, of in run.score.values.items()}

    comparisons = compare(values)
    warnings = shared_notes([(name, run.score.warnings) for name, run in scored.items()])
    warnings += _contradictions(scored, comparisons, measure)
    qrels, relevant = str(first.judgments.file), first.score.relevant
    return RunComparisons(measure, qrels, relevant, values, comparisons, warnings)


def _contradictions(
    scored: Mapping[str, ScoredRun], comparisons: Sequence[Comparison], measure: str
) -> list[str]:
    """Return which measures say the opposite of the one that compares the runs."""
    averages = {name: run.score.averages() for name, run in scored.items()}
    first = next(iter(scored.values()))
    others = [key for key in contradicting(first.score.shown) if key != measure]
    notes = []
    for pair in comparisons:
        means, base = averages[pair.run], averages[pair.baseline]
        against = [key for key in others if pair.difference * (means[key] - base[key]) < 0]
        if against:
            listed = ", ".join(against)
            notes.append(
                f"{pair.run} against {pair.baseline}: {listed} say the opposite of {measure}"
            )

    return notes


class Move(NamedTuple):
    """A document that two runs rank differently."""

    doc_id: str  # an answer, or a visual id
    grade: int | None  # None: nobody judged it
    ranks: list[int | None]  # in both runs, from 1; None: it is not in the ranking
    parts: list[Parts]  # of its score in both runs, as shares of the best score; may be empty

    def causes(self) -> list[tuple[str, float, float]]:
        """Return the parts of a score in the first run and in the second; largest change first."""
        old, new = self.parts
        shares = [(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
        return sorted(shares, key=lambda cause: -abs(cause[2] - cause[1]))


def moves(
    collection: Collection,
    runs: Sequence[ScoredRun],
    topic: str,
    depth: int,
    indexes: Sequence[Path],
) -> tuple[list[Move], list[str]]:
    """Return the documents that moved among the `depth` best of two runs for a topic.

    They come in the order of the second run, with sentences on runs that cannot be explained.
    `indexes` are the directories of the indexes of each run, or one for both. Raises InputError for
    a run of another task, and a topic that neither run has.
    """
    rankings = []
    for run in runs:
        RULES[run.task].require("moves", run.file)
        if run.ranked is not None:
            rankings.append(run.ranked.topics.get(topic, {}))

    if not any(rankings):
        raise InputError(f"{topic}: none of the runs has this topic")

    ranks_of = _moved(rankings, depth)
    moved = sorted(ranks_of)

    parts: list[list[Parts]] = []
    unexplained = []
    data = collection.layout.data if collection.on_site else None
    for run, ranking, path in zip(runs, rankings, (indexes[0], indexes[-1]), strict=True):
        top = max(ranking.values(), default=1.0)
        try:
            parts.append(_parts(Collection(data, path), run, topic, moved, top))
        except InputError as error:
            parts.append([{} for _ in moved])
            unexplained.append(f"scores are not explained: {error}")

    grades = runs[0].judgments.qrels.get(topic, {})
    listed = []
    for place, doc in enumerate(moved):
        of_doc = [of_run[place] for of_run in parts]
        listed.append(Move(doc, grades.get(doc), ranks_of[doc], of_doc))

    last = max(len(ranking) for ranking in rankings) + 1
    listed.sort(key=lambda move: [rank or last for rank in move.ranks[::-1]])
    return listed, unexplained


def _moved(rankings: Sequence[Ranking], depth: int) -> dict[str, list[int | None]]:
    """Return the ranks of the documents that moved among the `depth` best of two rankings."""
    ranks = [{doc: rank for rank, doc in enumerate(ranking, 1)} for ranking in rankings]
    near: set[str] = set()
    for ranking in rankings:
        near.update(list(ranking)[:depth])

    moved = {}
    for doc in near:
        of_doc = [of_run.get(doc) for of_run in ranks]
        before, after = of_doc
        if before != after:
            moved[doc] = of_doc

    return moved


def _parts(
    collection: Collection, run: ScoredRun, topic_id: str, docs: Sequence[str], top: float
) -> list[Parts]:
    """Explain the scores of documents in a run."""
    made_of = provenance(run.file)
    if made_of.manual:
        raise InputError(f"{run.file}: a manual run, whose queries are not those of the topics")

    try:
        task = task_class(run.task).of(made_of.settings, run.file)
        task.variants.index(made_of.variant)
    except (ValueError, NoIndexError):
        raise InputError(
            f"{run.file}: no manifest beside it says how it was made; only runs of this program, "
            "of this version, are explained"
        ) from None

    index = Index.of(task, collection)
    topic = task.asked(collection, topics_of(run.file)).get(topic_id)
    if topic is None:
        raise InputError(f"{topic_id}: no topic file of {collection.layout.data} has this topic")

    hits = [Hit(doc, 0, visual_id=doc) for doc in docs]
    explained = index.explain(topic, made_of.variant, hits)
    shares = []
    for parts in explained:
        shares.append({part.name: part.score / top for part in parts})
    return shares
