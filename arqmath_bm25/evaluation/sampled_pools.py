"""Pools of which only a part is judged: drawn stratum by stratum, and scored by xinfAP.

Documents at high ranks are drawn more often. A stratum is a range of ranks; a document belongs to
the stratum of its best rank in any run. Of each stratum of a topic a share is drawn at
random, at least one document.

Judgments have the five columns of TREC's script for xinfAP (sample_eval.pl), see `qrels`. Every
pooled document has a row: estimates need the size of each stratum.

xinfAP estimates average precision (E. Yilmaz, E. Kanoulas, J. A. Aslam: A simple and efficient
sampling method for estimating AP and NDCG, SIGIR 2008). At a judged relevant document of rank k,
precision is expected to be

    1/k + 1/k · sum over strata s of  n_s · (r_s + e) / (r_s + i_s + 2e)

where n_s documents of stratum s stand above it, r_s of them judged relevant and i_s not; what is
outside the pool is not relevant. The mean of these precisions in each stratum is weighed by the
share of the relevant documents that are expected in it: its size times the share of relevant ones
among its judged ones. With one stratum it is infAP of trec_eval, with all judged it is AP, but for
the smoothing (e = 0.00001, as there; TREC's sample_eval.pl adds 3e below). That script's later
correction for more relevant documents than a run may hold is left out.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.core.writing import complete
from arqmath_bm25.evaluation.judging.pool import Item, in_order
from arqmath_bm25.evaluation.qrels import read_judgments


class Pooled(NamedTuple):
    """One document of a pool."""

    stratum: int
    grade: int | None  # None: it was not drawn, or no judgment could be made


SampledQrels = dict[str, dict[str, Pooled]]  # topic -> document


def read_sampled_qrels(path: Path) -> SampledQrels:
    """Read the pooled documents of every topic.

    Raises InputError as `read_judgments` does, and for a document that stands there twice.
    """
    sampled: SampledQrels = {}
    for where, topic, doc, stratum, grade in read_judgments(path, 5):
        pooled = Pooled(stratum, grade)
        if sampled.setdefault(topic, {}).setdefault(doc, pooled) is not pooled:
            raise InputError(f"{where}: {doc} stands in an earlier row of topic {topic}")
    return sampled


def write_sampled_qrels(path: Path, sampled: SampledQrels) -> None:
    """Write pooled documents in the order given; `path` appears only when it is complete."""
    with complete(path) as file:
        for topic, docs in sampled.items():
            for doc, (stratum, grade) in docs.items():
                file.write(f"{topic}\t0\t{doc}\t{stratum}\t{-1 if grade is None else grade}\n")


def with_grades(sampled: SampledQrels, qrels: Mapping[str, Mapping[str, int]]) -> SampledQrels:
    """Return the pooled documents with the grades that they were given since."""
    return {
        topic: {
            doc: pooled._replace(grade=qrels.get(topic, {}).get(doc, pooled.grade))
            for doc, pooled in docs.items()
        }
        for topic, docs in sampled.items()
    }


class Stratum(NamedTuple):
    """Documents with a best rank down to `depth`, below the stratum before."""

    depth: int
    share: float  # of them that is drawn


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
) -> tuple[list[Item], SampledQrels]:
    """Draw from the items of a pool; `ranks` are topic → document → best rank in a run.

    Returns the items that are to be judged, and all that was pooled. Documents below the last
    stratum are left out.
    """
    pool: SampledQrels = {}
    drawn: set[tuple[str, str]] = set()
    for topic in sorted(ranks, key=in_order):
        members: dict[int, list[str]] = {}
        for doc in sorted(ranks[topic], key=in_order):
            rank = ranks[topic][doc]
            number = next((n for n, stratum in enumerate(strata, 1) if rank <= stratum.depth), 0)
            if number:
                members.setdefault(number, []).append(doc)
        pool[topic] = {doc: Pooled(n, None) for n in sorted(members) for doc in members[n]}
        for number, docs in members.items():
            count = math.ceil(len(docs) * strata[number - 1].share - 1e-9)
            chance = random.Random(f"{seed} {topic} {number}")  # noqa: S311
            drawn.update((topic, doc) for doc in chance.sample(docs, count))
    return [item for item in items if (item.topic_id, item.doc_id) in drawn], pool


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
            expected_above = sum(
                count * (relevant_above[s] + _SMOOTHING) / (judged_above[s] + 2 * _SMOOTHING)
                for s, count in above.items()
            )
            weight = expected[doc.stratum] / relevant[doc.stratum]
            total += weight * (1 + expected_above) / rank
            relevant_above[doc.stratum] += 1
        judged_above[doc.stratum] += doc.grade is not None
        above[doc.stratum] += 1
    return total / sum(expected.values()) if expected else 0.0
