"""Topic files of the three years, with their quirks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.layout import YEARS, Layout
from arqmath_bm25.collection.topics import Topic, read_topics
from arqmath_bm25.errors import InputError
from arqmath_bm25.sample import SAMPLE

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
            "line 2: topic A.1 stands in this file twice",
        ),
        (
            '<!DOCTYPE Topics [<!ENTITY a SYSTEM "file:///etc/passwd">]><Topics>'
            '<Topic number="A.1"><Title>&a;</Title><Question/></Topic></Topics>',
            "",
        ),
    ],
)
def test_faults_are_named_with_their_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "topics.xml"
    path.write_text(content, encoding="utf-8")
    if not message:  # an external entity is not resolved
        assert "root" not in read_topics(path)[0].title
        return
    with pytest.raises(InputError) as error:
        read_topics(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such topic file"):
        read_topics(tmp_path / "t.xml")


def test_the_sample_has_topics_of_all_years() -> None:
    layout = Layout(SAMPLE)
    ids = {year: [t.topic_id for t in read_topics(layout.task1_topics(year))] for year in YEARS}
    assert {year: (found[0], len(found)) for year, found in ids.items()} == {
        "2020": ("A.1", 8),
        "2021": ("A.201", 8),
        "2022": ("A.301", 8),
    }


def test_official_topics(lite: Path) -> None:
    layout = Layout(lite)
    topics = {year: read_topics(layout.task1_topics(year)) for year in YEARS}
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
    topics = {t.topic_id: t for t in read_topics(Layout(lite).task1_topics(year))}  # type: ignore[arg-type]
    formulas = read_body(topics[number].question).formulas
    found = [f.latex for f in formulas if f.formula_id == formula_id]
    if latex is None:
        assert len(found) == 1
        assert found[0].count("$") == 4
    else:
        assert latex in found
