"""xinfAP: average precision, estimated from a pool that was sampled stratum by stratum.

E. Yilmaz, E. Kanoulas, J. A. Aslam: A simple and efficient sampling method for estimating AP and
NDCG, SIGIR 2008. At a judged relevant document of rank k, precision is expected to be

    1/k + 1/k · sum over strata s of  n_s · (r_s + e) / (r_s + i_s + 2e)

where n_s documents of stratum s stand above it, r_s of them judged relevant and i_s not; what is
outside the pool is not relevant. The mean of these precisions in each stratum is weighed by the
share of the relevant documents that are expected in it: its size times the share of relevant ones
among its judged ones. With one stratum it is infAP of trec_eval, with all judged it is AP, but for
the smoothing (e = 0.00001, as there; TREC's sample_eval.pl adds 3e below). That script's later
correction for more relevant documents than a run may hold is left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.runs.run import best

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.evaluation.sampled_qrels import Pooled, SampledQrels
    from arqmath_bm25.runs.run import Ranking

XINFAP: Final = Measure("xinfAP", "", primed=False)  # trec_eval has none
_SMOOTHING: Final = 0.00001


def xinfap(ranking: Sequence[str], pool: Mapping[str, Pooled], rel: int = RELEVANT) -> float:
    """Estimate the average precision of one topic's ranking, best document first."""
    size = Counter(doc.stratum for doc in pool.values())
    judged = Counter(doc.stratum for doc in pool.values() if doc.grade is not None)
    relevant = Counter(d.stratum for d in pool.values() if d.grade is not None and d.grade >= rel)
    expected = {
        stratum: relevant[stratum] * size[stratum] / judged[stratum] for stratum in relevant
    }
    above: Counter[int] = Counter()  # pooled documents, by stratum
    judged_above: Counter[int] = Counter()
    relevant_above: Counter[int] = Counter()
    total = 0.0
    for rank, name in enumerate(ranking, 1):
        doc = pool.get(name)
        if doc is None:
            continue
        if doc.grade is not None and doc.grade >= rel:
            found = sum(
                count * (relevant_above[s] + _SMOOTHING) / (judged_above[s] + 2 * _SMOOTHING)
                for s, count in above.items()
            )
            weight = expected[doc.stratum] / relevant[doc.stratum]
            total += weight * (1 + found) / rank
            relevant_above[doc.stratum] += 1
        judged_above[doc.stratum] += doc.grade is not None
        above[doc.stratum] += 1
    return total / sum(expected.values()) if expected else 0.0


def xinfap_by_topic(rankings: Mapping[str, Ranking], sampled: SampledQrels) -> dict[str, float]:
    """Return xinfAP of every topic of the pool; 0 for those that the rankings lack."""
    return {
        topic: xinfap(best(ranking, len(ranking)), pool)
        if (ranking := rankings.get(topic))
        else 0.0
        for topic, pool in sampled.items()
    }
