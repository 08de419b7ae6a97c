"""Clusters with habits of their own, on a real node: templates, blocks, limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import loading
import pytest
from loading import load

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.engines.opensearch import cluster_index
from arqmath_bm25.engines.opensearch.cluster_index import (
    check_rights,
    remove_index,
    stored_indexes,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opensearch_nodes import Nodes

    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex

pytestmark = pytest.mark.slow
COUNT = 60
QUERIES = (
    {"contents": {"w1": 1.0, "The-2": 0.7}, "title": {"w3": 0.4}},
    {"contents": {"w2": 1.0, "w5": 0.3}},
)


@pytest.fixture
def hosts(opensearch: Nodes) -> list[str]:
    return opensearch.hosts


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Write documents that another analyzer would split or fold."""
    rows = [
        {"id": str(n), "contents": f"w{n % 7} The-{n % 5} x{n}", "title": f"w{n % 4}"}
        for n in range(COUNT)
    ]
    (tmp_path / "part.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def described(label: str) -> ClusterIndex:
    return loading.described(f"habits-{label}", COUNT, ("title",))


def rankings(client: Any, index: ClusterIndex) -> list[list[Hit]]:
    searcher = OpenSearchSearcher(client, index)
    return [searcher.search(query, 50) for query in QUERIES]


@pytest.fixture
def expected(client: Any, hosts: list[str], documents: Path) -> list[list[Hit]]:
    index = described("plain")
    load(hosts, index, documents)
    return rankings(client, index)


@pytest.fixture
def template(client: Any) -> Iterator[Any]:
    """Return a function that makes a template of the company for all of our indexes."""

    def put(body: dict[str, Any]) -> None:
        whole = {"index_patterns": ["arqmath-*"], "priority": 500, "template": body}
        client.indices.put_index_template(name="company", body=whole)

    yield put
    client.indices.delete_index_template(name="company", ignore=404)


@pytest.mark.parametrize(
    "body",
    [
        {"mappings": {"properties": {"@timestamp": {"type": "date"}}}},
        {"mappings": {"properties": {"title": {"type": "text", "boost": 3.0}}}},
        {"mappings": {"dynamic": "strict", "_source": {"enabled": True}}},
        {"settings": {"index.blocks.write": True}},
        {"settings": {"index.mapping.total_fields.limit": 2}},
        {"settings": {"index.similarity.mine.type": "boolean"}},
        {"settings": {"index.hidden": True}},
        {"aliases": {"everything": {}}},
    ],
)
def test_a_template_that_changes_no_ranking_is_no_hindrance(
    client: Any,
    hosts: list[str],
    documents: Path,
    expected: list[list[Hit]],
    template: Any,
    body: dict[str, Any],
) -> None:
    template(body)
    check_rights(hosts)
    index = described("harmless")
    load(hosts, index, documents)
    assert rankings(client, index) == expected
    remove_index(client, index.name)


WORDS = {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"settings": {"index.analysis.analyzer.whitespace": WORDS}}, "analysis"),
        (
            {
                "settings": {
                    "index.similarity.default": {"type": "BM25", "discount_overlaps": False}
                }
            },
            "similarity",
        ),
    ],
)
def test_a_template_that_would_change_rankings_is_named_and_the_advice_helps(
    client: Any,
    hosts: list[str],
    documents: Path,
    expected: list[list[Hit]],
    template: Any,
    body: dict[str, Any],
    what: str,
) -> None:
    index = described(f"template-{what}")
    template(body)
    for _ in range(2):  # the second try says the same, for the same reason
        with pytest.raises(InputError, match=f"a template of the cluster .* sets its {what}; ask"):
            load(hosts, index, documents)
        assert not client.indices.exists(index=index.name)

    ours = {"index_patterns": ["arqmath-*"], "priority": 501, "template": {}}
    client.indices.put_index_template(name="ours", body=ours)
    load(hosts, index, documents)
    client.indices.delete_index_template(name="ours")
    assert rankings(client, index) == expected
    remove_index(client, index.name)


def test_an_old_template_that_would_change_rankings_is_named_and_the_advice_helps(
    client: Any, hosts: list[str], documents: Path, expected: list[list[Hit]]
) -> None:
    """What a template of the old form sets of a field is added to what we set."""
    boosted = {"mappings": {"properties": {"contents": {"type": "text", "boost": 3.0}}}}
    index = described("old-template")
    client.indices.put_template(name="old", body={"index_patterns": ["arqmath-*"], **boosted})
    try:
        for _ in range(2):
            with pytest.raises(InputError, match=r"a template of the cluster .* sets its fields; "):
                check_rights(hosts)
        ours = {"index_patterns": ["arqmath-*"], "priority": 1, "template": {}}
        client.indices.put_index_template(name="ours", body=ours)
        check_rights(hosts)
        load(hosts, index, documents)
        client.indices.delete_index_template(name="ours")
    finally:
        client.indices.delete_template(name="old")
    assert rankings(client, index) == expected
    remove_index(client, index.name)


def test_the_default_limit_of_clauses_is_met_by_the_search_that_exceeds_it(
    client: Any, hosts: list[str], documents: Path, expected: list[list[Hit]]
) -> None:
    """The nodes of these tests have it as well."""
    limit = "indices.query.bool.max_clause_count"
    index = described("clauses")
    check_rights(hosts)
    load(hosts, index, documents)
    assert rankings(client, index) == expected
    many = {"contents": {f"w{n}": 1.0 for n in range(1025)}}
    searcher = OpenSearchSearcher(client, index)
    with pytest.raises(InputError, match="raise the limit of the cluster: curl ") as refused:
        searcher.search(many, 5)

    advised = str(refused.value).partition(" -d '")[2].removesuffix("'")
    client.cluster.put_settings(body=json.loads(advised))
    assert len(searcher.search(many, 5)) == 5
    client.cluster.put_settings(body={"persistent": {limit: None}})
    remove_index(client, index.name)


def test_what_a_killed_trial_of_rights_left_is_removed(
    client: Any, hosts: list[str], documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = described("rights")
    load(hosts, left, documents)
    check_rights(hosts)
    assert client.indices.exists(index=left.name)  # it may be the trial of somebody else
    monkeypatch.setattr("arqmath_bm25.engines.opensearch.cluster_index._LONGEST_TRIAL", -60)
    check_rights(hosts)
    assert not client.indices.exists(index="arqmath-rights-*", allow_no_indices=False)


def test_a_blocked_index_hides_no_other_from_the_list(
    client: Any, hosts: list[str], documents: Path
) -> None:
    open_index = described("open")
    blocked = described("blocked")
    for index in (open_index, blocked):
        load(hosts, index, documents)
    client.indices.create(index="arqmath-metablock")  # of others
    for name in (blocked.name, "arqmath-metablock"):
        client.indices.put_settings(index=name, body={"index.blocks.metadata": True})

    states = {stored.name: stored.state for stored in stored_indexes(client)}
    assert states[open_index.name] == "complete"
    assert "blocked by: [FORBIDDEN/9" in states[blocked.name]
    assert states[blocked.name].endswith("PUT NAME/_settings lifts it")
    assert "arqmath-metablock" not in states

    remove_index(client, open_index.name)
    for name in (blocked.name, "arqmath-metablock"):
        client.indices.put_settings(index=name, body={"index.blocks.metadata": None})
    remove_index(client, blocked.name)
    client.indices.delete(index="arqmath-metablock")


@pytest.mark.parametrize("block", ["read", "metadata", "read_only"])
def test_a_block_is_named_and_lifting_it_helps(
    client: Any, hosts: list[str], documents: Path, expected: list[list[Hit]], block: str
) -> None:
    index = described(f"block-{block}")
    load(hosts, index, documents)
    client.indices.put_settings(index=index.name, body={f"index.blocks.{block}": True})
    with pytest.raises(InputError, match=r"blocked by: .*; somebody set this block; PUT NAME/_se"):
        if block == "read_only":
            assert rankings(client, index) == expected
            remove_index(client, index.name)
        else:
            rankings(client, index)
    client.indices.put_settings(index=index.name, body={f"index.blocks.{block}": None})
    assert rankings(client, index) == expected
    remove_index(client, index.name)


def test_an_index_that_is_removed_under_a_search_is_named_and_the_advice_helps(
    client: Any, hosts: list[str], documents: Path, expected: list[list[Hit]]
) -> None:
    index = described("removed")
    load(hosts, index, documents)
    searcher = OpenSearchSearcher(client, index)
    remove_index(client, index.name)
    with pytest.raises(InputError, match="removed it meanwhile; `arqmath-bm25 index` loads"):
        searcher.search(QUERIES[0], 5)
    load(hosts, index, documents)
    assert rankings(client, index) == expected
    remove_index(client, index.name)


def test_a_load_is_not_sealed_while_a_shard_is_away(
    client: Any, hosts: list[str], documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = described("away")
    copies_of_shards = cluster_index._copies_of_shards

    def without_a_shard(client: Any, name: str, metric: str) -> dict[str, list[Any]]:
        copies = copies_of_shards(client, name, metric)
        return {shard: copies[shard] for shard in copies if shard != "1"}

    with monkeypatch.context() as patched:
        patched.setattr(cluster_index, "_copies_of_shards", without_a_shard)
        with pytest.raises(InterruptedWorkError, match="1 of 2 shards are on no node; start"):
            load(hosts, index, documents, shards=2)
    with pytest.raises(InputError, match="`arqmath-bm25 index` loads the others"):
        OpenSearchSearcher(client, index)
    load(hosts, index, documents)
    assert OpenSearchSearcher(client, index).count == COUNT
    remove_index(client, index.name)


def test_a_lowered_window_is_named_and_the_advice_helps(
    client: Any, hosts: list[str], documents: Path, expected: list[list[Hit]]
) -> None:
    index = described("window")
    load(hosts, index, documents)
    client.indices.put_settings(index=index.name, body={"index.max_result_window": 10})
    with pytest.raises(InputError, match="sets it to 2147483647 again"):
        rankings(client, index)
    client.indices.put_settings(index=index.name, body={"index.max_result_window": 2147483647})
    assert rankings(client, index) == expected
    remove_index(client, index.name)


def test_the_name_of_a_load_may_be_taken(client: Any, hosts: list[str], documents: Path) -> None:
    index = described("taken")
    client.indices.create(index="others")
    client.indices.put_alias(index="others", name=f"{index.name}.load")
    with pytest.raises(InputError, match=r"others use the name NAME\.load; rename theirs"):
        load(hosts, index, documents)
    assert client.count(index="others")["count"] == 0
    client.indices.delete(index="others")
    load(hosts, index, documents)
    remove_index(client, index.name)


@pytest.mark.parametrize("shards", [1, 5])
def test_terms_of_all_shards_are_counted_by_one_request(
    client: Any, hosts: list[str], documents: Path, shards: int
) -> None:
    index = described(f"counts-{shards}")
    load(hosts, index, documents, shards)
    searcher = OpenSearchSearcher(client, index)
    counts = searcher.document_counts({"contents": ["w1", "The-2", "x7", "w9"], "title": ["w3"]})
    # 60 documents: w1 in every seventh from 1 on, The-2 in every fifth, w3 in every fourth.
    assert counts == {"contents": {"w1": 9, "The-2": 12, "x7": 1}, "title": {"w3": 15}}
    assert searcher.document_counts({"contents": ["w9"], "title": []}) == {
        "contents": {},
        "title": {},
    }
    asked: list[str] = []
    request = client.transport.perform_request

    def noting(method: str, url: str, **arguments: Any) -> Any:
        asked.append(url)
        return request(method, url, **arguments)

    client.transport.perform_request = noting
    searcher.document_counts({"contents": ["w1", "The-2"], "title": ["w3"]})
    assert asked == ["/_mtermvectors"]
    client.transport.perform_request = request
    client.indices.put_settings(index=index.name, body={"index.blocks.read": True})
    with pytest.raises(InputError, match="blocked by"):
        searcher.document_counts({"contents": ["w1"]})
    remove_index(client, index.name)
