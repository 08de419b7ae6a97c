"""Loads indexes into a cluster, seals, checks, copies, lists and removes them.

A collection is one index or several, which are searched at once. The documents are the JSON lines
that Lucene gets. The name of an index ends with a digest of its content: other data or settings
make another index, and users with the same data and settings share one. Loading removes nothing,
and resumes where an earlier load stopped, since a document is created once under its id.

Nobody changes an index unnoticed. Once loaded it is blocked for writing, and its mapping notes the
number of the last operation of each shard, which any change of a document raises. Opening an index
compares these numbers, the similarity, the analysis and the fields with those of its load.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.engines.opensearch.connection import connect, patiently, search_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arqmath_bm25.core.workers import Workers

_LARGEST: Final = 2**31 - 1  # hits
_REQUEST: Final = 1_000_000  # bytes of documents in one: proxies often allow a megabyte
_SMALLEST: Final = 1 << 14
_NAME: Final = re.compile(r"arqmath-.+-[0-9a-f]{12}")


_NO_COUNTS: Final[Mapping[str, int]] = MappingProxyType({})


class ClusterIndex(NamedTuple):
    """The content of an index in a cluster, and the parameters of its scores."""

    label: str  # for people
    content: str  # a digest of the documents
    documents: int
    fields: tuple[str, ...]  # besides `contents`
    k1: float
    b: float
    counts: Mapping[str, int] = _NO_COUNTS  # what was counted when the documents were made
    collection: str = ""  # that it was made for; another one may have the same documents

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


def is_loaded(client: Any, index: ClusterIndex) -> bool:
    """Return whether the cluster has all of an index.

    Raises InputError if others have that name, or changed the index after its load.
    """
    return "numbers" in _meta(_index_description(client, index) or {})


def counts_if_loaded(client: Any, index: ClusterIndex) -> dict[str, int] | None:
    """Return the counts that an index was loaded with; None unless the cluster has all of it.

    Raises InputError as `is_loaded` does.
    """
    meta = _meta(_index_description(client, index) or {})
    if "numbers" not in meta:
        return None
    counts: dict[str, int] = meta["counts"]
    return counts


def described_if_loaded(client: Any, index: ClusterIndex) -> dict[str, Any]:
    """Return settings and mappings of an index; InputError unless it is there as it was loaded."""
    described = _index_description(client, index)
    if described is None:
        raise _incomplete(index, 0)
    if "numbers" not in _meta(described):
        raise _incomplete(index, _count(client, index.name))
    return described


def _index_description(client: Any, index: ClusterIndex) -> dict[str, Any] | None:
    """Return settings and mappings of an index in the cluster; None if there is none.

    Raises InputError as `is_loaded` does.
    """
    described = _described_unchecked(client, index)
    if described is None:
        return None

    changed = _changed(client, index, described)
    if changed:
        raise InputError(
            f"{index.name}: somebody changed its {changed} in the cluster; remove it (`arqmath-bm25"
            " cluster --remove`) and load it again (`index --engine opensearch`)"
        )
    return described


def _described_unchecked(client: Any, index: ClusterIndex) -> dict[str, Any] | None:
    """Return settings and mappings of an index; InputError if others have that name."""
    answer = patiently(client.indices.get, index=index.name, ignore=404)
    if answer.get("status") == 404:
        return None

    described: dict[str, Any] = answer.get(index.name, {})
    if _meta(described).get("made_of") != index.made_of:
        raise InputError(
            f"{index.name}: the cluster has an index or alias of this name that this program did "
            "not make; rename it, or take another cluster"
        )
    return described


def _changed(client: Any, index: ClusterIndex, described: dict[str, Any]) -> str | None:
    """Return what of an index is not as it was loaded; None if all is.

    Further fields do no harm: no document has them, and no search asks for them.
    """
    settings = described["settings"]["index"]
    similarity = settings.get("similarity", {}).get("default")
    if similarity != {"type": "BM25", "k1": str(index.k1), "b": str(index.b)}:
        return "similarity"
    if "analysis" in settings:  # it may define another analyzer called whitespace
        return "analysis"
    properties = described["mappings"]["properties"]
    if any(properties.get(name) != field for name, field in _fields(index).items()):
        return "fields"

    noted = _meta(described).get("numbers")
    if noted is None:
        return None
    now = _numbers(client, index.name)
    if any(noted.get(shard) != number for shard, number in now.items()):
        return "documents"
    return None


def _meta(described: Any) -> dict[str, Any]:
    return described.get("mappings", {}).get("_meta") or {}


def _numbers(client: Any, name: str) -> dict[str, int]:
    """Return shard → the number of its last operation, of the shards that a live node has.

    Each change of a document is an operation.
    """
    stats = patiently(client.indices.stats, index=name, metric="docs", level="shards")
    shards = stats["indices"].get(name, {"shards": {}})["shards"]
    return {shard: copies[0]["seq_no"]["max_seq_no"] for shard, copies in shards.items()}


def _count(client: Any, name: str) -> int:
    """Count the documents of an index by a search, which fails if a shard does."""
    answer = search_all(client, name, {"size": 0, "track_total_hits": True})
    return int(answer["hits"]["total"]["value"])


def check_rights(hosts: Sequence[str]) -> None:
    """Load an index of one document and remove it; InputError names the first right missing."""
    index = ClusterIndex("rights", os.urandom(8).hex(), 1, (), 1.2, 0.75)
    with closing(connect(hosts)) as client, TemporaryDirectory() as directory:
        # The right to remove comes first: without it, what this trial loads would stay.
        patiently(client.indices.delete, index=index.name, ignore=404)
        document = '{"id": "1", "contents": "1"}\n'
        part = Path(directory, "part.jsonl")
        part.write_text(document, encoding="ascii")
        try:
            load_documents(hosts, index, [part])
        except InputError:
            with suppress(InputError):
                remove_index(client, index.name)
            raise
        remove_index(client, index.name)


def load_documents(
    hosts: Sequence[str],
    index: ClusterIndex,
    parts: Iterable[Path],
    shards: int = 1,
    workers: Workers = HERE,
) -> None:
    """Load files of JSON lines, a document on each, into a cluster.

    Each worker loads parts by a client of its own. Documents of an earlier load stay. Raises
    InputError if documents are missing at the end; the next call loads them.
    """
    name = index.name
    with closing(connect(hosts)) as client:
        described = _index_description(client, index) or _create_index(client, index, shards)
        if _count(client, name) != index.documents:
            _load_parts(hosts, index, parts, workers)
            patiently(client.indices.refresh, index=name)
            # Copies are made of what is flushed: there are no sources to index it once more.
            patiently(client.indices.flush, index=name)
        count = _count(client, name)
        if count != index.documents:
            raise _incomplete(index, count)

        _seal(client, name, described)


def _seal(client: Any, name: str, described: dict[str, Any]) -> None:
    """Block a loaded index for writing, and note the number of the last operation of each shard."""
    patiently(client.indices.put_settings, index=name, body={"index.blocks.write": True})
    numbers = _numbers(client, name)
    shards = int(described["settings"]["index"]["number_of_shards"])
    missing = shards - len(numbers)
    if missing:
        raise InterruptedWorkError(
            f"{name}: {missing} of {shards} shards are on no node; start theirs, then the same "
            "command goes on"
        )
    meta = {**_meta(described), "numbers": numbers}
    patiently(client.indices.put_mapping, index=name, body={"_meta": meta})


def _create_index(client: Any, index: ClusterIndex, shards: int) -> dict[str, Any]:
    """Make an empty index, unless another load does so at the same time; return how it is there."""
    name = index.name
    answer = patiently(client.indices.create, index=name, body=_settings(index, shards), ignore=400)
    described = _described_unchecked(client, index)
    if described is None:
        raise InputError(f"{name}: {answer['error']['reason']}")

    changed = _changed(client, index, described)
    if changed:
        patiently(client.indices.delete, index=name)  # nothing is in it yet
        raise InputError(
            f"{name}: a template of the cluster for such names sets its {changed}; ask for a "
            "template that leaves out arqmath-*, or for one of arqmath-* with a higher priority"
        )
    return described


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
    """Return settings and mappings that no template of the cluster overrides."""
    return {
        "aliases": {_alias(index.name): {}},
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,  # until all documents are there
            "refresh_interval": -1,
            "max_result_window": _LARGEST,
            "default_pipeline": "_none",
            "final_pipeline": "_none",
            "search.default_pipeline": "_none",
            "blocks.write": False,
            "mapping.total_fields.limit": 1000,
            "similarity": {"default": {"type": "BM25", "k1": index.k1, "b": index.b}},
        },
        "mappings": {
            "dynamic": False,
            "_meta": {
                "made_of": index.made_of,
                "documents": index.documents,
                "counts": dict(index.counts),
                "collection": index.collection,
            },
            "_source": {"enabled": False, "recovery_source_enabled": False},
            "properties": _fields(index),
        },
    }


def _load_parts(
    hosts: Sequence[str], index: ClusterIndex, parts: Iterable[Path], workers: Workers
) -> None:
    load = partial(_load_part, hosts, index.name)
    title = "Loading documents into the cluster"
    with progress(title, index.documents, "documents") as loaded:
        for count in workers.map(load, parts):
            loaded(count)


def _load_part(hosts: Sequence[str], name: str, part: Path) -> int:
    """Create the documents of a part; return their number.

    Those that the cluster refuses for now are sent again.
    """
    with part.open(encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    missing = lines
    with closing(connect(hosts, patience=None)) as client:
        while missing:
            missing = patiently(_create, client=client, name=name, lines=missing, size=_REQUEST)
    return len(lines)


def _create(client: Any, name: str, lines: Sequence[str], size: int) -> list[str]:
    """Create documents by requests of at most `size` bytes; return those refused for now.

    Raises what the cluster answered if it refuses a whole request or every document.
    """
    from opensearchpy.exceptions import TransportError
    from opensearchpy.helpers import streaming_bulk

    answers = streaming_bulk(
        client,
        lines,
        chunk_size=len(lines),
        max_chunk_bytes=size,
        raise_on_error=False,
        expand_action_callback=_action,
        index=_alias(name),
        require_alias=True,
        filter_path="items.create.status,items.create.error.reason",
    )
    refused = list[str]()
    reason = ""
    status = 0
    try:
        for line, (created, answer) in zip(lines, answers, strict=True):
            outcome = answer["create"]
            if not created and outcome["status"] != 409:  # 409: an earlier try created it
                refused.append(line)
                reason = outcome["error"]["reason"]
                status = outcome["status"]
    except TransportError as error:
        if error.status_code == 413 and size > _SMALLEST:
            return _create(client, name, lines, size // 2)
        raise
    if len(refused) == len(lines):
        raise TransportError(status, reason, {})
    return refused


def _action(line: str) -> tuple[dict[str, Any], str]:
    return {"create": {"_id": json.loads(line)["id"]}}, line


def add_replicas(client: Any, index: ClusterIndex, replicas: int, patience: int = 15) -> None:
    """Raise the number of replicas of every shard to at least `replicas`; wait for the copies.

    The index serves without them: what goes wrong is a note, as are `patience` seconds after which
    nothing is being copied.
    """
    name = index.name
    try:
        described = patiently(client.indices.get_settings, index=name)[name]
        if int(described["settings"]["index"]["number_of_replicas"]) < replicas:
            settings = {"number_of_replicas": replicas}
            patiently(client.indices.put_settings, index=name, body=settings)
        if replicas:
            _wait_for_copies(client, name, patience)
    except InputError as error:
        tell(f"{name} can be searched, but not all of its replicas are there: {error}")


def _wait_for_copies(client: Any, name: str, patience: int) -> None:
    copying = True
    while copying:
        health = patiently(
            client.cluster.health,
            index=name,
            wait_for_status="green",
            timeout=f"{patience}s",
            request_timeout=60 + patience,
            ignore=408,
        )
        copying = health["initializing_shards"] > 0
    missing = health["unassigned_shards"]
    if missing:
        raise InputError(f"{missing} copies of shards are missing; see to its nodes' disks")


class ClusterIndexInfo(NamedTuple):
    """An index of this program that a cluster has."""

    name: str
    state: str  # "complete", or what is wrong with it
    collection: str  # that it was made for
    documents: int
    size: int  # bytes, with replicas


def stored_indexes(client: Any) -> list[ClusterIndexInfo]:
    """Return the indexes in a cluster that this program made, whoever called it."""
    resolved = patiently(
        client.indices.resolve_index, name="arqmath-*", params={"expand_wildcards": "all"}
    )
    names = sorted(index["name"] for index in resolved["indices"])
    stored = [_cluster_index_info(client, name) for name in names if _NAME.fullmatch(name)]
    return [index for index in stored if index is not None]


def _is_ours(name: str, described: Any) -> bool:
    return bool(_NAME.fullmatch(name)) and "made_of" in _meta(described.get(name, {}))


def _cluster_index_info(client: Any, name: str) -> ClusterIndexInfo | None:
    """Describe an index of the cluster; None if it is not of this program, or was just removed."""
    try:
        described = patiently(client.indices.get, index=name, ignore=404)
    except InterruptedWorkError:
        raise
    except InputError as error:  # one that is blocked must not hide the others
        return ClusterIndexInfo(name, str(error), "", 0, 0)
    if not _is_ours(name, described):
        return None

    meta = _meta(described[name])
    settings = described[name]["settings"]["index"]
    expected = meta.get("documents", 0)
    collection = meta.get("collection", "")
    if "verified_before_close" in settings:
        return ClusterIndexInfo(name, "closed; POST NAME/_open opens it", collection, expected, 0)

    stats = patiently(client.indices.stats, index=name, metric="docs,store", level="shards")
    copies_of_shard = stats["indices"].get(name, {"shards": {}})["shards"].values()
    documents = sum(copies[0]["docs"]["count"] for copies in copies_of_shard)
    size = sum(copy["store"]["size_in_bytes"] for copies in copies_of_shard for copy in copies)

    shards = int(settings["number_of_shards"])
    wanted = shards * (1 + int(settings["number_of_replicas"]))
    without_node = shards - len(copies_of_shard)
    missing = wanted - sum(map(len, copies_of_shard))
    if without_node:
        state = f"red: {without_node} of {shards} shards are on no node; start theirs, or remove it"
    elif "numbers" not in meta:
        state = f"incomplete: `index` resumes the load of its {expected:,} documents"
    elif missing:
        state = f"yellow: {missing} copies of shards are missing, none that searches need"
    else:
        state = "complete"
    return ClusterIndexInfo(name, state, collection, documents, size)


def remove_index(client: Any, name: str) -> None:
    """Remove an index from a cluster; InputError unless this program made it."""
    described = {}
    if _NAME.fullmatch(name):
        described = patiently(client.indices.get, index=name, ignore=404)
    if not _is_ours(name, described):
        raise InputError(
            f"{name}: not an index of this program; `arqmath-bm25 cluster` lists those that are"
        )
    patiently(client.indices.delete, index=name)
