"""Learning to rank: logistic regression over the features of likely premises (`features.py`).

It is fitted to the folds of `folds.py`, each with the evidence that is left when the fold is
hidden. What is not likely follows in the order of the ridge ranking; where the training set is too
small to learn from, all premises do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from arqmath_bm25.core.system import needed_by
from arqmath_bm25.tasks.premises.rankers.features import features
from arqmath_bm25.tasks.premises.rankers.model import single_thread
from arqmath_bm25.tasks.premises.rankers.ridge import Ridge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from arqmath_bm25.tasks.premises.rankers.evidence import Evidence, Queries
    from arqmath_bm25.tasks.premises.rankers.kernel import Matrix
    from arqmath_bm25.tasks.premises.rankers.model import Model
    from arqmath_bm25.tasks.premises.rankers.settings import Parts


class Learned(Ridge):
    """Ranks premises by the probability that they are cited."""

    def __init__(self, model: Model, variant: Parts, weights: Matrix) -> None:
        """`weights` are those that `learn` returned."""
        super().__init__(model, variant)
        self._weights = weights

    def scores(self, evidence: Evidence, queries: Queries) -> Matrix:
        """Return queries × candidates: probabilities, and negative numbers for the rest."""
        scores = super().scores(evidence, queries)
        if len(self._weights):
            scores -= scores.max(axis=1, keepdims=True) + 1
            likely, found = features(evidence, queries)
            scores[likely] = expit(found @ self._weights[1:] + self._weights[0])
        return scores


def learn(model: Model, folds: Iterable[NDArray[np.int64]]) -> Matrix:
    """Return the weights of a constant 1 and of the features; none if there is nothing to learn."""
    with needed_by("premise selection", "nlps"):
        from sklearn.linear_model import LogisticRegression  # takes a second to import

    examples, labels = [], []
    with single_thread():
        for fold in folds:
            evidence = model.evidence(fold)
            for block, queries in model.hidden(fold):
                likely, found = features(evidence, queries)
                examples.append(found.astype(np.float32))
                labels.append(model.cited_by(block)[likely])
        cited = np.concatenate(labels) if labels else np.zeros(0, bool)
        if not cited.any() or cited.all():
            return np.zeros(0)
        every = np.vstack(examples)
        del examples
        mean, spread = every.mean(axis=0, dtype=float), every.std(axis=0, dtype=float)
        spread[spread == 0] = 1
        every -= mean
        every /= spread
        fitted = LogisticRegression(max_iter=200).fit(every, cited)
    weights = fitted.coef_[0].astype(float) / spread
    return np.concatenate([fitted.intercept_ - weights @ mean, weights])
