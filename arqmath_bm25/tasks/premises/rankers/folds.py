"""Folds of the training set, to choose settings and to learn weights without the dev set.

Held out are statements that cite something and that nobody cites, as those of dev and test are: a
statement that is cited is a candidate as well, and its page is spread over the training set. Whole
folds are hidden, because the near relatives of a statement tell its premises.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.collection.premises import Statement

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
