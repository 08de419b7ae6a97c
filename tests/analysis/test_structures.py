"""Sub-expressions and variables in two places as terms; expected ones are written by hand."""

from __future__ import annotations

from time import process_time

import pytest

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.formula_numbers import spelled
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.structures import LARGEST, number, structures
from arqmath_bm25.analysis.term_numbers import Trees, term_numbers
from arqmath_bm25.analysis.terms import FormulaTree, Paths

SQUARE = r"^(~1~\?~2~2)"


def terms(source: str) -> list[str]:
    return structures(read_operators(latex.read(source)[0]))


def subexpressions(source: str) -> set[str]:
    return {term for term in terms(source) if "&" not in term}


def places(source: str) -> list[str]:
    """Return the pairs of places of variables, each in alphabetic order."""
    return sorted("&".join(sorted(term.split("&"))) for term in terms(source) if "&" in term)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x^2", {SQUARE}),
        ("(x+1)^2", {r"+(~\?~1)", r"^(~1~+(~\?~1)~2~2)"}),
        ("x<x+1", {r"+(~\?~1)", r"<(~1~\?~2~+(~\?2~1))"}),
        # The variable that occurs again stands two nodes behind its first place.
        ("x<y+x", {r"+(~\?~\?)", r"<(~1~\?~2~+(~\?~\?3))"}),
        ("x_1^2", {r"^(~1~\?(~_~1)~2~2)"}),
        # An applied letter keeps its name, and two nodes are a path already.
        ("f(x)<f(y)", {r"<(~1~f(~a~\?)~2~f(~a~\?))"}),
        ("f(x)", set()),
        ("x", set()),
        ("", set()),
    ],
)
def test_every_complete_subexpression_is_a_term(source: str, expected: set[str]) -> None:
    assert subexpressions(source) == expected


def test_whatever_variables_are_called() -> None:
    assert terms("x^2+xy") == terms("a^2+ab")
    common = subexpressions("x^2+xy") & subexpressions("a^2+bc")
    assert common == {SQUARE, r"times(~\?~\?)"}  # not the sums: in one a variable is repeated


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("x^2+xy", "xy+x^2", True), ("x=y+1", "1+y=x", True), ("x^{y+1}", "(y+1)^x", False),
     ("x-y^2", "y^2-x", False)],
)  # fmt: skip
def test_arguments_have_an_order_only_where_it_means_something(
    one: str, other: str, same: bool
) -> None:
    assert (subexpressions(one) == subexpressions(other)) is same


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x^2+xy", ["+~^~1~&+~times~"]),
        ("a^2+bc", []),
        (r"\sum_{k=1}^n k^2", ["sum~1~^~1~&sum~_~=~"]),
        ("x<x+1", ["<~2~+~&~<~1~"]),
        ("xx", ["~times~&~times~"]),
    ],
)
def test_a_variable_in_two_places_is_a_term(source: str, expected: list[str]) -> None:
    assert places(source) == expected


def test_three_occurrences_are_two_pairs() -> None:
    assert len(places("x^3+x^2+x")) == 2


def test_no_term_holds_more_nodes_than_the_largest() -> None:
    def of_sum(arguments: int) -> set[str]:
        return subexpressions("+".join(["1"] * arguments))

    assert len(of_sum(LARGEST - 1)) == 1
    assert not of_sum(LARGEST)


@pytest.mark.parametrize(
    "source",
    ["x^{" * 10_000, "1+" * 20_000, r"\sqrt" * 10_000 + "x"],
    ids=["powers", "sum", "roots"],
)
def test_large_formulas_take_linear_time(source: str) -> None:
    tree = read_operators(latex.read(source)[0])
    trees = Trees()
    trees.add([FormulaTree(source, tree, Paths(structures=True))])
    begin = process_time()
    structures(tree)
    for columns in trees.batches:
        for _ in spelled(Paths(structures=True), columns):
            pass
    assert process_time() - begin < 10


@pytest.mark.parametrize("text", ["", "x", "+~times~", "𝔸\ud800"])
def test_one_term_has_the_number_that_it_has_among_many(text: str) -> None:
    assert number(text) == term_numbers(["a", text, "b"])[1]


def test_a_long_term_is_left_out_as_lucene_would_cut_it() -> None:
    sums = "+".join(rf"\operatorname{{name{n}}}(x_{{{n}}})" for n in range(6))
    assert max(len(term.encode("utf-16-le")) // 2 for term in terms(f"{sums}=1")) < 255
    short = "+".join(f"x_{{{n}}}" for n in range(6))
    assert any(term.startswith("+(") for term in terms(f"{short}=1"))
    assert not any(term.startswith("+(") for term in terms(f"{sums}=1"))
