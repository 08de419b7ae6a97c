"""Signatures against what they stand for: the terms of each tree as text, found by recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.formula_similarity import Signatures, signatures
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.term_numbers import Trees
from arqmath_bm25.analysis.terms import FormulaTree, Paths, paths
from arqmath_bm25.analysis.trees import Tree, blind

if TYPE_CHECKING:
    import pytest

FORMULAS = [
    r"x^2+y^2", r"f(x)=\sum_{i=1}^n x_i", r"\frac{a}{b}", r"\frac{b}{a}", "a-b", "b-a", "x_i", "x",
    "", r"\int_0^1 \sin^2 t\,dt", r"P(A|B)", r"\sqrt[3]{x}", r"\begin{cases}1&x>0\\0\end{cases}",
]  # fmt: skip


def tree(source: str) -> Tree:
    return read_operators(latex.read(source)[0])


def terms_as_text(of: Tree) -> set[str]:
    """Return paths and subtrees; a subtree is its symbol with its sorted arguments."""
    symbols, parents, edges = blind(of)
    below: dict[int, list[int]] = {}
    for node in range(1, len(symbols)):
        below.setdefault(parents[node], []).append(node)

    def subtree(node: int) -> str:
        inner = sorted(edges[child] + subtree(child) for child in below.get(node, ()))
        return f"{symbols[node]}({' '.join(inner)})"

    return set(paths(blind(of))) | {subtree(node) for node in below if node}


def of_trees(trees: list[Tree]) -> Signatures:
    numbered = Trees()
    for number, one in enumerate(trees):
        numbered.add([FormulaTree(str(number), one, Paths())])
    assert numbered.members.tolist() == list(range(len(trees)))
    return signatures(numbered)


def by_tree(trees: list[Tree]) -> list[list[int]]:
    found = of_trees(trees)
    return [part.tolist() for part in np.split(found.terms, found.ends[:-1])]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FORMULAS) | st.text("x2+-^_{}()a=\\, f", max_size=12), max_size=8))
def test_terms_are_those_of_the_tree(sources: list[str]) -> None:
    trees = list(map(tree, sources))
    known: dict[str, set[int]] = {}
    for of, found in zip(trees, by_tree(trees) if trees else [], strict=True):
        expected = terms_as_text(of)
        assert found == sorted(set(found))
        assert len(found) == len(expected)
        for term in expected:  # each text has one number: among those of all trees that have it
            known[term] = known.get(term, set(found)) & set(found)
    assert all(known.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=8))
def test_trees_do_not_touch_each_other(sources: list[str]) -> None:
    trees = list(map(tree, sources))
    assert by_tree(trees) == [by_tree([one])[0] for one in trees]


def test_trees_of_several_batches_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = list(map(tree, FORMULAS))
    expected = by_tree(trees)
    monkeypatch.setattr(Trees, "_TOGETHER", 4)
    assert by_tree(trees) == expected


def test_numbers_are_the_same_wherever_they_are_computed() -> None:
    # An index holds them: where they change, the version of the analysis has to grow.
    expected = [1556935020, 1844915357, 1942635363, 2743537085, 4095156482, 4257981280]
    assert by_tree([tree("x^2")]) == [expected]


def test_a_deep_tree_is_read_to_its_leaves() -> None:
    def nested(depth: int, leaf: str) -> Tree:
        return tree(r"\frac{" * depth + leaf + "}{2}" * depth)

    one, other = by_tree([nested(300, "1"), nested(300, "3")])
    # The paths of two and of three nodes to the leaf, and all 300 subtrees.
    assert len(set(one) - set(other)) == 302


def test_nothing_has_no_signature() -> None:
    assert by_tree([tree(""), tree("x"), tree("")])[::2] == [[], []]
    assert of_trees([]).terms.tolist() == []
