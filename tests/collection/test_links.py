"""Links between questions, and what documents make of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from all_fields import all_fields
from as_text import as_text

from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.tasks.answers.answer_documents import answer_documents
from arqmath_bm25.tasks.document_fields import NOTHING

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
<row Id="7" PostTypeId="2" ParentId="4" Body="$z$"/>
</posts>"""


def test_a_link_counts_for_both_ends_and_once(tmp_path: Path) -> None:
    path = tmp_path / "PostLinks.xml"
    path.write_text(LINKS)
    links = PostLinks.read(path)
    assert links.of(1) == [3, 5, 77]
    assert links.of(3) == links.of(5) == [1]
    assert links.of(2) == []
    assert PostLinks.read(None).of(1) == []


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    broken = '<rOw PostId="1" RelatedPostId="2"/> <row PostId="01" RelatedPostId="2"/></postlinks>'
    (tmp_path / "PostLinks.xml").write_text(LINKS.replace("</postlinks>", broken))
    assert PostLinks.read(tmp_path / "PostLinks.xml").counts == {
        "rows": 9,
        "links": 5,
        "rows without PostId or RelatedPostId": 3,
        "broken rows": 1,
    }


def test_a_document_has_the_terms_of_an_answer_and_of_its_question(tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").write_text(POSTS)
    table = PostTable.scan(tmp_path / "Posts.xml")
    settings, counts = all_fields(AnalysisSettings()), Counter[str]()
    documents = answer_documents(table.threads(), settings, counts)
    first, second, third = map(as_text, documents)
    assert counts == {"answers without a question": 2, "answers without words": 1}
    assert first == {
        "id": "2",
        "contents": "answer",
        "body_math": "",
        "body_operators": "",
        "question_text": "q",
        "question_math": "",
        "question_operators": "",
        "title_text": "one",
        "title_math": "",
        "title_operators": "",
        "tags": "",  # `a` is a stop word
    }
    own = {"contents": "answer question miss", "body_math": "", "body_operators": ""}
    assert second == {"id": "6", **own}
    # Anserini would drop a document without contents.
    assert third == {
        "id": "7",
        "contents": NOTHING.terms,
        "body_math": "z",
        "body_operators": "",
    }
