"""What runs returned for each topic, in one form for all tasks: the answers, formulas or texts.

Documents are what judgments name: answers in Task 1, visual ids in Task 2. A Task 3 run has one
text for a topic, which nothing judges by its own id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.runs.rankings import best, read_rankings
from arqmath_bm25.runs.run_files import read_answers, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.runs.visual import VisualIds


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


def answer_hits(run: Path) -> Topics:
    """Return the rankings of a Task 1 run; raises InputError as `runs.read_run` does."""
    return {
        topic: [
            Returned(rank, ranking[doc], doc, doc)
            for rank, doc in enumerate(best(ranking, MAX_DEPTH), 1)
        ]
        for topic, ranking in read_rankings(run).topics.items()
    }


def formula_hits(run: Path, ids: VisualIds) -> Topics:
    """Return the rankings of a Task 2 run: of each visual id its first instance by score.

    Instances that the formula index lacks are left out. Raises InputError as `runs.read_run` does.
    """
    scores: dict[str, dict[str, float]] = {}  # topic -> formula -> score
    for row in read_run(run, "task2"):
        scores.setdefault(row.topic_id, {}).setdefault(row.doc_id, row.score)
    topics: Topics = {}
    for topic, found in scores.items():
        ordered = sorted(found, key=lambda formula: -found[formula])[:MAX_DEPTH]
        places = ids.find(np.array([_number(formula) for formula in ordered], np.int32))
        first: dict[int, tuple[str, int]] = {}  # visual id -> its formula, and where that stands
        for formula, place in zip(ordered, places.tolist(), strict=True):
            if place >= 0:
                first.setdefault(int(ids.visual[place]), (formula, place))
        topics[topic] = [
            Returned(rank, found[formula], str(visual), str(ids.post[place]), formula)
            for rank, (visual, (formula, place)) in enumerate(first.items(), 1)
        ]
    return topics


def _number(formula: str) -> int:
    return int(formula) if formula.isascii() and formula.isdecimal() and len(formula) < 10 else -1


def text_hits(run: Path) -> Topics:
    """Return the answer texts of a Task 3 run; raises InputError as `runs.read_answers` does."""
    topics: Topics = {}
    for row in read_answers(run):
        hits = topics.setdefault(row.topic_id, [])
        hits.append(Returned(len(hits) + 1, row.score, "", answer=row.answer, sources=row.sources))
    return topics


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
