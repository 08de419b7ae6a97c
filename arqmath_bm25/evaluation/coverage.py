"""How much of what was judged a collection holds at all.

A run can find nothing that its collection lacks, and judgments count all the same: scores on a
subset of the collection say nothing beside published ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.runs.formula_ids import id_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arqmath_bm25.evaluation.qrels import Qrels

_MOST: Final = 0.5  # a larger share of the judgments needs no note


class Doubt(str):
    """A warning under which scores say nothing of which run is better."""

    __slots__ = ()


def coverage_note(qrels: Qrels, holds: Callable[[NDArray[np.int32]], int]) -> Doubt | None:
    """Say that a collection lacks most of what was judged; None if it does not.

    `holds` tells how many of some ids the collection has.
    """
    judged = [doc for grades in qrels.values() for doc in grades]
    ids, counts = np.unique(
        [number for number in map(id_number, judged) if number >= 0], return_counts=True
    )
    held = sum(
        int(count) * holds(ids[counts == count].astype(np.int32)) for count in np.unique(counts)
    )
    if held >= _MOST * len(judged):
        return None
    return Doubt(
        f"of {len(judged):,} judged documents the collection has {held:,}: these scores cannot be "
        "compared with published ones"
    )
