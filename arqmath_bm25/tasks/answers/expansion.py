"""Query expansion by pseudo relevance feedback: terms of the best documents join the query.

* `rm3`: the relevance model of Lavrenko and Croft (2001), mixed with the query (Abdul-Jaleel et al.
  2004), as Anserini computes it: of each document the terms that occur most often, weighed by their
  share and by the score of the document. Left out are terms in more than a tenth of all documents,
  and those that are not 2 to 20 letters a-z or digits.
* `bo1`: Bose-Einstein statistics (Amati 2003), as Terrier computes it: of all documents together
  the terms that occur more often than in the collection; no parameter but the numbers of both.
"""

from __future__ import annotations

import re
from collections import Counter
from math import fsum, log2
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from pydantic import Field

from arqmath_bm25.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from arqmath_bm25.engines.engine import TermCount

    Weights = Mapping[str, float]  # by term

_COMMON: Final = 0.1  # share of all documents
_WORD: Final = re.compile("[a-z0-9]{2,20}")
_IN_DOCUMENTS: Final = 2  # that a new term occurs in (Bo1)


class ExpansionSettings(Settings):
    """How queries are expanded."""

    model: Literal["rm3", "bo1"]
    documents: Annotated[int, Field(ge=1, le=1000)] = 10
    terms: Annotated[int, Field(ge=1, le=1000)] = 10
    original: Annotated[float, Field(ge=0, le=1)] = 0.5  # share of the query (RM3)


class Feedback(NamedTuple):
    """One of the best documents."""

    terms: Counter[str]
    score: float


def expanded(
    query: Weights,
    documents: Sequence[Feedback],
    settings: ExpansionSettings,
    counts: Callable[[Iterable[str]], Mapping[str, TermCount]],
    collection: int,
) -> Weights:
    """Return the query with terms of the documents; `counts` are those of a `collection`'s terms.

    Without documents the query stays as it is.
    """
    if not documents or not query:
        return query
    known = counts({term for document in documents for term in document.terms})
    if settings.model == "bo1":
        return _bo1(query, documents, settings, known, collection)
    return _rm3(query, documents, settings, known, collection)


def _rm3(
    query: Weights,
    documents: Sequence[Feedback],
    settings: ExpansionSettings,
    counts: Mapping[str, TermCount],
    collection: int,
) -> Weights:
    model: Counter[str] = Counter()
    for document in documents:
        kept = _most(
            {
                term: float(occurrences)
                for term, occurrences in document.terms.items()
                if _WORD.fullmatch(term) and counts[term].documents <= _COMMON * collection
            },
            settings.terms,
        )
        for term, share in _shares(kept).items():
            model[term] += share * document.score  # type: ignore[assignment]
    new, old = _shares(_most(model, settings.terms)), _shares(query)
    weight = settings.original
    return {
        term: weight * old.get(term, 0) + (1 - weight) * new.get(term, 0)
        for term in dict.fromkeys((*old, *new))
    }


def _bo1(
    query: Weights,
    documents: Sequence[Feedback],
    settings: ExpansionSettings,
    counts: Mapping[str, TermCount],
    collection: int,
) -> Weights:
    occurrences: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for document in documents:
        occurrences.update(document.terms)
        within.update(document.terms.keys())
    least = _IN_DOCUMENTS if len(documents) >= _IN_DOCUMENTS else 1

    def information(found: int, expected: float) -> float:
        return found * log2((1 + expected) / expected) + log2(1 + expected)

    weights = {
        term: information(found, counts[term].occurrences / collection)
        for term, found in occurrences.items()
        if within[term] >= least or term in query
    }
    best = _most(weights, max(settings.terms, len(query)))
    if not best:
        return query
    most = occurrences[next(iter(best))]
    greatest, highest = information(most, most / collection), max(query.values())
    return {
        term: query.get(term, 0) / highest + best.get(term, 0) / greatest
        for term in dict.fromkeys((*query, *best))
    }


def _most(weights: Weights, number: int) -> Weights:
    """Return the terms that weigh most, best first, ties in the order of the terms."""
    return dict(sorted(weights.items(), key=lambda one: (-one[1], one[0]))[:number])


def _shares(weights: Weights) -> Weights:
    total = fsum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}
