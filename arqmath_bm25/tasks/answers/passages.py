"""The passage of an answer that matches a question best.

Candidates begin with a paragraph and hold as many whole sentences as fit. They are scored like BM25
scores documents (Robertson and Zaragoza 2009), but without its length normalisation, as they are
about equally long; the sentences of the answer are the collection that decides how rare a term is.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.answer_text import sentences
from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.core.labs import MAX_ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arqmath_bm25.analysis.analyzer import Analyzer

    Query = Mapping[str, Mapping[str, float]]  # field → term → weight of the term


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
    terms = analyzer(read_title(sentence))
    counts = Counter(("contents", term) for term in terms.words.split())
    counts.update(("answer_math", term) for term in terms.math.split())
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
