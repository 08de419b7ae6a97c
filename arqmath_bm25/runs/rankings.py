"""Rankings as the labs take them from a run: per topic, the best 1,000 documents.

Of a document that a topic repeats the first row counts. The order is trec_eval's: score
descending, equal scores by document id descending as strings ("9" before "13" before "10"), and
scores are 32-bit floats. Ranks and the order of the rows do not matter.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.runs.run_files import read_run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from arqmath_bm25.runs.run_files import RunRow

Ranking = dict[str, float]  # document -> score

# Of a topic with too many rows, this many times the depth are held before the best are picked: a
# run that is far too deep (millions of rows) then takes a few bytes per row.
_HELD: Final = 8


class Rankings(NamedTuple):
    """A run, cut to what counts, with the number of rows that do not."""

    topics: dict[str, Ranking]
    rows: int  # of the file
    repeated: int  # rows whose document stood in an earlier row of the topic
    cut: int  # rows below the best 1,000 of their topic

    def notes(self) -> list[str]:
        """Say which rows do not count."""
        found = (
            ("rows left out, since they repeat a document", self.repeated),
            ("rows left out below the best 1,000 of their topic", self.cut),
        )
        return [f"{what}: {count:,}" for what, count in found if count]


def best(ranking: Ranking, depth: int) -> list[str]:
    """Return the first `depth` documents in trec_eval's order."""
    with np.errstate(over="ignore"):
        scores = np.fromiter(ranking.values(), np.float32, len(ranking))
    docs = list(ranking)
    if len(docs) > depth:
        least = np.partition(scores, -depth)[-depth]
        at = np.flatnonzero(scores >= least)
        docs = [docs[i] for i in at]
        scores = scores[at]
    ordered = sorted(zip(scores.tolist(), docs, strict=True), reverse=True)
    return [doc for _, doc in ordered[:depth]]


def read_rankings(path: Path, depth: int = MAX_DEPTH) -> Rankings:
    """Read a Task 1 run, in the lab's form or TREC's, cut to `depth` documents a topic.

    Raises InputError as `runs.read_run` does.
    """
    return take_rankings(read_run(path), depth)


def take_rankings(run: Iterable[RunRow], depth: int = MAX_DEPTH) -> Rankings:
    """Take the rankings of a Task 1 run from its rows, cut to `depth` documents a topic."""
    topics: dict[str, Ranking] = {}
    deep: dict[str, _DeepTopic] = {}
    rows = repeated = 0
    for row in run:
        rows += 1
        topic = row.topic_id
        ranking = topics.get(topic)
        if ranking is None:
            ranking = topics[topic] = {}
        if row.doc_id in ranking:
            repeated += 1
            continue
        ranking[row.doc_id] = row.score
        if len(ranking) == _HELD * depth:
            topics[topic] = deep.setdefault(topic, _DeepTopic(depth)).prune(ranking)
    for topic, ranking in topics.items():
        if len(ranking) > depth:
            topics[topic] = deep.setdefault(topic, _DeepTopic(depth)).prune(ranking)
    repeated += sum(topic.repeated for topic in deep.values())
    kept = sum(map(len, topics.values()))
    return Rankings(topics, rows, repeated, rows - repeated - kept)


class _DeepTopic:
    """Remembers what fell out of a ranking, lest a later, better row of it come back in."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.repeated = 0
        self._kept: set[str] = set()
        self._fallen = array("q")  # hashes of ids: 8 bytes instead of a hundred

    def prune(self, ranking: Ranking) -> Ranking:
        """Return the best of a ranking that has grown since the last call."""
        while True:
            kept = set(best(ranking, self._depth))
            again = self._fell_before(kept - self._kept)
            if not again:
                break
            self.repeated += len(again)
            for doc in again:
                del ranking[doc]
        self._fallen.extend(hash(doc) for doc in ranking if doc not in kept)
        self._kept = kept
        return {doc: score for doc, score in ranking.items() if doc in kept}

    def _fell_before(self, docs: set[str]) -> list[str]:
        by_hash = {hash(doc): doc for doc in docs}
        if not by_hash or not self._fallen:
            return []
        hashes = np.sort(np.fromiter(by_hash, np.int64, len(by_hash)))
        fallen = np.frombuffer(self._fallen, np.int64)
        at = np.minimum(np.searchsorted(hashes, fallen), len(hashes) - 1)
        return [by_hash[int(found)] for found in np.unique(hashes[at[hashes[at] == fallen]])]
