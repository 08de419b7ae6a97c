"""NLPS (TextGraphs-16): mean average precision and recall of the first 500 premises.

The shared task's script (`evaluate.py`) averages precision over the relevant premises that were
*retrieved*; standard average precision divides by all relevant ones, so it is lower unless all
were found. Published figures are the script's. Statements without predictions count 0.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Final

from arqmath_bm25.collection.premises import read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import PREMISES as DEPTH
from arqmath_bm25.evaluation.measures import PREMISE_KEYS
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.evaluation.score import Score

EXPLANATION: Final = (
    "MAP@500 (official) averages precision over the relevant premises that were retrieved, "
    "as the shared task's script does; MAP@500 divides by all relevant premises."
)


def read_gold(path: Path) -> Qrels:
    """Read the relevant premises of a dev or train set, all with grade 1.

    Raises InputError as `collection.premises.read_statements` does, and for a set that names no
    premises: those of the test set are masked.
    """
    gold = {one.statement_id: dict.fromkeys(one.premises, 1) for one in read_statements(path)}
    if not any(gold.values()):
        raise InputError(f"{path}: no statement has premises here; a test set has them masked")
    return gold


def score_premises(
    predicted: Mapping[str, Iterable[str]], gold: Mapping[str, Collection[str]]
) -> Score:
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
        values[statement] = dict(zip(PREMISE_KEYS, (official, standard, recall), strict=True))
    missing = len(gold.keys() - predicted.keys())
    short = sum(len(tuple(predicted.get(t, ()))) < DEPTH for t in gold) - missing
    found = (
        (missing, "are not predicted and count 0"),
        (short, f"have fewer than {DEPTH} premises"),
    )
    warnings = (
        f"{n:,} statements {what}; the official script refuses this" for n, what in found if n
    )
    return Score(values=values, counts={"statements": len(gold)}, warnings=tuple(warnings))


def _precisions(ranking: tuple[str, ...], relevant: set[str]) -> list[float]:
    """Return the precision at the rank of each relevant premise that was retrieved."""
    precisions: list[float] = []
    for rank, premise in enumerate(ranking, 1):
        if premise in relevant:
            precisions.append((len(precisions) + 1) / rank)
    return precisions
