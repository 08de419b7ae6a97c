"""Ranks by the fields of an index, as answers and documents of one's own are ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.tasks.answers.post_signatures import SIGNATURES
from arqmath_bm25.tasks.queries import (
    field_parts,
    searched_query,
    topic_query,
    weighed_by_tf_idf,
)
from arqmath_bm25.tasks.settings import StageSettings, Task1Settings
from arqmath_bm25.tasks.task import OpenIndex, Ranker

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Query
    from arqmath_bm25.tasks.answers.second_stage import SecondStage


class FieldRanker(Ranker):
    """Ranks documents by weighted fields and reranks the best."""

    def __init__(self, index: OpenIndex, settings: Task1Settings, stage: type[SecondStage]) -> None:
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._searcher = index.searcher()
        self._stages: dict[str, StageSettings] = {}
        # A task of one's own may have answers without what the second stage looks at.
        if settings.stages and (index.directory / SIGNATURES).exists():
            self._stages = {str(variant): weights for variant, weights in settings.stages.items()}
            self._second = stage(index, self._analyzer)

    def rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int,
        candidates: Sequence[Sequence[str]] | None = None,
    ) -> Iterator[list[Hit]]:  # fmt: skip
        """Yield the `depth` best documents of every topic.

        With `candidates` the first stage returns these documents of each topic, and no others.
        """
        queries = self._queries(topics, variant)
        stage = self._stages.get(variant)
        if candidates is None:
            most = max((len(topic.excluded) for topic in topics), default=0)
            wanted = max(depth, stage.depth if stage else 0) + most
            rankings = self._searcher.search_many(queries, wanted, threads)
        else:
            rankings = map(self._searcher.score, queries, candidates)
        for topic, hits in zip(topics, rankings, strict=True):
            hits = self._allowed(topic, hits)
            yield (self._second(topic, hits, stage) if stage else hits)[:depth]

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
        """Rank given documents of each topic."""
        most = max(map(len, candidates), default=0)
        return self.rank(topics, variant, most, 1, candidates)

    def _allowed(self, topic: Topic, hits: list[Hit]) -> list[Hit]:
        """Drop the hits that the topic excludes."""
        return [hit for hit in hits if hit.doc_id not in topic.excluded]

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return the parts that fields and second stage contribute to each score."""
        ids = [hit.doc_id for hit in hits]
        (query,) = self._queries([topic], variant)
        parts = list(map(field_parts, self._searcher.explain(query, ids)))
        if stage := self._stages.get(variant):
            # the first of these are the same, however many `rank` searches for
            wanted = max(MAX_DEPTH, stage.depth) + len(topic.excluded)
            (best,) = self._searcher.search_many([query], wanted, 1)
            first = self._allowed(topic, best)[: stage.depth]
            places = {hit.doc_id: place for place, hit in enumerate(first)}
            gains = self._second.gains(topic, first, stage) if first else {}
            for doc_id, of_hit in zip(ids, parts, strict=True):
                if (place := places.get(doc_id)) is not None:
                    of_hit += [Part(name, float(gain[place])) for name, gain in gains.items()]
        return parts

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        return [self._query(topic, self._settings.weights(variant)) for topic in topics]

    def _query(self, topic: Topic, weights: Mapping[str, float]) -> Query:
        terms, analyzer, searcher = self._settings.query, self._analyzer, self._searcher
        if self._settings.model == "tf_idf":
            query = topic_query(topic, analyzer, weights, terms.saturation)
            return weighed_by_tf_idf(query, searcher, self._settings.bm25.k1)
        return searched_query(topic, analyzer, weights, terms, searcher)
