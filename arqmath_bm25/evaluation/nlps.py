"""NLPS (TextGraphs-16): mean average precision and recall of the first 500 premises.

The shared task's script (`evaluate.py`) averages precision over the relevant premises that were
*retrieved*; standard average precision divides by all relevant ones, so it is lower unless all
were found. Published figures are the script's. Statements without predictions count 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.collection.premises import read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import PREMISES as DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

EXPLANATION: Final = (
    "MAP@500 (official) averages precision over the relevant premises that were retrieved, "
    "as the shared task's script does; MAP@500 divides by all relevant premises."
)

KEYS: Final = ("map_500_official", "map_500", "recall_500")

Premises = dict[str, tuple[str, ...]]  # statement -> premises


@dataclass(frozen=True, slots=True)
class PremiseScore:
    """Values of every statement of the gold file."""

    values: dict[str, dict[str, float]]  # statement -> measure -> value
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the averages under the keys of `eval --json`."""
        return {
            **{key: fmean(one[key] for one in self.values.values()) for key in KEYS},
            "statements": len(self.values),
            "warnings": list(self.warnings),
        }


def read_gold(path: Path) -> Premises:
    """Read the relevant premises of a dev or train set.

    Raises InputError as `collection.premises.read_statements` does, and for a set that names no
    premises: those of the test set are masked.
    """
    gold = {found.statement_id: found.premises for found in read_statements(path)}
    if not any(gold.values()):
        raise InputError(f"{path}: no statement has premises here; a test set has them masked")
    return gold


def score_premises(predicted: Mapping[str, Iterable[str]], gold: Premises) -> PremiseScore:
    """Score the first 500 premises of every statement of the gold file.

    Raises InputError if no statement is predicted.
    """
    if not gold.keys() & predicted.keys():
        raise InputError(
            f"none of the {len(gold):,} statements of the gold file is predicted: "
            f"the first prediction is for {next(iter(predicted), None)}"
        )
    values: dict[str, dict[str, float]] = {}
    for statement, relevant in gold.items():
        ranking = tuple(predicted.get(statement, ()))[:DEPTH]
        precisions = _precisions(ranking, set(relevant))
        count = len(relevant) or 1
        official = fmean(precisions) if precisions else 0.0
        standard, recall = sum(precisions) / count, len(precisions) / count
        values[statement] = dict(zip(KEYS, (official, standard, recall), strict=True))
    missing = len(gold.keys() - predicted.keys())
    short = sum(len(tuple(predicted.get(t, ()))) < DEPTH for t in gold) - missing
    found = (
        (missing, "are not predicted and count 0"),
        (short, f"have fewer than {DEPTH} premises"),
    )
    warnings = (
        f"{n:,} statements {what}; the official script refuses this" for n, what in found if n
    )
    return PremiseScore(values, tuple(warnings))


def _precisions(ranking: tuple[str, ...], relevant: set[str]) -> list[float]:
    """Return the precision at the rank of each relevant premise that was retrieved."""
    precisions: list[float] = []
    for rank, premise in enumerate(ranking, 1):
        if premise in relevant:
            precisions.append((len(precisions) + 1) / rank)
    return precisions
