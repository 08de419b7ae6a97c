"""OpenSearch, version 3 or later: indexes and searches beyond one machine, ranked as by Lucene.

Documents are loaded from the JSON lines that Lucene gets, into a fresh index behind an alias that
is moved when all are there. Every shard gives its statistics first (dfs_query_then_fetch), so that
scores are those of one index; a shard that fails is asked for elsewhere, never left out. Ties are
completed and put in order here, as in lucene/search.py.

Version 2 multiplies scores by k1 + 1, so it is refused. User and password come from
ARQMATH_OPENSEARCH_USER and ARQMATH_OPENSEARCH_PASSWORD, and are sent over TLS only; certificates
are verified, with ARQMATH_OPENSEARCH_CA (a file) where an authority of one's own signs them.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from functools import partial
from itertools import count as counting
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.engines.engine import Searcher
from arqmath_bm25.engines.explanations import term_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.engines.engine import Query, TermScores

_OLDEST: Final = 3
_MARGIN: Final = 50  # hits beyond k that are asked for at first
_FEW: Final = 64  # terms up to which it pays to skip documents that cannot be among the best
_LARGEST: Final = 2**31 - 1  # hits
_PATIENCE: Final = 120.0  # seconds, for a cluster that lost a node
# Statuses worth another try; a search of which a node died in the midst ends with 500.
_PASSING: Final = (429, 500, 502, 503, 504, "N/A", "TIMEOUT")
_CLAUSES: Final = "too_many"  # … clauses: what no further try helps against


def connect(hosts: Sequence[str], threads: int = 4) -> Any:
    """Return a client of a cluster, whose hosts are URLs; https where they do not say.

    Raises InputError if it cannot be reached, or is not OpenSearch 3 or later.
    """
    try:
        from opensearchpy import OpenSearch
    except ImportError:
        raise InputError("the engine opensearch needs arqmath_bm25[opensearch]") from None
    user = os.environ.get("ARQMATH_OPENSEARCH_USER")
    password = os.environ.get("ARQMATH_OPENSEARCH_PASSWORD", "")
    urls = [host if "://" in host else f"https://{host}" for host in hosts]
    if user and (open_hosts := [url for url in urls if not url.startswith("https://")]):
        raise InputError(f"{open_hosts[0]}: a password is sent to https:// hosts only")
    client = OpenSearch(
        urls,
        http_auth=(user, password) if user else None,
        verify_certs=True,
        ca_certs=os.environ.get("ARQMATH_OPENSEARCH_CA"),
        pool_maxsize=threads,
        max_retries=len(urls),
        retry_on_timeout=True,
        timeout=60,
    )
    version = _patiently(client.info, _patience=0)["version"]
    if (
        version.get("distribution") != "opensearch"
        or int(version["number"].split(".")[0]) < _OLDEST
    ):
        raise InputError(
            f"{urls[0]}: {version.get('distribution', 'Elasticsearch')} {version['number']}; "
            f"expected OpenSearch {_OLDEST} or later, which scores as Lucene does"
        )
    return client


def load_documents(
    client: Any,
    documents: Path,
    name: str,
    fields: Sequence[str],
    expected: int,
    similarity: tuple[float, float],
    shards: int = 1,
    replicas: int = 0,
    patience: float = _PATIENCE,
    made_of: str = "",
) -> None:
    """Load every JSON line in the directory `documents` into a cluster under the name `name`.

    `fields` come besides `contents`; `similarity` is k1 and b; replicas may take `patience`
    seconds; `made_of` names the content. What had the name before is there until all are loaded,
    and then removed. Raises InputError if not all `expected` could be.
    """
    fresh = f"{name}-{secrets.token_hex(6)}"
    ask = partial(_patiently, index=fresh)
    ask(client.indices.create, body=_settings(fields, *similarity, shards, made_of))
    try:
        ask(partial(_load, client, documents))
        ask(client.indices.refresh)
        found = ask(client.count)["count"]
        if found != expected:
            raise InputError(
                f"{name}: OpenSearch indexed {found:,} of {expected:,} documents; see its logs"
            )
        ask(client.indices.forcemerge, max_num_segments=1, request_timeout=3600)
        ask(client.indices.put_settings, body={"number_of_replicas": replicas})
        health = ask(
            client.cluster.health,
            wait_for_status="green",
            timeout=f"{patience:.0f}s",
            request_timeout=2 * patience,
            ignore=408,
        )
        if health["timed_out"]:
            raise InputError(f"{name}: the cluster has no room for {replicas} replicas")
    except BaseException:
        with suppress(InputError):  # what went wrong first is what counts
            ask(client.indices.delete, ignore=404, _patience=0)
        raise
    _move_alias(client, name, fresh)


def _move_alias(client: Any, name: str, fresh: str) -> None:
    """Let a name stand for another index, and remove what had it; every step may be repeated."""
    found = _patiently(client.indices.get_alias, name=name, ignore=404)
    old = [] if "error" in found else list(found)
    gone = [{"remove": {"index": index, "alias": name, "must_exist": False}} for index in old]
    actions = [*gone, {"add": {"index": fresh, "alias": name}}]
    _patiently(client.indices.update_aliases, body={"actions": actions})
    for index in old:
        _patiently(client.indices.delete, index=index, ignore=404)


def _settings(
    fields: Sequence[str], k1: float, b: float, shards: int, made_of: str
) -> dict[str, Any]:
    text = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
    return {
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,  # until all documents are there
            "refresh_interval": -1,
            "max_result_window": _LARGEST,
            "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
        },
        "mappings": {
            "dynamic": False,
            "_meta": {"made_of": made_of},
            "_source": {"enabled": False},
            "properties": {
                "id": {"type": "keyword", "index": False, "doc_values": True},
                **dict.fromkeys(("contents", *fields), text),
            },
        },
    }


def _load(client: Any, documents: Path, index: str) -> None:
    """Create every document; one that is there already was created by an earlier try."""
    from opensearchpy.helpers import streaming_bulk

    def actions() -> Iterator[dict[str, Any]]:
        for file in sorted(documents.glob("*.jsonl")):
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    document = json.loads(line)
                    yield {"_op_type": "create", "_id": document["id"], **document}

    results = streaming_bulk(
        client,
        actions(),
        index=index,
        chunk_size=2000,
        max_chunk_bytes=8 << 20,
        max_retries=8,
        raise_on_error=False,
    )
    for done, result in results:
        if not done and result["create"]["status"] != 409:
            raise InputError(f"{index}: {result['create']}")


class OpenSearchSearcher(Searcher):
    """An index in a cluster. Thread-safe."""

    def __init__(self, client: Any, name: str, k1: float, b: float, made_of: str = "") -> None:
        """Open an index; InputError if there is none, or it has another content, k1 or b."""
        self._client = client
        if not _patiently(client.indices.exists, index=name):
            raise InputError(
                f"{name}: the cluster has no such index; `index --engine opensearch` loads it"
            )
        found = _patiently(client.indices.get_settings, index=name)
        ((self._index, settings),) = found.items()  # whatever the name will stand for
        scoring = settings["settings"]["index"]["similarity"]["default"]
        if (float(scoring["k1"]), float(scoring["b"])) != (k1, b):
            raise InputError(
                f"{name}: scores with k1 {scoring['k1']} and b {scoring['b']}, not {k1} and {b}; "
                "`index --engine opensearch` loads it anew"
            )
        mapping = _patiently(client.indices.get_mapping, index=self._index)[self._index]
        if mapping["mappings"].get("_meta", {}).get("made_of") != made_of:
            raise InputError(
                f"{name}: the cluster has it of other data or settings; "
                "`index --engine opensearch` loads it anew"
            )
        self.count = int(_patiently(client.count, index=self._index)["count"])

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []
        wanted = k + _MARGIN
        hits = self._best(clauses, wanted)
        while len(hits) == wanted and hits[-1].score == hits[k - 1].score:  # the tie may go on
            wanted *= 4
            hits = self._best(clauses, wanted)
        return sorted(hits, key=lambda hit: (hit.score, hit.doc_id), reverse=True)[:k]

    def _best(self, clauses: Sequence[object], wanted: int) -> list[Hit]:
        found = self._ask(
            {"bool": {"should": clauses}},
            wanted,
            track_total_hits=len(clauses) > _FEW,  # all are scored then
        )
        # Scores are printed with as many digits as tell 32-bit numbers apart.
        return [Hit(hit["fields"]["id"][0], float(np.float32(hit["_score"]))) for hit in found]

    def _ask(self, query: object, size: int, **further: object) -> list[Any]:
        body = {
            "query": query,
            "size": size,
            "stored_fields": "_none_",
            "docvalue_fields": ["id"],
            **further,
        }
        found = _patiently(
            self._client.search,
            index=self._index,
            search_type="dfs_query_then_fetch",
            allow_partial_search_results=False,
            body=body,
        )
        hits: list[Any] = found["hits"]["hits"]
        return hits

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return what the terms that a document holds give to its score, for each document."""
        asked = {"should": _clauses(query), "filter": {"ids": {"values": list(doc_ids)}}}
        hits = self._ask({"bool": asked}, len(doc_ids), explain=True)
        found = {hit["fields"]["id"][0]: term_scores(hit["_explanation"]) for hit in hits}
        return [found.get(doc_id, {}) for doc_id in doc_ids]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _clauses(query: Query) -> list[object]:
    return [
        {"term": {field: {"value": term, "boost": float(np.float32(f"{weight:.9g}"))}}}
        for field, terms in query.items()
        for term, weight in terms.items()
        if weight > 0
    ]


def _patiently(call: Callable[..., Any], *, _patience: float = _PATIENCE, **arguments: Any) -> Any:
    """Call the cluster; try again while it may recover. Raises InputError if it does not."""
    from opensearchpy.exceptions import ImproperlyConfigured, TransportError

    end = time.monotonic() + _patience
    for attempt in counting():
        try:
            return call(**arguments)
        except TransportError as error:
            passing = error.status_code in _PASSING and _CLAUSES not in str(error)
            if not passing or time.monotonic() > end:
                raise InputError(_what_to_do(error)) from None
            time.sleep(min(0.1 * 2**attempt, 5))
        except ImproperlyConfigured as error:
            raise InputError(f"OpenSearch: {error}") from None
    raise AssertionError


def _what_to_do(error: Any) -> str:
    text = f"OpenSearch: {error}"
    if _CLAUSES in text:
        text += "; set indices.query.bool.max_clause_count: 1048576 on every node"
    return text
