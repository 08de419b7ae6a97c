"""Cross-validation of premise rankings on the training set alone.

Held out are statements that cite something and that nobody cites, as those of dev and test are: a
statement that is cited is a candidate as well, and its page is spread over the training set. Whole
folds are hidden, because the near relatives of a statement tell its premises. The ranking that
learns does so without the fold that it is tested on; the other ranks the fold as it is.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import PREMISES
from arqmath_bm25.evaluation.score import score_premises
from arqmath_bm25.tasks.premises.ridge import Queries, Ridge
from arqmath_bm25.tasks.premises.text_kernel import gram
from arqmath_bm25.tasks.premises.tfidf import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.evaluation.score import Score
    from arqmath_bm25.tasks.premises.premise_selection import PremiseRanker
    from arqmath_bm25.tasks.premises.text_kernel import Matrix
    from arqmath_bm25.tasks.premises.tfidf import PremiseRanking

FOLDS: Final = 5
_MOST: Final = 4000  # statements in all folds; bounds the memory for large training sets
_SEED: Final = 16


def folds(training: Sequence[Statement]) -> list[NDArray[np.int64]]:
    """Return numbers of training statements, those of each fold; by their ids alone."""
    cited = {premise for statement in training for premise in statement.premises}
    rows = [n for n, s in enumerate(training) if s.premises and s.statement_id not in cited]
    rows.sort(key=lambda n: training[n].statement_id)
    random.Random(_SEED).shuffle(rows)  # noqa: S311 (the same for everybody)
    parts = (np.array(sorted(rows[:_MOST][n::FOLDS]), np.int64) for n in range(FOLDS))
    return [part for part in parts if len(part)]


def hidden_influence(rows: sparse.csr_matrix, inverse: Matrix, fold: NDArray[np.int64]) -> Matrix:
    """Return the influence on the rows of a fold as if they had not been among the rows.

    With H the influence of all rows on all, and F the fold: (I - H_FF)⁻¹ H_F, without the columns
    of F (leave-one-out of linear smoothers, for a block).
    """
    influence = gram(rows[fold], rows) @ inverse
    left = np.eye(len(fold)) - influence[:, fold]
    influence[:, fold] = 0
    return np.asarray(np.linalg.solve(left, influence))


def rank_hidden(ranker: Ridge, fold: NDArray[np.int64], depth: int) -> Iterator[PremiseRanking]:
    """Yield the best premises of a fold of the training statements, none of which is seen."""
    training, fitted = ranker.model.training, ranker.model.fitted
    influence = hidden_influence(fitted.rows, fitted.inverse, fold)
    for start in range(0, len(fold), BLOCK):
        rows = fold[start : start + BLOCK]
        similarity = gram(fitted.rows[rows], fitted.rows)
        similarity[:, fold] = 0
        queries = Queries(fitted.rows[rows], similarity, influence[start : start + BLOCK])
        yield from ranker.best([training[n] for n in rows], queries, depth)


def cross_validate(ranker: PremiseRanker, variant: str) -> list[Score]:
    """Return the scores of each fold; InputError if the training set is too small."""
    parts = folds(ranker.training)
    if len(parts) < 2:
        raise InputError("cross-validation needs training statements that no other one cites")
    method, scores = ranker.method(variant), []
    for fold in parts:
        statements = [ranker.training[n] for n in fold]
        if isinstance(method, Ridge):
            ranked = rank_hidden(method, fold, PREMISES)
        else:
            ranked = method.rank(statements, PREMISES)
        predicted = {
            statement.statement_id: tuple(premise for premise, _ in ranking)
            for statement, ranking in zip(statements, ranked, strict=True)
        }
        scores.append(score_premises(predicted, {s.statement_id: s.premises for s in statements}))
    return scores
