"""Queries of one field, `contents`, weighed anew: TF-IDF, and expansion by the best documents.

An engine adds up weight · idf · tf / (tf + K), which is BM25. Terrier's TF_IDF has Robertson's tf,
k1 · tf / (tf + K), times log2(N / df + 1). So it is the same ranking by other weights: those asked
for, times k1, times this idf, divided by the engine's.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from math import log, log2
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import Thread
from arqmath_bm25.tasks.answers.answer_documents import answer_documents, as_bag
from arqmath_bm25.tasks.answers.expansion import Feedback, expanded
from arqmath_bm25.tasks.answers.post_signatures import PartSignatures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.engines.engine import LocalSearcher, Query, Searcher, TermCount
    from arqmath_bm25.tasks.answers.answer_retrieval import Task1Settings
    from arqmath_bm25.tasks.index import Index

FIELD: Final = "contents"
_NO_LINKS: Final = PostLinks(np.empty((0, 2), np.int64))


class OneBag:
    """Weighs queries anew as the settings say. Serves all threads."""

    def __init__(self, index: Index, settings: Task1Settings, analyzer: Analyzer) -> None:
        self._index = index
        self._settings = settings
        self._analyzer = analyzer

    @cached_property
    def _local(self) -> LocalSearcher:
        return self._index.local()

    def weighed(self, queries: Sequence[Query], searcher: Searcher, threads: int) -> list[Query]:
        """Return the queries as they are to be searched for."""
        terms = [query.get(FIELD, {}) for query in queries]
        if expansion := self._settings.expansion:
            first = map(self._query, terms)
            found = searcher.search_many(first, expansion.documents, threads)
            terms = [
                expanded(of, self._feedback(hits), expansion, self._counts, searcher.count)
                for of, hits in zip(terms, found, strict=True)
            ]
        return list(map(self._query, terms))

    def _query(self, terms: Mapping[str, float]) -> Query:
        if self._settings.model != "tf_idf":
            return {FIELD: terms}
        counts, documents = self._counts(terms), self._local.count
        factor = {term: tf_idf_factor(counts[term].documents, documents) for term in counts}
        k1 = self._settings.bm25.k1
        return {FIELD: {term: terms[term] * k1 * factor[term] for term in terms if term in factor}}

    def _counts(self, terms: Iterable[str]) -> dict[str, TermCount]:
        return self._local.term_counts(FIELD, terms)

    def _feedback(self, hits: Sequence[Hit]) -> list[Feedback]:
        collection, threads = self._index.collection, list[Thread]()
        for hit in hits:
            answer = collection.post(hit.doc_id)
            threads.append(Thread(collection.question_of(answer), (answer,)))
        signatures = PartSignatures()  # which nothing looks at
        documents = answer_documents(threads, (), _NO_LINKS, self._analyzer, signatures)
        return [
            Feedback(
                Counter((as_bag(one) if self._settings.bag else one)[FIELD].split()), hit.score
            )
            for one, hit in zip(documents, hits, strict=True)
        ]


def tf_idf_factor(holding: int, documents: int) -> float:
    """Return Terrier's idf as a multiple of Lucene's, of a term that `holding` documents hold."""
    lucene = log(1 + (documents - holding + 0.5) / (holding + 0.5))
    return log2(documents / holding + 1) / lucene
