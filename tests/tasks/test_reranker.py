"""The second stage of Task 1 on three threads; expected scores are added up by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.records import Hit
from arqmath_bm25.tasks.answers.answer_retrieval import Reranker
from arqmath_bm25.tasks.settings import RerankSettings

if TYPE_CHECKING:
    from pathlib import Path

POSTS = """<posts>
<row Id="1" PostTypeId="1" Title="one" Body=""/>
<row Id="2" PostTypeId="2" ParentId="1" Body=""/>
<row Id="3" PostTypeId="2" ParentId="1" Body=""/>
<row Id="5" PostTypeId="1" Title="two" Body=""/>
<row Id="6" PostTypeId="2" ParentId="5" Body=""/>
<row Id="7" PostTypeId="2" ParentId="70" Body="its question is missing"/>
</posts>"""
HITS = [Hit("6", 4), Hit("3", 3), Hit("7", 2), Hit("2", 1)]


@pytest.fixture
def posts(tmp_path: Path) -> PostTable:
    (tmp_path / "Posts.xml").write_text(POSTS)
    return PostTable.scan(tmp_path / "Posts.xml")


def test_a_thread_adds_the_share_of_its_best_score_that_its_weight_says(posts: PostTable) -> None:
    found = Reranker(posts, RerankSettings(thread=0.5)).rerank(HITS)
    assert found == [Hit("6", 1.5 * 4), Hit("3", 1.5 * 3), Hit("7", 1.5 * 2), Hit("2", 1 + 3 / 2)]


def test_an_answer_of_a_good_thread_overtakes(posts: PostTable) -> None:
    hits = [Hit("6", 4), Hit("3", 3.5), Hit("7", 3), Hit("2", 2.75)]
    found = Reranker(posts, RerankSettings(thread=1)).rerank(hits)
    assert found == [Hit("6", 8), Hit("3", 7), Hit("2", 6.25), Hit("7", 6)]


def test_ranks_below_the_depth_stay(posts: PostTable) -> None:
    stage = Reranker(posts, RerankSettings(thread=1, depth=2))
    assert stage.rerank(HITS) == [Hit("6", 8), Hit("3", 6), *HITS[2:]]
    assert stage.rerank([]) == []


def test_ties_are_in_descending_order_of_ids(posts: PostTable) -> None:
    hits = [Hit("7", 1), Hit("2", 1), Hit("3", 1)]
    found = Reranker(posts, RerankSettings(thread=1)).rerank(hits)
    assert [hit.doc_id for hit in found] == ["7", "3", "2"]
