"""Cross-validation of premise rankings on the training set alone (folds of `premise_rankers`).

A ranking that learns does so without the fold that it is tested on. One that does not learn ranks
the fold as it is; a statement is never its own premise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import PREMISES
from arqmath_bm25.evaluation.nlps import score_premises
from arqmath_bm25.tasks.premises.rankers.folds import folds
from arqmath_bm25.tasks.premises.rankers.learned import Learned, learn
from arqmath_bm25.tasks.premises.rankers.supervised import Supervised

if TYPE_CHECKING:
    from arqmath_bm25.evaluation.nlps import PremiseScore
    from arqmath_bm25.tasks.premises.premise_selection import PremiseRanker


def cross_validate(ranker: PremiseRanker, variant: str, threads: int) -> list[PremiseScore]:
    """Return the scores of each fold; InputError if the training set is too small."""
    parts = folds(ranker.training)
    if len(parts) < 2:
        raise InputError("cross-validation needs training statements that no other one cites")
    method, found = ranker.method(variant), []
    for fold in parts:
        statements = [ranker.training[n] for n in fold]
        if isinstance(method, Learned):
            others = (part for part in parts if part is not fold)
            method = Learned(ranker.model, method.variant, learn(ranker.model, others))
        if isinstance(method, Supervised):
            ranked = method.rank_hidden(fold, PREMISES)
        else:
            ranked = method.rank(statements, PREMISES, threads)
        predicted = {
            statement.statement_id: tuple(premise for premise, _ in ranking)
            for statement, ranking in zip(statements, ranked, strict=True)
        }
        found.append(score_premises(predicted, {s.statement_id: s.premises for s in statements}))
    return found
