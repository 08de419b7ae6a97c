"""An index in a cluster: loaded, sealed, checked and searched; a cluster in memory answers."""

from __future__ import annotations

import json
import pwd
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cluster_proxy import Answer, Asked
from loading import described, load
from stub_cluster import StubCluster, answered, failed, stub_cluster

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.opensearch import cluster_index, connection
from arqmath_bm25.engines.opensearch.cluster_index import (
    add_replicas,
    check_rights,
    is_loaded,
    new_name,
    remove_index,
    stored_indexes,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")

COUNT = 40
INDEX = described("posts", COUNT, ("title",))


@pytest.fixture
def cluster() -> Iterator[StubCluster]:
    with stub_cluster() as running:
        yield running


@pytest.fixture
def hosts(cluster: StubCluster) -> list[str]:
    return [cluster.proxy.url]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Write two parts; a line separator of Unicode within a document does not end its line."""
    rows = [
        {"id": f"{n:02}", "contents": f"w{n % 7} \u2028 w{n % 11}", "title": f"t{n % 3}"}
        for n in range(COUNT)
    ]
    directory = tmp_path / "documents"
    directory.mkdir()
    for part in range(2):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows[part::2]]
        (directory / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    return directory


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 1.0)


# Names


def test_a_name_has_an_id_of_its_own_and_a_digest_tells_what_decides_rankings() -> None:
    assert new_name("task1").startswith("arqmath-task1-")
    assert len({new_name("task1") for _ in range(100)}) == 100
    others = [
        INDEX._replace(content="other"),
        INDEX._replace(fields=("body",)),
        INDEX._replace(bm25=Bm25(k1=1.3)),
        INDEX._replace(bm25=Bm25(b=0.5)),
    ]
    assert len({index.made_of for index in (INDEX, *others)}) == 5
    assert INDEX._replace(bm25=Bm25(k1=1)).made_of == INDEX._replace(bm25=Bm25(k1=1.0)).made_of
    assert INDEX._replace(name="x").made_of == INDEX.made_of


# Loading


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_load_creates_each_document_once_and_seals_the_index(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path, jobs: int
) -> None:
    workers = Processes(jobs)
    assert not is_loaded(client, INDEX)
    load(hosts, INDEX, documents, 3, workers)
    workers.close()
    assert is_loaded(client, INDEX)

    stored = cluster.indexes[INDEX.name]
    assert len(stored.shards) == 3
    assert sorted(document["id"] for document in stored.documents()) == [
        f"{n:02}" for n in range(COUNT)
    ]
    assert {"id": "08", "contents": "w1 \u2028 w8", "title": "t2"} in stored.documents()
    assert stored.mappings["_meta"] == {
        "made_of": INDEX.made_of,
        "documents": COUNT,
        "collection": "",
        "numbers": {str(n): number for n, number in enumerate(stored.operations)},
    }
    assert stored.settings["index.blocks.write"] == "true"


def test_a_load_is_made_visible_and_durable_before_it_is_sealed(
    cluster: StubCluster, hosts: list[str], documents: Path
) -> None:
    load(hosts, INDEX, documents)
    after_the_load = [
        "_refresh", "_flush", "_forcemerge", "_refresh", "_flush", "_settings", "_mapping",
    ]  # fmt: skip
    steps = []
    for asked in cluster.proxy.asked:
        action = asked.path.partition("?")[0].rpartition("/")[2]
        if asked.method != "GET" and action in ["_bulk", *after_the_load]:
            steps.append(action)
    assert steps == ["_bulk", "_bulk", *after_the_load]


def test_a_load_tells_how_many_documents_it_has_loaded(
    hosts: list[str], documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    @contextmanager
    def noting(what: str, total: float, unit: str) -> Iterator[Callable[[float], None]]:
        told.append((what, total, unit))
        yield told.append

    monkeypatch.setattr(cluster_index, "progress", noting)
    load(hosts, INDEX, documents)
    assert told == [("Loading documents into the cluster", COUNT, "documents"), 20, 20]


def test_an_account_without_a_name_loads(
    hosts: list[str], client: Any, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs by the number of a user."""

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    check_rights(hosts)
    load(hosts, INDEX, documents)
    assert is_loaded(client, INDEX)


def test_an_index_is_made_as_rankings_need_it_whatever_templates_say(
    cluster: StubCluster, hosts: list[str], documents: Path
) -> None:
    load(hosts, INDEX, documents)
    (made,) = [
        json.loads(asked.body)
        for asked in cluster.proxy.asked
        if asked.method == "PUT" and asked.path == f"/{INDEX.name}"
    ]
    text = {"type": "text", "index_options": "freqs", "analyzer": "whitespace"}
    assert made == {
        "aliases": {f"{INDEX.name}.load": {}},
        "settings": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "refresh_interval": -1,
            "max_result_window": 2147483647,
            "default_pipeline": "_none",
            "final_pipeline": "_none",
            "search.default_pipeline": "_none",
            "blocks.write": False,
            "mapping.total_fields.limit": 1000,
            "similarity": {"default": {"type": "BM25", "k1": "1.2", "b": "0.75"}},
        },
        "mappings": {
            "dynamic": False,
            "_meta": {"made_of": INDEX.made_of, "documents": COUNT, "collection": ""},
            "_source": {"enabled": False, "recovery_source_enabled": False},
            "properties": {
                "id": {"type": "keyword", "index": False},
                "contents": text,
                "title": text,
            },
        },
    }


def test_what_is_there_is_not_loaded_again_and_what_lacks_is(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path, tmp_path: Path
) -> None:
    (tmp_path / "some").mkdir()
    (documents / "1.jsonl").rename(tmp_path / "some" / "1.jsonl")
    with pytest.raises(InputError, match=r"OpenSearch has 20 of 40 documents .* loads the others"):
        load(hosts, INDEX, documents)
    assert not is_loaded(client, INDEX)
    with pytest.raises(InputError, match="has 20 of 40 documents"):
        OpenSearchSearcher(client, INDEX)

    load(hosts, INDEX, tmp_path / "some")
    assert is_loaded(client, INDEX)
    bulks = len(cluster.proxy.bulks())
    load(hosts, INDEX, documents)
    assert len(cluster.proxy.bulks()) == bulks


def test_documents_that_are_refused_for_now_are_sent_again_alone(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    cluster.bulk_status = [429, 201] * 3
    with pytest.raises(InputError, match="37 of 40"):  # three were never created, said the cluster
        load(hosts, INDEX, documents)
    sizes = [asked.body.count(b'{"create"') for asked in cluster.proxy.bulks()]
    assert sizes == [20, 3, 20]
    load(hosts, INDEX, documents)
    assert is_loaded(client, INDEX)


def test_a_cluster_that_refuses_all_is_given_time_and_then_named(
    cluster: StubCluster, hosts: list[str], documents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.bulk_status = [429] * 1000
    message = r"^OpenSearch: the queue is full \(429\); the same command goes on later$"
    with pytest.raises(InterruptedWorkError, match=message):
        load(hosts, INDEX, documents)
    assert caplog.text.count("the queue is full (429); trying again") == 1
    assert len(cluster.proxy.bulks()) > 3


def test_requests_get_smaller_until_they_pass(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(cluster_index, "_REQUEST", 2000)
    monkeypatch.setattr(cluster_index, "_SMALLEST", 250)

    def fault(asked: Asked) -> Answer | None:
        too_large = "/_bulk" in asked.path and len(asked.body) > limit
        return Answer(413) if too_large else cluster.answer(asked)

    cluster.proxy.fault = fault
    limit = 100
    with pytest.raises(InputError, match=r"413.*; a proxy before the cluster must let larger"):
        load(hosts, INDEX, documents)
    sizes = [len(asked.body) for asked in cluster.proxy.bulks()]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 4  # at most 2000, 1000, 500, 250 bytes

    limit = 600
    load(hosts, INDEX, documents)
    assert is_loaded(client, INDEX)


def test_a_document_that_the_cluster_cannot_take_ends_the_load(
    cluster: StubCluster, hosts: list[str], documents: Path
) -> None:
    cluster.bulk_status = [400] * 1000
    with pytest.raises(InputError, match=r"^OpenSearch: the queue is full \(400\)$"):
        load(hosts, INDEX, documents)
    assert len(cluster.proxy.bulks()) == 1


def test_an_index_is_not_sealed_while_a_shard_is_on_no_node(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    def fault(asked: Asked) -> Answer | None:
        if "/_stats" in asked.path:
            cluster.indexes[INDEX.name].lost = {1}
        return cluster.answer(asked)

    cluster.proxy.fault = fault
    with pytest.raises(InterruptedWorkError, match="1 of 3 shards are on no node; start theirs"):
        load(hosts, INDEX, documents, 3)
    cluster.proxy.fault = cluster.answer
    assert not is_loaded(client, INDEX)
    cluster.indexes[INDEX.name].lost = set()
    load(hosts, INDEX, documents)
    assert is_loaded(client, INDEX)


def test_a_template_that_changes_rankings_is_the_cause_that_is_named(
    cluster: StubCluster, hosts: list[str], documents: Path
) -> None:
    cluster.template = {"analysis": {"analyzer": {"whitespace": {"type": "keyword"}}}}
    message = r"a template of the cluster .* sets its analysis; ask for .* leaves out arqmath-"
    with pytest.raises(InputError, match=message):
        load(hosts, INDEX, documents)
    assert cluster.indexes == {}


def test_an_index_that_cannot_be_made_says_why(
    cluster: StubCluster, hosts: list[str], documents: Path
) -> None:
    def fault(asked: Asked) -> Answer | None:
        if asked.method == "PUT":
            return failed(400, "validation_exception", "this cluster has 1000 shards already")
        return cluster.answer(asked)

    cluster.proxy.fault = fault
    with pytest.raises(InputError, match=r"^arqmath-.*: this cluster has 1000 shards already$"):
        load(hosts, INDEX, documents)


def test_rights_are_tried_by_an_index_that_does_not_stay(
    cluster: StubCluster, hosts: list[str]
) -> None:
    check_rights(hosts)
    assert cluster.indexes == {}
    trials = [asked for asked in cluster.proxy.asked if "arqmath-rights-" in asked.path]
    assert [trials[0].method, trials[-1].method] == ["DELETE", "DELETE"]
    assert len([asked for asked in trials if "/_bulk" in asked.path]) == 2
    assert len([asked for asked in trials if "/_clone/" in asked.path]) == 1
    (made,) = [json.loads(asked.body) for asked in trials if b"number_of_shards" in asked.body]
    assert made["settings"]["number_of_shards"] == 1

    cluster.bulk_status = [403]
    with pytest.raises(InputError, match=r"403.*; this user lacks a right"):
        check_rights(hosts)
    assert cluster.indexes == {}

    def fault(asked: Asked) -> Answer | None:
        if asked.method == "DELETE":
            return failed(403, "security_exception", "no permissions for [indices:admin/delete]")
        return cluster.answer(asked)

    cluster.proxy.fault = fault
    with pytest.raises(InputError, match=r"no permissions for \[indices:admin/delete\]"):
        check_rights(hosts)
    assert cluster.indexes == {}


@pytest.mark.parametrize("path", ["/_settings", "/_cluster/health"])
def test_rights_to_make_replicas_are_tried_if_there_will_be_any(
    cluster: StubCluster, hosts: list[str], path: str
) -> None:
    def fault(asked: Asked) -> Answer | None:
        if asked.method == "GET" and path in asked.path:
            return failed(403, "security_exception", "no permissions")
        return cluster.answer(asked)

    cluster.proxy.fault = fault
    check_rights(hosts)
    with pytest.raises(InputError, match=r"no permissions .*; this user lacks a right"):
        check_rights(hosts, replicas=1)
    assert cluster.indexes == {}
    cluster.proxy.fault = cluster.answer
    check_rights(hosts, replicas=1)
    assert cluster.indexes == {}


# What is there


def other_k1(cluster: StubCluster) -> None:
    cluster.indexes[INDEX.name].settings["similarity"]["default"]["k1"] = "2.0"


def other_analysis(cluster: StubCluster) -> None:
    cluster.indexes[INDEX.name].settings["analysis"] = {}


def other_field(cluster: StubCluster) -> None:
    cluster.indexes[INDEX.name].mappings["properties"]["title"] = {"type": "text"}


def other_document(cluster: StubCluster) -> None:
    cluster.indexes[INDEX.name].operations[1] += 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (other_k1, "similarity"),
        (other_analysis, "analysis"),
        (other_field, "fields"),
        (other_document, "documents"),
    ],
)
def test_what_somebody_changed_is_named(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path, change: Any, what: str
) -> None:
    load(hosts, INDEX, documents, 2)
    change(cluster)
    message = f"somebody changed its {what} in the cluster; remove it .* and load it again"
    for use in (is_loaded, OpenSearchSearcher):
        with pytest.raises(InputError, match=message):
            use(client, INDEX)
    remove_index(client, INDEX.name)
    load(hosts, INDEX, documents, 2)
    assert is_loaded(client, INDEX)


def test_further_fields_and_shards_that_are_away_accuse_nobody(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents, 2)
    stored = cluster.indexes[INDEX.name]
    stored.mappings["properties"]["@timestamp"] = {"type": "date"}
    stored.lost = {1}
    assert is_loaded(client, INDEX)


def test_others_of_the_same_name_are_left_alone(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents)
    cluster.indexes[INDEX.name].mappings["_meta"] = {"owner": "others"}
    for use in (is_loaded, OpenSearchSearcher):
        with pytest.raises(InputError, match="of this name that this program did not make"):
            use(client, INDEX)
    for name in (INDEX.name, "arqmath-*", "others"):
        with pytest.raises(InputError, match=f"^{name[:7]}.*: not an index of this program"):
            remove_index(client, name)
    assert INDEX.name in cluster.indexes
    assert stored_indexes(client) == []


def test_indexes_are_listed_with_their_states(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    labels = ("complete", "incomplete", "red", "yellow", "closed", "blocked")
    indexes = {label: described(label, COUNT, ("title",)) for label in labels}
    for index in indexes.values():
        load(hosts, index, documents, 2)
    stored = {label: cluster.indexes[index.name] for label, index in indexes.items()}
    cluster.indexes["arqmath-others"] = stored["complete"]  # no name of ours
    del stored["incomplete"].mappings["_meta"]["numbers"]
    stored["red"].lost = {0}
    stored["yellow"].settings["number_of_replicas"] = "1"
    stored["closed"].settings["verified_before_close"] = "true"
    blocked = "blocked by: [FORBIDDEN/9/index metadata (api)];"
    stored["blocked"].problem = failed(403, "cluster_block_exception", blocked)

    listed = {index.name.split("-")[1]: index for index in stored_indexes(client)}
    assert list(listed) == sorted(labels)
    assert {label: index.state for label, index in listed.items()} == {
        "complete": "complete",
        "incomplete": "incomplete: `index` resumes the load of its 40 documents",
        "red": "red: 1 of 2 shards are on no node; start theirs, or remove it",
        "yellow": "yellow: 2 copies of shards are missing, none that searches need",
        "closed": "closed; POST NAME/_open opens it",
        "blocked": "OpenSearch: blocked by: [FORBIDDEN/9/index metadata (api)]; (403, "
        "cluster_block_exception); somebody set this block; PUT NAME/_settings lifts it",
    }
    assert (listed["complete"].documents, listed["complete"].size) == (40, 4000)
    assert (listed["closed"].documents, listed["closed"].size) == (40, 0)
    assert (listed["blocked"].documents, listed["blocked"].size) == (0, 0)
    assert listed["red"].documents == len(stored["red"].shards[1])

    remove_index(client, indexes["closed"].name)
    assert indexes["closed"].name not in {index.name for index in stored_indexes(client)}
    with pytest.raises(InputError, match=r"closed-.*: not an index of this program"):
        remove_index(client, indexes["closed"].name)


def test_an_index_that_is_removed_while_indexes_are_listed_is_not_listed(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents)

    def fault(asked: Asked) -> Answer | None:
        answer = cluster.answer(asked)
        if "/_resolve" in asked.path:
            del cluster.indexes[INDEX.name]
        return answer

    cluster.proxy.fault = fault
    assert stored_indexes(client) == []


def test_a_cluster_that_goes_away_while_indexes_are_listed_is_no_block_of_theirs(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents)
    cluster.indexes[INDEX.name].problem = Answer(503)
    with pytest.raises(InterruptedWorkError, match=r"503.*; the same command goes on later"):
        stored_indexes(client)


@pytest.mark.parametrize(("had", "wanted", "has"), [(0, 1, "1"), (2, 1, "2"), (0, 0, "0")])
def test_replicas_are_only_added(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path,
    caplog: pytest.LogCaptureFixture, had: int, wanted: int, has: str,
) -> None:  # fmt: skip
    load(hosts, INDEX, documents, 2)
    cluster.indexes[INDEX.name].settings["number_of_replicas"] = str(had)
    cluster.proxy.asked.clear()
    add_replicas(client, INDEX, wanted)
    assert cluster.indexes[INDEX.name].settings["number_of_replicas"] == has
    changes = [asked for asked in cluster.proxy.asked if asked.method == "PUT"]
    assert len(changes) == (had < wanted)
    missing = f"can be searched, but not all of its replicas are there: {2 * int(has)} copies"
    assert (missing in caplog.text) == bool(wanted)


def test_copies_that_are_being_made_are_waited_for(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    load(hosts, INDEX, documents, 1)
    copying = [1, 1, 0]

    def fault(asked: Asked) -> Answer | None:
        if "/_cluster/health" not in asked.path:
            return cluster.answer(asked)
        left = copying.pop(0)
        return answered({"initializing_shards": left, "unassigned_shards": 0}, 408 if left else 200)

    cluster.proxy.fault = fault
    add_replicas(client, INDEX, 1)
    assert copying == []
    assert caplog.text == ""


# Searching


def test_hits_are_ordered_by_score_then_by_descending_id(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents, 3)
    searcher = OpenSearchSearcher(client, INDEX)
    assert searcher.count == COUNT
    assert searcher.origin == f"{INDEX.name} (uuid), of the content {INDEX.made_of[:16]}"
    hits = searcher.search({"contents": {"w3": 2.0, "w10": 0.5}, "title": {"t0": 0.0}}, 4)
    # 10 holds w3 and w10. w3 is in each n with n % 7 = 3 or n % 11 = 3; t0 weighs nothing.
    assert [hit[:2] for hit in hits] == [("10", 2.5), ("38", 2.0), ("36", 2.0), ("31", 2.0)]
    (request,) = [
        asked for asked in cluster.proxy.asked if "/_search" in asked.path and b"w10" in asked.body
    ]
    assert "search_type=dfs_query_then_fetch" in request.path
    assert "allow_partial_search_results=false" in request.path
    assert json.loads(request.body)["track_total_hits"] is False

    asked = len(cluster.proxy.asked)
    assert searcher.search({"contents": {"w3": 0.0}}, 4) == []
    assert len(cluster.proxy.asked) == asked
    for clauses, all_scored in ((64, False), (65, True)):
        many = {"contents": {f"w{n}": 1.0 for n in range(clauses)}}
        assert len(searcher.search(many, 5)) == 5
        assert json.loads(cluster.proxy.asked[-1].body)["track_total_hits"] is all_scored


def test_a_searcher_closes_its_connections(
    hosts: list[str], client: Any, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(hosts, INDEX, documents)
    searcher = OpenSearchSearcher(client, INDEX)
    closed: list[bool] = []
    with monkeypatch.context() as patched:
        patched.setattr(client, "close", lambda: closed.append(True))
        searcher.close()
    assert closed == [True]


def test_a_search_of_an_index_that_was_removed_meanwhile_says_what_loads_it(
    hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents)
    searcher = OpenSearchSearcher(client, INDEX)
    remove_index(client, INDEX.name)
    with pytest.raises(InputError, match=r"removed it meanwhile; `arqmath-bm25 index` loa"):
        searcher.search({"contents": {"w3": 1.0}}, 5)
    load(hosts, INDEX, documents)
    assert searcher.search({"contents": {"w3": 1.0}}, 5)


def test_the_shares_of_terms_are_told_of_each_document(
    hosts: list[str], client: Any, documents: Path
) -> None:
    load(hosts, INDEX, documents, 2)
    searcher = OpenSearchSearcher(client, INDEX)
    query = {"contents": {"w3": 2.0, "w10": 0.5}, "title": {"t0": 1.0}}
    assert searcher.explain(query, ["10", "03"]) == [
        {"contents": {"w3": 2.0, "w10": 0.5}},
        {"contents": {"w3": 2.0}, "title": {"t0": 1.0}},
    ]
    with pytest.raises(InputError, match="no document 'absent', 'x'"):
        searcher.explain(query, ["10", "absent", "03", "x"])


@pytest.mark.parametrize("shards", [1, 4])
def test_terms_of_all_shards_are_counted_by_one_request(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path, shards: int
) -> None:
    load(hosts, INDEX, documents, shards)
    searcher = OpenSearchSearcher(client, INDEX)
    terms = {"contents": iter(["w10", "absent", "w9"]), "title": ["t0"]}
    # Of 40: w10 in 10, 21, 32; w9 in 9, 20, 31; t0 in each third.
    assert searcher.document_counts(terms) == {"contents": {"w10": 3, "w9": 3}, "title": {"t0": 14}}
    asked = len(cluster.proxy.asked)
    assert searcher.document_counts({"contents": ["w10"]}) == {"contents": {"w10": 3}}
    (request,) = cluster.proxy.asked[asked:]
    assert request.path == "/_mtermvectors"
    # Statistics of terms are all that is asked of each shard.
    for of_shard in json.loads(request.body)["docs"]:
        wanted = {name for name, value in of_shard.items() if value is True}
        unwanted = {name for name, value in of_shard.items() if value is False}
        assert wanted == {"term_statistics"}
        assert unwanted == {"field_statistics", "positions", "offsets", "payloads"}
    assert searcher.document_counts({"contents": [], "title": []}) == {"contents": {}, "title": {}}
    assert len(cluster.proxy.asked) == asked + 1


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("index_not_found_exception", InputError, "404"),
        ("cluster_block_exception", InputError, "403"),
        ("no_shard_available_action_exception", InterruptedWorkError, "503.*goes on later"),
    ],
)
def test_counts_of_some_shards_are_no_counts(
    cluster: StubCluster, hosts: list[str], client: Any, documents: Path, kind: str,
    error: type[InputError], message: str,
) -> None:  # fmt: skip
    load(hosts, INDEX, documents, 2)
    searcher = OpenSearchSearcher(client, INDEX)

    def fault(asked: Asked) -> Answer | None:
        answer = cluster.answer(asked)
        if "/_mtermvectors" in asked.path:
            docs = json.loads(answer.body)["docs"]
            docs[1] = {"error": {"type": kind, "reason": "why"}}
            return Answer(200, json.dumps({"docs": docs}).encode())
        return answer

    cluster.proxy.fault = fault
    with pytest.raises(InputError, match=message) as refused:
        searcher.document_counts({"contents": ["w1"]})
    assert type(refused.value) is error
