"""Comparing runs: is one better than another, and which documents does it rank differently?

Every run is compared with the first. Both tests look at the differences per topic: Student's
paired t-test, and the randomization test, which flips their signs at random (exactly, where the
topics are few). Holm's step-down correction covers all comparisons of one call. The interval is
the percentile bootstrap of the mean difference. All are seeded, and equal to those of scipy.stats,
which takes half a second to load.

Of two runs, `moves` lists the documents that they rank differently for a topic, and why: the parts
of their scores. Parts are shares of the score of the run's best document for the topic, since two
configurations may score on different scales. The manifest next to a run says how it was made: only
runs of this program can be explained, and only while their index is unchanged. For other runs the
moves are listed without the parts.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.arrays import Floats
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.records import Hit, Json
from arqmath_bm25.evaluation.evaluator import ScoredRun
from arqmath_bm25.evaluation.measures import key_of
from arqmath_bm25.evaluation.score import shared_notes
from arqmath_bm25.runs.run_writing import provenance, topics_of
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import task_class
from arqmath_bm25.tasks.open_index import OpenIndex

# A field, or evidence as the configuration names it → its share of a score.
Parts = dict[str, float]

RESAMPLES = 9_999
CONFIDENCE = 0.95

# A p-value below this level is significant.
SIGNIFICANT = 0.05
_SEED = 2020

# Smaller differences come from rounding.
_TIE = 1e-9


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

    baseline, *others = names
    topics = list(values[baseline])
    if len(topics) < 2 or any(list(of_run) != topics for of_run in values.values()):
        raise InputError("the runs have to be scored on the same topics, two or more")

    arrays = {name: np.array(list(of_run.values())) for name, of_run in values.items()}
    differences = [arrays[name] - arrays[baseline] for name in others]

    t_tests = list(map(_t_test, differences))
    t_tests_holm = holm(t_tests)
    randomizations = list(map(_randomization, differences))
    randomizations_holm = holm(randomizations)

    comparisons = []
    for index, name in enumerate(others):
        difference = differences[index]
        low, high = _interval(difference)
        wins = int((difference > _TIE).sum())
        losses = int((difference < -_TIE).sum())
        comparison = Comparison(
            run=name,
            baseline=baseline,
            mean=float(arrays[name].mean()),
            difference=float(difference.mean()),
            low=low,
            high=high,
            wins=wins,
            ties=len(topics) - wins - losses,
            losses=losses,
            t_test_p=t_tests[index],
            randomization_p=randomizations[index],
            t_test_holm=t_tests_holm[index],
            randomization_holm=randomizations_holm[index],
        )
        comparisons.append(comparison)

    return comparisons


def _t_test(difference: Floats) -> float:
    """Return the p-value of Student's paired t-test."""
    # The test needs variance: equal runs do not differ, a constant shift is no chance.
    if np.ptp(difference) <= _TIE:
        return float(abs(difference[0]) <= _TIE)

    number = len(difference)
    mean = difference.mean()
    variance = ((difference - mean) ** 2).mean() * (number / (number - 1))
    t = abs(mean) / math.sqrt(variance / number)
    # Of the commands, only comparisons wait for it.
    from scipy.special import stdtr

    return float(2 * stdtr(number - 1, -t))


def _randomization(difference: Floats) -> float:
    """Return the p-value of the paired randomization test, as scipy.stats.permutation_test does."""
    if np.abs(difference).max() <= _TIE:
        return 1.0

    number = len(difference)
    is_exact = 2**number <= RESAMPLES
    if is_exact:
        signs = np.array(list(product((1, -1), repeat=number)))
    else:
        pairs = np.tile((1, -1), (RESAMPLES, number, 1))
        signs = np.random.default_rng(_SEED).permuted(pairs, axis=-1)[..., 0]

    means = (signs * difference).mean(axis=-1)
    mean = difference.mean()
    tolerance = 100 * np.finfo(np.float64).eps * abs(mean)
    less = np.count_nonzero(means <= mean + tolerance)
    greater = np.count_nonzero(means >= mean - tolerance)

    # Of all samples the given one is one, which a random draw may lack.
    extra = 1
    if is_exact:
        extra = 0
    p = 2 * (min(less, greater) + extra) / (len(signs) + extra)
    return min(p, 1.0)


def _interval(difference: Floats) -> tuple[float, float]:
    """Return the bootstrap confidence interval of the mean difference, by percentiles."""
    if np.ptp(difference) <= _TIE:
        mean = float(difference.mean())
        return mean, mean

    number = len(difference)
    drawn = np.random.default_rng(_SEED).integers(0, number, (RESAMPLES, number))
    means = difference[drawn].mean(axis=-1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, (tail, 1 - tail)).tolist()
    return low, high


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    ascending = np.array(p_values)[order]
    factors = np.arange(len(order), 0, -1)
    raised = np.minimum(1, factors * ascending)

    corrected = np.empty(len(order))
    corrected[order] = np.maximum.accumulate(raised)
    return list(map(float, corrected))


def find_significant(runs: Sequence[ScoredRun], key: str) -> set[int]:
    """Return the indexes of the runs that differ significantly from the first in a measure.

    That is p < .05 in the randomization test, corrected by Holm. Runs that are not scored on the
    same topics, two or more, cannot be tested.
    """
    values = {str(index): run.score.values_of(key) for index, run in enumerate(runs)}
    significant = set()
    with suppress(InputError):
        for pair in compare(values):
            if pair.randomization_holm < SIGNIFICANT:
                significant.add(int(pair.run))
    return significant


def may_contradict(keys: Sequence[str]) -> Sequence[str]:
    """Return the measures in tables that may contradict the first; rates of judged hits cannot."""
    return [key for key in keys[1:] if key != "judged_at_10"]


@dataclass(frozen=True, slots=True)
class RunComparisons:
    """Several runs against the first one."""

    key: str  # of the measure
    measure: str  # its name in ir_measures
    qrels: str
    relevant: int  # the relevance level: the lowest grade that counts as relevant
    values: dict[str, dict[str, float]]  # run -> topic -> value
    comparisons: list[Comparison]
    warnings: list[str]

    def to_json(self) -> Json:
        """Return the comparison as JSON: its measure, judgments, means, values and tests."""
        first, *_ = self.values.values()
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "relevant": self.relevant,
            "topics": len(first),
            "means": {run: fmean(of_run.values()) for run, of_run in self.values.items()},
            "comparisons": list(map(asdict, self.comparisons)),
            "warnings": self.warnings,
        }


def compare_runs(runs: Sequence[ScoredRun], measure: str | None = None) -> RunComparisons:
    """Compare runs with the first; see `compare`.

    `measure` is by default the first measure in tables of such runs. Raises InputError unless all
    runs have the same judgments.
    """
    first = runs[0]
    known = {first.score.names[key]: key for key in first.score.keys}
    if not measure:
        key = first.score.table_keys[0]
    elif measure in known:
        key = known[measure]
    else:
        key = key_of(measure)
    if key not in known.values():
        raise InputError(f"{measure}: {first.file} is scored by {', '.join(known)}")

    scored = {}
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

    values = {name: run.score.values_of(key) for name, run in scored.items()}
    comparisons = compare(values)
    warnings = shared_notes([(name, run.score.warnings) for name, run in scored.items()])
    warnings += _contradictions(scored, comparisons, key)
    return RunComparisons(
        key=key,
        measure=first.score.names[key],
        qrels=str(first.judgments.file),
        relevant=first.score.relevant,
        values=values,
        comparisons=comparisons,
        warnings=warnings,
    )


def _contradictions(
    scored: Mapping[str, ScoredRun], comparisons: Sequence[Comparison], measure: str
) -> list[str]:
    """Return which measures say the opposite of the one that compares the runs."""
    averages = {name: run.score.averages() for name, run in scored.items()}
    first = next(iter(scored.values()))
    notes = []
    for pair in comparisons:
        against = []
        for key in may_contradict(first.score.table_keys):
            difference = averages[pair.run][key] - averages[pair.baseline][key]
            if key != measure and pair.difference * difference < 0:
                against.append(first.score.names[key])

        if against:
            notes.append(
                f"{pair.run} against {pair.baseline}: {', '.join(against)} say the opposite of "
                f"{first.score.names[measure]}"
            )
    return notes


class Move(NamedTuple):
    """A document that two runs rank differently."""

    doc_id: str  # an answer, or a visual id
    grade: int | None  # None if nobody judged it
    ranks: list[int | None]  # its ranks in both runs, from 1; None if it is not in the ranking
    parts: list[Parts]  # parts of its score in both runs, as shares of the best; may be empty

    def causes(self) -> list[tuple[str, float, float]]:
        """Return the parts of a score in the first run and in the second; largest change first."""
        old, new = self.parts
        causes = [(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
        return sorted(causes, key=lambda cause: abs(cause[2] - cause[1]), reverse=True)


def moves(
    collection: CollectionFiles,
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
        rankings.append(run.ranked.topics.get(topic, {}))

    if not any(rankings):
        raise InputError(f"{topic}: none of the runs has this topic")

    ranks = {}
    first, second = [{doc: rank for rank, doc in enumerate(docs, 1)} for docs in rankings]
    for doc in {*list(first)[:depth], *list(second)[:depth]}:
        if first.get(doc) != second.get(doc):
            ranks[doc] = [first.get(doc), second.get(doc)]
    docs = sorted(ranks)

    parts = []
    unexplained = []
    for run, directory in zip(runs, (indexes[0], indexes[-1]), strict=True):
        source = replace(collection, indexes=directory)
        try:
            explained = _explain(source, run, topic, docs)
        except InputError as error:
            explained = [{} for _ in docs]
            unexplained.append(f"scores are not explained: {error}")
        parts.append(explained)

    grades = runs[0].judgments.qrels.get(topic, {})
    last = max(map(len, rankings)) + 1

    moved = []
    for doc, *of_doc in zip(docs, *parts, strict=True):
        moved.append(Move(doc, grades.get(doc), ranks[doc], of_doc))
    # The rank in the second run decides, then that in the first.
    moved.sort(key=lambda move: [rank or last for rank in reversed(move.ranks)])
    return moved, unexplained


def _explain(
    collection: CollectionFiles, run: ScoredRun, topic_id: str, docs: Sequence[str]
) -> list[Parts]:
    """Return the parts of the scores of documents in a run, as shares of its best score."""
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

    index = OpenIndex.of(task, collection)
    topics = task.asked(collection, topics_of([made_of]))
    topic = topics.get(topic_id)
    if topic is None:
        raise InputError(f"{topic_id}: no topic file of {collection.layout.data} has this topic")

    hits = [Hit(doc, 0, visual_id=doc) for doc in docs]
    top = max(run.ranked.topics.get(topic_id, {}).values(), default=1.0)
    shares = []
    for parts in index.ranker.explain(topic, made_of.variant, hits):
        shares.append({part.name: part.score / top for part in parts})
    return shares
