"""The reranker of Task 1: the first answers are ranked again by their threads.

An answer of score s gets s + w · (the best score in its thread). The weight w is not negative, so
answers that are ranked again stay ahead of those that are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.core.records import Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.collection.posts import PostTable
    from arqmath_bm25.core.arrays import Floats
    from arqmath_bm25.tasks.settings import RerankSettings


class Reranker:
    """Reranks answers by the best score in their threads. Thread-safe."""

    def __init__(self, posts: PostTable, settings: RerankSettings) -> None:
        self._posts = posts
        self._weight = settings.thread
        self.depth = settings.depth

    def rerank(self, hits: Sequence[Hit]) -> list[Hit]:
        """Rerank the first `depth` hits of a topic; the others follow unchanged."""
        first = hits[: self.depth]
        rest = hits[self.depth :]
        before = np.array([hit.score for hit in first], float)
        scores = (before + self.gains(first)).astype(np.float32)
        ids = np.array([hit.doc_id for hit in first])
        order = np.lexsort((ids, scores))[::-1]

        reranked = list(map(Hit, ids[order].tolist(), scores[order].tolist()))
        return reranked + list(rest)

    def gains(self, hits: Sequence[Hit]) -> Floats:
        """Return what threads add to the scores of hits, which are the first `depth` of a topic."""
        scores = np.array([hit.score for hit in hits], float)
        questions = self._posts.threads_of([hit.doc_id for hit in hits])
        threads, thread = np.unique(questions, return_inverse=True)
        best = np.full(len(threads), -np.inf)
        np.maximum.at(best, thread, scores)
        gains = self._weight * best[thread]
        return gains
