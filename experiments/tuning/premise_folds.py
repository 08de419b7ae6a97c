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
from arqmath_bm25.tasks.premises.premise_selection import Ridge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.collection.references import Statement
    from arqmath_bm25.evaluation.score import Score
    from arqmath_bm25.tasks.premises.premise_selection import PremiseRanker

FOLDS: Final = 5
_MOST: Final = 4000  # statements in all folds; bounds the memory for large training sets
_SEED: Final = 16


def folds(training: Sequence[Statement]) -> list[NDArray[np.int64]]:
    """Return the numbers of the training statements in each fold, which their ids decide."""
    cited = {premise for statement in training for premise in statement.references}
    rows = [n for n, s in enumerate(training) if s.references and s.statement_id not in cited]
    rows.sort(key=lambda n: training[n].statement_id)
    random.Random(_SEED).shuffle(rows)  # noqa: S311 (the same for everybody)
    parts = (np.array(sorted(rows[:_MOST][n::FOLDS]), np.int64) for n in range(FOLDS))
    return [part for part in parts if len(part)]


def cross_validate(
    ranker: PremiseRanker, training: Sequence[Statement], variant: str
) -> list[Score]:
    """Return the scores of each fold; InputError if the training set is too small."""
    parts = folds(training)
    if len(parts) < 2:
        raise InputError("cross-validation needs training statements that no other one cites")
    method, scores = ranker.method(variant), []
    for fold in parts:
        statements = [training[n] for n in fold]
        if isinstance(method, Ridge):
            ranked = method.rank(statements, PREMISES, hidden=fold.tolist())
        else:
            ranked = method.rank(statements, PREMISES)
        predicted = {
            statement.statement_id: tuple(premise for premise, _ in ranking)
            for statement, ranking in zip(statements, ranked, strict=True)
        }
        scores.append(score_premises(predicted, {s.statement_id: s.references for s in statements}))
    return scores
