"""Searches an index of a cluster, or scores given documents.

Every shard gives its statistics first (dfs_query_then_fetch), so scores do not depend on the number
of shards. If a shard fails, its copies are searched; it is never
left out. Ties are completed and put in order here, as in lucene/search.py.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from arqmath_bm25.core.errors import check_found
from arqmath_bm25.core.records import Hit, Json
from arqmath_bm25.engines.engine import (
    FEW,
    DocIds,
    DocumentCounts,
    Query,
    Scores,
    Searcher,
    TermScores,
    TermsOfFields,
    term_scores,
    with_ties,
)
from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex, description_if_loaded
from arqmath_bm25.engines.opensearch.connection import patiently, search_all

# Errors of a shard that are lasting → the status with which OpenSearch answers them elsewhere.
_STATUS_OF = {"index_not_found_exception": 404, "cluster_block_exception": 403}


class OpenSearchSearcher(Searcher):
    """An index in a cluster. Thread-safe."""

    def __init__(self, client: Any, index: ClusterIndex) -> None:
        """Open an index; InputError unless the cluster has all of it, as it was loaded."""
        settings = description_if_loaded(client, index)["settings"]["index"]
        self.origin = f"{index.name} ({settings['uuid']}), of the content {index.made_of[:16]}"
        self.count = index.documents
        self._client = client
        self._name = index.name
        self._shards = int(settings["number_of_shards"])

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []

        bool_query = {"bool": {"should": clauses}}
        scores_all = len(clauses) > FEW

        def best(wanted: int) -> tuple[DocIds, Scores]:
            hits = self._hits(bool_query, wanted, track_total_hits=scores_all)
            ids = [_id_of(hit).encode() for hit in hits]
            # Scores are printed with enough digits to restore the 32-bit number.
            return ids, np.array([hit["_score"] for hit in hits], np.float32)

        return with_ties(best, k)

    def _hits(self, query: object, size: int, **further: object) -> list[Any]:
        body = {
            "query": query,
            "size": size,
            "stored_fields": "_none_",
            "docvalue_fields": ["id"],
            **further,
        }
        answer = search_all(self._client, self._name, body, "dfs_query_then_fetch")
        hits: list[Any] = answer["hits"]["hits"]
        return hits

    def document_counts(self, terms: TermsOfFields) -> DocumentCounts:
        """Return field → term → the number of documents that hold it, if any do.

        One request gives every shard a document of these terms, which is answered with the shard's
        statistics of them. Counting by an aggregation would read all postings of the terms.
        """
        counts = {}
        document = {}
        for field, of_field in terms.items():
            counts[field] = dict.fromkeys(of_field, 0)
            document[field] = " ".join(counts[field])
        if not any(counts.values()):
            return counts

        for vectors in patiently(self._term_vectors, document=document):
            for field in counts.keys() & vectors.keys():
                for term, statistics in vectors[field]["terms"].items():
                    counts[field][term] += statistics.get("doc_freq", 0)

        for field, of_field in counts.items():
            counts[field] = {term: count for term, count in of_field.items() if count}
        return counts

    def _term_vectors(self, document: Mapping[str, str]) -> list[Json]:
        """Return the term vectors of a document by each shard; fail if a shard does."""
        from opensearchpy.exceptions import TransportError

        request = {
            "doc": document,
            "term_statistics": True,
            "field_statistics": False,
            "positions": False,
            "offsets": False,
            "payloads": False,
            "_index": self._name,
        }
        requests = [{**request, "routing": routing} for routing in self._routings]
        answer = self._client.mtermvectors(body={"docs": requests})

        vectors = []
        for shard in answer["docs"]:
            if "error" in shard:
                reason = shard["error"]["type"]
                status = _STATUS_OF.get(reason, 503)
                raise TransportError(status, reason, shard)
            vectors.append(shard["term_vectors"])
        return vectors

    @cached_property
    def _routings(self) -> list[str]:
        """A routing value for each shard, found by trying numbers."""
        routing_of = dict[int, str]()
        number = 0
        while len(routing_of) < self._shards:
            routing = str(number)
            answer = patiently(
                self._client.search_shards,
                index=self._name,
                params={"routing": routing},
            )
            first_copy = answer["shards"][0][0]
            routing_of.setdefault(first_copy["shard"], routing)
            number += 1
        return list(routing_of.values())

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
        given = {"ids": {"values": list(doc_ids)}}
        bool_query = {"bool": {"should": _clauses(query), "filter": given}}
        hits = self._hits(bool_query, len(doc_ids), explain=bool(query))
        found = {_id_of(hit): hit for hit in hits}
        check_found(doc_id for doc_id in doc_ids if doc_id not in found)
        if not query:
            return [{} for _ in doc_ids]
        return [term_scores(found[doc_id]["_explanation"]) for doc_id in doc_ids]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _id_of(hit: Any) -> str:
    doc_id: str = hit["fields"]["id"][0]
    return doc_id


def _clauses(query: Query) -> list[object]:
    clauses = list[object]()
    for field, terms in query.items():
        for term, weight in terms.items():
            if weight > 0:
                boost = float(np.float32(f"{weight:.9g}"))
                clauses.append({"term": {field: {"value": term, "boost": boost}}})
    return clauses
