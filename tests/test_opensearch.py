"""OpenSearch on real nodes: replacing an index, refusals, and a node that is killed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from opensearch_nodes import Nodes, started

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.opensearch import OpenSearchSearcher, connect, load_documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
BM25 = (1.2, 0.75)


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Nodes]:
    with started(3, port=19240) as nodes:
        yield nodes


def written(place: Path, count: int) -> Path:
    place.mkdir()
    documents = [
        {"id": str(n), "contents": " ".join(f"w{n % m}" for m in range(1, 9))} for n in range(count)
    ]
    (place / "part.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in documents))
    return place


def test_an_index_is_replaced_when_the_new_one_is_complete(
    opensearch: Nodes, tmp_path: Path
) -> None:
    client = connect(opensearch.hosts)
    load_documents(client, written(tmp_path / "old", 20), "swap", (), 20, BM25)
    assert OpenSearchSearcher(client, "swap", *BM25).count == 20
    new = written(tmp_path / "new", 30)
    with pytest.raises(InputError, match="indexed 30 of 31 documents"):
        load_documents(client, new, "swap", (), 31, BM25)
    assert OpenSearchSearcher(client, "swap", *BM25).count == 20
    load_documents(client, new, "swap", (), 30, BM25, shards=2)
    assert OpenSearchSearcher(client, "swap", *BM25).count == 30
    assert len(client.indices.get(index="swap-*")) == 1
    with pytest.raises(InputError, match=r"scores with k1 1.2 and b 0.75, not 0.9 and 0.75"):
        OpenSearchSearcher(client, "swap", 0.9, 0.75)
    with pytest.raises(InputError, match="no such index"):
        OpenSearchSearcher(client, "nothing", *BM25)
    with pytest.raises(InputError, match="no room for 1 replicas"):
        load_documents(client, new, "swap", (), 30, BM25, replicas=1, patience=3)
    assert OpenSearchSearcher(client, "swap", *BM25).count == 30
    client.close()


def test_a_password_is_sent_over_tls_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opensearchpy")
    monkeypatch.setenv("ARQMATH_OPENSEARCH_USER", "u")
    with pytest.raises(InputError, match="https:// hosts only"):
        connect(["http://127.0.0.1:1"])
    monkeypatch.delenv("ARQMATH_OPENSEARCH_USER")
    with pytest.raises(InputError, match="OpenSearch: ConnectionError"):
        connect(["http://127.0.0.1:1"])


def test_tls_is_verified(opensearch: Nodes) -> None:
    with pytest.raises(InputError, match="SSL"):
        connect([opensearch.hosts[0].replace("http:", "https:")])


def test_a_killed_node_leaves_no_trace_in_the_rankings(three_nodes: Nodes, tmp_path: Path) -> None:
    client = connect(three_nodes.hosts)
    documents = written(tmp_path / "documents", 500)
    load_documents(client, documents, "killed", (), 500, BM25, shards=4, replicas=1)
    searcher = OpenSearchSearcher(client, "killed", *BM25)
    asked = [{"contents": {f"w{n % 8}": 1.0, f"w{n % 5}": 0.5}} for n in range(200)]
    expected = list(searcher.search_many(asked, 100, threads=2))
    for round_, moment in enumerate((1, 50, 100, 150, 190)):
        victim = round_ % 3 + 1
        found = []
        for hits in searcher.search_many(asked, 100, threads=2):
            found.append(hits)
            if len(found) == moment:
                three_nodes.kill(victim)
        assert found == expected
        three_nodes.start_again(victim)
    client.close()
