"""Topics → weighted terms.

The query of a question is its title, its text and its tags. Its terms are looked for in every field
that a variant weighs: words in the fields of prose, n-grams of formulas in those of math.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.documents.answers import question_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.collection.topics import Topic


def topic_query(
    topic: Topic, analyzer: Analyzer, weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Return field → term → weight for a topic; `weights` are those of the fields."""
    title, question = read_title(topic.title), read_body(topic.question)
    return weighted_terms(
        question_fields(title, question, topic.tags, analyzer), weights, saturation
    )


def text_query(
    text: str, analyzer: Analyzer, weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Return field → term → weight for free text with `$…$` around its formulas."""
    fields = question_fields(read_title(text), Content(()), (), analyzer)
    return weighted_terms(fields, weights, saturation)


def weighted_terms(
    fields: Mapping[str, str], weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Pool the words and the math of a question and weigh them for every field of `weights`.

    A term that occurs n times gets n(s + 1)/(n + s) times the weight of the field: the query-side
    factor of BM25 (its k3; Robertson and Zaragoza 2009).
    """
    words: Counter[str] = Counter()
    math: Counter[str] = Counter()
    for field, terms in fields.items():
        (math if is_math(field) else words).update(terms.split())
    return {
        field: {
            term: weight * n * (saturation + 1) / (n + saturation)
            for term, n in (math if is_math(field) else words).items()
        }
        for field, weight in weights.items()
    }


def is_math(field: str) -> bool:
    """Tell fields of formulas from fields of prose."""
    return field.endswith("_math")
