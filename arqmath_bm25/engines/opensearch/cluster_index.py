"""Loads indexes into a cluster, changes, seals, checks, lists and removes them.

The documents are the JSON lines that Lucene gets. The name of an index ends with an id of its own,
which the store that it belongs to keeps. A load resumes where an earlier one stopped, since
a document is created once under its id. A change is made in a copy, which shares the files of the
index: that one stays as it is, and serves, until the copy is complete.

Deleted documents still count in the statistics of terms. OpenSearch keeps them until no copy of
their shard may ask for them (a lease), so a change ends when the last of them is merged away.

What others do to an index is noticed. A complete one is blocked for writing, and its mapping
records the number of the last operation of each shard, which any change of a document raises.
Opening an index compares these numbers, the similarity, the analysis and the fields with their
state then.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.manifest import digest_of
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.records import Json
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.opensearch.connection import connect, patiently, search_all

_LARGEST = 2**31 - 1  # hits
_REQUEST = 1_000_000  # bytes of documents in one: proxies often allow a megabyte
_SMALLEST = 1 << 14
_MERGING = 600  # seconds to wait until the segments of an index are merged
_LEASES = 60  # seconds to wait until deleted documents may go
_LONGEST_TRIAL = 3600  # seconds; a trial of rights takes one
_NAME = re.compile(r"arqmath-.+-[0-9a-f]{12}")


class ClusterIndex(NamedTuple):
    """An index in a cluster: its name there, its content, and the parameters of its scores."""

    name: str
    content: str  # a digest of all that the documents are made of
    documents: int
    fields: tuple[str, ...]  # besides `contents`
    bm25: Bm25
    collection: str = ""

    @property
    def made_of(self) -> str:
        """A digest of all that decides a ranking."""
        numbers = float(self.bm25.k1), float(self.bm25.b)
        return digest_of([self.content, *self.fields, *numbers, *self.bm25.by_field.items()])


def new_name(label: str) -> str:
    """Return a name with an id that no other index has."""
    return f"arqmath-{label}-{os.urandom(6).hex()}"


def is_loaded(client: Any, index: ClusterIndex) -> bool:
    """Return whether the cluster has all of an index.

    Raises InputError if others have that name, or changed the index after its load.
    """
    return "numbers" in _meta(_index_description(client, index))


def description_if_loaded(client: Any, index: ClusterIndex) -> Json:
    """Return settings and mappings of an index; InputError if it is incomplete or was changed."""
    description = _index_description(client, index)
    if "numbers" not in _meta(description):
        count = 0
        if description:
            count = _count(client, index.name)
        raise _incomplete(index, count)
    return description


def _index_description(client: Any, index: ClusterIndex) -> Json:
    """Return settings and mappings of an index in the cluster, none if it is missing.

    Raises InputError as `is_loaded` does.
    """
    description = _unchecked_description(client, index)
    changed = _changed(client, index, description)
    if changed:
        raise InputError(
            f"{index.name}: somebody changed its {changed} in the cluster; remove it (`arqmath-bm25"
            " cluster`) and load it again (`arqmath-bm25 index`)"
        )
    return description


def _unchecked_description(client: Any, index: ClusterIndex) -> Json:
    """Return settings and mappings of an index; none if it is of other documents or settings.

    Raises InputError if others have that name.
    """
    answer = patiently(client.indices.get, index=index.name, ignore=404)
    if answer.get("status") == 404:
        return {}

    if not _is_ours(index.name, answer):
        raise InputError(
            f"{index.name}: the cluster has an index or alias of this name that this program did "
            "not make; rename it, or take another cluster"
        )
    description: Json = answer[index.name]
    if _meta(description)["made_of"] != index.made_of:
        return {}
    return description


def _changed(client: Any, index: ClusterIndex, description: Json) -> str | None:
    """Name the part of an index that was changed after its load; None if nothing was.

    Additional fields and similarities do no harm: no document has them, and no search reads them.
    """
    if not description:
        return None
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
    for shard, (copy, *_) in _copies_of_shards(client, index.name, "docs").items():
        # Each change of a document is an operation of its shard.
        last = copy["seq_no"]["max_seq_no"]
        if copy["docs"]["deleted"] or last != numbers_of_load.get(shard):
            return "documents"
    return None


def _meta(description: Any) -> Json:
    mappings = description.get("mappings", {})
    return mappings.get("_meta") or {}


def _copies_of_shards(client: Any, name: str, metric: str) -> dict[str, list[Any]]:
    """Return shard → the statistics of its copies, for the shards on live nodes."""
    stats = patiently(client.indices.stats, index=name, metric=metric, level="shards")
    of_index = stats["indices"].get(name, {"shards": {}})
    copies: dict[str, list[Any]] = of_index["shards"]
    return copies


def _count(client: Any, name: str) -> int:
    """Count the documents of an index by a search, which fails if a shard does."""
    answer = search_all(client, name, {"size": 0, "track_total_hits": True})
    return int(answer["hits"]["total"]["value"])


def check_rights(hosts: Sequence[str], replicas: int = 0) -> None:
    """Load an index of one document, change it and remove it; InputError names a right missing.

    The rights to make replicas are tried if there will be any.
    """
    content = os.urandom(8).hex()
    index = ClusterIndex(new_name("rights"), content, 1, (), Bm25())
    changed = index._replace(name=new_name("rights"))
    with closing(connect(hosts)) as client:
        # The right to remove comes first: without it, the documents of this trial would stay.
        patiently(client.indices.delete, index=index.name, ignore=404)
        # So do those of trials that were killed.
        answer = patiently(client.indices.get, index="arqmath-rights-*", ignore=404)
        latest = 1000 * (time.time() - _LONGEST_TRIAL)
        for name in answer:
            if _is_ours(name, answer):
                created = answer[name]["settings"]["index"]["creation_date"]
                if int(created) < latest:
                    remove_index(client, name)
        try:
            _create_index(client, index, shards=1)
            _send(client, index.name, _creation, ['{"id": "1", "contents": "1"}'])
            _seal(client, index)
            _copy(client, index.name, changed)
            _send(client, changed.name, _removal, ["1"])
            _reopen(client, changed.name)
            if replicas:  # `add_replicas` only reports the rights that it lacks.
                patiently(client.indices.get_settings, index=index.name)
                patiently(client.cluster.health, index=index.name)
        finally:
            with suppress(InputError):
                patiently(client.indices.delete, index=changed.name, ignore=404)
                patiently(client.indices.delete, index=index.name, ignore=404)


def load_documents(
    hosts: Sequence[str],
    index: ClusterIndex,
    parts: Iterable[Path],
    shards: int = 1,
    workers: Workers = HERE,
    copied: str | None = None,
    gone: Sequence[str] = (),
) -> None:
    """Load files of JSON lines, a document on each, into a cluster.

    With the name of an index that is `copied`, into a copy of it without the documents `gone`. Each
    worker loads parts by a client of its own. Documents of an earlier load stay; a copy is made
    again. Raises InputError if documents are missing at the end; the next call loads them.
    """
    with closing(connect(hosts)) as client:
        if is_loaded(client, index):
            return
        if copied:
            _copy(client, copied, index)
            _send(client, index.name, _removal, gone)
        elif not _index_description(client, index):
            _create_index(client, index, shards)

        if copied or _count(client, index.name) != index.documents:
            load = partial(_load_part, hosts, index.name)
            about = "Loading documents into the cluster"
            with progress(about, index.documents, "documents") as loaded:
                for count in workers.map(load, parts):
                    loaded(count)
        if copied:
            _reopen(client, index.name)
        _seal(client, index)


def _copy(client: Any, name: str, index: ClusterIndex) -> None:
    """Copy a sealed index, which shares its files with the copy, under the name of another.

    Raises InterruptedWorkError unless each node has room for twice its shards of the index.
    """
    needed = Counter[str]()
    for copies in _copies_of_shards(client, name, "store").values():
        needed[copies[0]["routing"]["node"]] += 2 * copies[0]["store"]["size_in_bytes"]

    nodes = patiently(client.nodes.stats, metric="fs")["nodes"]
    for node, size in needed.items():
        free = nodes[node]["fs"]["total"]["available_in_bytes"]
        if free < size:
            raise InterruptedWorkError(
                f"{name}: to change it takes {size / 1e6:,.0f} MB on {nodes[node]['name']} for "
                f"a while, which has {free / 1e6:,.0f}; make room, then the same command goes on"
            )
    patiently(client.indices.delete, index=index.name, ignore=404)
    body = {
        "aliases": {_alias(index.name): {}},
        "settings": {"blocks.write": False, "number_of_replicas": 0},
    }
    answer = patiently(client.indices.clone, index=name, target=index.name, body=body, ignore=400)
    # A request that was repeated finds the copy of the first.
    if not patiently(client.indices.exists, index=index.name):
        raise InputError(f"{name}: {answer['error']['reason']}")
    patiently(client.indices.put_mapping, index=index.name, body={"_meta": _described(index)})


def _reopen(client: Any, name: str) -> None:
    """Open an index anew: a shard keeps deleted documents half a minute if it has not been."""
    patiently(client.indices.flush, index=name)
    patiently(client.indices.close, index=name)
    patiently(client.indices.open, index=name)


def _seal(client: Any, index: ClusterIndex) -> None:
    """Make an index durable, and block it for writing.

    Notes the number of the last operation of each shard. Raises InputError if it lacks documents.
    """
    name = index.name
    patiently(client.indices.refresh, index=name)
    # Replicas copy flushed segments: without sources they cannot index documents again.
    patiently(client.indices.flush, index=name)
    count = _count(client, name)
    if count != index.documents:
        raise _incomplete(index, count)

    _merge_all(client, name)
    patiently(client.indices.flush, index=name)
    patiently(client.indices.put_settings, index=name, body={"index.blocks.write": True})

    answer = patiently(client.indices.get, index=name)
    shards = int(answer[name]["settings"]["index"]["number_of_shards"])
    copies_of_shards = _copies_of_shards(client, name, "docs")
    missing = shards - len(copies_of_shards)
    if missing:
        raise InterruptedWorkError(
            f"{name}: {missing} of {shards} shards are on no node; start theirs, then the same "
            "command goes on"
        )
    numbers = {}
    for shard, (copy, *_) in copies_of_shards.items():
        numbers[shard] = copy["seq_no"]["max_seq_no"]
    meta = {**_described(index), "numbers": numbers}
    patiently(client.indices.put_mapping, index=name, body={"_meta": meta})


def _merge_all(client: Any, name: str) -> None:
    """Merge the segments of each shard into one, without any deleted document.

    Raises InterruptedWorkError that names the shard, and the lease that still keeps some.
    """
    end = time.monotonic() + _LEASES
    while True:
        # Each segment costs every topic 3 ms of a node's CPU. If the cluster does not answer in
        # time, it goes on merging, and the index serves as it is.
        with suppress(InterruptedWorkError):
            patiently(
                client.indices.forcemerge,
                patience=0,
                index=name,
                max_num_segments=1,
                request_timeout=_MERGING,
            )
        patiently(client.indices.refresh, index=name)
        copies_of_shards = _copies_of_shards(client, name, "docs,merge")
        held = ""
        for shard, (copy, *_) in copies_of_shards.items():
            if copy["merges"]["current"]:
                end = time.monotonic() + _LEASES
            if copy["docs"]["deleted"]:
                leases = copy["retention_leases"]["leases"]
                oldest = min(leases, key=itemgetter("retaining_seq_no"))
                held = f"of shard {shard} the lease {oldest['id']} ({oldest['source']})"
        if not held:
            return
        if time.monotonic() > end:
            raise InterruptedWorkError(
                f"{name}: {held} still keeps deleted documents, which scores would count; the "
                "former index serves on, and the same command tries it again"
            )
        time.sleep(0.5)


def _create_index(client: Any, index: ClusterIndex, shards: int) -> None:
    """Create an empty index, unless another load just did."""
    name = index.name
    body = _settings(index, shards)
    answer = patiently(client.indices.create, index=name, body=body, ignore=400)
    description = _unchecked_description(client, index)
    if not description:
        raise InputError(f"{name}: {answer['error']['reason']}")

    changed = _changed(client, index, description)
    if changed:
        patiently(client.indices.delete, index=name)  # The index is still empty.
        raise InputError(
            f"{name}: a template of the cluster for such names sets its {changed}; ask for a "
            "template that leaves out arqmath-*, or for one of arqmath-* with a higher priority"
        )


def _incomplete(index: ClusterIndex, count: int) -> InputError:
    return InputError(
        f"{index.name}: OpenSearch has {count:,} of {index.documents:,} documents of these "
        "data and settings; `arqmath-bm25 index` loads the others"
    )


def _alias(name: str) -> str:
    """Return the alias for loading: writing to an alias does not create a missing index."""
    return f"{name}.load"


def _fields(index: ClusterIndex) -> Json:
    text = {
        "type": "text",
        "index_options": "freqs",
        "analyzer": "whitespace",
    }
    fields: Json = {"id": {"type": "keyword", "index": False}}
    for name in ("contents", *index.fields):
        fields[name] = text
    for name in index.bm25.by_field:
        fields[name] = {**text, "similarity": name}
    return fields


def _similarities(index: ClusterIndex) -> dict[str, dict[str, str]]:
    """Return the similarities by name: that of most fields, and of each with its own, as it is."""
    bm25 = index.bm25
    similarities = {}
    for name, (k1, b) in {"default": (bm25.k1, bm25.b), **bm25.by_field}.items():
        similarities[name] = {"type": "BM25", "k1": str(k1), "b": str(b)}
    return similarities


def _settings(index: ClusterIndex, shards: int) -> Json:
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
            "_meta": _described(index),
            "_source": {"enabled": False, "recovery_source_enabled": False},
            "properties": _fields(index),
        },
    }


def _described(index: ClusterIndex) -> Json:
    """Return what the mapping says of an index that is not sealed yet."""
    return {
        "made_of": index.made_of,
        "documents": index.documents,
        "collection": index.collection,
    }


def _load_part(hosts: Sequence[str], name: str, part: Path) -> int:
    """Create the documents of a part; return their number."""
    with part.open(encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    with closing(connect(hosts, patience=None)) as client:
        _send(client, name, _creation, lines)
    return len(lines)


_Action = Callable[[str], tuple[Json, str | None]]


def _send(client: Any, name: str, action: _Action, things: Sequence[str]) -> None:
    """Create documents or remove ids; what the cluster rejects for now is sent again."""
    send = partial(_sent, client, name, action)
    while things:
        things = patiently(send, things=things, size=_REQUEST)


def _sent(client: Any, name: str, action: _Action, things: Sequence[str], size: int) -> list[str]:
    """Send requests of at most `size` bytes; return the rejected documents or ids to send again.

    Raises TransportError if the cluster rejects a whole request or everything.
    """
    from opensearchpy.exceptions import TransportError
    from opensearchpy.helpers import streaming_bulk

    answers = streaming_bulk(
        client,
        things,
        chunk_size=len(things),
        max_chunk_bytes=size,
        raise_on_error=False,
        expand_action_callback=action,
        index=_alias(name),
        require_alias=True,
        filter_path="items.*.status,items.*.error.reason",
    )
    rejected = []
    refusal = {}
    try:
        for thing, (done, answer) in zip(things, answers, strict=True):
            (outcome,) = answer.values()
            # An earlier try has created it (409), or removed it, which is no error.
            if not done and outcome["status"] != 409 and "error" in outcome:
                rejected.append(thing)
                refusal = outcome
    except TransportError as error:
        if error.status_code == 413 and size > _SMALLEST:
            return _sent(client, name, action, things, size // 2)
        raise
    if len(rejected) == len(things):
        raise TransportError(refusal["status"], refusal["error"]["reason"], {})
    return rejected


def _creation(line: str) -> tuple[Json, str]:
    document = json.loads(line)
    return {"create": {"_id": document["id"]}}, line


def _removal(doc_id: str) -> tuple[Json, None]:
    return {"delete": {"_id": doc_id}}, None


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
    except InputError as error:
        tell(f"{name} can be searched, but not all of its replicas are there: {error}")


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
    described = (_cluster_index_info(client, name) for name in names if _NAME.fullmatch(name))
    return [info for info in described if info]


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
    for of_shard in copies_of_shards.values():
        documents += of_shard[0]["docs"]["count"]
        size += sum(copy["store"]["size_in_bytes"] for copy in of_shard)

    shards = int(settings["number_of_shards"])
    without_node = shards - len(copies_of_shards)
    copies = shards * (1 + int(settings["number_of_replicas"]))
    missing = copies - sum(map(len, copies_of_shards.values()))
    state = "complete"
    if without_node:
        state = f"red: {without_node} of {shards} shards are on no node; start theirs, or remove it"
    elif "counts" in meta:
        state = "former: a block, which no search reads any more; `arqmath-bm25 cluster` removes it"
    elif "numbers" not in meta:
        state = f"incomplete: `index` resumes the load of its {expected:,} documents"
    elif missing:
        state = f"yellow: {missing} copies of shards are missing, none that searches need"
    return ClusterIndexInfo(name, state, collection, documents, size)


def former_blocks(client: Any, collection: str) -> list[str]:
    """Return the names of the indexes that a version before loaded as blocks of a collection."""
    answer = patiently(client.indices.get, index="arqmath-*")
    blocks = []
    for name in sorted(answer):
        meta = _meta(answer[name])
        if _is_ours(name, answer) and "counts" in meta and meta["collection"] == collection:
            blocks.append(name)
    return blocks


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
