"""OpenSearch, version 3 or later: indexes and searches beyond one machine, ranked as by Lucene.

Documents are loaded from the JSON lines that Lucene gets. The name of an index ends with a digest
of what it holds: other data or settings have another index, and one that is there serves whoever
wants the same. Loading removes nothing, and goes on where an earlier load stopped, since a document
is created once under its id. Every shard gives its statistics first (dfs_query_then_fetch), so that
scores are those of one index; a shard that fails is asked for elsewhere, never left out. Ties are
completed and put in order here, as in lucene/search.py.

Nobody changes an index unnoticed. Once loaded it is blocked for writing, and its mapping notes the
number of the last operation of each shard, which any change of a document raises. Opening an index
compares these numbers, the similarity and the fields with those of its load.

Version 2 multiplies scores by k1 + 1, so it is refused. Environment variables hold the credentials
(docs/USAGE.md), which are sent over TLS only; certificates are verified.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from getpass import getuser
from itertools import accumulate, chain, groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from arqmath_bm25.core.errors import InputError, InterruptedWorkError, shown
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.engines.engine import FEW, Searcher, term_scores, with_ties

if TYPE_CHECKING:
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.engines.engine import DocIds, Query, Scores, TermScores

_LARGEST: Final = 2**31 - 1  # hits
_PATIENCE: Final = 120.0  # seconds, for a cluster that lost a node
_BATCH: Final = 1 << 14  # documents in memory
_REQUESTS: Final = 4  # that load documents at a time
_REQUEST: Final = 1_000_000  # bytes of documents in one: proxies often allow a megabyte
_SMALLEST: Final = 1 << 14
# Statuses worth another try; a search of which a node died in the midst ends with 500.
_PASSING: Final = (429, 500, 502, 503, 504, "N/A", "TIMEOUT")
_CLAUSES: Final = "too_many|maxClauseCount"
_LASTING: Final = f"{_CLAUSES}|CERTIFICATE|WRONG_VERSION"  # what no further try helps against
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
        urls, headers=header, ca_certs=_file("CA"), client_cert=certificate,
        client_key=_file("KEY"), pool_maxsize=_REQUESTS, max_retries=len(urls),
        retry_on_timeout=True, timeout=60,
    )  # fmt: skip
    answer = _patiently(client.info, patience=0)
    version = answer.get("version") if isinstance(answer, dict) else None
    server = version if isinstance(version, dict) else {}
    name = f"{server.get('distribution', 'another server')} {server.get('number', '')}".strip()
    if not re.match(r"opensearch ([3-9]|\d\d)\.", name):
        raise InputError(
            f"{urls[0]}: expected OpenSearch 3 or later, which scores as Lucene does; what answers "
            f"there is {name}: check host and port"
        )
    return client


def _url(host: str) -> str:
    """Return the URL of a host; InputError, without what it holds, if a password is in it."""
    if "@" in host:
        raise InputError(
            "--hosts: a URL must not hold a user or password; set "
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
    """Return whether the cluster has all of an index.

    Raises InputError if others have that name, or changed the index after its load.
    """
    return "numbers" in _meta(_described(client, index) or {})


def _described(client: Any, index: ClusterIndex) -> dict[str, Any] | None:
    """Return settings and mappings of an index in the cluster; None if there is none.

    Raises InputError as `is_loaded` does.
    """
    answer = _patiently(client.indices.get, index=index.name, ignore=404)
    if answer.get("status") == 404:
        return None
    described: dict[str, Any] = answer.get(index.name, {})
    meta = _meta(described)
    if meta.get("made_of") != index.made_of:
        raise InputError(
            f"{index.name}: the cluster has an index or alias of this name that this program did "
            "not make; rename it, or take another cluster"
        )
    if changed := _changed(client, index, described):
        raise InputError(
            f"{index.name}: somebody changed its {changed} in the cluster; remove it (`arqmath-bm25"
            " cluster --remove`) and load it again (`index --engine opensearch`)"
        )
    return described


def _changed(client: Any, index: ClusterIndex, described: dict[str, Any]) -> str | None:
    """Return what of an index is not as it was loaded; None if all is."""
    similarity = described["settings"]["index"].get("similarity", {}).get("default")
    if similarity != {"type": "BM25", "k1": str(index.k1), "b": str(index.b)}:
        return "similarity"
    if described["mappings"]["properties"] != _fields(index):
        return "fields"
    noted = _meta(described).get("numbers", {})
    now = _numbers(client, index.name) if noted else {}
    return "documents" if any(noted.get(shard) != now[shard] for shard in now) else None


def _meta(described: Any) -> dict[str, Any]:
    return described.get("mappings", {}).get("_meta") or {}


def _numbers(client: Any, name: str) -> dict[str, int]:
    """Return shard → the number of its last operation, of the shards that a live node has.

    Each change of a document is an operation.
    """
    stats = _patiently(client.indices.stats, index=name, metric="docs", level="shards")
    shards = stats["indices"].get(name, {"shards": {}})["shards"]
    return {shard: copies[0]["seq_no"]["max_seq_no"] for shard, copies in shards.items()}


def _count(client: Any, name: str) -> int:
    """Count the documents of an index by a search, which fails if a shard does."""
    answer = _search(client, name, {"size": 0, "track_total_hits": True})
    return int(answer["hits"]["total"]["value"])


def _search(client: Any, name: str, body: object, how: str = "query_then_fetch") -> Any:
    """Ask every shard, and fail rather than leave one out."""
    return _patiently(
        client.search, index=name, body=body, search_type=how, allow_partial_search_results=False
    )


def check_rights(client: Any) -> None:
    """Load an index of one document and remove it; InputError names the first right missing."""
    index = ClusterIndex("rights", os.urandom(8).hex(), 1, (), 1.2, 0.75)
    with TemporaryDirectory() as place:
        Path(place, "part.jsonl").write_text('{"id": "1", "contents": "1"}\n', encoding="ascii")
        try:
            load_documents(client, index, Path(place))
        except InputError:
            with suppress(InputError):
                remove_index(client, index.name)
            raise
    remove_index(client, index.name)


def load_documents(
    client: Any, index: ClusterIndex, documents: Path, shards: int = 1,
    workers: Workers = HERE, hosts: Sequence[str] = (),
) -> None:  # fmt: skip
    """Load every JSON line in the directory `documents` into a cluster.

    Workers on other machines load the parts there, each by a client of its own to `hosts`. What an
    earlier load brought there stays. Raises InputError if not all documents could be loaded; the
    next call goes on with those that were not.
    """
    name = index.name
    if (described := _described(client, index)) is None:
        settings = _settings(index, shards)
        made = _patiently(client.indices.create, index=name, body=settings, ignore=400)
        if (described := _described(client, index)) is None:  # else another load was first
            raise InputError(f"{name}: {made['error']['reason']}")
    # What a load and a search need is asked for while nothing is lost.
    clauses = [{"term": {"contents": {"value": str(number)}}} for number in range(_MANY)]
    _search(client, name, {"query": {"bool": {"should": clauses}}})
    if _count(client, name) != index.documents:
        files = sorted(documents.glob("*.jsonl"))
        counts = (
            workers.map(partial(_load_part, hosts, name), files)
            if workers.remote
            else chain.from_iterable(_create_all(client, name, file) for file in files)
        )
        with progress("Loading documents into the cluster", index.documents, "documents") as made:
            for count in counts:
                made(count)
        _patiently(client.indices.refresh, index=name)
        # Copies are made of what is flushed: there are no sources to index it once more.
        _patiently(client.indices.flush, index=name)
    if (count := _count(client, name)) != index.documents:
        raise _incomplete(index, count)
    _patiently(client.indices.put_settings, index=name, body={"index.blocks.write": True})
    meta = {**_meta(described), "numbers": _numbers(client, name)}
    _patiently(client.indices.put_mapping, index=name, body={"_meta": meta})


def _incomplete(index: ClusterIndex, count: int) -> InputError:
    return InputError(
        f"{index.name}: OpenSearch has {count:,} of {index.documents:,} documents of these "
        "data and settings; `index --engine opensearch` loads the others"
    )


def _alias(name: str) -> str:
    """Return the name by which an index is loaded: writing to it does not make a missing index."""
    return f"{name}.load"


def _fields(index: ClusterIndex) -> dict[str, Any]:
    text = {"type": "text", "index_options": "freqs", "analyzer": "whitespace"}
    return {
        "id": {"type": "keyword", "index": False},
        **dict.fromkeys(("contents", *index.fields), text),
    }


def _settings(index: ClusterIndex, shards: int) -> dict[str, Any]:
    user = f"{getuser()}@{os.uname().nodename}"
    return {
        "aliases": {_alias(index.name): {}},
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
            "_meta": {"made_of": index.made_of, "documents": index.documents, "by": user},
            "_source": {"enabled": False, "recovery_source_enabled": False},
            "properties": _fields(index),
        },
    }


def _load_part(hosts: Sequence[str], name: str, file: Path) -> int:
    """Create the documents of a part, on the machine of a worker; return their number."""
    with closing(connect(hosts)) as client:
        return sum(_create_all(client, name, file))


def _create_all(client: Any, name: str, file: Path) -> Iterator[int]:
    """Create the documents of a file, and yield how many there are more.

    Those that the cluster refuses for now are sent again.
    """
    lines = _lines(file)
    with ThreadPoolExecutor(_REQUESTS) as pool:
        send = partial(pool.map, partial(_send, client, name))
        while batch := list(islice(lines, _BATCH)):
            while batch:
                refused = _patiently(_create, send=send, lines=batch, size=_REQUEST)
                yield len(batch) - len(refused)
                batch = refused


def _lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        yield from lines


def _create(send: Callable[..., Any], lines: Sequence[str], size: int) -> list[str]:
    """Create documents by several requests of about `size` bytes; return those refused for now.

    Raises what the cluster answered if it takes none of them, however small the requests are.
    """
    ended = zip(accumulate(map(len, lines)), lines, strict=True)
    requests = [[line for _, line in group] for _, group in groupby(ended, lambda e: e[0] // size)]
    refused, error = list[str](), None
    for those, answer in send(requests):
        refused += those
        error = answer or error
    if error and error.status_code == 413 and size > _SMALLEST:
        return _create(send, refused, size // 2)
    if error and len(refused) == len(lines):
        raise error
    return refused


def _send(client: Any, name: str, lines: list[str]) -> tuple[list[str], Exception | None]:
    """Ask for documents to be created; return those that were refused, and why."""
    from opensearchpy.exceptions import TransportError

    ids = [json.dumps({"create": {"_id": json.loads(line)["id"]}}) for line in lines]
    body = "".join(f"{action}\n{line}" for action, line in zip(ids, lines, strict=True))
    fields = "items.create.status,items.create.error.reason"
    try:
        answer = client.bulk(
            index=_alias(name), body=body, filter_path=fields, params={"require_alias": "true"}
        )
        items = answer["items"]
    except TransportError as error:
        return lines, error
    refused, why = list[str](), None
    for line, item in zip(lines, items, strict=True):
        if (status := item["create"]["status"]) not in (201, 409):  # 409: an earlier try did it
            refused.append(line)
            why = TransportError(status, item["create"]["error"]["reason"], {})
    return refused, why


def add_replicas(client: Any, index: ClusterIndex, replicas: int, patience: int = 15) -> None:
    """Raise the number of replicas of every shard to at least `replicas`; wait for the copies.

    The index serves without them: what goes wrong is a note, as are `patience` seconds after which
    nothing is being copied.
    """
    name, copying = index.name, replicas
    try:
        (described,) = _patiently(client.indices.get_settings, index=name).values()
        if int(described["settings"]["index"]["number_of_replicas"]) < replicas:
            settings = {"number_of_replicas": replicas}
            _patiently(client.indices.put_settings, index=name, body=settings)
        while copying:
            health = _patiently(
                client.cluster.health, index=name, wait_for_status="green",
                timeout=f"{patience}s", request_timeout=60 + patience, ignore=408,
            )  # fmt: skip
            copying = health["initializing_shards"]
        if replicas and (missing := health["unassigned_shards"]):
            raise InputError(f"{missing} copies of shards are missing; see to its nodes' disks")
    except InputError as error:
        tell(f"{name} can be searched, but not all of its replicas are there: {error}")


class Stored(NamedTuple):
    """An index of this program that a cluster has."""

    name: str
    state: str  # "complete", or what is wrong with it
    documents: int
    size: int  # bytes, with replicas
    made_by: str


def stored_indexes(client: Any) -> list[Stored]:
    """Return the indexes in a cluster that this program made, whoever called it."""
    described = _patiently(client.indices.get, index="arqmath-*", expand_wildcards="all")
    return [
        _stored(client, name, described[name])
        for name in sorted(described)
        if _is_ours(name, described)
    ]


def _is_ours(name: str, described: Any) -> bool:
    return bool(_NAME.fullmatch(name)) and "made_of" in _meta(described.get(name, {}))


def _stored(client: Any, name: str, described: dict[str, Any]) -> Stored:
    meta, settings = _meta(described), described["settings"]["index"]
    expected, by = meta.get("documents", 0), meta.get("by", "")
    if "verified_before_close" in settings:
        return Stored(name, "closed; POST NAME/_open opens it", expected, 0, by)
    stats = _patiently(client.indices.stats, index=name, metric="docs,store", level="shards")
    copies = stats["indices"].get(name, {"shards": {}})["shards"]
    documents = sum(of_shard[0]["docs"]["count"] for of_shard in copies.values())
    size = sum(copy["store"]["size_in_bytes"] for of_shard in copies.values() for copy in of_shard)
    shards = int(settings["number_of_shards"])
    wanted = shards * (1 + int(settings["number_of_replicas"]))
    if missing := shards - len(copies):
        state = f"red: {missing} of {shards} shards are on no node; start theirs, or remove it"
    elif "numbers" not in meta:
        state = f"incomplete: `index` resumes the load of its {expected:,} documents"
    elif missing := wanted - sum(map(len, copies.values())):
        state = f"yellow: {missing} copies of shards are missing, none that searches need"
    else:
        state = "complete"
    return Stored(name, state, documents, size, by)


def remove_index(client: Any, name: str) -> None:
    """Remove an index from a cluster; InputError unless this program made it."""
    described = (
        _patiently(client.indices.get, index=name, ignore=404) if _NAME.fullmatch(name) else {}
    )
    if not _is_ours(name, described):
        raise InputError(
            f"{name}: not an index of this program; `arqmath-bm25 cluster` lists those that are"
        )
    _patiently(client.indices.delete, index=name)


class OpenSearchSearcher(Searcher):
    """An index in a cluster. Thread-safe."""

    def __init__(self, client: Any, index: ClusterIndex) -> None:
        """Open an index; InputError if the cluster has not all of it, as it was loaded."""
        described = _described(client, index)
        if described is None or "numbers" not in _meta(described):
            raise _incomplete(index, _count(client, index.name) if described else 0)
        self._client, self._index, self.count = client, index.name, index.documents
        settings = described["settings"]["index"]
        self.origin, self._shards = (
            f"{index.name} ({settings['uuid']})",
            int(settings["number_of_shards"]),
        )

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        clauses = _clauses(query)
        if not clauses or not self.count:
            return []

        def best(wanted: int) -> tuple[DocIds, Scores]:
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

    def document_counts(self, terms: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        """Return field → term → the number of documents that hold it, if any do.

        Every shard is given a document of these terms, and knows their statistics. Counting by an
        aggregation would read all their postings.
        """
        asked = {field: list(of_field) for field, of_field in terms.items()}
        body = {
            "doc": {field: " ".join(of_field) for field, of_field in asked.items()},
            "term_statistics": True, "field_statistics": False,
            "positions": False, "offsets": False, "payloads": False,
        }  # fmt: skip
        counts = {field: dict.fromkeys(of_field, 0) for field, of_field in asked.items()}
        for shard in range(self._shards if any(asked.values()) else 0):
            answer = _patiently(
                self._client.termvectors, index=self._index, body=body,
                params={"preference": f"_shards:{shard}"},
            )  # fmt: skip
            for field, vector in answer["term_vectors"].items():
                for term, statistics in vector["terms"].items():
                    counts[field][term] += statistics.get("doc_freq", 0)
        return {
            field: {term: count for term, count in of_field.items() if count}
            for field, of_field in counts.items()
        }

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
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

    attempt, end = 0, time.monotonic() + (_PATIENCE if patience is None else patience)
    while True:
        try:
            return call(**arguments)
        except exceptions.TransportError as error:
            sentence = _sentence(error)
            if error.status_code not in _PASSING or re.search(_LASTING, sentence):
                raise InputError(sentence) from None
            if time.monotonic() > end:
                raise InterruptedWorkError(f"{sentence}; the same command goes on later") from None
        except (exceptions.ImproperlyConfigured, exceptions.SerializationError) as error:
            raise InputError(f"OpenSearch: what answered is not OpenSearch ({error})") from None
        if attempt == 3:
            tell(f"{sentence}; trying again")
        time.sleep(min(0.1 * 2**attempt, 5))
        attempt += 1


# What is in the words of an error → what to do.
_CURES: Final = {
    "CERTIFICATE_VERIFY_FAILED": f"{_VARIABLES}CA names a file with the authority that signs here",
    "CERTIFICATE_REQUIRED|violation of protocol": f"set {_VARIABLES}CERTIFICATE and _KEY to yours",
    "WRONG_VERSION_NUMBER": "no TLS is spoken there; see to the port",
    "401": f"set {_VARIABLES}USER and _PASSWORD, or {_VARIABLES}API_KEY or _TOKEN, to who may",
    "FORBIDDEN/1[02]|REQUESTS/12": "its nodes lack disk; make room",
    "blocked by": "somebody set this block; PUT NAME/_settings lifts it",
    "index_closed": "POST NAME/_open opens it, or `arqmath-bm25 cluster --remove NAME` removes it",
    "not an alias|no such index": "somebody removed it meanwhile; the same command loads it again",
    "search_phase_execution": "a shard may be on no node: `arqmath-bm25 cluster` tells",
    "routing is required": "a template of the cluster for arqmath-* asks for it; change that",
    "403": "this user lacks a right; docs/USAGE.md lists those that are needed",
    "413": "a proxy before the cluster must let larger requests pass",
    _CLAUSES: "set indices.query.bool.max_clause_count: 1048576 in the cluster's settings",
    "Connection refused": "see whether it runs, and to the port",
}


def _sentence(error: Any) -> str:
    """Return the cluster's error as one sentence, with what to do about it."""
    cause = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(cause, dict):
        cause = (cause.get("root_cause") or [cause])[0]
        words = f"{cause.get('reason')} ({error.status_code}, {cause.get('type')})"
    else:
        words = f"{' '.join(str(cause or error.error).split())[:300]} ({error.status_code})"
    cures = (f"; {cure}" for sign, cure in _CURES.items() if re.search(sign, words))
    return f"OpenSearch: {words}{next(cures, '')}"
