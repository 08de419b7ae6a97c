"""The formulas and judgments of a larger collection, experiments/remix.py and judged.py."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from program import arqmath

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels
from experiments.judged import judged
from experiments.remix import FormulaBook, halves, write_remix
from experiments.results.runner import with_relevant

if TYPE_CHECKING:
    from pathlib import Path

SPAN = '<span class="math-container" id="{}">{}</span>'
ROWS = """id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula
7\t1\t1\tquestion\t\t20\t20\t\ta+b=c
9\t2\t1\tanswer\t\t31\t31\t\tx<y
"""


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        ("a+b=c", ("a", "+b=c")),
        (r"\frac{a+b}{c}\le 1", (r"\frac{a+b}{c}", r"\le 1")),
        (r"\{x=1\}\subset A", (r"\{x=1\}", r"\subset A")),
        ("f(x+1)", None),
        ("-x", None),
        (r"\left(a=b\right)", None),
    ],
)
def test_formulas_are_cut_before_the_first_relation_or_sum_outside_of_brackets(
    latex: str, parts: tuple[str, str] | None
) -> None:
    assert halves(latex) == parts


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    place = tmp_path / "latex_representation_v3"
    place.mkdir()
    (place / "1.tsv").write_text(ROWS)
    return place


@pytest.mark.parametrize(("noise", "second"), [(0.0, ("31", "x<y")), (1.0, ("32", "x+b=c"))])
def test_each_invented_formula_is_an_instance_with_a_row(
    formulas: Path, tmp_path: Path, noise: float, second: tuple[str, str]
) -> None:
    book = FormulaBook(formulas, random.Random(1), noise)
    text = f"So {SPAN.format(7, 'a+b=c')} and {SPAN.format(9, 'x&lt;y')}"
    html = second[1].replace("<", "&lt;")
    wanted = f"So {SPAN.format(10, 'a+b=c')} and {SPAN.format(11, html)}"
    assert book.renewed(text, 50, 49, "answer") == wanted
    book.write(tmp_path / "new")
    rows = {row.formula_id: row for row in read_formulas(tmp_path / "new")}
    assert list(rows) == ["7", "9", "10", "11"]
    assert (rows["10"].visual_id, rows["10"].latex) == ("20", "a+b=c")
    assert (rows["11"].visual_id, rows["11"].latex) == second
    assert rows["11"].post_id == "50"


def test_the_formulas_of_a_larger_collection_stand_in_its_posts(tmp_path: Path) -> None:
    collection = CollectionFiles()
    _, relevant = judged(collection, "task2")
    write_remix(collection, tmp_path / "remix", 300, relevant, 1, 0.4, 2.5, formulas=True)
    made = CollectionFiles(tmp_path / "remix")
    old = {row.formula_id for row in read_formulas(collection.layout.formulas())}
    new = [row for row in read_formulas(made.layout.formulas()) if row.formula_id not in old]
    posts = made.layout.posts().read_text()
    ids = set(re.findall(r"math-container&quot; id=&quot;(\d+)", posts))
    assert len(new) > 100
    assert {row.formula_id for row in new} <= ids
    assert not {row.post_id for row in new} & relevant


def test_judged_formulas_are_those_that_a_run_may_return(lite: Path) -> None:
    """The judgments of 2021 by visual ids of v3, cut to the subset, are beside it."""
    qrels, _ = judged(CollectionFiles(lite), "task2")
    expected = with_relevant(read_qrels(lite / "qrels_lite" / "2021_t2v3.tsv"))
    assert len(expected) == 52
    assert {topic: qrels[topic] for topic in expected} == expected


def test_the_command_writes_a_larger_collection_with_the_same_judgments(
    tmp_path: Path,
) -> None:
    out = tmp_path / "larger"
    arqmath("remix", "--output", out, "--answers", 260)
    larger = CollectionFiles(out)
    assert larger.origin_site.scan().answer_count >= 260
    given, _ = judged(CollectionFiles(SAMPLE), "task1")
    qrels, _ = judged(larger, "task1")
    assert qrels == given
    with pytest.raises(InputError, match="exists already"):
        arqmath("remix", "--output", out)
