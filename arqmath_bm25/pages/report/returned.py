"""What runs returned for each topic, in one form for all tasks: the answers, formulas or texts.

Documents are what judgments name: answers in Task 1, visual ids in Task 2. A Task 3 run has one
text for a topic, which nothing judges by its own id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.runs.run import Run


class Returned(NamedTuple):
    """A document that a run returned, at its rank."""

    rank: int  # 1-based, in trec_eval's order of scores
    score: float
    doc_id: str  # what judgments name
    post_id: str = ""  # the post to show; none in Task 3
    formula_id: str = ""  # Task 2: the first instance of the visual id
    answer: str = ""  # Task 3
    sources: str = ""  # Task 3: where the answer comes from, free text


Topics = dict[str, list[Returned]]  # topic -> its ranking


def returned(run: Run) -> Topics:
    """Return what a run returned: of Task 2 each visual id with its first instance by score."""
    return {
        topic: [
            Returned(
                rank, row.score, *run.rules.shown(doc, row), answer=row.answer, sources=row.sources
            )
            for rank, (doc, row) in enumerate(docs.items(), 1)
        ]
        for topic, docs in run.rankings().rows.items()
    }


def judged_rates(
    rankings: Mapping[str, Sequence[Returned]],
    qrels: Mapping[str, Mapping[str, int]],
    depths: Sequence[int],
) -> list[float]:
    """Return, for each depth, the share of the first documents that are judged.

    It is averaged over the judged topics that the run has; a topic with fewer documents counts
    as far as it goes.
    """
    topics = [topic for topic in qrels if rankings.get(topic)]
    rates = []
    for depth in depths:
        shares = []
        for topic in topics:
            judged = [hit.doc_id in qrels[topic] for hit in rankings[topic][:depth]]
            shares.append(sum(judged) / len(judged))
        rates.append(sum(shares) / len(shares) if shares else 0.0)
    return rates
