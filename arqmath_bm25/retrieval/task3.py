"""Task 3: one answer text for each topic, extracted from the best answer that Task 1 finds.

The answer is the text of the highest ranked post that has any, whole if it fits into the lab's
1,200 characters, else a passage of it. A topic for which no post has text gets no answer.

The best passage is the one whose terms match the question best. Candidates begin with a paragraph
and hold as many whole sentences as fit. They are scored like BM25 scores documents (Robertson and
Zaragoza 2009), but without its length normalisation, as they are about equally long; the sentences
of the answer are the collection that decides how rare a term is.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.answer_text import (
    MAX_ANSWER,
    answer_text,
    one_line,
    sentences,
    shorten,
)
from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.retrieval.queries import text_query, topic_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.config import Task3Settings
    from arqmath_bm25.lucene.search import Hit
    from arqmath_bm25.retrieval.task1 import Task1
    from arqmath_bm25.runs import Variant

    Query = Mapping[str, Mapping[str, float]]  # field → term → weight of the term

_OWN_FIELDS = ("contents", "answer_math")  # of Task 1: what an answer itself says


class Extract(NamedTuple):
    """The answer to a topic."""

    post_id: str
    score: float  # of the post in Task 1
    text: str  # one line, at most MAX_ANSWER characters


class Task3:
    """Extracts answers from the posts that Task 1 ranks."""

    def __init__(self, task1: Task1, settings: Task3Settings) -> None:
        """Take answers from `task1`, which has the settings of the ranking."""
        self._task1 = task1
        self._posts = task1.posts()
        self._passage = settings.passage
        self._ranking = settings.ranking.settings
        self._analyzer = Analyzer(self._ranking.analysis)

    def answer(
        self, topics: Sequence[Topic], variant: Variant, depth: int, threads: int
    ) -> Iterator[tuple[Topic, Extract | None]]:
        """Yield every topic with its answer, taken from the `depth` best posts, if there is one."""
        weights, saturation = self._own_weights(variant), self._ranking.query.saturation
        for topic, hits in self._task1.rank(topics, variant, depth, threads):
            query = topic_query(topic, self._analyzer, weights, saturation)
            yield topic, self._extract(hits, query)

    def search(self, text: str, variant: Variant, depth: int) -> Extract | None:
        """Return the answer to free text, with `$…$` around its formulas, if there is one."""
        weights, saturation = self._own_weights(variant), self._ranking.query.saturation
        query = text_query(text, self._analyzer, weights, saturation)
        return self._extract(self._task1.search(text, variant, depth), query)

    def _own_weights(self, variant: Variant) -> dict[str, float]:
        weights = self._ranking.weights(variant)
        return {field: weights[field] for field in _OWN_FIELDS if field in weights}

    def _extract(self, hits: Sequence[Hit], query: Query) -> Extract | None:
        for hit in hits:
            post = self._posts.read(hit.doc_id)
            text = answer_text(post.body) if post else ""
            if self._passage == "best" and len(text) > MAX_ANSWER:
                text = best_passage(text, query, self._analyzer, self._ranking.query.saturation)
            text = one_line(shorten(text))
            if text:
                return Extract(hit.doc_id, hit.score, text)
        return None


def best_passage(
    text: str, query: Query, analyzer: Analyzer, saturation: float, limit: int = MAX_ANSWER
) -> str:
    """Return the passage of at most `limit` characters that matches a query best, else the text.

    `query` holds terms of prose in `contents`, terms of formulas in `answer_math`. Of equally good
    passages the first is returned.
    """
    parts = sentences(text)
    terms = [_terms(part, analyzer) for part in parts]
    containing = Counter(term for found in terms for term in found)
    weights = {
        (field, term): weight * math.log(1 + (len(parts) - n + 0.5) / (n + 0.5))
        for field, of_field in query.items()
        for term, weight in of_field.items()
        if (n := containing[field, term])
    }

    def score(passage: range) -> float:
        counts = sum((terms[i] for i in passage), Counter[tuple[str, str]]())
        return sum(
            weight * counts[term] * (saturation + 1) / (counts[term] + saturation)
            for term, weight in weights.items()
        )

    passages = list(_passages(parts, limit))
    if not passages:
        return text
    best = max(passages, key=score)  # the first of them
    return "".join(parts[best.start : best.stop]).strip()


def _terms(sentence: str, analyzer: Analyzer) -> Counter[tuple[str, str]]:
    """Count the terms of a sentence, each with its field."""
    words, math_terms = analyzer(read_title(sentence))
    counts = Counter(("contents", term) for term in words.split())
    counts.update(("answer_math", term) for term in math_terms.split())
    return counts


def _passages(parts: Sequence[str], limit: int) -> Iterator[range]:
    """Yield, for each paragraph, the sentences from its first on that fit into `limit`."""
    for start in range(len(parts)):
        if start and not parts[start - 1].endswith("\n"):
            continue
        stop, length = start, 0
        while stop < len(parts) and length + len(parts[stop].rstrip()) <= limit:
            length += len(parts[stop])
            stop += 1
        if stop > start:
            yield range(start, stop)
