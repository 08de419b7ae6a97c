"""The store of an index in a cluster: only documents that changed are analysed and sent."""

from __future__ import annotations

import json
import random
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from cluster_proxy import Answer, Asked
from program import arqmath, refused
from stub_cluster import StubCluster, stub_cluster

from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.engines.opensearch import cluster_index, connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")
CLUSTER = ("--engine", "opensearch")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubCluster]:
    with stub_cluster() as running:
        monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", running.proxy.url)
        monkeypatch.setattr(connection, "_PATIENCE", 0.3)
        yield running


class Sent:
    """What was sent to a cluster since the last look, but for trials of rights."""

    def __init__(self, stub: StubCluster) -> None:
        bulks = [
            asked.body
            for asked in stub.proxy.asked
            if "_bulk" in asked.path and "rights" not in asked.path
        ]
        stub.proxy.asked.clear()
        self.created = sum(body.count(b'{"create"') for body in bulks)
        self.deleted = sum(body.count(b'{"delete"') for body in bulks)


def corpus(place: Path, texts: dict[str, str]) -> Path:
    place.mkdir(exist_ok=True)
    rows = [json.dumps({"id": doc_id, "text": text}) + "\n" for doc_id, text in texts.items()]
    (place / "corpus.jsonl").write_text("".join(rows))
    return place


def numbered(numbers: Iterable[int]) -> dict[str, str]:
    """Return documents: of words, of words and a formula, and each tenth without words."""
    return {f"d{n}": f"number {n}" + f" $x^{{{n}}}$" * (n % 2) if n % 10 else "" for n in numbers}


def indexed(data: Path, indexes: Path, task: str = "docs", *options: object) -> str:
    where = ("--data", data, "--indexes", indexes)
    return arqmath("index", task, *where, *(options or CLUSTER), "--jobs", 1).output


def counts(indexes: Path, engine: str) -> dict[str, int]:
    """Return what the manifest of the only store of an engine counts."""
    (manifest,) = indexes.rglob(f"{engine}-*/manifest.json")
    counted: dict[str, int] = json.loads(manifest.read_text())["counts"]
    return counted


def only_index(stub: StubCluster) -> tuple[str, Any]:
    ((name, index),) = stub.indexes.items()
    return name, index


def test_documents_that_did_not_change_are_neither_analysed_nor_sent(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.tasks.document_retrieval._PER_PART", 5)
    chance = random.Random(3)
    texts = numbered(range(100))
    assert "100 documents indexed" in indexed(corpus(tmp_path / "notes", texts), tmp_path / "c")
    sent = Sent(stub)
    assert (sent.created, sent.deleted) == (100, 0)
    for step in range(20):
        gone, edited = chance.sample(sorted(texts), 4)[:2], chance.sample(sorted(texts), 3)
        texts |= {doc_id: f"edited $y_{step}$ {doc_id}" for doc_id in edited}
        texts |= numbered([1000 + step])
        for doc_id in gone:
            del texts[doc_id]
        data = corpus(tmp_path / "notes", texts)
        said = indexed(data, tmp_path / "c")
        assert f"{len(texts)} documents indexed" in said
        sent = Sent(stub)
        changed = len({*edited} - {*gone})
        assert (sent.created, sent.deleted) == (changed + 1, len({*edited, *gone}))
        name, index = only_index(stub)
        assert {document["id"] for document in index.documents()} == texts.keys()
        assert index.mappings["_meta"]["documents"] == len(texts)
        (store,) = (tmp_path / "c").rglob("opensearch-*")
        assert name in (store / "cluster.json").read_text()

    # As all of them are counted by an index of this machine.
    indexed(data, tmp_path / "flat", "docs", "--engine", "flat")
    assert counts(tmp_path / "c", "opensearch") == counts(tmp_path / "flat", "flat")
    # And a document that was edited is the one of its new text.
    (document,) = [document for document in index.documents() if document["id"] == edited[0]]
    assert "edit" in document["contents"]


def changed_posts(copy: Path) -> Path:
    """Copy the sample: a question edited, an answer moved to another, one gone, one new."""
    shutil.copytree(SAMPLE, copy)
    posts = next(copy.rglob("Posts*.xml"))
    lines = posts.read_text(encoding="utf-8").splitlines(keepends=True)
    answers = [n for n, line in enumerate(lines) if 'PostTypeId="2"' in line]
    questions = [n for n, line in enumerate(lines) if 'PostTypeId="1"' in line]
    lines[questions[2]] = lines[questions[2]].replace(' Body="', ' Body="edited ')
    parents = [re.search(r' ParentId="(\d+)"', lines[answers[n]]) for n in (0, -1)]
    assert parents[0]
    assert parents[1]
    assert parents[0][1] != parents[1][1]
    lines[answers[0]] = lines[answers[0]].replace(parents[0][0], parents[1][0])
    new = re.sub(r' Id="\d+"', ' Id="987654"', lines[answers[5]])
    lines[answers[5]] = new + lines[answers[5]]
    lines[answers[9]] = ""
    posts.write_text("".join(lines), encoding="utf-8")
    return copy


def test_an_answer_changes_with_its_question(stub: StubCluster, tmp_path: Path) -> None:
    place = tmp_path / "now" / SAMPLE.name
    indexed(SAMPLE, tmp_path / "c", "task1")
    changed = changed_posts(place)
    Sent(stub)
    indexed(changed, tmp_path / "c", "task1")
    sent = Sent(stub)
    posts = next(SAMPLE.rglob("Posts*.xml"))
    third = [thread for thread in PostTable.scan(posts).threads() if thread.question][2]
    assert sent.deleted == len(third.answers) + 2
    assert sent.created == len(third.answers) + 2
    _, index = only_index(stub)

    # The same documents as in an index of the changed posts alone.
    there = {document["id"]: document for document in index.documents()}
    stub.indexes.clear()
    indexed(changed, tmp_path / "fresh", "task1")
    _, fresh = only_index(stub)
    assert there == {document["id"]: document for document in fresh.documents()}
    assert counts(tmp_path / "c", "opensearch") == counts(tmp_path / "fresh", "opensearch")


def test_two_people_with_folders_of_one_name_never_meet(stub: StubCluster, tmp_path: Path) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "hers")
    indexed(data, tmp_path / "his")
    assert len(stub.indexes) == 2
    hers = json.loads(next((tmp_path / "hers").rglob("cluster.json")).read_text())["name"]
    before = stub.indexes[hers]
    indexed(corpus(tmp_path / "notes", numbered(range(41))), tmp_path / "his")
    assert stub.indexes[hers] is before
    assert len(before.documents()) == 40
    assert len(stub.indexes) == 2


def test_a_store_that_is_put_back_from_a_backup_loads_anew(
    stub: StubCluster, tmp_path: Path
) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "c")
    shutil.copytree(tmp_path / "c", tmp_path / "backup")
    indexed(corpus(data, numbered(range(41))), tmp_path / "c")
    changed, index = only_index(stub)

    corpus(data, numbered(range(40)))
    where = ("--data", data, "--indexes", tmp_path / "backup")
    assert "OpenSearch has 0 of 40 documents" in refused(
        "search", "docs", "number", *where, *CLUSTER
    )
    indexed(corpus(data, numbered(range(42))), tmp_path / "backup")
    assert stub.indexes[changed] is index
    assert len(index.documents()) == 41
    assert len(stub.indexes) == 2


def test_an_index_of_other_documents_is_left_alone(stub: StubCluster, tmp_path: Path) -> None:
    """Two folders of one name, which share INDEXES."""
    for number in range(2):
        data = tmp_path / str(number) / "notes"
        data.parent.mkdir()
        corpus(data, numbered(range(100 * number, 100 * number + 50)))
        indexed(data, tmp_path / "c")
        assert Sent(stub).created == 50
    assert len(stub.indexes) == 2
    assert "up to date" in indexed(tmp_path / "0" / "notes", tmp_path / "c")


def test_a_change_that_is_interrupted_goes_on_and_the_former_index_serves(
    stub: StubCluster, tmp_path: Path
) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "c")
    former, index = only_index(stub)
    corpus(data, numbered(range(1, 45)))

    for path in ("_clone", "_bulk", "_close", "_settings", "_mapping"):

        def away(asked: Asked, path: str = path) -> Answer:
            if path in asked.path and "rights" not in asked.path:
                return Answer(503)
            return stub.answer(asked)

        stub.proxy.fault = away
        message = refused("index", "docs", "--data", data, "--indexes", tmp_path / "c", *CLUSTER)
        assert "503" in message
        assert "the same command goes on" in message
        assert stub.indexes[former] is index
        assert index.settings["index.blocks.write"] == "true"
        assert len(index.documents()) == 40
        assert len(stub.indexes) <= 2

    stub.proxy.fault = stub.answer
    assert "44 documents indexed" in indexed(data, tmp_path / "c")
    name, index = only_index(stub)
    assert name != former
    assert {document["id"] for document in index.documents()} == numbered(range(1, 45)).keys()


def test_a_lease_that_keeps_deleted_documents_is_named(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "c")
    (former,) = stub.indexes
    corpus(data, numbered(range(1, 40)))
    monkeypatch.setattr(cluster_index, "_LEASES", 0.1)

    def kept(asked: Asked) -> Answer:
        for index in stub.indexes.values():
            index.kept = True
        return stub.answer(asked)

    stub.proxy.fault = kept
    message = refused("index", "docs", "--data", data, "--indexes", tmp_path / "c", *CLUSTER)
    assert re.search(r"of shard 0 the lease peer/1 \(peer recovery\) still keeps deleted", message)
    assert former in stub.indexes
    stub.proxy.fault = stub.answer
    stub.indexes[former].kept = False
    assert "39 documents indexed" in indexed(data, tmp_path / "c")
    assert only_index(stub)[0] != former


def test_a_change_needs_room_for_twice_the_index(stub: StubCluster, tmp_path: Path) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "c")
    former, index = only_index(stub)
    corpus(data, numbered(range(41)))
    stub.free = 7_999  # a document takes 100 bytes there
    message = refused("index", "docs", "--data", data, "--indexes", tmp_path / "c", *CLUSTER)
    assert "make room, then the same command goes on" in message
    assert only_index(stub) == (former, index)
    stub.free = 8_000
    assert "41 documents indexed" in indexed(data, tmp_path / "c")


def test_an_index_in_blocks_is_named_and_loaded_once_anew(
    stub: StubCluster, tmp_path: Path
) -> None:
    data = corpus(tmp_path / "notes", numbered(range(40)))
    indexed(data, tmp_path / "c")
    (store,) = (tmp_path / "c").rglob("opensearch-*")
    (former,) = stub.indexes
    stub.indexes[former].mappings["_meta"]["counts"] = {"documents": 40}
    (store / "cluster.json").rename(store / "blocks.json")
    manifest = Manifest.read(store)
    manifest.files["blocks.json"] = manifest.files.pop("cluster.json")
    manifest.write(store)

    where = ("--data", data, "--indexes", tmp_path / "c")
    assert "in blocks" in refused("search", "docs", "number", *where, *CLUSTER)
    said = " ".join(indexed(data, tmp_path / "c").split())
    assert "in blocks; it is loaded once anew, and `arqmath-bm25 cluster`" in said
    assert former in said
    assert "up to date" in indexed(data, tmp_path / "c")
    listed = arqmath("cluster").output
    assert re.search(rf"{former}: .*, former: a block, which no search reads any more", listed)
    arqmath("cluster", "--remove", former)
    assert len(only_index(stub)[1].documents()) == 40


def test_blocks_are_refused_in_a_sentence(tmp_path: Path) -> None:
    arguments = ("index", "docs", "--indexes", tmp_path, *CLUSTER, "--block", 20)
    assert "No such option: --block" in arqmath(*arguments, status=2).output


def test_formulas_are_loaded_beside_the_former_index(stub: StubCluster, tmp_path: Path) -> None:
    """They depend on all posts."""
    indexed(SAMPLE, tmp_path / "c", "task2")
    (former,) = [name for name in stub.indexes if "task2" in name]
    place = tmp_path / "now" / SAMPLE.name
    shutil.copytree(SAMPLE, place)
    formulas = next(place.rglob("Formulas/*/1.tsv"))
    rows = formulas.read_text(encoding="utf-8").splitlines(keepends=True)
    formulas.write_text("".join(rows[:-3]), encoding="utf-8")
    indexed(place, tmp_path / "c", "task2")
    (now,) = [name for name in stub.indexes if "task2" in name]
    assert now != former


def test_a_folder_that_changes_has_one_index(stub: StubCluster, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(10):
        (folder / f"{n}.md").write_text(f"# Title {n}\n\nText of note {n}, $x^{n}$.\n")
    indexed(folder, tmp_path / "c")
    first = Sent(stub).created
    assert first >= 10
    (folder / "3.md").write_text("# Title\n\nAnother text.\n")
    (folder / "10.md").write_text("# Ten\n\nA new note.\n")
    indexed(folder, tmp_path / "c")
    sent = Sent(stub)
    assert 2 <= sent.created < first
    assert sent.deleted >= 1
    only_index(stub)
