"""The second stage of Task 1: the best answers of the first ranked again by two more sums.

The score s of an answer is updated in two steps:

1. formulas: s + w · (MaxSim of the answer's body + of its question's title and body + of its
   question's title) for the formulas of the topic (`formula_similarity`): all distinct ones of its
   title, twice, and the three of its body that tell most; each weighs the sum of its terms' idf;
2. thread: s + w · (the best score in the thread).

No weight is below 0, so that what was ranked again stays before what was not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.analysis.formula_similarity import FormulaQuery, signatures
from arqmath_bm25.analysis.term_numbers import Trees
from arqmath_bm25.core.records import Hit
from arqmath_bm25.tasks.answers.post_signatures import SIGNATURES, PostSignatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.analyzer import Analyzer, Terms
    from arqmath_bm25.analysis.formula_similarity import Signature
    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.tasks.answers.post_signatures import Rows
    from arqmath_bm25.tasks.settings import StageSettings
    from arqmath_bm25.tasks.task import OpenIndex

    Gain = NDArray[np.float64]  # of each hit

_OF_BODY: Final = 3  # formulas of a topic's body that count


class SecondStage(ABC):
    """Reranks documents by their formulas. Thread-safe."""

    def __init__(self, index: OpenIndex, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._signatures = PostSignatures(index.directory / SIGNATURES)

    def __call__(self, topic: Topic, hits: list[Hit], settings: StageSettings) -> list[Hit]:
        """Rerank the first hits of a topic; the others follow unchanged."""
        hits, rest = hits[: settings.depth], hits[settings.depth :]
        if not hits:
            return []
        first = np.array([hit.score for hit in hits], float)
        scores = sum(self.gains(topic, hits, settings).values(), first).astype(np.float32)
        ids = np.array([hit.doc_id for hit in hits])
        order = np.lexsort((ids, scores))[::-1]
        return [Hit(str(ids[place]), float(scores[place])) for place in order] + rest

    def gains(self, topic: Topic, hits: list[Hit], settings: StageSettings) -> dict[str, Gain]:
        """Return what each kind of evidence in the settings adds to the scores of hits.

        These are the first hits, as many as the settings say, and at least one.
        """
        if not settings.formulas:
            return {}
        return {"formulas": settings.formulas * self.maxsim(topic, [hit.doc_id for hit in hits])}

    def maxsim(self, topic: Topic, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return MaxSim of some documents."""
        posts, titles = self.rows(ids)
        documents, numbers, starts = self._signatures.of(posts, titles)
        query = FormulaQuery(self._query(topic), self._signatures.idf)
        similar = query.maxsim(documents, numbers, starts)
        return np.asarray(similar.reshape(-1, len(ids)).sum(axis=0))

    @abstractmethod
    def rows(self, ids: Sequence[str]) -> tuple[Rows, Rows]:
        """Return the rows of posts whose bodies count, and of those whose titles count.

        Both follow one another: first one for each document, then a further one for each.
        """

    def _query(self, topic: Topic) -> list[tuple[Signature, float]]:
        """Select the formulas of a topic that are compared, with their weights."""

        def specific(terms: Signature) -> float:
            return float(self._signatures.idf(terms).sum())

        title = self._of(self._analyzer.title(topic.title))
        body = self._of(self._analyzer.body(topic.question))
        others = [body[key] for key in body if key not in title]
        others.sort(key=specific, reverse=True)
        return [
            *((terms, 2 * specific(terms)) for terms in title.values()),
            *((terms, specific(terms)) for terms in others[:_OF_BODY]),
        ]

    def _of(self, part: Terms) -> dict[bytes, Signature]:
        """Return the distinct signatures of formulas, by their bytes."""
        trees = Trees()
        trees.add(part.operators.formulas)
        terms, ends = signatures(trees)
        return {tree.tobytes(): tree for tree in np.split(terms, ends[:-1]) if len(tree)}


class AnswerStage(SecondStage):
    """Reranks answers by their formulas and their threads."""

    def __init__(self, index: OpenIndex, analyzer: Analyzer) -> None:
        super().__init__(index, analyzer)
        self._posts = index.collection.posts

    def gains(self, topic: Topic, hits: list[Hit], settings: StageSettings) -> dict[str, Gain]:
        """Add the gain of threads."""
        gains = super().gains(topic, hits, settings)
        scores = sum(gains.values(), np.array([hit.score for hit in hits], float))
        questions = self._posts.threads_of([hit.doc_id for hit in hits])
        threads, thread = np.unique(questions, return_inverse=True)
        best = np.full(len(threads), -np.inf)
        np.maximum.at(best, thread, scores)
        return {**gains, "thread": settings.thread * best[thread]}

    def rows(self, ids: Sequence[str]) -> tuple[Rows, Rows]:
        """Return the rows of the answers and of their questions (-1 where unknown)."""
        rows = self._posts.find(self._posts.numbers(ids))
        context = self._posts.find(self._posts.thread_numbers(rows))
        context[context == rows] = -1  # an answer whose question is not known
        return np.concatenate((rows, context)), context
