"""Topics → weighted terms; and what these gave to a score.

The query of a question is its title, its text and its tags. Its terms are looked for in every field
that a variant weighs: words in the fields of prose, n-grams of formulas in those of math, paths
through their operator trees in those of operators.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.core.records import Part
from arqmath_bm25.tasks.answers.answer_documents import question_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.engines.engine import TermScores


def topic_query(
    topic: Topic, analyzer: Analyzer, weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Return field → term → weight for a topic; `weights` are those of the fields.

    A topic that is a question of the collection does not ask for the titles of linked questions,
    as its own is among them.
    """
    if topic.own_thread:
        weights = {field: w for field, w in weights.items() if not field.startswith("linked_")}
    title, question = analyzer(read_title(topic.title)), analyzer(read_body(topic.question))
    return weighted_terms(
        question_fields(title, question, topic.tags, analyzer), weights, saturation
    )


def weighted_terms(
    fields: Mapping[str, str], weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Pool the terms of a question by their kind and weigh them for every field of `weights`.

    A term that occurs n times gets n(s + 1)/(n + s) times the weight of the field: the query-side
    factor of BM25 (its k3; Robertson and Zaragoza 2009).
    """
    pools: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for field, terms in fields.items():
        pools[kind(field)].update(terms.split())
    return {
        field: {
            term: weight * n * (saturation + 1) / (n + saturation)
            for term, n in pools[kind(field)].items()
        }
        for field, weight in weights.items()
    }


def field_parts(fields: TermScores, divisor: float = 1) -> list[Part]:
    """Return what each field gave to a score that was divided by `divisor`."""
    parts = []
    for field, of_field in fields.items():
        terms = sorted(of_field.items(), key=lambda item: (-item[1], item[0]))
        scores = [score / divisor for _, score in terms]
        given = zip((term for term, _ in terms), scores, strict=True)
        parts.append(Part(field, sum(scores), tuple(given)))
    return sorted(parts, key=lambda part: (-part.score, part.name))


def kind(field: str) -> str:
    """Return what the terms of a field are: `math`, `operators` or else `text`."""
    ending = field.rpartition("_")[2]
    return ending if ending in ("math", "operators") else "text"
