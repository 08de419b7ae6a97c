"""Features of the likely premises of a statement, for learning to rank.

Likely are the 150 best candidates by ridge regression and the 40 best by profile, text and shared
citations each. Each part of `evidence.py` gives three features: its value, its value divided by the
greatest for the query, and the logarithm of its rank. Strengths come on other scales too, because a
logistic regression can only add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.tasks.premises.rankers.evidence import among_best, scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arqmath_bm25.tasks.premises.rankers.evidence import Evidence, Queries
    from arqmath_bm25.tasks.premises.rankers.kernel import Matrix

_LIKELY: Final = {"ridge": 150, "profile": 40, "text": 40, "together": 40}
_LEAST: Final = 1e-4  # for logarithms
_DECIMALS: Final = 10  # what differs less is tied, on any machine


def features(evidence: Evidence, queries: Queries) -> tuple[NDArray[np.bool_], Matrix]:
    """Return which candidates are likely (queries × candidates), and their features.

    The features are (likely candidates, in the order of `numpy.nonzero`) × (features).
    """
    parts = {name: part.round(_DECIMALS) for name, part in evidence.parts(queries).items()}
    likely = np.zeros_like(parts["ridge"], bool)
    for name, count in _LIKELY.items():
        likely |= among_best(parts[name], count) & (parts[name] > 0)
    query, candidate = np.nonzero(likely)
    columns = []
    for part in parts.values():
        ranks = np.argsort(np.argsort(-part, axis=1, kind="stable"), axis=1)
        columns += [part[likely], scaled(part)[likely], np.log1p(ranks[likely])]
    for name in ("ridge", "cited", "nearest"):
        strength = np.maximum(parts[name][likely], _LEAST)
        columns += [np.log(strength), np.sqrt(strength)]
    columns += [evidence.citations[candidate], evidence.selves[candidate]]
    columns += [parts["ridge"].max(axis=1)[query], queries.similarity.max(axis=1)[query]]
    return likely, np.column_stack(columns)
