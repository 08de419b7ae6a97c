"""Links between questions, and what documents make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.config import AnalysisSettings
from arqmath_bm25.documents.answers import answer_documents

if TYPE_CHECKING:
    from pathlib import Path

LINKS = """<?xml version="1.0" ?>
<postlinks>
   <row PostId="1" RelatedPostId="5" LinkTypeId="1"/>
   <row Id="9" CreationDate="2012-06-24T18:16:10.094" PostId="5" RelatedPostId="1" LinkTypeId="3"/>
   <row PostId="3" RelatedPostId="1" LinkTypeId="3"/>
   <row PostId="1" RelatedPostId="1" LinkTypeId="1"/>
   <row PostId="1" RelatedPostId="77" LinkTypeId="1"/>
   <row PostId="1" LinkTypeId="1"/>
   <row PostId="x" RelatedPostId="1"/>
</postlinks>
"""
POSTS = """<posts>
<row Id="1" PostTypeId="1" Title="one" Body="q" Tags="a"/>
<row Id="2" PostTypeId="2" ParentId="1" Body="answer"/>
<row Id="3" PostTypeId="1" Title="three $x$" Body="q" Tags="a"/>
<row Id="5" PostTypeId="1" Title="five $y$" Body="q" Tags="a"/>
<row Id="6" PostTypeId="2" ParentId="4" Body="an answer whose question is missing"/>
</posts>"""


def test_a_link_counts_for_both_ends_and_once(tmp_path: Path) -> None:
    path = tmp_path / "PostLinks.xml"
    path.write_text(LINKS)
    links = PostLinks.read(path)
    assert links.of("1") == ["3", "5", "77"]
    assert links.of("3") == links.of("5") == ["1"]
    assert links.of("2") == []
    assert PostLinks.read(None).of("1") == []
    part = links.part(np.array([1, 2, 3]))
    assert (part.of("1"), part.of("5")) == (["3", "5", "77"], [])
    assert part.linked().tolist() == [1, 3, 5, 77]


def test_titles_of_linked_questions_go_into_the_document(tmp_path: Path) -> None:
    (tmp_path / "PostLinks.xml").write_text(LINKS)
    (tmp_path / "Posts.xml").write_text(POSTS)
    table = PostTable.scan(tmp_path / "Posts.xml")
    links = PostLinks.read(tmp_path / "PostLinks.xml")
    analyzer = Analyzer(AnalysisSettings())
    first, second = answer_documents(table.threads(), table.threads(), links, analyzer)
    assert first == {
        "id": "2",
        "contents": "answer",
        "answer_math": "",
        "question_text": "q",
        "question_math": "",
        "title_text": "one",
        "title_math": "",
        "tags": "",  # `a` is a stop word
        "linked_text": "three five",
        "linked_math": "x y",
    }
    assert second == {"id": "6", "contents": "answer question miss", "answer_math": ""}
