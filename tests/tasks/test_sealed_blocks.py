"""Blocks of a collection in a cluster: where they end, what is made again when documents change."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cluster_proxy import Answer, Asked
from program import arqmath, refused
from stub_cluster import StubCluster, stub_cluster

from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.tasks.answers.answer_documents import _marks
from arqmath_bm25.tasks.cluster_blocks import read_blocks, write_blocks
from arqmath_bm25.tasks.document_parts import PartForms, write_parts
from arqmath_bm25.tasks.sealed_blocks import (
    Block,
    PartContent,
    Sealing,
    blocks_of,
    run_ends,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.engines.engine import Document

ALWAYS, NEVER = 0, (1 << 32) - 1  # marks after which a run ends as soon as it may, or does not


def part(name: str, documents: int = 10) -> PartContent:
    return PartContent(hashlib.sha256(name.encode()).hexdigest(), documents)


# Where they end


@pytest.mark.parametrize(
    ("sizes", "marks", "ends"),
    [
        ([], [], [0]),
        ([3], [NEVER], [1]),
        ([5, 5, 5], [ALWAYS] * 3, [1, 2, 3]),  # half of 10 is enough
        ([4, 4, 4, 4], [ALWAYS] * 4, [2, 4]),
        ([4] * 6, [NEVER] * 6, [5, 6]),  # 20 are the most
        ([1, 50, 1], [NEVER] * 3, [1, 2, 3]),
        ([4, 4, 0, 0], [NEVER, ALWAYS, ALWAYS, NEVER], [2, 4]),
        # An item of 2 ends a run in 2 of 5 cases: by a mark below 2/5 of all.
        ([4, 2, 4, 2], [NEVER, int(0.39 * 2**32), NEVER, int(0.41 * 2**32)], [2, 4]),
    ],
)
def test_runs_have_about_the_size_that_is_asked_for(
    sizes: list[int], marks: list[int], ends: list[int]
) -> None:
    assert run_ends(sizes, marks, 10) == ends


def test_threads_end_parts_as_often_as_their_sizes_say() -> None:
    threads = np.arange(1, 100_001)
    marks = _marks(threads)
    assert len(set(marks)) == len(threads)
    assert min(marks) >= 0
    assert max(marks) <= NEVER
    # Of threads of 5 answers, in parts of at least 50 and about 100, each tenth ends a part.
    ends = run_ends([5] * len(threads), marks, 100)
    length = 5 * len(threads) / len(ends)
    assert 80 < length < 130


def test_a_part_that_is_added_or_removed_changes_the_blocks_beside_it() -> None:
    chance = random.Random(1)
    parts = [part(str(n), chance.randint(5, 15)) for n in range(1000)]
    before = blocks_of(parts, 100)
    assert sum(block.documents for block in before) == sum(part.documents for part in parts)
    assert 80 < sum(block.documents for block in before) / len(before) < 130
    assert [block.first for block in before[1:]] == [block.end for block in before[:-1]]
    digests = {block.digest for block in before}
    for _ in range(50):
        number = chance.randrange(1000)
        added = blocks_of([*parts[:number], part("new"), *parts[number:]], 100)
        removed = blocks_of([*parts[:number], *parts[number + 1 :]], 100)
        for after in (added, removed):
            assert len(digests - {block.digest for block in after}) <= 12
    appended = blocks_of([*parts, part("new")], 100)
    assert digests - {block.digest for block in appended} <= {before[-1].digest}


def test_the_list_of_blocks_is_kept_in_a_file(tmp_path: Path) -> None:
    blocks = [Block("a", 3, 0, 2, {"documents": 3}), Block("b", 0, 2, 3, {})]
    write_blocks(tmp_path / "blocks.json", blocks)
    assert read_blocks(tmp_path / "blocks.json") == blocks
    assert read_blocks(tmp_path / "none.json") == []


# What is written


def documents(job: str, counts: Counter[str]) -> Iterator[Document]:
    counts["documents"] += 10
    counts[f"seen {job}"] += 1
    yield from ()


class Cluster:
    """The blocks that a cluster has, with their counts."""

    def __init__(self) -> None:
        self.blocks: dict[str, Mapping[str, int]] = {}
        self.loaded: list[list[str]] = []  # names of the parts of each load

    def load(self, block: Block, parts: list[Path]) -> None:
        assert all(path.is_file() for path in parts)
        self.loaded.append([path.name for path in parts])
        self.blocks[block.digest] = block.counts

    def write(self, place: Path, jobs: list[str], keeps: bool = False) -> list[Counter[str]]:
        place.mkdir(exist_ok=True)
        self.loaded = []
        sealing = Sealing(10, lambda block: self.blocks.get(block.digest), self.load, keeps)
        forms = PartForms(sealing=sealing)
        counts = list(write_parts(documents, jobs, place, HERE, forms, part))
        assert [block.counts["documents"] for block in sealing.blocks] == [
            block.documents for block in sealing.blocks
        ]
        return counts


def test_documents_that_a_cluster_has_are_not_made_again(tmp_path: Path) -> None:
    cluster = Cluster()
    first = cluster.write(tmp_path / "a", list("abcdefgh"))
    assert sum(map(len, cluster.loaded)) == 8
    again = cluster.write(tmp_path / "b", list("abcdefgh"))
    assert cluster.loaded == []
    assert sum(again, Counter()) == sum(first, Counter())
    assert not list(tmp_path.rglob("*.jsonl"))

    more = cluster.write(tmp_path / "c", list("abcdefghi"))
    assert cluster.loaded[-1][-1] == "part-00008.jsonl"
    assert sum(map(len, cluster.loaded)) < 4
    assert sum(more, Counter())["documents"] == 90


def test_a_block_is_loaded_when_its_last_part_is_written(tmp_path: Path) -> None:
    cluster = Cluster()
    begun: list[str] = []

    def noted(job: str, counts: Counter[str]) -> Iterator[Document]:
        begun.append(job)
        counts["documents"] += 9
        yield from ()

    def load(block: Block, parts: list[Path]) -> None:
        assert len(begun) == block.end
        cluster.load(block, parts)

    sealing = Sealing(10, lambda block: None, load, keeps=False)
    for _ in write_parts(noted, list("abcdefgh"), tmp_path, HERE, PartForms(sealing=sealing), part):
        pass
    assert len(cluster.loaded) == len(sealing.blocks) > 1


def test_all_documents_stay_where_something_else_needs_them(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.write(tmp_path, list("abcd"))
    cluster.write(tmp_path, list("abcd"), keeps=True)
    assert cluster.loaded == []
    assert len(list(tmp_path.glob("*.jsonl"))) == 4


# A collection


@pytest.fixture
def stub() -> Iterator[StubCluster]:
    pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")
    with stub_cluster() as running:
        yield running


def corpus(path: Path, numbers: Sequence[int]) -> Path:
    rows = [{"id": f"d{n}", "text": f"number {n} of $x^{{{n}}}$" + "." * (n % 17)} for n in numbers]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def created(stub: StubCluster) -> int:
    """Return how many documents were sent since the last call, but those of trials of rights."""
    bulks = [asked for asked in stub.proxy.asked if "_bulk" in asked.path]
    stub.proxy.asked.clear()
    return sum(
        asked.body.count(b'"create"') for asked in bulks if b"rights" not in asked.path.encode()
    )


def test_a_collection_that_grows_loads_what_is_new(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.tasks.document_retrieval._PER_PART", 5)
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", stub.proxy.url)

    def index(name: str, numbers: Sequence[int], indexes: str) -> str:
        data = corpus(tmp_path / f"{name}.jsonl", numbers)
        where = ("--data", data, "--indexes", tmp_path / indexes)
        blocks = ("--engine", "opensearch", "--block", 20, "--jobs", 1)
        said = arqmath("index", "docs", *where, *blocks).output
        assert f"{len(numbers)} documents indexed" in said
        found = arqmath(
            "search", "docs", "number", *where, "--engine", "opensearch", "--depth", 999
        )
        assert found.output.count("number") >= len(numbers)
        return said

    index("first", range(200), "indexes")
    assert created(stub) == 200
    assert len(stub.indexes) > 5
    index("of another user", range(200), "other")
    assert created(stub) == 0
    index("grown", range(220), "indexes")
    assert 20 <= created(stub) < 70
    index("without some", [*range(100), *range(110, 220)], "indexes")
    assert created(stub) < 100


def test_two_users_share_the_answers_of_a_site(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.tasks.answers.answer_documents._PER_PART", 10)
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", stub.proxy.url)
    options = ("--engine", "opensearch", "--block", 75)
    for indexes, count in (("of one", 221), ("of another", 0)):
        said = arqmath("index", "task1", "--indexes", tmp_path / indexes, *options).output
        assert "221 answers indexed" in said
        assert created(stub) == count
    assert len(stub.indexes) > 2


def test_an_interrupted_load_repeats_no_block_that_is_sealed(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.tasks.document_retrieval._PER_PART", 5)
    monkeypatch.setattr("arqmath_bm25.engines.opensearch.connection._PATIENCE", 0.3)
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", stub.proxy.url)
    data = corpus(tmp_path / "corpus.jsonl", range(200))
    command = ("index", "docs", "--data", data, "--indexes", tmp_path / "indexes")
    options = ("--engine", "opensearch", "--block", 20, "--jobs", 1)

    def away_after_ten_requests(asked: Asked) -> Answer:
        if "_bulk" in asked.path and len(stub.proxy.bulks()) > 10:
            return Answer(503)
        return stub.answer(asked)

    stub.proxy.fault = away_after_ten_requests
    assert "503" in refused(*command, *options)
    sealed = [index for index in stub.indexes.values() if "numbers" in index.mappings["_meta"]]
    there = sum(len(index.documents()) for index in sealed)
    assert 0 < there < 200

    stub.proxy.fault = stub.answer
    created(stub)
    assert "200 documents indexed" in arqmath(*command, *options).output
    assert created(stub) == 200 - there


def test_a_task_that_cannot_tell_its_parts_before_is_one_block(
    stub: StubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The formulas of Task 2, which depend on all posts."""
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", stub.proxy.url)
    where = ("--indexes", tmp_path, "--engine", "opensearch")
    arqmath("index", "task2", *where)
    (formulas,) = [index for name, index in stub.indexes.items() if "task2" in name]
    assert len(formulas.documents()) > 100
    assert "x" in arqmath("search", "task2", "$x$", *where).output
    created(stub)
    arqmath("index", "task2", "--indexes", tmp_path / "other", "--engine", "opensearch")
    assert created(stub) == 0
