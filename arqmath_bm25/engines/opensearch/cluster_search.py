"""Searches indexes of a cluster at once, or scores given documents.

Every shard of every index gives its statistics first (dfs_query_then_fetch), so that scores are
those of one index; a shard that fails is asked for elsewhere, never left out. Ties are completed
and put in order here, as in lucene/search.py.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arqmath_bm25.engines.engine import FEW, Searcher, term_scores, with_ties
from arqmath_bm25.engines.opensearch.cluster_index import described_if_loaded
from arqmath_bm25.engines.opensearch.connection import patiently, search_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.engines.engine import DocIds, Query, Scores, TermScores
    from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex

# Errors of a shard that no further try helps against → the status that they have on their own.
_STATUS_OF: Final = {"index_not_found_exception": 404, "cluster_block_exception": 403}


class OpenSearchSearcher(Searcher):
    """A collection in a cluster: one index, or several with different documents. Thread-safe."""

    def __init__(self, client: Any, *indexes: ClusterIndex) -> None:
        """Open indexes; InputError unless the cluster has all of each, as it was loaded."""
        origins = []
        self.count = 0
        self._client = client
        self._shards: dict[str, int] = {}  # name of an index → number of its shards
        for index in indexes:
            settings = described_if_loaded(client, index)["settings"]["index"]
            origins.append(f"{index.name} ({settings['uuid']})")
            self.count += index.documents
            self._shards[index.name] = int(settings["number_of_shards"])
        self.origin = ", ".join(origins)

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []

        all_are_scored = len(clauses) > FEW

        def best(wanted: int) -> tuple[DocIds, Scores]:
            hits = self._ask({"bool": {"should": clauses}}, wanted, track_total_hits=all_are_scored)
            ids = [hit["fields"]["id"][0].encode() for hit in hits]
            # Scores are printed with as many digits as tell 32-bit numbers apart.
            return ids, np.array([hit["_score"] for hit in hits], np.float32)

        return with_ties(best, k)

    def _ask(self, query: object, size: int, **further: object) -> list[Any]:
        fields = {"stored_fields": "_none_", "docvalue_fields": ["id"]}
        body = {"query": query, "size": size, **fields, **further}
        names = ",".join(self._shards)
        answer = search_all(self._client, names, body, "dfs_query_then_fetch")
        hits: list[Any] = answer["hits"]["hits"]
        return hits

    def document_counts(self, terms: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        """Return field → term → the number of documents that hold it, if any do.

        Every shard is given a document of these terms, all by one request, and knows their
        statistics. Counting by an aggregation would read all their postings.
        """
        asked = {field: list(of_field) for field, of_field in terms.items()}
        if not any(asked.values()):
            return {field: {} for field in asked}

        wanted = {
            "doc": {field: " ".join(of_field) for field, of_field in asked.items()},
            "term_statistics": True,
            "field_statistics": False,
            "positions": False,
            "offsets": False,
            "payloads": False,
        }
        body = {"docs": [{**wanted, **shard} for shard in self._places]}
        counts = {field: dict.fromkeys(of_field, 0) for field, of_field in asked.items()}
        for vectors in patiently(self._term_vectors, body=body):
            for field in counts.keys() & vectors.keys():
                for term, statistics in vectors[field]["terms"].items():
                    counts[field][term] += statistics.get("doc_freq", 0)
        return {field: _positive(of_field) for field, of_field in counts.items()}

    def _term_vectors(self, body: object) -> list[dict[str, Any]]:
        """Return the term vectors of documents, each by one shard; fail if a shard does."""
        from opensearchpy.exceptions import TransportError

        answer = self._client.mtermvectors(body=body)
        for of_shard in answer["docs"]:
            if "error" in of_shard:
                status = _STATUS_OF.get(of_shard["error"]["type"], 503)
                raise TransportError(status, of_shard["error"]["type"], of_shard)
        return [of_shard["term_vectors"] for of_shard in answer["docs"]]

    @cached_property
    def _places(self) -> list[dict[str, str]]:
        """An index and a routing value for each shard."""
        return [
            {"_index": name, "routing": routing}
            for name, shards in self._shards.items()
            for routing in self._routing(name, shards)
        ]

    def _routing(self, name: str, shards: int) -> list[str]:
        """Return a routing value for each shard of an index, found by asking where they lead."""
        routing_of: dict[int, str] = {}
        number = 0
        while len(routing_of) < shards:
            answer = patiently(
                self._client.search_shards, index=name, params={"routing": str(number)}
            )
            shard = answer["shards"][0][0]["shard"]
            routing_of.setdefault(shard, str(number))
            number += 1
        return list(routing_of.values())

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
