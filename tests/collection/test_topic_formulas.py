"""The formulas of the topics. Rows are made up after the real headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.formulas import read_topic_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.records import Topic

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "id\ttopic_id\tthread_id\ttype\tformula"


def tsv(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "formulas.tsv"
    path.write_bytes(text.encode())
    return path


def topic(number: str, formula_id: str) -> Topic:
    return Topic(number, "title", formula_id=formula_id, formulas=("x",))


def test_a_formula_may_stand_on_two_lines(tmp_path: Path) -> None:
    text = f'{HEADER}\r\nq_1\tA.1\t11\ttitle\t"a ""b""\n c"\r\n'
    assert list(read_topic_formulas(tsv(tmp_path, text))) == [
        {"id": "q_1", "topic_id": "A.1", "thread_id": "11", "type": "title", "formula": 'a "b"\n c'}
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: not the header of topic formulas"),
        ("id\tpost_id\tthread_id\ttype\tformula\n", "row 1: not the header of topic formulas"),
        (f"{HEADER}\nq_1\tA.1\t11\ttitle\n", "line 2: expected 5 columns, found 4"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_topic_formulas(tsv(tmp_path, text)))
    with pytest.raises(InputError, match="no such file of topic formulas"):
        list(read_topic_formulas(tmp_path / "absent.tsv"))


def test_the_layout_knows_where_they_lie(tmp_path: Path) -> None:
    names = {
        "2020": "Formula_topics_latex_V2.0.tsv",
        "2021": "Topics_2021_Formulas_Latex_V1.1.tsv",
        "2022": "Topics_Formulas_Latex.V0.1.tsv",
    }
    layout = Layout(tmp_path)
    for number, year in enumerate(YEARS, 1):
        folder = tmp_path / f"Topics/Task2 Topics/ARQMath-{number}/Formulas"
        folder.mkdir(parents=True)
        with pytest.raises(InputError, match=rf"missing file .*{names[year]}.*published at"):
            layout.topic_formulas(year)
        (folder / names[year]).touch()
        assert layout.topic_formulas(year) == folder / names[year]
