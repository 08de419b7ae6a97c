"""Loads indexes into a cluster, seals, checks, copies, lists and removes them.

A collection is one index or several, which are searched at once. The documents are the JSON lines
that Lucene gets. The name of an index ends with a digest of its content: other data or settings
make another index, and users with the same data and settings share one. Loading removes nothing,
and resumes where an earlier load stopped, since a document is created once under its id.

Changes of an index are noticed. A loaded index is blocked for writing, and its mapping records the
number of the last operation of each shard, which any change of a document raises. Opening an index
compares these numbers, the similarity, the analysis and the fields with their state after the load.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
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
from arqmath_bm25.engines.engine import NONE_OF_ITS_OWN, Parameters
from arqmath_bm25.engines.opensearch.connection import connect, patiently, search_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arqmath_bm25.core.workers import Workers

_LARGEST: Final = 2**31 - 1  # hits
_REQUEST: Final = 1_000_000  # bytes of documents in one: proxies often allow a megabyte
_SMALLEST: Final = 1 << 14
_MERGING: Final = 600  # seconds to wait until the segments of an index are merged
_LONGEST_TRIAL: Final = 3600  # seconds; a trial of rights takes one
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
    collection: str = ""  # the first one that it was made for: others may have the same documents
    by_field: Parameters = NONE_OF_ITS_OWN

    @property
    def made_of(self) -> str:
        """A digest of all that decides a ranking."""
        parts = [self.content, *self.fields, float(self.k1), float(self.b), *self.by_field.items()]
        text = json.dumps(parts)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name in the cluster, of the letters that are allowed there."""
        label = re.sub(r"[^a-z0-9._-]", "-", self.label.lower())[:200]
        return f"arqmath-{label}-{self.made_of[:12]}"


def is_loaded(client: Any, index: ClusterIndex) -> bool:
    """Return whether the cluster has all of an index.

    Raises InputError if others have that name, or changed the index after its load.
    """
    description = _index_description(client, index)
    return description is not None and "numbers" in _meta(description)


def counts_if_loaded(client: Any, index: ClusterIndex) -> dict[str, int] | None:
    """Return the counts that an index was loaded with; None unless the cluster has all of it.

    Raises InputError as `is_loaded` does.
    """
    description = _index_description(client, index)
    if description is None:
        return None

    meta = _meta(description)
    if "numbers" not in meta:
        return None
    counts: dict[str, int] = meta["counts"]
    return counts


def description_if_loaded(client: Any, index: ClusterIndex) -> dict[str, Any]:
    """Return settings and mappings of an index; InputError if it is incomplete or was changed."""
    description = _index_description(client, index)
    if description is None:
        raise _incomplete(index, 0)
    if "numbers" not in _meta(description):
        raise _incomplete(index, _count(client, index.name))
    return description


def _index_description(client: Any, index: ClusterIndex) -> dict[str, Any] | None:
    """Return settings and mappings of an index in the cluster; None if there is none.

    Raises InputError as `is_loaded` does.
    """
    description = _unchecked_description(client, index)
    if description is None:
        return None

    changed = _changed(client, index, description)
    if changed:
        raise InputError(
            f"{index.name}: somebody changed its {changed} in the cluster; remove it (`arqmath-bm25"
            " cluster`) and load it again (`arqmath-bm25 index`)"
        )
    return description


def _unchecked_description(client: Any, index: ClusterIndex) -> dict[str, Any] | None:
    """Return settings and mappings of an index; InputError if others have that name."""
    answer = patiently(client.indices.get, index=index.name, ignore=404)
    if answer.get("status") == 404:
        return None

    description: dict[str, Any] = answer.get(index.name, {})
    if _meta(description).get("made_of") != index.made_of:
        raise InputError(
            f"{index.name}: the cluster has an index or alias of this name that this program did "
            "not make; rename it, or take another cluster"
        )
    return description


def _changed(client: Any, index: ClusterIndex, description: dict[str, Any]) -> str | None:
    """Name the part of an index that was changed after its load; None if nothing was.

    Additional fields and similarities do no harm: no document has them, and no search reads them.
    """
    settings = description["settings"]["index"]
    similarities = settings.get("similarity", {})
    for name, similarity in _similarities(index).items():
        if similarities.get(name) != similarity:
            return "similarity"
    # An analysis of the index could define another analyzer called whitespace.
    if "analysis" in settings:
        return "analysis"

    properties = description["mappings"]["properties"]
    for name, field in _fields(index).items():
        if properties.get(name) != field:
            return "fields"

    numbers_of_load = _meta(description).get("numbers")
    if numbers_of_load is None:
        return None
    for shard, number in _numbers(client, index.name).items():
        if numbers_of_load.get(shard) != number:
            return "documents"
    return None


def _meta(description: Any) -> dict[str, Any]:
    mappings = description.get("mappings", {})
    return mappings.get("_meta") or {}


def _numbers(client: Any, name: str) -> dict[str, int]:
    """Return shard → the number of its last operation, for the shards on live nodes.

    Each change of a document is an operation.
    """
    numbers = {}
    for shard, copies in _copies_of_shards(client, name, "docs").items():
        sequence = copies[0]["seq_no"]
        numbers[shard] = sequence["max_seq_no"]
    return numbers


def _copies_of_shards(client: Any, name: str, metric: str) -> dict[str, list[Any]]:
    """Return shard → the statistics of its copies, for the shards on live nodes."""
    stats = patiently(client.indices.stats, index=name, metric=metric, level="shards")
    of_index = stats["indices"].get(name, {"shards": {}})
    copies: dict[str, list[Any]] = of_index["shards"]
    return copies


def _count(client: Any, name: str) -> int:
    """Count the documents of an index by a search, which fails if a shard does."""
    body = {"size": 0, "track_total_hits": True}
    answer = search_all(client, name, body)
    total = answer["hits"]["total"]
    return int(total["value"])


def check_rights(hosts: Sequence[str], replicas: int = 0) -> None:
    """Load an index of one document and remove it; InputError names the first right missing.

    The rights to make replicas are tried if there will be any.
    """
    index = ClusterIndex("rights", os.urandom(8).hex(), 1, (), 1.2, 0.75)
    with closing(connect(hosts)) as client, TemporaryDirectory() as directory:
        # The right to remove comes first: without it, the documents of this trial would stay.
        patiently(client.indices.delete, index=index.name, ignore=404)
        _remove_former_trials(client)
        document = '{"id": "1", "contents": "1"}\n'
        part = Path(directory, "part.jsonl")
        part.write_text(document, encoding="ascii")
        try:
            load_documents(hosts, index, [part])
            if replicas:  # `add_replicas` only reports the rights that it lacks.
                patiently(client.indices.get_settings, index=index.name)
                patiently(client.cluster.health, index=index.name)
        except InputError:
            with suppress(InputError):
                remove_index(client, index.name)
            raise
        remove_index(client, index.name)


def _remove_former_trials(client: Any) -> None:
    """Remove what trials of rights left that were killed."""
    answer = patiently(client.indices.get, index="arqmath-rights-*", ignore=404)
    latest = 1000 * (time.time() - _LONGEST_TRIAL)
    for name in answer:
        if not _is_ours(name, answer):
            continue
        created = int(answer[name]["settings"]["index"]["creation_date"])
        if created < latest:
            remove_index(client, name)


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
        description = _index_description(client, index)
        if description is None:
            description = _create_index(client, index, shards)

        if _count(client, name) != index.documents:
            _load_parts(hosts, index, parts, workers)
            _merge_segments(client, name)
            patiently(client.indices.refresh, index=name)
            # Replicas copy flushed segments: without sources they cannot index documents again.
            patiently(client.indices.flush, index=name)
        count = _count(client, name)
        if count != index.documents:
            raise _incomplete(index, count)

        _seal(client, name, description)


def _merge_segments(client: Any, name: str) -> None:
    """Merge the segments of each shard into one: each costs every topic 3 ms of a node's CPU.

    If the cluster does not answer in time, it goes on merging, and the index serves as it is.
    """
    with suppress(InterruptedWorkError):
        patiently(
            client.indices.forcemerge,
            patience=0,
            index=name,
            max_num_segments=1,
            request_timeout=_MERGING,
        )


def _seal(client: Any, name: str, description: dict[str, Any]) -> None:
    """Block a loaded index for writing, and note the number of the last operation of each shard."""
    patiently(client.indices.put_settings, index=name, body={"index.blocks.write": True})
    numbers = _numbers(client, name)
    shards = int(description["settings"]["index"]["number_of_shards"])
    missing = shards - len(numbers)
    if missing:
        raise InterruptedWorkError(
            f"{name}: {missing} of {shards} shards are on no node; start theirs, then the same "
            "command goes on"
        )
    meta = {**_meta(description), "numbers": numbers}
    patiently(client.indices.put_mapping, index=name, body={"_meta": meta})


def _create_index(client: Any, index: ClusterIndex, shards: int) -> dict[str, Any]:
    """Create an empty index, unless another load just did; return its settings and mappings."""
    name = index.name
    settings = _settings(index, shards)
    answer = patiently(client.indices.create, index=name, body=settings, ignore=400)
    description = _unchecked_description(client, index)
    if description is None:
        raise InputError(f"{name}: {answer['error']['reason']}")

    changed = _changed(client, index, description)
    if changed:
        patiently(client.indices.delete, index=name)  # The index is still empty.
        raise InputError(
            f"{name}: a template of the cluster for such names sets its {changed}; ask for a "
            "template that leaves out arqmath-*, or for one of arqmath-* with a higher priority"
        )
    return description


def _incomplete(index: ClusterIndex, count: int) -> InputError:
    return InputError(
        f"{index.name}: OpenSearch has {count:,} of {index.documents:,} documents of these "
        "data and settings; `arqmath-bm25 index` loads the others"
    )


def _alias(name: str) -> str:
    """Return the alias for loading: writing to an alias does not create a missing index."""
    return f"{name}.load"


def _fields(index: ClusterIndex) -> dict[str, Any]:
    text = {
        "type": "text",
        "index_options": "freqs",
        "analyzer": "whitespace",
    }
    fields: dict[str, Any] = {"id": {"type": "keyword", "index": False}}
    for name in ("contents", *index.fields):
        fields[name] = text
    for name in index.by_field:
        fields[name] = {**text, "similarity": name}
    return fields


def _similarities(index: ClusterIndex) -> dict[str, dict[str, str]]:
    """Return the similarities by name: that of most fields, and of each with its own, as it is."""
    parameters = {"default": (index.k1, index.b), **index.by_field}
    similarities = {}
    for name, (k1, b) in parameters.items():
        similarities[name] = {"type": "BM25", "k1": str(k1), "b": str(b)}
    return similarities


def _settings(index: ClusterIndex, shards: int) -> dict[str, Any]:
    """Return settings and mappings that no template of the cluster overrides."""
    return {
        "aliases": {_alias(index.name): {}},
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,  # `add_replicas` raises it after the load.
            "refresh_interval": -1,
            "max_result_window": _LARGEST,
            "default_pipeline": "_none",
            "final_pipeline": "_none",
            "search.default_pipeline": "_none",
            "blocks.write": False,
            "mapping.total_fields.limit": 1000,
            "similarity": _similarities(index),
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

    Documents that the cluster rejects temporarily are sent again.
    """
    with part.open(encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]

    missing = lines
    with closing(connect(hosts, patience=None)) as client:
        create = partial(_create, client, name)
        while missing:
            missing = patiently(create, lines=missing, size=_REQUEST)
    return len(lines)


def _create(client: Any, name: str, lines: Sequence[str], size: int) -> list[str]:
    """Create documents by requests of at most `size` bytes; return the temporarily rejected ones.

    Raises TransportError if the cluster rejects a whole request or every document.
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
    rejected = list[str]()
    refusal: dict[str, Any] = {}
    try:
        for line, (created, answer) in zip(lines, answers, strict=True):
            outcome = answer["create"]
            # Status 409 says that an earlier try created the document.
            if not created and outcome["status"] != 409:
                rejected.append(line)
                refusal = outcome
    except TransportError as error:
        if error.status_code == 413 and size > _SMALLEST:
            return _create(client, name, lines, size // 2)
        raise
    if len(rejected) == len(lines):
        raise TransportError(refusal["status"], refusal["error"]["reason"], {})
    return rejected


def _action(line: str) -> tuple[dict[str, Any], str]:
    document = json.loads(line)
    action = {"create": {"_id": document["id"]}}
    return action, line


def add_replicas(client: Any, index: ClusterIndex, replicas: int, patience: int = 15) -> None:
    """Raise the number of replicas of every shard to at least `replicas`; wait for the copies.

    The index serves without replicas, so failures are only reported; so is it if nothing is being
    copied after `patience` seconds.
    """
    if not replicas:
        return
    name = index.name
    try:
        answer = patiently(client.indices.get_settings, index=name)
        current = answer[name]["settings"]["index"]["number_of_replicas"]
        if int(current) < replicas:
            settings = {"number_of_replicas": replicas}
            patiently(client.indices.put_settings, index=name, body=settings)
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
    collection: str  # the one that it was made for
    documents: int
    size: int  # bytes, with replicas


def stored_indexes(client: Any) -> list[ClusterIndexInfo]:
    """Return the indexes in a cluster that this program made, whoever called it."""
    resolved = patiently(
        client.indices.resolve_index,
        name="arqmath-*",
        params={"expand_wildcards": "all"},
    )
    names = sorted(index["name"] for index in resolved["indices"])

    stored = []
    for name in names:
        if _NAME.fullmatch(name):
            info = _cluster_index_info(client, name)
            if info is not None:
                stored.append(info)
    return stored


def _is_ours(name: str, answer: Any) -> bool:
    if not _NAME.fullmatch(name):
        return False
    description = answer.get(name, {})
    return "made_of" in _meta(description)


def _cluster_index_info(client: Any, name: str) -> ClusterIndexInfo | None:
    """Describe an index of the cluster; None if it is not of this program, or was just removed."""
    try:
        answer = patiently(client.indices.get, index=name, ignore=404)
    except InterruptedWorkError:
        raise
    except InputError as error:  # An index that is blocked must not hide the others.
        return ClusterIndexInfo(name, str(error), "", 0, 0)
    if not _is_ours(name, answer):
        return None

    meta = _meta(answer[name])
    settings = answer[name]["settings"]["index"]
    expected = meta.get("documents", 0)
    collection = meta.get("collection", "")
    if "verified_before_close" in settings:
        return ClusterIndexInfo(name, "closed; POST NAME/_open opens it", collection, expected, 0)

    copies_of_shards = _copies_of_shards(client, name, "docs,store")
    documents = 0
    size = 0
    for copies in copies_of_shards.values():
        documents += copies[0]["docs"]["count"]
        size += sum(copy["store"]["size_in_bytes"] for copy in copies)

    state = _state(settings, meta, copies_of_shards)
    return ClusterIndexInfo(name, state, collection, documents, size)


def _state(
    settings: Mapping[str, str],
    meta: Mapping[str, Any],
    copies_of_shards: Mapping[str, list[Any]],
) -> str:
    """Return "complete", or a sentence on the shards or documents that an index lacks."""
    shards = int(settings["number_of_shards"])
    without_node = shards - len(copies_of_shards)
    if without_node:
        return f"red: {without_node} of {shards} shards are on no node; start theirs, or remove it"

    if "numbers" not in meta:
        expected = meta.get("documents", 0)
        return f"incomplete: `index` resumes the load of its {expected:,} documents"

    replicas = int(settings["number_of_replicas"])
    copies = sum(map(len, copies_of_shards.values()))
    missing = shards * (1 + replicas) - copies
    if missing:
        return f"yellow: {missing} copies of shards are missing, none that searches need"
    return "complete"


def remove_index(client: Any, name: str) -> None:
    """Remove an index from a cluster; InputError unless this program made it."""
    answer = {}
    if _NAME.fullmatch(name):
        answer = patiently(client.indices.get, index=name, ignore=404)
    if not _is_ours(name, answer):
        raise InputError(
            f"{name}: not an index of this program; `arqmath-bm25 cluster` lists those that are"
        )
    patiently(client.indices.delete, index=name)
