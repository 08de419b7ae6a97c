"""Runs compared by a measure, with all that has to be known before they are believed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.significance import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.evaluation.evaluator import Scored
    from arqmath_bm25.evaluation.topic_sets import CategoryMeans

_OTHERS = ("map_prime", "p10_prime", "bpref")  # measures that may contradict a verdict


@dataclass(frozen=True, slots=True)
class Compared:
    """Several runs against the first one."""

    measure: str
    qrels: str
    values: dict[str, dict[str, float]]  # run -> topic -> value
    comparisons: list[Comparison]
    warnings: list[str]

    def to_json(self, categories: Sequence[CategoryMeans] = ()) -> dict[str, Any]:
        """Return the object of `compare --json`."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "topics": len(next(iter(self.values.values()))),
            "means": {run: fmean(found.values()) for run, found in self.values.items()},
            "comparisons": [asdict(one) for one in self.comparisons],
            "categories": [asdict(one) for one in categories],
            "warnings": self.warnings,
        }


def compare_runs(scored: Sequence[Scored], measure: str | None = None) -> Compared:
    """Compare runs with the first; InputError unless all have the same judgments.

    Without `measure` it is the first that is reported: nDCG′, or nDCG where the judgments hold
    relevant documents only, so that primed measures say nothing.
    """
    first = scored[0]
    key = measure or default_key(first)
    values: dict[str, dict[str, float]] = {}
    notes: dict[str, list[str]] = {}
    for one in scored:
        if one.qrels != first.qrels or one.task != first.task:
            raise InputError(
                f"{one.file}: scored as {one.task} with {one.qrels}, but {first.file} as "
                f"{first.task} with {first.qrels}; runs can be compared on the same judgments only"
            )
        name = one.run if one.run not in values else str(one.file)
        values[name] = {topic: found[key] for topic, found in one.score.values.items()}
        for note in getattr(one.score, "warnings", ()):
            notes.setdefault(note, []).append(name)
    comparisons = compare(values)
    warnings = [
        note if len(names) == len(values) else f"{', '.join(names)}: {note}"
        for note, names in notes.items()
    ]
    averages = {
        name: one.score.averages() if isinstance(one.score, RunScore) else {}
        for name, one in zip(values, scored, strict=True)
    }
    warnings += [said for one in comparisons if (said := contradiction(one, key, averages))]
    return Compared(key, str(first.qrels), values, comparisons, warnings)


def default_key(scored: Scored) -> str:
    """Return the measure that is compared if none is named."""
    if isinstance(scored.score, RunScore) and scored.score.only_relevant:
        return "ndcg"
    return next(iter(next(iter(scored.score.values.values()))))


def contradiction(
    one: Comparison, key: str, averages: Mapping[str, Mapping[str, float]]
) -> str | None:
    """Say which other measures put two runs in the opposite order; None if none does."""
    run, baseline = averages[one.run], averages[one.baseline]
    against = [
        other
        for other in _OTHERS
        if other != key and other in run and one.difference * (run[other] - baseline[other]) < 0
    ]
    if not against:
        return None
    return f"{one.run} against {one.baseline}: {', '.join(against)} say the opposite of {key}"
