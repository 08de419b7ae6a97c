"""A topic as weighted query terms; the shares of terms in a score; advice on typed queries.

The query of a question is its title, its text and its tags. Words are searched for in the fields of
prose, n-grams of formulas in the fields of math, and terms of operator trees in the fields of
operators, if a variant weighs them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from math import log, log2

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.html import (
    OWN_KIND,
    Content,
    Delimiters,
    as_body,
    read_body,
    read_title,
)
from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.analysis.unmarked import with_formulas
from arqmath_bm25.core.records import Part, Topic
from arqmath_bm25.engines.engine import Query, Searcher, TermScores
from arqmath_bm25.tasks.document_fields import document_fields
from arqmath_bm25.tasks.settings import FieldKind, QuerySettings, kind

# Fields that say what a document is about.
_NAMING = ("title_text", "title_math", "title_operators", "tags")
_FEW = 10  # documents: a word in no more of them is never common
_WORD = re.compile(r"(?<![\\\w])[A-Za-z]{3,}")
# What is typed around formulas, where that can be chosen, and how to find it.
_MARKS = {
    "mathjax": "$",
    "latex": "$",
    "markdown": "$",
    "auto": "$",
    "auto_latex": "$",
    "escaped": r"\$",
}
_DOLLARS = {"$": re.compile(r"(?<!\\)\$"), r"\$": re.compile(r"\\\$")}


def build_query(
    topic: Topic,
    analyzer: Analyzer,
    weights: Mapping[str, float],
    settings: QuerySettings,
    searcher: Searcher,
) -> Query:
    """Return field → term → weight for the terms of a topic that are worth a search."""
    question = analyzer.body(topic.question)
    if not settings.repeats:
        question = Terms(*map(_distinct, question))
    fields = document_fields(analyzer.title(topic.title), question, topic.tags, analyzer)
    query = weighted_terms(fields, weights, settings.k3)
    words = set[str]()
    for field, terms in query.items():
        if kind(field) == "text":
            words.update(terms)
    if settings.brevity and words:
        # Formulas weigh more beside few different words.
        factor = 1 + settings.brevity / len(words)
        for field, terms in query.items():
            if kind(field) != "text":
                query[field] = {term: weight * factor for term, weight in terms.items()}

    named = set()
    for field in _NAMING:
        named.update(fields[field].terms.split())

    return prune_query(query, searcher, settings, named)


def _distinct(bag: Bag) -> Bag:
    words = dict.fromkeys(bag.words)
    formulas = {formula.source: formula for formula in bag.formulas}
    return Bag(tuple(words), tuple(formulas.values()))


def weighted_terms(
    fields: Mapping[str, Bag], weights: Mapping[str, float], k3: float
) -> dict[str, dict[str, float]]:
    """Pool the terms of a question by their kind and weigh them for every field of `weights`.

    A term that occurs n times gets n(s + 1)/(n + s) times the weight of the field: the query-side
    factor of BM25 (its k3; Robertson and Zaragoza 2009).
    """
    wanted = set(map(kind, weights))
    pools: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for field, bag in fields.items():
        if kind(field) in wanted:
            pools[kind(field)].update(bag.terms.split())

    query = {}
    for field, weight in weights.items():
        pool = pools[kind(field)].items()
        query[field] = {term: weight * n * (k3 + 1) / (n + k3) for term, n in pool}
    return query


def prune_query(
    query: Query, searcher: Searcher, settings: QuerySettings, named: Set[str] = frozenset()
) -> Query:
    """Keep the terms that are worth a search, the `named` ones of title and tags before others.

    For each kind in `settings.max_terms`, as many terms are kept as it says: the ones that can add
    most to a score, by the sum of weight · idf over the fields; equal terms keep their order. Words
    that are not named and occur in more than the share `settings.max_df` of the questions, such as
    words of courtesy, are left out.
    """
    kinds = set()  # whose terms are counted, as not all of them may be kept
    for field, terms in query.items():
        if len(terms) > settings.max_terms.get(kind(field), len(terms)):
            kinds.add(kind(field))
    if settings.max_df < 1:
        kinds.add("text")
    counted = {field: terms for field, terms in query.items() if kind(field) in kinds}
    counts = searcher.document_counts(counted)

    gains = dict[FieldKind, defaultdict[str, float]]()
    for field, of_field in counts.items():
        of_kind = gains.setdefault(kind(field), defaultdict(float))
        weights = query[field]
        for term, documents in of_field.items():
            of_kind[term] += weights[term] * idf(documents, searcher.count)

    bodies = [field for field in ("question_text", "body_text") if field in query]
    asked = next(iter(bodies), "contents")
    limit = max(settings.max_df * searcher.count, _FEW)
    common = set()
    for term, documents in counts.get(asked, {}).items():
        if documents > limit and term not in named:
            common.add(term)

    kept = {}
    for name, of_kind in gains.items():
        best = sorted(of_kind, key=of_kind.__getitem__, reverse=True)
        best.sort(key=named.__contains__, reverse=True)
        if name == "text":
            best = [term for term in best if term not in common]
        kept[name] = set(best[: settings.max_terms.get(name)])

    chosen = {}
    for field, terms in query.items():
        worth = kept.get(kind(field), terms.keys())
        chosen[field] = {term: weight for term, weight in terms.items() if term in worth}
    return chosen


def weight_by_tf_idf(query: Query, searcher: Searcher, k1: float) -> Query:
    """Return the query for which an engine ranks as Terrier's TF_IDF does for the given one.

    An engine adds up weight · idf · tf / (tf + K), which is BM25. TF_IDF has Robertson's tf,
    k1 · tf / (tf + K), times log2(N / df + 1): another idf.
    """
    every = searcher.count
    weighed = {}
    for field, counts in searcher.document_counts(query).items():
        weights = query[field]
        of_field = {}
        for term, documents in counts.items():
            other_idf = log2(every / documents + 1)
            of_field[term] = weights[term] * k1 * other_idf / idf(documents, every)
        weighed[field] = of_field
    return weighed


def idf(documents: int, every: int) -> float:
    """Return Lucene's idf of a term that `documents` of `every` document hold."""
    return log(1 + (every - documents + 0.5) / (documents + 0.5))


def field_parts(fields: TermScores, divisor: float = 1) -> list[Part]:
    """Return the contribution of each field to a score, divided by `divisor`."""
    parts = []
    for field, of_field in fields.items():
        ordered = sorted(of_field.items(), key=lambda scored: (-scored[1], scored[0]))
        terms = tuple((term, score / divisor) for term, score in ordered)
        total = sum(score for _, score in terms)
        parts.append(Part(field, total, terms))
    return sorted(parts, key=lambda part: (-part.score, part.name))


def marked_topic(topic: Topic, delimiters: Delimiters) -> Topic:
    """Return a topic with its formulas marked, if nobody marked one."""
    mark = _MARKS.get(delimiters)
    if not mark or topic.formulas or read_title(topic.title, delimiters).formulas:
        return topic
    if delimiters in OWN_KIND and kind_of(topic.title) != "plain":
        return topic

    question = read_body(topic.question, delimiters)
    if question.formulas:
        return topic

    title, body = with_formulas(Content((topic.title,)), question)
    if body.formulas:
        topic = topic._replace(question=as_body(body))
    return topic._replace(title=title.marked(mark))


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

    words = _WORD.findall(query)
    if formula_wanted and not content.formulas and len(words) > 2:
        return "this reads like prose, and formulas are searched for; for words take task1"
    return ""
