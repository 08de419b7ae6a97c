"""Links between questions, and what documents make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from as_text import as_text
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.tasks.answers.answer_documents import NOTHING, answer_documents
from arqmath_bm25.tasks.answers.post_signatures import PartSignatures

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
    assert links.of("1") == ["3", "5", "77"]
    assert links.of("3") == links.of("5") == ["1"]
    assert links.of("2") == []
    assert PostLinks.read(None).of("1") == []
    part = links.part(np.array([1, 2, 3]))
    assert (part.of("1"), part.of("5")) == (["3", "5", "77"], [])
    assert part.linked().tolist() == [1, 3, 5, 77]


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    broken = '<rOw PostId="1" RelatedPostId="2"/> <row PostId="01" RelatedPostId="2"/></postlinks>'
    (tmp_path / "PostLinks.xml").write_text(LINKS.replace("</postlinks>", broken))
    assert PostLinks.read(tmp_path / "PostLinks.xml").counts == {
        "rows": 9,
        "links": 5,
        "rows whose PostId or RelatedPostId is no positive number": 3,
        "broken rows": 1,
    }


def test_a_document_has_the_terms_of_an_answer_and_of_its_question(tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").write_text(POSTS)
    table = PostTable.scan(tmp_path / "Posts.xml")
    analyzer = Analyzer(AnalysisSettings())
    first, second, third = map(
        as_text, answer_documents(table.threads(), analyzer, PartSignatures())
    )
    assert first == {
        "id": "2",
        "contents": "answer",
        "answer_math": "",
        "answer_operators": "",
        "question_text": "q",
        "question_math": "",
        "question_operators": "",
        "title_text": "one",
        "title_math": "",
        "title_operators": "",
        "tags": "",  # `a` is a stop word
    }
    own = {"contents": "answer question miss", "answer_math": "", "answer_operators": ""}
    assert second == {"id": "6", **own}
    # Anserini would drop a document without contents.
    assert third == {
        "id": "7",
        "contents": NOTHING.terms,
        "answer_math": "z",
        "answer_operators": "",
    }


@given(
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))),
    posts=st.lists(st.integers(-1, 11)),
)
def test_the_links_of_some_posts_are_those_of_each(
    pairs: list[tuple[int, int]], posts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("links") / "PostLinks.xml"
    rows = "".join(f'<row PostId="{one}" RelatedPostId="{other}"/>' for one, other in pairs)
    path.write_text(f"<postlinks>{rows}</postlinks>")
    links = PostLinks.read(path)
    part = links.part(np.array(posts, np.int64))
    for post in map(str, range(12)):
        assert part.of(post) == (links.of(post) if int(post) in posts else [])
