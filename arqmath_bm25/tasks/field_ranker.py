"""Ranks by the fields of an index, as answers and documents of one's own are ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.tasks.queries import build_query, field_parts
from arqmath_bm25.tasks.settings import FieldSettings
from arqmath_bm25.tasks.task import OpenIndex, Ranker

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Query
    from arqmath_bm25.tasks.answers.reranker import Reranker


_NO_RERANKERS: Final[Mapping[str, Reranker]] = MappingProxyType({})


class FieldRanker(Ranker):
    """Ranks documents by weighted fields, and by a reranker where the variant has one."""

    def __init__(
        self,
        index: OpenIndex,
        settings: FieldSettings,
        rerankers: Mapping[str, Reranker] = _NO_RERANKERS,
    ) -> None:
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._searcher = index.searcher()
        self._rerankers = rerankers

    def rank(
        self,
        topics: Sequence[Topic],
        variant: str,
        depth: int,
        threads: int,
        candidates: Sequence[Sequence[str]] | None = None,
    ) -> Iterator[list[Hit]]:
        """Yield the `depth` best documents of every topic.

        With `candidates` the first stage returns these documents of each topic, and no others.
        """
        queries = self._queries(topics, variant)
        reranker = self._rerankers.get(variant)
        if candidates is None:
            wanted = depth
            if reranker:
                wanted = max(depth, reranker.depth)
            most_excluded = max((len(self._excluded(topic)) for topic in topics), default=0)
            rankings = self._searcher.search_many(queries, wanted + most_excluded, threads)
        else:
            rankings = map(self._searcher.score, queries, candidates)

        for topic, hits in zip(topics, rankings, strict=True):
            hits = self._allowed(topic, hits)
            if reranker:
                hits = reranker.rerank(hits)
            yield hits[:depth]

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
        """Rank given documents of each topic; InputError that names all unknown ones."""
        self._searcher.check_ids(list(dict.fromkeys(chain.from_iterable(candidates))))
        most = max(map(len, candidates), default=0)
        return self.rank(topics, variant, most, 1, candidates)

    def _allowed(self, topic: Topic, hits: list[Hit]) -> list[Hit]:
        """Drop the hits that may not be returned."""
        excluded = self._excluded(topic)
        return [hit for hit in hits if hit.doc_id not in excluded]

    def _excluded(self, topic: Topic) -> Collection[str]:
        """Return the ids of documents that may not be returned for a topic."""
        return topic.excluded

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return the parts that fields and reranker contribute to each score."""
        ids = [hit.doc_id for hit in hits]
        (query,) = self._queries([topic], variant)
        parts = [field_parts(fields) for fields in self._searcher.explain(query, ids)]
        reranker = self._rerankers.get(variant)
        if reranker is None:
            return parts

        wanted = reranker.depth + len(self._excluded(topic))
        (best,) = self._searcher.search_many([query], wanted, 1)
        first = self._allowed(topic, best)[: reranker.depth]
        ids_of_first = [hit.doc_id for hit in first]
        gains_of_first = reranker.gains(first).tolist()
        gains = dict(zip(ids_of_first, gains_of_first, strict=True))
        for doc_id, of_hit in zip(ids, parts, strict=True):
            if doc_id in gains:
                of_hit.append(Part("thread", gains[doc_id]))
        return parts

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        weights = self._settings.weights(variant)
        return [self._query(topic, weights) for topic in topics]

    def _query(self, topic: Topic, weights: Mapping[str, float]) -> Query:
        return build_query(topic, self._analyzer, weights, self._settings.query, self._searcher)
