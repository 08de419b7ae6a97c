"""The premises to choose from, and how scores become a ranking, whatever the method.

A method gives every candidate a score. The best come first; ties are ordered by descending id, as
in all rankings of the package. So every candidate has a rank: those that match nothing come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Scores = NDArray[np.float64]  # one for every candidate, in the order of `Candidates.ids`
    Ranking = list[tuple[str, float]]  # ids of premises with their scores, the best first

_DECIMALS: Final = 12  # scores that differ less are tied: the rest is rounding
_TIED: Final = 2 * 10.0**-_DECIMALS


class Candidates:
    """The ids of premises to rank."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = sorted(set(ids), reverse=True)
        self.position = {premise_id: place for place, premise_id in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def best(self, scores: Scores, depth: int, last: str = "") -> Ranking:
        """Return the `depth` best candidates, all if there are fewer, scores rounded.

        `last` is an id to put after all others: a statement is no premise of its own proof.
        """
        if last in self.position:
            scores = scores.copy()
            scores[self.position[last]] = -np.inf
        depth = min(depth, len(self.ids))
        least = np.partition(scores, -depth)[-depth]
        among = np.flatnonzero(scores >= least - _TIED)  # more if the last place is tied
        rounded = scores[among].round(_DECIMALS)
        order = np.argsort(-rounded, kind="stable")[:depth]
        ids = [self.ids[place] for place in among[order].tolist()]
        return list(zip(ids, rounded[order].tolist(), strict=True))
