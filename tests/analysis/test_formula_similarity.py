"""How alike formulas are; expected figures are counted by hand."""

from __future__ import annotations

import pytest

import arqmath_bm25 as arq


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x^2+3y=z", "c=3a+b^2"),  # names of variables and the order of terms do not matter
        ("x_i+1", "y_j+1"),
        (r"\frac{a}{b}+c", r"{x \over y} + z"),
        ("x^n", "{x}^{n}"),
        ("x", "x"),
        (r"\def\norm#1{\|#1\|} \norm{x}", r"\|x\|"),  # macros are written out
        (r"\newcommand{\R}{\mathbb R} f:\R\to\R", r"f:\mathbb{R}\to\mathbb{R}"),
    ],
)
def test_formulas_that_say_the_same_are_as_alike_as_can_be(one: str, other: str) -> None:
    assert arq.formula_similarity(one, other) == pytest.approx(1)


@pytest.mark.parametrize(("one", "other"), [("x", r"\alpha+1"), ("", "x+y"), ("x^2", r"\infty")])
def test_formulas_without_a_common_path_are_not_alike(one: str, other: str) -> None:
    assert arq.formula_similarity(one, other) == 0


def test_similarity_is_the_squared_cosine_of_the_sets_of_terms() -> None:
    # x^2 has ~^, ^~1~\?, ^~2~2, ~^~1~\?, ~^~2~2 without its start mark, and the whole: 6 terms.
    # x^2+y^2 has ~+, +~^, ^~1~\?, ^~2~2; ~+~^, +~^~1~\?, +~^~2~2; ^ with its arguments, and the
    # whole: 9 terms, of which both have the two below ^, and ^ with its arguments.
    assert arq.formula_similarity("x^2", "x^2+y^2") == pytest.approx(3**2 / (6 * 9))


def test_ordered_arguments_are_told_apart() -> None:
    assert 0 < arq.formula_similarity("x-1", "1-x") < 1
    assert 0 < arq.formula_similarity(r"\frac{x}{2}", r"\frac{2}{x}") < 1


def test_larger_common_parts_make_formulas_more_alike() -> None:
    alike = arq.formula_similarity
    assert alike("x^2+y^2", "x^2+y^2=z^2") > alike("x^2+y^2", r"\int f(x) dx")
    assert 0 < alike("x^2+y^2", "x^2+y^3") < 1


def test_many_formulas_are_compared_at_once() -> None:
    formulas, others = ["x+y", r"\sin x"], ["a+b", r"\sin(x)", r"\sum_n n"]
    table = arq.formula_similarities(formulas, others)
    assert table.shape == (2, 3)
    one_by_one = [[arq.formula_similarity(one, other) for other in others] for one in formulas]
    assert table.tolist() == one_by_one
    assert arq.formula_similarities([], others).shape == (0, 3)


def test_a_deep_formula_is_compared() -> None:
    deep = r"\frac{" * 300 + "1" + "}{2}" * 300
    assert arq.formula_similarity(deep, deep) == 1
