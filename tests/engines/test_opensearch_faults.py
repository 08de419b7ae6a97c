"""What lies between this program and a cluster: proxies, overload, interruptions.

A proxy before a real node makes the faults.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cluster_proxy import Answer, Asked, Proxy, proxy
from loading import load

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.opensearch import cluster_index, connection
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    add_replicas,
    is_loaded,
    remove_index,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from opensearch_nodes import Nodes

pytestmark = pytest.mark.slow


@pytest.fixture
def before(opensearch: Nodes) -> Iterator[Proxy]:
    """Return a proxy without TLS."""
    with proxy(opensearch.hosts[0]) as running:
        yield running


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the cluster seconds where a user gives it minutes."""
    monkeypatch.setattr(connection, "_PATIENCE", 4.0)
    monkeypatch.setattr(cluster_index, "_REQUEST", 20_000)
    monkeypatch.setattr(cluster_index, "_SMALLEST", 500)


def written(place: Path, count: int = 600) -> Path:
    place.mkdir()
    documents = [{"id": str(n), "contents": f"w{n % 7} w{n % 11} x{n}"} for n in range(count)]
    (place / "part.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in documents))
    return place


def described(place: Path, count: int = 600) -> ClusterIndex:
    return ClusterIndex(f"arqmath-{place.name}-0123456789ab", str(place), count, (), Bm25())


@contextmanager
def loaded_directly(proxied: Proxy, index: ClusterIndex) -> Iterator[OpenSearchSearcher]:
    """Open an index without the proxy, and remove it in the end."""
    client = connect([proxied.target.geturl()])
    yield OpenSearchSearcher(client, index)
    remove_index(client, index.name)
    client.close()


def error(kind: str, reason: str, status: int) -> Answer:
    cause = {"type": kind, "reason": reason}
    return Answer(status, json.dumps({"error": {**cause, "root_cause": [cause]}}).encode())


# Proxies and overload


def times(count: int, part: str, answer: Answer | None) -> Callable[[Asked], Answer | None]:
    """Return a fault of the first requests that have a part in their path; None hangs up."""
    left = [count]

    def fault(asked: Asked) -> Answer | None:
        if part in asked.path and left[0]:
            left[0] -= 1
            if answer is None:
                raise ConnectionError
            return answer
        return None

    return fault


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Answer(429),
        Answer(500),
        Answer(502, b"<html>bad gateway</html>", "text/html"),
        Answer(503),
        Answer(504, b"<html>timeout</html>", "text/html", forwarded=True),
    ],
)
def test_bulk_requests_that_fail_are_made_again(
    before: Proxy, tmp_path: Path, answer: Answer | None
) -> None:
    before.fault = times(3, "/_bulk", answer)
    index = described(tmp_path)
    load([before.url], index, written(tmp_path / "documents"))
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


def test_requests_get_as_small_as_the_cluster_wants_them(before: Proxy, tmp_path: Path) -> None:
    limit = 3000

    def fault(asked: Asked) -> Answer | None:
        large = "/_bulk" in asked.path and len(asked.body) > limit
        return Answer(413, b"<html>too large</html>", "text/html") if large else None

    before.fault = fault
    index = described(tmp_path)
    load([before.url], index, written(tmp_path / "documents"))
    sizes = [len(asked.body) for asked in before.bulks()]
    assert max(sizes) > 15_000
    assert sum(size > limit for size in sizes) < 25
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


def test_a_document_that_no_request_can_hold_is_said(before: Proxy, tmp_path: Path) -> None:
    before.fault = lambda asked: Answer(413) if "/_bulk" in asked.path else None
    with pytest.raises(InputError, match=r"413.*; a proxy before the cluster must let larger"):
        load([before.url], described(tmp_path), written(tmp_path / "documents"))


def rejecting(share: int) -> Callable[[Asked], Answer | None]:
    """Reject of each request every document but one in `share`, as a full queue does."""

    def fault(asked: Asked) -> Answer | None:
        if "/_bulk" not in asked.path:
            return None
        items: list[dict[str, Any]] = []
        for number in range(asked.body.count(b'{"create"')):
            full = {"reason": "rejected execution of queue"}
            fits = share and not number % share
            items.append({"create": {"status": 201} if fits else {"status": 429, "error": full}})
        return Answer(200, json.dumps({"items": items}).encode())

    return fault


def test_a_cluster_that_goes_on_refusing_is_said_and_the_load_gone_on_with(
    before: Proxy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = described(tmp_path)
    before.fault = rejecting(0)
    with pytest.raises(InterruptedWorkError, match=r"OpenSearch: rejected .* goes on"):
        load([before.url], index, written(tmp_path / "documents"))
    assert "OpenSearch: rejected execution of queue (429); trying again" in caplog.text
    before.fault = lambda _: None
    load([before.url], index, tmp_path / "documents")
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


def test_documents_that_are_rejected_one_by_one_are_sent_until_all_are_there(
    before: Proxy, tmp_path: Path
) -> None:
    sent: list[int] = []

    def fault(asked: Asked) -> Answer | None:
        if "/_bulk" in asked.path:
            sent.append(asked.body.count(b'{"create"'))
        return rejecting(2)(asked) if len(sent) < 20 else None

    before.fault = fault
    index = described(tmp_path)
    # Half of those that were "created" never came to the cluster: the count tells.
    with pytest.raises(InputError, match=r"OpenSearch has .* of 600 documents"):
        load([before.url], index, written(tmp_path / "documents"))
    assert sum(sent) > 600
    before.fault = lambda _: None
    load([before.url], index, tmp_path / "documents")
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


def test_a_gateway_that_gives_up_the_merging_of_segments_costs_no_load(
    before: Proxy, tmp_path: Path
) -> None:
    before.fault = lambda asked: Answer(504) if "/_forcemerge" in asked.path else None
    index = described(tmp_path)
    load([before.url], index, written(tmp_path / "documents"))
    assert any("/_forcemerge" in asked.path for asked in before.asked)
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


@pytest.mark.parametrize("part", ["/_cluster/health", "/_recovery", "/_settings"])
@pytest.mark.parametrize("status", [403, 504])
def test_replicas_that_cannot_be_seen_to_cost_no_load(
    before: Proxy, tmp_path: Path, part: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    client, index = connect([before.url]), described(tmp_path, 30)
    load([before.url], index, written(tmp_path / "documents", 30))
    before.fault = lambda asked: Answer(status) if part in asked.path else None
    add_replicas(client, index, 1, patience=1)
    assert "not all of its replicas are there" in caplog.text
    before.fault = lambda _: None
    assert is_loaded(client, index)
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 30


def test_a_gateway_that_gives_up_a_search_is_asked_again(before: Proxy, tmp_path: Path) -> None:
    client, index = connect([before.url]), described(tmp_path, 100)
    load([before.url], index, written(tmp_path / "documents", 100))
    searcher = OpenSearchSearcher(client, index)
    expected = searcher.search({"contents": {"w3": 1.0, "w5": 0.3}}, 50)
    before.fault = times(2, "/_search", Answer(504, b"<html>", "text/html"))
    assert searcher.search({"contents": {"w3": 1.0, "w5": 0.3}}, 50) == expected
    with loaded_directly(before, index) as directly:
        assert directly.search({"contents": {"w3": 1.0, "w5": 0.3}}, 50) == expected


# Interruptions

LOAD = """
import sys
from pathlib import Path
from arqmath_bm25.engines.opensearch import cluster_index
cluster_index._REQUEST = 2000
content, documents, host = sys.argv[1:]
name = f"arqmath-{Path(content).name}-0123456789ab"
index = cluster_index.ClusterIndex(name, content, 600, (), cluster_index.Bm25())
cluster_index.load_documents([host], index, Path(documents).glob('*.jsonl'))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_load_that_is_ended_is_gone_on_with(
    before: Proxy, tmp_path: Path, number: signal.Signals
) -> None:
    def slowly(asked: Asked) -> None:
        time.sleep(0.2 if "/_bulk" in asked.path else 0)

    before.fault = slowly
    command = [sys.executable, "-c", LOAD, tmp_path, written(tmp_path / "documents"), before.url]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        # A shell starts what it runs in the background with Ctrl-C ignored, and so these tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while len(before.bulks()) < 6:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, number)
    process.communicate()
    assert process.returncode
    assert len(before.bulks()) < 15
    client, index = connect([before.url]), described(tmp_path)
    assert not is_loaded(client, index)
    load([before.url], index, tmp_path / "documents")
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600


def test_two_loads_of_the_same_at_a_time(before: Proxy, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOAD, tmp_path, written(tmp_path / "documents"), before.url]
    loads = [subprocess.Popen(command) for _ in range(2)]
    assert [load.wait() for load in loads] == [0, 0]
    with loaded_directly(before, described(tmp_path)) as searcher:
        assert searcher.count == 600


def test_a_cluster_that_takes_no_documents_for_want_of_disk(before: Proxy, tmp_path: Path) -> None:
    client, index = connect([before.url]), described(tmp_path)
    with pytest.raises(InputError, match="OpenSearch has 10 of 600"):
        load([before.url], index, written(tmp_path / "some", 10))
    block = {"index.blocks.read_only_allow_delete": True}  # as the flood stage of the disk does
    client.indices.put_settings(index=index.name, body=block)
    with pytest.raises(InterruptedWorkError, match=r"blocked by.*; its nodes lack disk"):
        load([before.url], index, written(tmp_path / "documents"))
    client.indices.put_settings(index=index.name, body=dict.fromkeys(block))
    load([before.url], index, tmp_path / "documents")
    with loaded_directly(before, index) as searcher:
        assert searcher.count == 600
