"""Topic files of the three years, with their quirks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def topic_file(path: Path, topics: str) -> Path:
    path.write_text(f'<?xml version="1.0" ?>\r\n<Topics>\r\n{topics}</Topics>', encoding="utf-8")
    return path


def test_a_topic_is_read_as_it_stands(tmp_path: Path) -> None:
    path = topic_file(
        tmp_path / "t.xml",
        '<Topic number="A.1"><Title>Is &lt;span class="math-container" id="q_1"&gt;$x&amp;lt;1$'
        "&lt;/span&gt;?</Title><Question>&lt;p&gt;It is.&lt;/p&gt;</Question>"
        "<Tags>calculus,limits</Tags></Topic>\r\n",
    )
    (topic,) = read_topics(path)
    title = 'Is <span class="math-container" id="q_1">$x&lt;1$</span>?'
    assert topic == Topic("A.1", title, "<p>It is.</p>", ("calculus", "limits"))
    assert [(f.latex, f.formula_id) for f in read_title(topic.title).formulas] == [("x<1", "q_1")]


@pytest.mark.parametrize(
    ("inside", "html"),
    [
        ("One<!-- x --> two", "One two"),
        ("One <?x y?>two", "One two"),
        ("One <![CDATA[<b>two</b> &lt;]]> three", "One <b>two</b> &lt; three"),
        ("One<p>two</p><p>three &lt; four</p>", "One<p>two</p><p>three &lt; four</p>"),
        ("A <b>b <i>c</i> d</b> e <br/>&amp;lt; f", "A <b>b <i>c</i> d</b> e <br/>&lt; f"),
        ('<span class="math-container" id="q_1">$x$</span>!',
         '<span class="math-container" id="q_1">$x$</span>!'),
    ],
)  # fmt: skip
def test_topics_are_read_whole(tmp_path: Path, inside: str, html: str) -> None:
    number = '<Topic number="B.1">'
    (tmp_path / "t.xml").write_text(
        f"<Topics>{number}<Formula_Id>q<!-- -->_1</Formula_Id><Latex>x<![CDATA[<]]><b>y</b></Latex>"
        f"<Title>{inside}</Title><Question>{inside}</Question>"
        "<Tags>a<!-- -->-b,<x>c</x></Tags></Topic></Topics>"
    )
    topic = Topic("B.1", html, html, ("a-b", "c"))
    assert read_topics(tmp_path / "t.xml") == (topic._replace(formula_id="q_1", formulas=("x<y",)),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a topic file"),
        ("<Topics>", "not a topic file"),
        ("<posts/>", "expected <Topics>, found <posts>"),
        ("<Topics></Topics>", "has no topics"),
        (
            "<Topics>\n<Topic><Title/><Question/></Topic></Topics>",
            "line 2: <Topic> without a number",
        ),
        ('<Topics><Topic number="A.1"><Title/></Topic></Topics>', "topic A.1 has no <Question>"),
        (
            '<Topics><Topic number="A.1"><Title/><Question/></Topic>\n'
            '<Topic number="A.1"><Title/><Question/></Topic></Topics>',
            "line 2: topic A.1 comes twice",
        ),
        (
            '<!DOCTYPE Topics [<!ENTITY a SYSTEM "file:///etc/passwd">]><Topics>'
            '<Topic number="A.1"><Title>&a;</Title><Question/></Topic></Topics>',
            "declares a DTD",
        ),
        ("<Topics><tOpic/></Topics>", "line 1: expected <Topic>, found <tOpic>"),
        (
            '<Topics><Topic number="A.1"><Title/><Question/><Title/></Topic></Topics>',
            "topic A.1 has 2 elements <Title>",
        ),
        ('<Topics>\n<Topic number="A.1"><Title>&nbsp;</Title>', "'nbsp' not defined, line 2"),
        (b"<Topics>\n<Topic>\xff</Topic></Topics>", "Invalid bytes in character encoding, line 2"),
    ],
)
def test_faults_are_named_with_their_place(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = tmp_path / "topics.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as error:
        read_topics(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such topic file"):
        read_topics(tmp_path / "t.xml")


def test_the_sample_has_topics_of_all_years() -> None:
    layout = Layout(SAMPLE)
    ids = {year: [t.topic_id for t in read_topics(layout.topics("task1", year))] for year in YEARS}
    assert {year: (found[0], len(found)) for year, found in ids.items()} == {
        "2020": ("A.1", 8),
        "2021": ("A.201", 8),
        "2022": ("A.301", 8),
    }


def test_official_topics(lite: Path) -> None:
    layout = Layout(lite)
    topics = {year: read_topics(layout.topics("task1", year)) for year in YEARS}
    assert [len(topics[year]) for year in YEARS] == [98, 100, 100]
    for topic in (topic for year in YEARS for topic in topics[year]):
        pieces = (*read_title(topic.title).pieces, *read_body(topic.question).pieces)
        assert any(not isinstance(piece, str) for piece in pieces), topic.topic_id
        assert not any("math-container" in piece for piece in pieces if isinstance(piece, str))
        assert 1 <= len(topic.tags) <= 5


@pytest.mark.parametrize(
    ("year", "number", "formula_id", "latex"),
    [
        ("2021", "A.226", "q_228", r"(x,y)=\left(t^{1/t},t\right),\qquad0<t<\infty."),  # bare <
        ("2021", "A.258", "q_521", "M<x"),
        ("2021", "A.205", None, "x^n=n^x"),  # a span without id
        ("2021", "A.255", None, r"-\infty< x <\infty, -\infty< y <\infty"),  # nested, no dollars
        ("2022", "A.366", "q_729", None),  # dollars inside \text
    ],
)
def test_official_quirks(
    lite: Path, year: str, number: str, formula_id: str | None, latex: str | None
) -> None:
    topics = {t.topic_id: t for t in read_topics(Layout(lite).topics("task1", year))}  # type: ignore[arg-type]
    formulas = read_body(topics[number].question).formulas
    found = [f.latex for f in formulas if f.formula_id == formula_id]
    if latex is None:
        assert len(found) == 1
        assert found[0].count("$") == 4
    else:
        assert latex in found
