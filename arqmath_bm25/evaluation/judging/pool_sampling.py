"""Pools of which a part is judged: what stands high in some run is drawn more often.

A stratum is a range of ranks; a document belongs to the one of its best rank in any run. Of each
stratum of a topic a share is drawn at random, at least one document. `xinfAP` estimates from it.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.evaluation.judging.pool import in_order
from arqmath_bm25.evaluation.sampled_qrels import Pooled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.evaluation.judging.pool import Item
    from arqmath_bm25.evaluation.sampled_qrels import SampledQrels


class Stratum(NamedTuple):
    """Documents with a best rank down to `depth`, below the stratum before."""

    depth: int
    share: float  # of them that is drawn


class Sample(NamedTuple):
    """What is to be judged, and all that was pooled."""

    items: list[Item]
    pool: SampledQrels  # without grades yet


def parse_strata(text: str) -> tuple[Stratum, ...]:
    """Read strata as `10:1,50:0.2`: all of the best 10, a fifth of those down to 50.

    Raises InputError for anything else, and for depths that do not grow.
    """
    strata: list[Stratum] = []
    for part in text.split(","):
        depth, _, share = part.partition(":")
        try:
            stratum = Stratum(int(depth), float(share))
        except ValueError:
            stratum = Stratum(0, 0)
        if not 0 < stratum.share <= 1 or stratum.depth <= (strata[-1].depth if strata else 0):
            raise InputError(
                f"strata {shown(text)}: {shown(part)} is not understood; expected growing "
                "depths with the share that is drawn, as 10:1,50:0.2"
            )
        strata.append(stratum)
    return tuple(strata)


def draw(
    items: Sequence[Item],
    ranks: Mapping[str, Mapping[str, int]],
    strata: Sequence[Stratum],
    seed: int,
) -> Sample:
    """Draw from the items of a pool; `ranks` are topic → document → best rank in a run.

    Documents below the last stratum are left out.
    """
    pool: SampledQrels = {}
    drawn: set[tuple[str, str]] = set()
    for topic in sorted(ranks, key=in_order):
        members: dict[int, list[str]] = {}
        for doc in sorted(ranks[topic], key=in_order):
            rank = ranks[topic][doc]
            number = next((n for n, one in enumerate(strata, 1) if rank <= one.depth), 0)
            if number:
                members.setdefault(number, []).append(doc)
        pool[topic] = {doc: Pooled(n, None) for n in sorted(members) for doc in members[n]}
        for number, docs in members.items():
            count = math.ceil(len(docs) * strata[number - 1].share - 1e-9)
            chance = random.Random(f"{seed} {topic} {number}")  # noqa: S311
            drawn.update((topic, doc) for doc in chance.sample(docs, count))
    return Sample([item for item in items if (item.topic_id, item.doc_id) in drawn], pool)
