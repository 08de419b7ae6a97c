"""Excerpts of a text: cut between words and formulas."""

from __future__ import annotations

from arqmath_bm25.analysis.excerpts import beginning, excerpt
from arqmath_bm25.analysis.html import Content, Formula
from arqmath_bm25.tasks.task import Found

MATRIX = r"\begin{pmatrix}a&b\\c&d\end{pmatrix}"


def test_a_formula_is_never_cut() -> None:
    content = Content(("Let be ", Formula(MATRIX, None), " invertible."))
    for length in range(1, 60):
        text = excerpt(content, length).text
        assert text.count("$") in (0, 2)
        assert MATRIX in text or "\\" not in text


def test_words_are_not_cut() -> None:
    assert excerpt(Content(("one two three",)), 9).text == "one two …"


def test_a_text_that_fits_has_no_mark_of_a_cut() -> None:
    content = Content(("x is ", Formula("x", None)))
    assert excerpt(content, 6) == content


def test_the_short_text_of_a_hit_ends_outside_formulas() -> None:
    body = f"<p>{'word ' * 56}is ${MATRIX}$</p>"
    for found in (Found(body=body), Found(text=body[3:-4])):
        assert found.short_text.endswith("word is …")
    assert beginning(body, 1000).text.endswith("$")
