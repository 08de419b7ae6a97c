"""OpenSearch on real nodes: what is loaded and what is left alone, refusals, a node killed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING, Any

import loading
import pytest
from chances import drawn
from loading import load
from opensearch_nodes import MISSING, SCRIPT, Nodes, environment, free_ports, started

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.engines.opensearch import cluster_index, connection
from arqmath_bm25.engines.opensearch.cluster_index import (
    add_replicas,
    is_loaded,
    remove_index,
    stored_indexes,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Nodes]:
    with started(3) as nodes:
        yield nodes


@pytest.fixture
def hosts(opensearch: Nodes) -> list[str]:
    return opensearch.hosts


def written(place: Path, count: int) -> Path:
    place.mkdir()
    documents = [
        {"id": str(n), "contents": " ".join(f"w{n % m}" for m in range(1, 9))} for n in range(count)
    ]
    (place / "part.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in documents))
    return place


def described(label: str, documents: int, k1: float = 1.2) -> ClusterIndex:
    return loading.described(label, documents, k1=k1)


def identity(client: Any, name: str) -> str:
    """Return what an index has until it is removed or made a second time."""
    return str(client.indices.get_settings(index=name)[name]["settings"]["index"]["uuid"])


@slow
def test_every_content_has_an_index_of_its_own(
    client: Any, hosts: list[str], tmp_path: Path
) -> None:
    first, other = described("own", 20), described("own", 20, k1=0.9)
    documents = written(tmp_path / "documents", 20)
    load(hosts, first, documents)
    before = identity(client, first.name)
    with pytest.raises(InputError, match="has 0 of 20 documents of these data and settings"):
        OpenSearchSearcher(client, other)
    load(hosts, other, documents, shards=2)
    assert first.name != other.name
    assert identity(client, first.name) == before
    asked = {"contents": {"w3": 1.0, "w7": 0.5}}
    rankings = [OpenSearchSearcher(client, index).search(asked, 20) for index in (first, other)]
    assert rankings[0]
    assert rankings[0] != rankings[1]


@slow
def test_a_load_that_stopped_is_gone_on_with(client: Any, hosts: list[str], tmp_path: Path) -> None:
    index = described("stopped", 30)
    with pytest.raises(InputError, match="OpenSearch has 20 of 30 documents"):
        load(hosts, index, written(tmp_path / "some", 20))
    before = identity(client, index.name)
    assert not is_loaded(client, index)
    with pytest.raises(InputError, match=r"has 20 of 30 documents of .* loads the others"):
        OpenSearchSearcher(client, index)
    load(hosts, index, written(tmp_path / "all", 30))
    assert is_loaded(client, index)
    assert OpenSearchSearcher(client, index).count == 30
    assert identity(client, index.name) == before
    statistics = client.indices.stats(index=index.name)["_all"]["primaries"]
    assert statistics["docs"] == {"count": 30, "deleted": 0}


@slow
@pytest.mark.parametrize("kind", ["index", "alias", "index with notes"])
def test_what_others_made_is_never_touched(
    client: Any, hosts: list[str], tmp_path: Path, kind: str
) -> None:
    index = described(f"foreign-{kind.replace(' ', '-')}", 20)
    theirs = "precious-data" if kind == "alias" else index.name
    notes = {"mappings": {"_meta": {"owner": "others"}}} if kind == "index with notes" else {}
    client.indices.create(index=theirs, body=notes)
    client.index(index=theirs, id="1", body={"precious": "data"}, refresh=True)
    if kind == "alias":
        client.indices.put_alias(index=theirs, name=index.name)
    before = client.indices.get(index=theirs)
    for use in (
        lambda: is_loaded(client, index),
        lambda: load(hosts, index, written(tmp_path / "documents", 20)),
        lambda: OpenSearchSearcher(client, index),
    ):
        with pytest.raises(InputError, match="of this name that this program did not make"):
            use()
    for name in {theirs, index.name, "arqmath-*", "*"}:
        with pytest.raises(InputError, match="not an index of this program"):
            remove_index(client, name)
    assert client.indices.get(index=theirs) == before
    assert client.count(index=theirs)["count"] == 1
    client.indices.delete(index=theirs)


@slow
def test_indexes_are_listed_and_only_those_named_removed(
    client: Any, hosts: list[str], tmp_path: Path
) -> None:
    documents = written(tmp_path / "documents", 20)
    complete, dead = described("listed-complete", 20), described("listed-dead", 21)
    load(hosts, complete, documents)
    with pytest.raises(InputError, match="20 of 21"):
        load(hosts, dead, documents)
    listed = {index.name: index for index in stored_indexes(client)}
    assert (listed[complete.name].state, listed[complete.name].documents) == ("complete", 20)
    assert listed[dead.name].documents == 20
    assert listed[dead.name].state == "incomplete: `index` resumes the load of its 21 documents"
    remove_index(client, dead.name)
    assert {index.name for index in stored_indexes(client)} == listed.keys() - {dead.name}


def changed_k1(client: Any, name: str) -> None:
    client.indices.close(index=name)
    client.indices.put_settings(index=name, body={"index.similarity.default.k1": 2.0})
    client.indices.open(index=name)
    client.cluster.health(index=name, wait_for_status="yellow")


def boosted_field(client: Any, name: str) -> None:
    text = {"type": "text", "index_options": "freqs", "analyzer": "whitespace", "boost": 2.0}
    client.indices.put_mapping(index=name, body={"properties": {"contents": text}})


def own_analyzer(client: Any, name: str) -> None:
    client.indices.close(index=name)
    keyword = {"index.analysis.analyzer.whitespace.type": "keyword"}
    client.indices.put_settings(index=name, body=keyword)
    client.indices.open(index=name)
    client.cluster.health(index=name, wait_for_status="yellow")


def replaced_document(client: Any, name: str) -> None:
    client.index(index=name, id="7", body={"id": "7", "contents": "w1"}, refresh=True)


def exchanged_document(client: Any, name: str) -> None:
    client.delete(index=name, id="7", refresh=True)
    client.index(index=name, id="x", body={"id": "x", "contents": "w1"}, refresh=True)


@slow
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (changed_k1, "similarity"),
        (own_analyzer, "analysis"),
        (boosted_field, "fields"),
        (replaced_document, "documents"),
        (exchanged_document, "documents"),
    ],
)
def test_what_others_changed_is_refused_and_the_advice_mends_it(
    client: Any, hosts: list[str], tmp_path: Path, change: Callable[[Any, str], None], what: str
) -> None:
    index, documents = described(f"changed-{change.__name__}", 40), written(tmp_path / "docs", 40)
    load(hosts, index, documents, shards=2)
    ranking = OpenSearchSearcher(client, index).search({"contents": {"w1": 1.0}}, 40)
    if what == "documents":
        with pytest.raises(Exception, match="FORBIDDEN/8"):  # it is blocked for writing
            change(client, index.name)
        client.indices.put_settings(index=index.name, body={"index.blocks.write": None})
    change(client, index.name)
    for use in (is_loaded, OpenSearchSearcher):
        with pytest.raises(InputError, match=f"somebody changed its {what} in the cluster; remove"):
            use(client, index)
    remove_index(client, index.name)
    load(hosts, index, documents, shards=2)
    assert OpenSearchSearcher(client, index).search({"contents": {"w1": 1.0}}, 40) == ranking
    remove_index(client, index.name)


@slow
@pytest.mark.parametrize("how", ["clone", "split"])
def test_a_copy_under_the_name_of_an_index_is_that_index_or_refused(
    client: Any, hosts: list[str], tmp_path: Path, how: str
) -> None:
    """A clone has the same segments; a split deletes documents of each, which statistics count."""
    index, documents = described(f"copied-{how}", 40), written(tmp_path / "docs", 40)
    load(hosts, index, documents, shards=2)
    query = {"contents": {"w1": 1.0, "w3": 0.5}}
    ranking = OpenSearchSearcher(client, index).search(query, 40)

    client.indices.clone(index=index.name, target="copy")
    client.cluster.health(index="copy", wait_for_status="yellow")
    client.indices.delete(index=index.name)
    more = {"settings": {"index.number_of_shards": 4}} if how == "split" else {}
    getattr(client.indices, how)(index="copy", target=index.name, body=more)
    client.cluster.health(index=index.name, wait_for_status="yellow")
    client.indices.delete(index="copy")

    if how == "split":
        message = "somebody changed its documents in the cluster; remove"
        with pytest.raises(InputError, match=message):
            OpenSearchSearcher(client, index)
        remove_index(client, index.name)
        load(hosts, index, documents, shards=2)
    assert OpenSearchSearcher(client, index).search(query, 40) == ranking
    remove_index(client, index.name)


@slow
def test_a_node_that_ends_at_its_start_is_told_at_once() -> None:
    port = free_ports(1)
    address_of_node = ("127.0.0.1", port + 100)
    with TemporaryDirectory() as parent, socket.create_server(address_of_node):
        Path(parent).chmod(0o755)  # another user runs the node if this one is root
        directory = Path(parent, "nodes")
        done = subprocess.run(
            [SCRIPT, "start", directory, "1", str(port)],
            env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not directory.exists()
    if done.returncode == MISSING:
        pytest.skip(f"no OpenSearch: {done.stderr}")
    assert done.returncode == 1
    assert f"one has ended (are its ports {port} and" in done.stderr


@slow
def test_a_load_that_ended_before_its_last_step_is_completed(
    client: Any, hosts: list[str], tmp_path: Path
) -> None:
    """All documents are there, and blocked already, but their numbers are not noted."""
    index, documents = described("last-step", 20), written(tmp_path / "documents", 20)
    load(hosts, index, documents)
    mapping = client.indices.get(index=index.name)[index.name]["mappings"]["_meta"]
    del mapping["numbers"]
    client.indices.put_mapping(index=index.name, body={"_meta": mapping})
    assert not is_loaded(client, index)
    load(hosts, index, documents)
    assert is_loaded(client, index)


@slow
def test_closed_and_red_indexes_are_listed_and_removed(
    client: Any, hosts: list[str], tmp_path: Path
) -> None:
    documents = written(tmp_path / "documents", 20)
    closed, red = described("state-closed", 20), described("state-red", 20)
    for index in (closed, red):
        load(hosts, index, documents)
    client.indices.close(index=closed.name)
    nowhere = {"index.routing.allocation.require._name": "nowhere"}
    client.indices.close(index=red.name)
    client.indices.put_settings(index=red.name, body=nowhere)
    client.indices.open(index=red.name, wait_for_active_shards=0)
    states = {index.name: index.state for index in stored_indexes(client)}
    assert states[closed.name] == "closed; POST NAME/_open opens it"
    assert states[red.name].startswith("red: 1 of 1 shards are on no node")
    with pytest.raises(InputError, match=r"index_closed.*; POST NAME/_open opens it"):
        OpenSearchSearcher(client, closed)
    client.indices.open(index=closed.name)
    client.cluster.health(index=closed.name, wait_for_status="yellow")
    assert OpenSearchSearcher(client, closed).count == 20
    for index in (closed, red):
        remove_index(client, index.name)
        assert index.name not in {stored.name for stored in stored_indexes(client)}


@slow
def test_an_index_that_is_removed_during_its_load_does_not_come_back_by_itself(
    client: Any, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, documents = described("removed", 500), written(tmp_path / "documents", 500)
    with monkeypatch.context() as patched:
        in_the_midst(patched, lambda: client.indices.delete(index=index.name))
        with pytest.raises(
            InputError, match="somebody removed it meanwhile; `arqmath-bm25 index` loads it"
        ):
            load(hosts, index, documents)
    assert not client.indices.exists(index=index.name)
    load(hosts, index, documents)
    assert OpenSearchSearcher(client, index).count == 500


@slow
def test_an_index_serves_without_the_replicas_that_there_is_no_room_for(
    client: Any, hosts: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = described("lonely", 20)
    load(hosts, index, written(tmp_path / "documents", 20))
    add_replicas(client, index, 1, patience=2)
    assert "1 copies of shards are missing" in caplog.text
    assert OpenSearchSearcher(client, index).count == 20


@slow
@pytest.mark.nightly
def test_a_killed_node_leaves_no_trace_in_the_rankings(three_nodes: Nodes, tmp_path: Path) -> None:
    client, index = connect(three_nodes.hosts), described("killed", 500)
    load(three_nodes.hosts, index, written(tmp_path / "documents", 500), shards=4)
    add_replicas(client, index, 1)
    searcher = OpenSearchSearcher(client, index)
    asked = [{"contents": {f"w{n % 8}": 1.0, f"w{n % 5}": 0.5}} for n in range(200)]
    searcher.threads = 2
    expected = list(searcher.search_many(asked, 100))
    moments = [(1, 1), (50, 2), (100, 3), (150, 1), (190, 2)]
    for moment, victim in drawn(moments, 2, "a node of three"):
        rankings = []
        for hits in searcher.search_many(asked, 100):
            rankings.append(hits)
            if len(rankings) == moment:
                three_nodes.kill(victim)
        assert rankings == expected
        three_nodes.start_again(victim)
    client.close()


def in_the_midst(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let loads be of small requests, and do something when half of 500 documents are sent."""
    action = cluster_index._creation
    seen = set[str]()

    def acting(line: str) -> tuple[dict[str, Any], str]:
        seen.add(line)
        if len(seen) == 250:
            seen.add("acted")
            act()
        return action(line)

    monkeypatch.setattr(cluster_index, "_creation", acting)
    monkeypatch.setattr(cluster_index, "_REQUEST", 1000)


@slow
@pytest.mark.nightly
def test_a_node_that_stands_still_only_delays_a_load(
    three_nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, index = connect(three_nodes.hosts), described("standing-still", 500)
    go_on = Timer(5, three_nodes.signal, (2, signal.SIGCONT))

    def stop() -> None:
        three_nodes.signal(2, signal.SIGSTOP)
        go_on.start()

    in_the_midst(monkeypatch, stop)
    load(three_nodes.hosts, index, written(tmp_path / "documents", 500), shards=3)
    go_on.join()
    assert OpenSearchSearcher(client, index).count == 500
    client.close()


@slow
def test_a_loaded_index_has_one_segment_of_all_its_documents(
    client: Any, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = described("one-segment", 500)
    in_the_midst(monkeypatch, lambda: client.indices.flush(index=index.name, force=True))
    load(hosts, index, written(tmp_path / "documents", 500))
    answer = client.indices.segments(index=index.name)
    (copies,) = answer["indices"][index.name]["shards"].values()
    segments = copies[0]["segments"].values()
    assert [segment["num_docs"] for segment in segments if segment["search"]] == [500]


@slow
@pytest.mark.nightly
def test_a_load_goes_on_when_all_nodes_were_killed(
    three_nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, index = connect(three_nodes.hosts), described("all-killed", 500)
    documents = written(tmp_path / "documents", 500)
    with monkeypatch.context() as patched:
        patched.setattr(connection, "_PATIENCE", 1.0)
        in_the_midst(patched, lambda: three_nodes.kill(1, 2, 3))
        with pytest.raises(InterruptedWorkError, match=r"Connection refused.*; the same command"):
            load(three_nodes.hosts, index, documents, shards=3)
    three_nodes.start_again(1, 2, 3)
    before = identity(client, index.name)
    assert not is_loaded(client, index)
    load(three_nodes.hosts, index, documents, shards=3)
    assert is_loaded(client, index)
    assert identity(client, index.name) == before
    client.close()


@slow
def test_a_full_disk_of_a_node_stops_a_load_until_there_is_room(
    client: Any, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, disk = described("full", 500), "cluster.routing.allocation.disk."
    full: dict[str, object] = dict.fromkeys(
        (f"{disk}watermark.{stage}" for stage in ("low", "high", "flood_stage")), "9000tb"
    )
    full |= {f"{disk}threshold_enabled": True, "cluster.info.update.interval": "10s"}
    documents = written(tmp_path / "documents", 500)

    def blocked() -> bool:
        settings = client.indices.get_settings(index=index.name)[index.name]["settings"]["index"]
        return "read_only_allow_delete" in settings.get("blocks", {})

    def fill() -> None:
        client.cluster.put_settings(body={"transient": full})
        while not blocked():
            time.sleep(0.2)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(connection, "_PATIENCE", 1.0)
            in_the_midst(patched, fill)
            with pytest.raises(InterruptedWorkError, match=r"blocked by.*; its nodes lack disk"):
                load(hosts, index, documents)
    finally:
        client.cluster.put_settings(body={"transient": dict.fromkeys(full)})
        # Nor does a cluster whose disks are full make an index; it forgets that by itself only
        # while it watches them.
        none: dict[str, object] = {"cluster.blocks.create_index": None}
        client.cluster.put_settings(body={"transient": none, "persistent": none})
    client.indices.put_settings(
        index=index.name, body={"index.blocks.read_only_allow_delete": None}
    )
    load(hosts, index, documents)
    assert OpenSearchSearcher(client, index).count == 500
