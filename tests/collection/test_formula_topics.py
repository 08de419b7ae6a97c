"""Topics of Task 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import by_visual_id, read_qrels
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.tasks import configured

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = """<?xml version="1.0" ?>
<Topics>
   <Topic number="B.1">
      <Formula_Id>q_4</Formula_Id>
      <Latex>f(x)= \\frac{x^2 + x + c}{x^2 + 2x + c}</Latex>
      <Title>Finding &lt;span class=&quot;math-container&quot; id=&quot;q_1&quot;&gt;$c$&lt;/span&gt;</Title>
      <Question>&lt;p&gt;If it is so&lt;/p&gt;</Question>
      <Tags>functions</Tags>
   </Topic>
</Topics>
"""  # noqa: E501


def test_a_topic_is_a_question_and_one_of_its_formulas(tmp_path: Path) -> None:
    path = tmp_path / "topics.xml"
    path.write_text(TOPIC, encoding="utf-8")
    (found,) = read_topics(path)
    assert found.formula_id == "q_4"
    assert found.latex == r"f(x)= \frac{x^2 + x + c}{x^2 + 2x + c}"
    assert found.topic_id == "B.1"
    assert found.tags == ("functions",)


@pytest.mark.parametrize("element", ["Formula_Id", "Latex"])
def test_a_topic_without_a_formula_is_refused(tmp_path: Path, element: str) -> None:
    path = tmp_path / "topics.xml"
    path.write_text(TOPIC.replace(element, "Other"), encoding="utf-8")
    with pytest.raises(InputError, match=r"topics.xml: topic B.1 has no <Formula_Id>"):
        configured("task2").read(CollectionFiles(), path)


def test_the_topics_of_all_years_hold_their_formula(lite: Path) -> None:
    numbers = {"2020": 85, "2021": 100, "2022": 100}
    for year in YEARS:
        topics = read_topics(Layout(lite).topics("task2", year))
        assert len(topics) == numbers[year]
        for topic in topics:
            parts = (read_title(topic.title), read_body(topic.question))
            ids = [formula.formula_id for part in parts for formula in part.formulas]
            assert topic.formula_id in ids


def test_the_sample_searches_formulas_of_its_questions() -> None:
    layout = Layout(SAMPLE)
    returnable = {
        row.visual_id for row in read_formulas(layout.formulas()) if row.type != "comment"
    }
    ids = FormulaIds.read(layout.formulas())
    for year in YEARS:
        questions = {topic.topic_id: topic for topic in read_topics(layout.topics("task1", year))}
        topics = read_topics(layout.topics("task2", year))
        assert len(topics) == 7
        for topic in topics:
            question = questions[topic.topic_id.replace("B", "A")]
            assert (topic.title, topic.question) == (question.title, question.question)
            parts = (read_title(question.title), read_body(question.question))
            formulas = {f.formula_id: f.latex for part in parts for f in part.formulas}
            assert formulas[topic.formula_id] == topic.latex
        path = layout.qrels("task2", year)
        qrels = by_visual_id(read_qrels(path), ids, path).qrels
        assert len(qrels) == 6  # one topic was not assessed
        assert set(qrels) < {topic.topic_id for topic in topics}
        for judged in qrels.values():
            assert set(judged) <= returnable
            assert sum(grade >= 2 for grade in judged.values()) >= 2
            assert min(judged.values()) == 0
