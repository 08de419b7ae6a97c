"""Topics → weighted terms; what these gave to a score; what may be wrong in a typed query.

The query of a question is its title, its text and its tags. Its terms are looked for in every field
that a variant weighs: words in the fields of prose, n-grams of formulas in those of math, paths
through their operator trees in those of operators.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from math import log, log2
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Delimiters, read_title
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.records import Part, Topic
from arqmath_bm25.tasks.answers.answer_documents import question_fields
from arqmath_bm25.tasks.settings import FieldKind, kind

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Query, Searcher, TermScores

_MATH: Final = re.compile(r"\\[A-Za-z]{2,}|[\^_]\s*[{\w]|[∑∏∫∂√∞≤≥≠∈⊂∀∃⁰¹²³⁴-⁹₀-₉]|\w\s*=\s*\w")
_WORD: Final = re.compile(r"(?<![\\\w])[A-Za-z]{3,}")
# What is typed around formulas, where that can be chosen, and how to find it.
_MARKS: Final[dict[Delimiters, str]] = {"mathjax": "$", "escaped": r"\$"}
_DOLLARS: Final = {"$": re.compile(r"(?<!\\)\$"), r"\$": re.compile(r"\\\$")}


def topic_query(
    topic: Topic, analyzer: Analyzer, weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Return field → term → weight for a topic; `weights` are those of the fields."""
    title, question = analyzer.title(topic.title), analyzer.body(topic.question)
    return weighted_terms(
        question_fields(title, question, topic.tags, analyzer), weights, saturation
    )


def weighted_terms(
    fields: Mapping[str, Bag], weights: Mapping[str, float], saturation: float
) -> dict[str, dict[str, float]]:
    """Pool the terms of a question by their kind and weigh them for every field of `weights`.

    A term that occurs n times gets n(s + 1)/(n + s) times the weight of the field: the query-side
    factor of BM25 (its k3; Robertson and Zaragoza 2009).
    """
    pools: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for field, bag in fields.items():
        pools[kind(field)].update(bag.terms.split())
    return {
        field: {
            term: weight * n * (saturation + 1) / (n + saturation)
            for term, n in pools[kind(field)].items()
        }
        for field, weight in weights.items()
    }


def heaviest(query: Query, searcher: Searcher, most: Mapping[FieldKind, int]) -> Query:
    """Keep of each kind of terms in `most` as many as it says: those that can add most to a score.

    That is the sum of weight · idf over the fields; equal terms are kept in their order.
    """
    gains: defaultdict[FieldKind, Counter[str]] = defaultdict(Counter)
    cut = {field: terms for field, terms in query.items() if kind(field) in most}
    for field, counts in searcher.document_counts(cut).items():
        of_kind = gains[kind(field)]
        for term, documents in counts.items():
            of_kind[term] += query[field][term] * idf(documents, searcher.count)  # type: ignore[assignment]
    kept = {name: dict(of_kind.most_common(most[name])) for name, of_kind in gains.items()}
    return {
        field: {term: terms[term] for term in terms if term in kept.get(kind(field), terms)}
        for field, terms in query.items()
    }


def weighed_by_tf_idf(query: Query, searcher: Searcher, k1: float) -> Query:
    """Return the query for which an engine ranks as Terrier's TF_IDF does for the given one.

    An engine adds up weight · idf · tf / (tf + K), which is BM25. TF_IDF has Robertson's tf,
    k1 · tf / (tf + K), times log2(N / df + 1): another idf.
    """
    every = searcher.count
    return {
        field: {
            term: query[field][term] * k1 * log2(every / documents + 1) / idf(documents, every)
            for term, documents in counts.items()
        }
        for field, counts in searcher.document_counts(query).items()
    }


def idf(documents: int, every: int) -> float:
    """Return Lucene's idf of a term that `documents` of `every` document hold."""
    return log(1 + (every - documents + 0.5) / (documents + 0.5))


def field_parts(fields: TermScores, divisor: float = 1) -> list[Part]:
    """Return what each field gave to a score that was divided by `divisor`."""
    parts = []
    for field, of_field in fields.items():
        terms = sorted(of_field.items(), key=lambda item: (-item[1], item[0]))
        scores = [score / divisor for _, score in terms]
        named = zip((term for term, _ in terms), scores, strict=True)
        parts.append(Part(field, sum(scores), tuple(named)))
    return sorted(parts, key=lambda part: (-part.score, part.name))


def advice(query: str, formula_wanted: bool = False, delimiters: Delimiters = "mathjax") -> str:
    """Return what to say of a query, nothing if it is as it should be.

    `formula_wanted` tells that formulas are searched for, so that one needs no dollars.
    """
    mark = _MARKS.get(delimiters)
    if mark and len(_DOLLARS[mark].findall(query)) % 2:
        return f"a dollar is left open: a formula has one on each side, as in {mark}x^2{mark}"
    if read_title(query, delimiters).formulas:
        return ""
    if formula_wanted and len(_WORD.findall(query)) > 2 and not _MATH.search(query):
        return "this reads like prose, and formulas are searched for; for words take task1"
    if mark and not formula_wanted and _MATH.search(query):
        return (
            "there is no formula between dollars, so all of it counts as words; "
            f"try '{mark}{query}{mark}'"
        )
    return ""
