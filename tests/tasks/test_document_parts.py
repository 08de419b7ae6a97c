"""Documents in parts: what they are counted by, and what their making costs."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.document_parts import PartForms, write_parts
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path


def test_the_garbage_collector_rests_while_documents_are_made(tmp_path: Path) -> None:
    seen: list[bool] = []

    def documents(number: int, counts: Counter[str]) -> Iterator[Document]:
        seen.append(gc.isenabled())
        if number < 0:
            raise ValueError(number)
        yield Document(str(number), {})

    (tmp_path / "documents").mkdir()
    parts = PartForms(json=True, flat=False)
    assert gc.isenabled()
    counts = write_parts(documents, [1], tmp_path / "documents", HERE, parts)
    assert counts == {"documents": 1}
    assert gc.isenabled()
    with pytest.raises(ValueError, match="-1"):
        write_parts(documents, [3, -1], tmp_path / "documents", HERE, parts)
    assert gc.isenabled()
    assert seen == [False] * len(seen)


def test_answers_whose_question_is_missing_are_counted(sample_indexes: Path) -> None:
    posts = ElementTree.parse(SAMPLE / "Collection" / "Posts.V1.3.xml").getroot()
    questions = {post.get("Id") for post in posts if post.get("PostTypeId") == "1"}
    parents = [post.get("ParentId") for post in posts if post.get("PostTypeId") == "2"]
    counts = OpenIndex.open(CollectionFiles(SAMPLE, sample_indexes), "task1").manifest.counts
    assert counts["documents"] == len(parents)
    without = [parent for parent in parents if parent not in questions]
    assert counts["answers without a question"] == len(without)


def test_documents_go_when_they_are_indexed(sample_indexes: Path) -> None:
    assert list(sample_indexes.rglob("manifest.json"))
    assert not list(sample_indexes.rglob("documents"))
    assert not list(sample_indexes.rglob("part-*"))


def test_documents_of_task_1_are_answers_alone(sample_indexes: Path) -> None:
    index = OpenIndex.open(CollectionFiles(SAMPLE, sample_indexes), "task1")
    posts = ElementTree.parse(SAMPLE / "Collection" / "Posts.V1.3.xml").getroot()
    for post in posts:
        found = index.task.find(post.get("Id"), index)
        assert (found is not None) == (post.get("PostTypeId") == "2")
    assert index.task.find("999999999", index) is None
