"""Fusion: several rankings for one topic → one.

A document scores the weighted sum of what each ranking that holds it says of it:

* `rrf`: 1 / (k + rank), ranks from 1 (reciprocal rank fusion; Cormack, Clarke and Büttcher 2009);
* `weighted`: its score, put between 0 (the lowest of the ranking) and 1 (the highest); with equal
  weights this is CombSUM over min-max normalised scores (Fox and Shaw 1994, Lee 1997).

Sums are exactly rounded, so that the order in which rankings are named does not matter. Ties are
broken as trec_eval breaks them: by id, descending.
"""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ranking = Sequence[tuple[str, float]]  # documents with their scores, best first

Method = Literal["rrf", "weighted"]
RRF_K: Final = 60  # of the paper


def fuse_rankings(
    rankings: Sequence[Ranking], weights: Sequence[float], method: Method, k: int = RRF_K
) -> list[tuple[str, float]]:
    """Return the documents of all rankings with their fused scores, best first.

    No ranking holds a document twice; there is a weight for each ranking.
    """
    given = contributions(rankings, weights, method, k)
    fused = [(doc, fsum(values)) for doc, values in given.items()]
    # trec_eval's scores are 32-bit floats.
    return sorted(fused, key=lambda hit: (np.float32(hit[1]), hit[0]), reverse=True)


def contributions(
    rankings: Sequence[Ranking], weights: Sequence[float], method: Method, k: int = RRF_K
) -> dict[str, list[float]]:
    """Return what each ranking gives to each document; see `fuse_rankings`."""
    given: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(rankings))
    for at, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        values = reciprocal_ranks(ranking, k) if method == "rrf" else min_max(ranking)
        for (doc, _), value in zip(ranking, values, strict=True):
            given[doc][at] = weight * value
    return given


def reciprocal_ranks(ranking: Ranking, k: int) -> list[float]:
    """Return 1 / (k + rank) for each document of a ranking."""
    return [1 / (k + rank) for rank, _ in enumerate(ranking, 1)]


def min_max(ranking: Ranking) -> list[float]:
    """Return the scores of a ranking between 0 and 1; 1 for all if they are all the same."""
    if not ranking:
        return []
    scores = [score for _, score in ranking]
    low, high = min(scores), max(scores)
    span = high / 2 - low / 2  # halved, lest it be infinite
    if not span:
        return [1.0] * len(scores)
    return [(score / 2 - low / 2) / span for score in scores]
