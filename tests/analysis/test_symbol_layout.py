"""Symbol layout trees: which symbol stands where, whatever way it was written."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from growth import check_growth
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import check_terms, mutated, real_formulas

from arqmath_bm25.analysis.latex import read
from arqmath_bm25.analysis.symbol_layout import read_layout
from arqmath_bm25.analysis.terms import paths
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def pairs(latex: str) -> set[str]:
    return set(paths(read_layout(read(latex)[0]), 2, 2))


def test_symbols_follow_each_other_between_a_start_and_an_end() -> None:
    assert pairs("a+1") == {"~n~a", "a~n~+", "+~n~1", "1~n~"}
    assert pairs("") == set()


def test_scripts_leave_the_line_and_the_line_goes_on() -> None:
    assert pairs("x^2+1") == {"~n~x", "x~a~2", "2~n~", "x~n~+", "+~n~1", "1~n~"}
    assert pairs(r"\sum_{i=1}^n i") == {
        "~n~sum", "sum~b~i", "i~n~=", "=~n~1", "1~n~", "sum~a~n", "n~n~", "sum~n~i", "i~n~",
    }  # fmt: skip


def test_fractions_roots_and_accents_hold_lines_of_their_own() -> None:
    assert pairs(r"\frac{a}{bc}d") == {
        "~n~frac", "frac~o~a", "a~n~", "frac~u~b", "b~n~c", "c~n~", "frac~n~d", "d~n~",
    }  # fmt: skip
    assert pairs(r"\sqrt[3]{x}y") == {
        "~n~sqrt", "sqrt~a~3", "3~n~", "sqrt~w~x", "x~n~", "sqrt~n~y", "y~n~",
    }  # fmt: skip
    assert pairs(r"\hat{x}") == {"~n~hat", "hat~w~x", "x~n~", "hat~n~"}


def test_tables_have_elements_and_a_shape() -> None:
    assert pairs(r"\begin{pmatrix}1&2\\3&4\end{pmatrix}") == {
        "~n~matrix", "matrix~e~1", "matrix~e~2", "matrix~e~3", "matrix~e~4", "1~n~", "2~n~",
        "3~n~", "4~n~", "matrix~s~2x2", "matrix~n~",
    }  # fmt: skip
    assert "matrix~s~2x3" in pairs(r"\begin{matrix}a&b&c\\d&e\end{matrix}")
    assert "matrix~s~1x3" in pairs(r"\begin{bmatrix}a&b&c\\\end{bmatrix}^T")
    assert "matrix~a~T" in pairs(r"\begin{bmatrix}a&b&c\\\end{bmatrix}^T")
    assert "cases~s~2x2" in pairs(r"f=\begin{cases}1&x>0\\0&x\le0\end{cases}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\sum^n_{i=1} i", r"\sum_{i=1}^{n} i"),
        (r"{a\over b}+c", r"\frac{a}{b}+c"),
        (r"x {n \choose k}", r"x\binom{n}{k}"),
        (r"\frac12", r"\frac{1}{2}"),
        (r"x^\frac12", r"x^{\frac{1}{2}}"),
        ("a{b}{{c}}", "abc"),
        (r"{x}^{2}", "x^2"),
        ("f'", r"f^{\prime}"),
        (r"\left( \dfrac{a}{b} \right)", r"(\frac ab)"),
    ],
)
def test_two_ways_to_write_it_have_one_layout(one: str, other: str) -> None:
    assert pairs(one) == pairs(other)


def test_different_layouts_of_the_same_symbols_differ() -> None:
    assert pairs("x^2y") != pairs("x_2y") != pairs("x2y") != pairs("xy^2")
    assert pairs(r"\sqrt{a+b}") != pairs(r"\sqrt{a}+b")


def test_paths_go_through_more_symbols() -> None:
    layout = read_layout(read("x^2+1")[0])
    assert paths(layout, 3, 3) == [
        "~n~x~a~2", "x~a~2~n~", "~n~x~n~+", "x~n~+~n~1", "+~n~1~n~",
    ]  # fmt: skip
    assert paths(layout, 2, 3) == [*paths(layout, 2, 2), *paths(layout, 3, 3)]
    assert set(paths(layout, 4, 4)) == {"~n~x~a~2~n~", "~n~x~n~+~n~1", "x~n~+~n~1~n~"}


@pytest.mark.parametrize(
    ("broken", "read_as"),
    [
        ("^2", {"~n~{}", "{}~a~2", "2~n~", "{}~n~"}),
        ("x^", {"~n~x", "x~n~"}),
        ("}x", {"~n~x", "x~n~"}),
        ("x^{2", {"~n~x", "x~a~2", "2~n~", "x~n~"}),
        (r"\frac{a}", {"~n~frac", "frac~o~a", "a~n~", "frac~n~"}),
        (r"a&b\\c", {"~n~a", "a~n~b", "b~n~c", "c~n~"}),
        (r"\begin{matrix}a", {"~n~matrix", "matrix~e~a", "a~n~", "matrix~n~"}),
        (r"a\end{matrix}", {"~n~a", "a~n~"}),
    ],
)
def test_what_is_broken_is_read_as_it_comes(broken: str, read_as: set[str]) -> None:
    assert pairs(broken) == read_as


PIECES = [
    *"{}^_&[]ab12+'.~$%", r"\frac", r"\sqrt", r"\over", r"\choose", r"\hat", r"\\", r"\left",
    r"\begin{matrix}", r"\end{matrix}", r"\begin{cases}", r"\end{cases}", r"\text{if }", r"\not",
    r"\stackrel", r"\operatorname{", r"\mathbb", "ℝ", "\\", " ",
]  # fmt: skip


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.text()))
def test_any_source_gives_a_tree_and_terms_without_blanks(latex: str) -> None:
    layout = read_layout(read(latex)[0])
    assert len(layout.symbols) == len(layout.parents) == len(layout.edges)
    for node in range(1, len(layout.symbols)):  # every node leads back to the start mark
        steps = 0
        while node:
            node, steps = layout.parents[node], steps + 1
            assert steps < len(layout.symbols)
    for term in paths(layout, 2, 3):
        assert len(term) <= 255
        assert not any(character.isspace() for character in term)


@pytest.mark.parametrize("collection", ["sample", "lite"])
@given(data=st.data())
@settings(deadline=None)
def test_real_formulas_may_break_anywhere(
    collection: str, data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    formulas = _real(SAMPLE if collection == "sample" else request.getfixturevalue("lite"))
    source = data.draw(mutated(formulas, PIECES))
    check_terms(lambda text: paths(read_layout(read(text)[0]), 2, 3), source, 10)


@cache
def _real(data: Path) -> list[str]:
    return real_formulas(data / "Formulas" / "latex_representation_v3")


@pytest.mark.parametrize(
    "unit", ["{", "}", "x^{", r"\frac{", r"\sqrt", "x^", r"\begin{matrix}", r"a\over ", r"\sqrt["]
)
def test_time_is_linear_in_length_at_any_depth(unit: str) -> None:
    def find_paths(source: str) -> None:
        paths(read_layout(read(source)[0]), 2, 3)

    # It would be 4 times as long if linear, 16 times if quadratic.
    check_growth(find_paths, unit * 10_000, unit * 40_000, limit=12)
