"""Topics → weighted terms; what these gave to a score; what may be wrong in a typed query.

The query of a question is its title, its text and its tags. Its terms are looked for in every field
that a variant weighs: words in the fields of prose, n-grams of formulas in those of math, paths
through their operator trees in those of operators.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from math import log, log2
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.html import Content, Delimiters, as_body, read_body, read_title
from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.analysis.unmarked import with_formulas, with_marks
from arqmath_bm25.core.records import Part, Topic
from arqmath_bm25.tasks.answers.answer_documents import question_fields
from arqmath_bm25.tasks.settings import FieldKind, QuerySettings, kind

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Query, Searcher, TermScores

_NO_TERMS: Final = Terms(Bag(), Bag(), Bag())
_FEW: Final = 10  # documents: a word in no more of them is never common
_WORD: Final = re.compile(r"(?<![\\\w])[A-Za-z]{3,}")
# What is typed around formulas, where that can be chosen, and how to find it.
_MARKS: Final[dict[Delimiters, str]] = {
    "mathjax": "$", "latex": "$", "markdown": "$", "auto": "$", "escaped": r"\$",
}  # fmt: skip
_DOLLARS: Final = {"$": re.compile(r"(?<!\\)\$"), r"\$": re.compile(r"\\\$")}


def topic_query(
    topic: Topic,
    analyzer: Analyzer,
    weights: Mapping[str, float],
    saturation: float,
    repeats: bool = True,
) -> dict[str, dict[str, float]]:
    """Return field → term → weight for a topic; `weights` are those of the fields.

    Without `repeats` a word or a formula counts once in the body, however often it stands there.
    """
    title, question = analyzer.title(topic.title), analyzer.body(topic.question)
    if not repeats:
        question = Terms(*map(_distinct, question))
    return weighted_terms(
        question_fields(title, question, topic.tags, analyzer), weights, saturation
    )


def searched_query(
    topic: Topic,
    analyzer: Analyzer,
    weights: Mapping[str, float],
    settings: QuerySettings,
    searcher: Searcher,
) -> Query:
    """Choose the terms of a topic that are searched for, with their weights by field."""
    query = topic_query(topic, analyzer, weights, settings.saturation, settings.repeats)
    return heaviest(query, searcher, settings, named_terms(topic, analyzer))


def _distinct(bag: Bag) -> Bag:
    formulas = {formula.source: formula for formula in bag.formulas}
    return Bag(tuple(dict.fromkeys(bag.words)), tuple(formulas.values()))


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


def named_terms(topic: Topic, analyzer: Analyzer) -> set[str]:
    """Return the words and paths of a topic's title and tags."""
    fields = question_fields(analyzer.title(topic.title), _NO_TERMS, topic.tags, analyzer)
    return {term for bag in fields.values() for term in bag.terms.split()}


def heaviest(
    query: Query, searcher: Searcher, settings: QuerySettings, named: Set[str] = frozenset()
) -> Query:
    """Keep the terms that are worth a search: those of title and tags (`named`) before others.

    Of each kind in `settings.most` as many as it says, those that can add most to a score: the sum
    of weight · idf over the fields; equal terms are kept in their order. Words that are not named
    and common in questions (`settings.common`), such as those of courtesy, are left out.
    """
    gains: defaultdict[FieldKind, Counter[str]] = defaultdict(Counter)
    asked = "question_text" if "question_text" in query else "contents"
    limit = max(settings.common * searcher.count, _FEW)
    kinds = {*settings.most, *(["text"] if settings.common < 1 else [])}
    counted = {field: terms for field, terms in query.items() if kind(field) in kinds}
    counts = searcher.document_counts(counted)
    for field, of_field in counts.items():
        name, weights = kind(field), query[field]
        for term, documents in of_field.items():
            gain = weights[term] * idf(documents, searcher.count)
            gains[name][term] += gain  # type: ignore[assignment]
    common = {term for term, n in counts.get(asked, {}).items() if n > limit} - named
    kept = {}
    for name, of_kind in gains.items():
        ordered = sorted(of_kind, key=lambda term: (term in named, of_kind[term]), reverse=True)
        if name == "text":
            ordered = [term for term in ordered if term not in common]
        kept[name] = set(ordered[: settings.most.get(name)])
    return {
        field: {term: terms[term] for term in terms if term in of_field}
        for field, terms in query.items()
        for of_field in [kept.get(kind(field), terms)]
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
    """Return the contribution of each field to a score, divided by `divisor`."""
    parts = []
    for field, of_field in fields.items():
        terms = sorted(of_field.items(), key=lambda item: (-item[1], item[0]))
        scores = [score / divisor for _, score in terms]
        named = zip((term for term, _ in terms), scores, strict=True)
        parts.append(Part(field, sum(scores), tuple(named)))
    return sorted(parts, key=lambda part: (-part.score, part.name))


def marked_topic(topic: Topic, delimiters: Delimiters) -> Topic:
    """Return a topic with its formulas marked, if nobody marked one."""
    mark = _MARKS.get(delimiters)
    if not mark or topic.formulas or read_title(topic.title, delimiters).formulas:
        return topic
    if delimiters == "auto" and kind_of(topic.title) != "plain":
        return topic
    question = read_body(topic.question, delimiters)
    if question.formulas:
        return topic
    title, body = with_formulas(Content((topic.title,)), question)
    if body.formulas:
        topic = topic._replace(question=as_body(body))
    return topic._replace(title=with_marks(title, mark))


def advice(query: str, formula_wanted: bool = False, delimiters: Delimiters = "mathjax") -> str:
    """Return advice on a typed query, or "" if nothing looks wrong.

    With `formula_wanted` the query is a formula as a whole and needs no dollars.
    """
    mark = _MARKS.get(delimiters)
    if mark and len(_DOLLARS[mark].findall(query)) % 2:
        return f"a dollar is left open: a formula has one on each side, as in {mark}x^2{mark}"
    if not mark or read_title(query, delimiters).formulas:
        return ""
    (content,) = with_formulas(Content((query,)))
    if content.formulas and (content.prose or not formula_wanted):
        listed = ", ".join(formula.latex.strip() for formula in content.formulas)
        return f"no formula stands between dollars; formulas: {listed}"
    if formula_wanted and not content.formulas and len(_WORD.findall(query)) > 2:
        return "this reads like prose, and formulas are searched for; for words take task1"
    return ""
