r"""Patterns: n-grams in which variables are places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.latex import tokenize
from arqmath_bm25.analysis.terms import patterns


def of(latex: str, low: int, high: int) -> list[str]:
    return patterns(tokenize(latex), low, high)


def test_a_repeated_variable_points_back() -> None:
    assert of("x^2+x", 5, 5) == [r"\?~^~2~+~\?4"]
    assert of("x^2+y", 5, 5) == [r"\?~^~2~+~\?"]
    assert of("xx+x", 4, 4) == [r"\?~\?1~+~\?2"]


def test_what_lies_before_the_pattern_does_not_count() -> None:
    assert of("x+x", 3, 3) == [r"\?~+~\?2"]
    assert of("x+x", 2, 2) == [r"\?~+", r"+~\?"]


def test_names_of_variables_do_not_matter_but_those_of_other_symbols_do() -> None:
    assert of("a^2+b^2=c^2", 3, 5) == of(r"x^2+\alpha^2=Z^2", 3, 5)
    assert of("a^2+b^2", 3, 5) != of("a^3+b^3", 3, 5)
    assert of(r"\sin x", 2, 2) == [r"sin~\?"] != of(r"\cos x", 2, 2)
    assert of(r"x\in\mathbb{R}", 3, 3) != of(r"x\in\mathbb{Q}", 3, 3)


def test_shorter_ones_come_first_and_too_short_a_formula_has_none() -> None:
    assert of("1+2", 2, 3) == ["1~+", "+~2", "1~+~2"]
    assert of("1+2", 4, 5) == []


@given(st.lists(st.sampled_from("abxy12+="), max_size=20), st.integers(1, 5))
def test_renaming_changes_nothing(tokens: list[str], n: int) -> None:
    renamed = [{"a": "x", "x": "beta", "b": "a", "y": "b"}.get(token, token) for token in tokens]
    assert patterns(tokens, n, n) == patterns(renamed, n, n)
    assert len(patterns(tokens, n, n)) == max(0, len(tokens) - n + 1)
