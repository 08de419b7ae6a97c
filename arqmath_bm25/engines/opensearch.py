"""OpenSearch, version 3 or later: indexes and searches beyond one machine, ranked as by Lucene.

Documents are loaded from the JSON lines that Lucene gets. The name of an index ends with a digest
of what it holds: other data or settings have another index, and one that is there serves whoever
wants the same. Loading removes nothing, and goes on where an earlier load stopped, since a document
is created once under its id. Every shard gives its statistics first (dfs_query_then_fetch), so that
scores are those of one index; a shard that fails is asked for elsewhere, never left out. Ties are
completed and put in order here, as in lucene/search.py.

Version 2 multiplies scores by k1 + 1, so it is refused. Who asks is said by environment variables
(docs/USAGE.md), over TLS only; certificates are verified.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, chain, groupby, islice
from itertools import count as counting
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from arqmath_bm25.core.errors import InputError, InterruptedWorkError, shown
from arqmath_bm25.core.files import read_text
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.engines.engine import FEW, Searcher, term_scores, with_ties

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Ids, Query, Scores, TermScores

_LARGEST: Final = 2**31 - 1  # hits
_PATIENCE: Final = 120.0  # seconds, for a cluster that lost a node
_BATCH: Final = 1 << 14  # documents in memory
_REQUESTS: Final = 4  # that load documents at a time
_REQUEST: Final = 4 << 20  # bytes of documents in one, until the cluster refuses that many
_SMALLEST: Final = 1 << 16
# Statuses worth another try; a search of which a node died in the midst ends with 500.
_PASSING: Final = (429, 500, 502, 503, 504, "N/A", "TIMEOUT")
_CLAUSES: Final = "too_many|maxClauseCount"  # what no further try helps against
_MANY: Final = 1 << 14  # clauses that a topic may have
_NAME: Final = re.compile(r"arqmath-.+-[0-9a-f]{12}")
_VARIABLES: Final = "ARQMATH_OPENSEARCH_"


class ClusterIndex(NamedTuple):
    """An index in a cluster: what it holds and how that is scored."""

    label: str  # for people
    content: str  # names the documents
    documents: int
    fields: tuple[str, ...]  # besides `contents`
    k1: float
    b: float

    @property
    def made_of(self) -> str:
        """A digest of all that decides a ranking."""
        parts = [self.content, *self.fields, float(self.k1), float(self.b)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name in the cluster, of the letters that are allowed there."""
        label = re.sub(r"[^a-z0-9._-]", "-", self.label.lower())[:200]
        return f"arqmath-{label}-{self.made_of[:12]}"


def connect(hosts: Sequence[str]) -> Any:
    """Return a client of a cluster, whose hosts are URLs; https where they do not say.

    Raises InputError if it cannot be reached, or is not OpenSearch 3 or later.
    """
    with needed_by("the engine opensearch", "opensearch"):
        from opensearchpy import OpenSearch
    urls = [_url(host) for host in hosts]
    header, certificate = _authorization(), _file("CERTIFICATE")
    plain = [url for url in urls if url.startswith("http:")]
    if plain and (header or certificate):
        raise InputError(f"{plain[0]}: a password is sent to https:// hosts only")
    client = OpenSearch(
        urls,
        headers=header,
        verify_certs=True,
        ca_certs=_file("CA"),
        client_cert=certificate,
        client_key=_file("KEY"),
        pool_maxsize=_REQUESTS,
        max_retries=len(urls),
        retry_on_timeout=True,
        timeout=60,
    )
    try:
        version = _patiently(client.info, patience=0)["version"]
        server = f"{version.get('distribution', 'Elasticsearch')} {version['number']}"
    except (TypeError, KeyError, AttributeError):
        server = "a server that is not OpenSearch"
    if not re.match(r"opensearch ([3-9]|\d\d)\.", server):
        raise InputError(
            f"{urls[0]}: {server} answers there; expected OpenSearch 3 or later, which scores as "
            "Lucene does: check host and port"
        )
    return client


def _url(host: str) -> str:
    """Return the URL of a host; InputError, without what it holds, if a password is in it."""
    if "@" in host:
        raise InputError(
            "--hosts: a user or password does not belong into a URL; set "
            f"{_VARIABLES}USER and {_VARIABLES}PASSWORD"
        )
    url = host.strip() if "://" in host else f"https://{host.strip()}"
    parts = re.fullmatch(r"https?://([^/:\s[\]]+|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?(/\S*)?", url)
    if not parts or not 0 < int(parts[2] or 443) < 1 << 16:
        raise InputError(f"--hosts: {shown(host)}: expected https://HOST:9200, with commas between")
    return url


def _authorization() -> dict[str, str]:
    """Return the header that says who asks: a user, an API key or a bearer token."""
    user, password, key, token = map(_secret, ("USER", "PASSWORD", "API_KEY", "TOKEN"))
    if bool(user) + bool(key) + bool(token) > 1:
        raise InputError(f"set one of {_VARIABLES}USER, {_VARIABLES}API_KEY and {_VARIABLES}TOKEN")
    if user:
        key = base64.b64encode(f"{user}:{password}".encode()).decode()
    elif not re.fullmatch(r"[!-~]*", key + token):
        raise InputError(f"{_VARIABLES}API_KEY and {_VARIABLES}TOKEN: expected one word of ASCII")
    kind = "Basic" if user else "ApiKey" if key else "Bearer"
    return {"authorization": f"{kind} {key or token}"} if key or token else {}


def _secret(name: str) -> str:
    """Return a secret from its variable, or from the file that the variable with _FILE names."""
    file = _file(f"{name}_FILE")
    return read_text(Path(file)).strip() if file else os.environ.get(_VARIABLES + name, "")


def _file(name: str) -> str | None:
    path = os.environ.get(_VARIABLES + name)
    if path and not Path(path).is_file():
        raise InputError(f"{_VARIABLES}{name}: {path}: no such file")
    return path or None


def is_loaded(client: Any, index: ClusterIndex) -> bool:
    """Tell whether the cluster has all of an index; InputError if others have that name."""
    return _count(client, index) == index.documents


def _count(client: Any, index: ClusterIndex) -> int | None:
    """Count the documents of an index; None if it is not there.

    Raises InputError if others have that name.
    """
    described = _patiently(client.indices.get, index=index.name, ignore=404)
    if described.get("status") == 404:
        return None
    if _meta(described.get(index.name, {})).get("made_of") != index.made_of:
        raise InputError(
            f"{index.name}: the cluster has an index or alias of this name that this program did "
            "not make; rename it, or take another cluster"
        )
    # Unlike the count of OpenSearch, a search fails if a shard does.
    answer = _search(client, index.name, {"size": 0, "track_total_hits": True})
    return int(answer["hits"]["total"]["value"])


def _meta(described: Any) -> dict[str, Any]:
    return described.get("mappings", {}).get("_meta") or {}


def _search(client: Any, name: str, body: object, how: str = "query_then_fetch") -> Any:
    """Ask every shard, and fail rather than leave one out."""
    return _patiently(
        client.search, index=name, body=body, search_type=how, allow_partial_search_results=False
    )


def load_documents(client: Any, index: ClusterIndex, documents: Path, shards: int = 1) -> None:
    """Load every JSON line in the directory `documents` into a cluster.

    What an earlier load brought there stays. Raises InputError if not all documents could be
    loaded; the next call goes on with those that were not.
    """
    name = index.name
    if _count(client, index) is None:
        settings = _settings(index, shards)
        made = _patiently(client.indices.create, index=name, body=settings, ignore=400)
        if _count(client, index) is None:  # else another load was first
            raise InputError(f"{name}: {made['error']['reason']}")
    # What a load and a search need is asked for while nothing is lost.
    clauses = [{"term": {"contents": {"value": str(number)}}} for number in range(_MANY)]
    _search(client, name, {"query": {"bool": {"should": clauses}}})
    _create_all(client, name, documents, index.documents)
    _patiently(client.indices.refresh, index=name)
    # Copies are made of what is flushed: there are no sources to index it once more.
    _patiently(client.indices.flush, index=name)
    count = _count(client, index)
    if count != index.documents:
        raise InputError(
            f"{name}: OpenSearch has {count or 0:,} of {index.documents:,} documents; see its logs"
        )


def _settings(index: ClusterIndex, shards: int) -> dict[str, Any]:
    text = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
    return {
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,  # until all documents are there
            "refresh_interval": -1,
            "max_result_window": _LARGEST,
            "default_pipeline": "_none",  # whatever templates say
            "final_pipeline": "_none",
            "similarity": {"default": {"type": "BM25", "k1": index.k1, "b": index.b}},
        },
        "mappings": {
            "dynamic": False,
            "_meta": {
                "made_of": index.made_of,
                "documents": index.documents,
                "by": f"{os.environ.get('USER', '')}@{os.uname().nodename}",
            },
            "_source": {"enabled": False, "recovery_source_enabled": False},
            "properties": {
                "id": {"type": "keyword", "index": False, "doc_values": True},
                **dict.fromkeys(("contents", *index.fields), text),
            },
        },
    }


def _create_all(client: Any, name: str, documents: Path, expected: int) -> None:
    """Create every document; those that the cluster refuses for now are sent again."""
    lines, size = _lines(documents), _REQUEST
    with progress("Loading documents into the cluster", expected, "documents") as advance:
        while batch := list(islice(lines, _BATCH)):
            attempt, end = 0, time.monotonic() + _PATIENCE
            while batch:
                refused, reason, too_much = _create(client, name, batch, size)
                advance(len(batch) - len(refused))
                if too_much:
                    size = max(size // 2, _SMALLEST)
                if len(refused) < len(batch):
                    attempt, end = 0, time.monotonic() + _PATIENCE
                elif time.monotonic() > end:
                    raise InterruptedWorkError(
                        f"{name}: the cluster refuses documents: {reason}; what it took stays "
                        "there, and the same command goes on"
                    )
                elif attempt == 3:
                    tell(f"the cluster refuses documents: {reason}; trying on")
                batch = refused
                attempt += 1
                time.sleep(_pause(attempt) if batch else 0)


def _lines(documents: Path) -> Iterator[str]:
    for file in sorted(documents.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            yield from lines


def _create(client: Any, name: str, batch: Sequence[str], size: int) -> tuple[list[str], str, bool]:
    """Create documents, in several requests at a time of about `size` bytes.

    Returns those that the cluster refuses for now, why, and whether requests should be smaller.
    """
    ended = zip(accumulate(map(len, batch)), batch, strict=True)
    requests = [[line for _, line in group] for _, group in groupby(ended, lambda e: e[0] // size)]
    refused, reason, too_much = list[str](), "", False
    with ThreadPoolExecutor(_REQUESTS) as pool:
        outcomes = pool.map(partial(_send, client, name), requests)
        for line, (status, words) in zip(batch, chain.from_iterable(outcomes), strict=True):
            if status in (201, 409):  # 409: an earlier try created it
                continue
            reason = _with_cure(words)
            if status not in _PASSING and (status != 413 or size == _SMALLEST):
                raise InputError(f"{name}: {reason}")
            too_much |= status in (413, 429)
            refused.append(line)
    return refused, reason, too_much


def _send(client: Any, name: str, lines: Sequence[str]) -> list[tuple[int | str, str]]:
    """Ask for documents to be created; returns status and error of each."""
    from opensearchpy.exceptions import TransportError

    ids = [json.dumps({"create": {"_id": json.loads(line)["id"]}}) for line in lines]
    body = "".join(f"{action}\n{line}" for action, line in zip(ids, lines, strict=True))
    fields = "items.create.status,items.create.error.reason"
    try:
        items = client.bulk(index=name, body=body, filter_path=fields)["items"]
    except TransportError as error:
        return [(error.status_code, _words(error))] * len(lines)
    created = [item["create"] for item in items]
    return [(each["status"], each.get("error", {}).get("reason", "")) for each in created]


def add_replicas(client: Any, index: ClusterIndex, replicas: int, patience: int = 15) -> None:
    """Let every shard have so many replicas, or the more that it has, and wait for the copies.

    The index serves without them: what goes wrong is a note, as are `patience` seconds after which
    nothing is being copied.
    """
    name = index.name
    try:
        (described,) = _patiently(client.indices.get_settings, index=name).values()
        if int(described["settings"]["index"]["number_of_replicas"]) < replicas:
            settings = {"number_of_replicas": replicas}
            _patiently(client.indices.put_settings, index=name, body=settings)
        copying = replicas
        while copying:
            health = _patiently(
                client.cluster.health, index=name, wait_for_status="green",
                timeout=f"{patience}s", request_timeout=60 + patience, ignore=408,
            )  # fmt: skip
            copying = health["initializing_shards"]
            if not copying and health["status"] != "green":
                raise InputError(
                    f"{health['unassigned_shards']} copies of shards are missing, and none is "
                    "being made; see to its nodes and their disks"
                )
    except InputError as error:
        tell(f"{name} can be searched, but not all of its replicas are there: {error}")


class Stored(NamedTuple):
    """An index of this program that a cluster has."""

    name: str
    documents: int
    expected: int  # when it is complete
    size: int  # bytes, with replicas
    made_by: str


def stored_indexes(client: Any) -> list[Stored]:
    """Return the indexes in a cluster that this program made, whoever called it."""
    described = _patiently(client.indices.get, index="arqmath-*")
    names = [name for name in sorted(described) if _NAME.fullmatch(name)]
    ours = {name: meta for name in names if "made_of" in (meta := _meta(described[name]))}
    for name in ours:
        _patiently(client.indices.refresh, index=name, ignore=(403, 404))
    stats = _patiently(client.indices.stats, index="arqmath-*", metric="docs,store")["indices"]
    return [
        Stored(
            name, stats[name]["primaries"]["docs"]["count"], meta.get("documents", 0),
            stats[name]["total"]["store"]["size_in_bytes"], meta.get("by", ""),
        )
        for name, meta in ours.items()
        if name in stats
    ]  # fmt: skip


def remove_index(client: Any, name: str) -> None:
    """Remove an index from a cluster; InputError unless this program made it."""
    if name not in (ours := [index.name for index in stored_indexes(client)]):
        raise InputError(
            f"{name}: not an index of this program; the cluster has {', '.join(ours) or 'none'}"
        )
    _patiently(client.indices.delete, index=name)


class OpenSearchSearcher(Searcher):
    """An index in a cluster. Thread-safe."""

    def __init__(self, client: Any, index: ClusterIndex) -> None:
        """Open an index; InputError if the cluster has not all of it."""
        self._client, self._index = client, index.name
        self.count = _count(client, index) or 0
        if self.count != index.documents:
            raise InputError(
                f"{index.name}: the cluster has {self.count:,} of the {index.documents:,} "
                "documents of these data and settings; `index --engine opensearch` loads the others"
            )

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []

        def best(wanted: int) -> tuple[Ids, Scores]:
            hits = self._ask(
                {"bool": {"should": clauses}}, wanted, track_total_hits=len(clauses) > FEW
            )  # all are scored then
            ids = np.array([hit["fields"]["id"][0].encode() for hit in hits], np.bytes_)
            # Scores are printed with as many digits as tell 32-bit numbers apart.
            return ids, np.array([hit["_score"] for hit in hits], np.float32)

        return with_ties(best, k)

    def _ask(self, query: object, size: int, **further: object) -> list[Any]:
        fields = {"stored_fields": "_none_", "docvalue_fields": ["id"]}
        body = {"query": query, "size": size, **fields, **further}
        answer = _search(self._client, self._index, body, "dfs_query_then_fetch")
        hits: list[Any] = answer["hits"]["hits"]
        return hits

    def document_counts(self, field: str, terms: Iterable[str]) -> dict[str, int]:
        """Count the documents that hold a term in a field, of those terms that any holds."""
        if not (terms := list(terms)):
            return {}
        filters = {"filters": [{"term": {field: {"value": term}}} for term in terms]}
        body = {"size": 0, "aggs": {"terms": {"filters": filters}}}
        buckets = _search(self._client, self._index, body)["aggregations"]["terms"]["buckets"]
        counts = [int(bucket["doc_count"]) for bucket in buckets]
        return {term: count for term, count in zip(terms, counts, strict=True) if count}

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return what the terms that a document holds give to its score, for each document."""
        asked = {"should": _clauses(query), "filter": {"ids": {"values": list(doc_ids)}}}
        hits = self._ask({"bool": asked}, len(doc_ids), explain=True)
        scores = {hit["fields"]["id"][0]: term_scores(hit["_explanation"]) for hit in hits}
        return [scores.get(doc_id, {}) for doc_id in doc_ids]

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


def _patiently(call: Callable[..., Any], *, patience: float | None = None, **arguments: Any) -> Any:
    """Call the cluster; try again while it may recover.

    Raises InterruptedWorkError if the cluster does not recover, InputError for what no further try
    helps against.
    """
    from opensearchpy import exceptions

    end = time.monotonic() + (_PATIENCE if patience is None else patience)
    for attempt in counting():
        try:
            return call(**arguments)
        except exceptions.TransportError as error:
            sentence = f"OpenSearch: {_with_cure(_words(error))}"
            if error.status_code not in _PASSING or re.search(_CLAUSES, sentence):
                raise InputError(sentence) from None
            if time.monotonic() > end:
                raise InterruptedWorkError(sentence) from None
            time.sleep(_pause(attempt))
        except (exceptions.ImproperlyConfigured, exceptions.SerializationError) as error:
            raise InputError(f"OpenSearch: what answered is not OpenSearch ({error})") from None
    raise AssertionError


def _pause(attempt: int) -> float:
    """Return the seconds to wait after so many failures."""
    return float(min(0.1 * 2**attempt, 5))


# What is in the words of an error → what to do.
_CURES: Final = {
    "CERTIFICATE_VERIFY_FAILED": f"{_VARIABLES}CA names a file with the authority that signs here",
    "CERTIFICATE_REQUIRED|violation of protocol": (
        f"{_VARIABLES}CERTIFICATE and {_VARIABLES}KEY name the files of yours"
    ),
    "WRONG_VERSION_NUMBER": "no TLS is spoken there; see to the port",
    "401": f"set {_VARIABLES}USER and _PASSWORD, or {_VARIABLES}API_KEY or _TOKEN, to who may",
    "blocked by": "its nodes may lack disk; make room",
    "403": "this user lacks a right; docs/USAGE.md lists those that are needed",
    "413": "a proxy before the cluster must let larger requests pass",
    _CLAUSES: "set indices.query.bool.max_clause_count: 1048576 in the cluster's settings",
    "Connection refused": "see whether it runs, and to the port",
}


def _words(error: Any) -> str:
    """Return what an answer of the cluster says is wrong."""
    cause = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(cause, dict):
        root = (cause.get("root_cause") or [cause])[0]
        return f"{root.get('reason')} ({error.status_code}, {root.get('type')})"
    return f"{' '.join(str(cause or error.error).split())[:300]} ({error.status_code})"


def _with_cure(words: str) -> str:
    """Say what to do about it."""
    cure = next((cure for sign, cure in _CURES.items() if re.search(sign, words)), None)
    return f"{words}; {cure}" if cure else words
