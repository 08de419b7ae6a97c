"""The documents that can be ranked for a statement, and the choice of the best of them.

A method gives every candidate a score. The best come first; ties are ordered by descending id, as
in all rankings of the package. So every candidate has a rank: what matches nothing comes last.
"""

from collections.abc import Iterable

import numpy as np

from arqmath_bm25.core.arrays import Floats

CandidateScores = Floats  # one for every candidate, in the order of `Candidates.ids`
CandidateRanking = list[tuple[str, float]]  # ids with their scores, the best first

BLOCK = 64  # statements that are ranked at a time; 8 MB of scores for 16,000 candidates
DECIMALS = 12  # scores that differ less are tied: the rest is rounding
_TIED = 2 * 10.0**-DECIMALS


class Candidates:
    """The ids to rank, in the order of ties."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = sorted(set(ids), reverse=True)
        self.position = {candidate: place for place, candidate in enumerate(self.ids)}

    def best(self, scores: CandidateScores, depth: int, last: str = "") -> CandidateRanking:
        """Return the `depth` best candidates, all if there are fewer, scores rounded.

        `last` is an id to put after all others: a statement is no premise of its own proof.
        """
        place = self.position.get(last)
        if place is not None:
            scores = scores.copy()
            scores[place] = -np.inf

        depth = min(depth, len(self.ids))
        least = np.partition(scores, -depth)[-depth]
        among = np.flatnonzero(scores >= least - _TIED)  # more if the last place is tied
        rounded = scores[among].round(DECIMALS)
        order = np.argsort(-rounded, kind="stable")[:depth]

        places = among[order].tolist()
        ids = [self.ids[place] for place in places]
        best = rounded[order].tolist()
        return list(zip(ids, best, strict=True))
