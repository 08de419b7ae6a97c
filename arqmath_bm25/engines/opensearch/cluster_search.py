"""Searches an index of a cluster, or scores given documents.

Every shard gives its statistics first (dfs_query_then_fetch), so that scores are those of one
index; a shard that fails is asked for elsewhere, never left out. Ties are completed and put in
order here, as in lucene/search.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arqmath_bm25.engines.engine import FEW, Searcher, term_scores, with_ties
from arqmath_bm25.engines.opensearch.cluster_index import described_if_loaded
from arqmath_bm25.engines.opensearch.connection import patiently, search_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.engines.engine import DocIds, Query, Scores, TermScores
    from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex


class OpenSearchSearcher(Searcher):
    """An index in a cluster. Thread-safe."""

    def __init__(self, client: Any, index: ClusterIndex) -> None:
        """Open an index; InputError unless the cluster has all of it, as it was loaded."""
        settings = described_if_loaded(client, index)["settings"]["index"]
        self.count = index.documents
        self.origin = f"{index.name} ({settings['uuid']})"
        self._client = client
        self._index = index.name
        self._shards = int(settings["number_of_shards"])

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []

        all_are_scored = len(clauses) > FEW

        def best(wanted: int) -> tuple[DocIds, Scores]:
            hits = self._ask({"bool": {"should": clauses}}, wanted, track_total_hits=all_are_scored)
            ids = np.array([hit["fields"]["id"][0].encode() for hit in hits], np.bytes_)
            # Scores are printed with as many digits as tell 32-bit numbers apart.
            return ids, np.array([hit["_score"] for hit in hits], np.float32)

        return with_ties(best, k)

    def _ask(self, query: object, size: int, **further: object) -> list[Any]:
        fields = {"stored_fields": "_none_", "docvalue_fields": ["id"]}
        body = {"query": query, "size": size, **fields, **further}
        answer = search_all(self._client, self._index, body, "dfs_query_then_fetch")
        hits: list[Any] = answer["hits"]["hits"]
        return hits

    def document_counts(self, terms: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        """Return field → term → the number of documents that hold it, if any do.

        Every shard is given a document of these terms, and knows their statistics. Counting by an
        aggregation would read all their postings.
        """
        asked = {field: list(of_field) for field, of_field in terms.items()}
        if not any(asked.values()):
            return {field: {} for field in asked}

        body = {
            "doc": {field: " ".join(of_field) for field, of_field in asked.items()},
            "term_statistics": True,
            "field_statistics": False,
            "positions": False,
            "offsets": False,
            "payloads": False,
        }
        counts = {field: dict.fromkeys(of_field, 0) for field, of_field in asked.items()}
        for shard in range(self._shards):
            answer = patiently(
                self._client.termvectors,
                index=self._index,
                body=body,
                params={"preference": f"_shards:{shard}"},
            )
            for field, vector in answer["term_vectors"].items():
                for term, statistics in vector["terms"].items():
                    counts[field][term] += statistics.get("doc_freq", 0)
        return {field: _positive(of_field) for field, of_field in counts.items()}

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
        asked = {"should": _clauses(query), "filter": {"ids": {"values": list(doc_ids)}}}
        hits = self._ask({"bool": asked}, len(doc_ids), explain=True)
        scores = {hit["fields"]["id"][0]: term_scores(hit["_explanation"]) for hit in hits}
        return [scores.get(doc_id, {}) for doc_id in doc_ids]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {term: count for term, count in counts.items() if count}


def _clauses(query: Query) -> list[object]:
    return [
        {"term": {field: {"value": term, "boost": float(np.float32(f"{weight:.9g}"))}}}
        for field, terms in query.items()
        for term, weight in terms.items()
        if weight > 0
    ]
