"""Signatures, their idf and MaxSim; expected figures are counted by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arqmath_bm25 as arq
from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.formula_similarity import (
    FormulaIdf,
    FormulaQuery,
    Formulas,
    norms,
    signatures,
)
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.term_numbers import Trees
from arqmath_bm25.analysis.terms import FormulaTree, Paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.analysis.formula_similarity import Signature


def signature(source: str) -> Signature:
    trees = Trees()
    trees.add([FormulaTree(source, read_operators(latex.read(source)[0]), Paths())])
    return signatures(trees).terms


COLLECTION = [r"x^2+y^2", r"\sqrt{a}", r"\frac{a}{b}", r"\sum_i x_i", "x", r"\sin^2 x"]
IDF = FormulaIdf.of(np.concatenate([signature(f) for f in COLLECTION]), len(COLLECTION))


def maxsim(query: dict[str, float], *posts: Sequence[str]) -> list[float]:
    asked = FormulaQuery([(signature(f), weight) for f, weight in query.items()], IDF)
    signed = [signature(f) for post in posts for f in post]
    terms = np.concatenate([np.empty(0, np.uint32), *signed])
    starts = np.cumsum([0, *map(len, signed)])
    documents = Formulas(terms, starts, norms(terms, starts, IDF))
    numbers = np.arange(len(signed))
    return asked.maxsim(documents, numbers, np.cumsum([0, *map(len, posts)])).tolist()


def test_a_signature_holds_pairs_triples_and_subtrees_once() -> None:
    # ~^, ^~1~\?, ^~2~2; ~^~1~\?, ~^~2~2; the whole
    assert len(signature("x^2")) == 6
    # + with two of those: ~+, +~^, the same two below ^; ~+~^, +~^~1~\?, +~^~2~2; ^ and the whole
    assert len(signature("x^2+y^2")) == 9
    assert len(signature("")) == 0


def test_names_of_variables_and_the_order_of_terms_do_not_matter() -> None:
    assert signature("x^2+3y=z").tolist() == signature("c=3a+b^2").tolist()
    assert signature("x_i+1").tolist() == signature("y_j+1").tolist()
    assert signature("x-y").tolist() != signature("x+y").tolist()
    assert signature(r"\frac{x}{2}").tolist() != signature(r"\frac{2}{x}").tolist()


def test_idf_is_the_logarithm_of_how_rare_a_term_is() -> None:
    idf = FormulaIdf.of(np.array([1, 2, 1], np.uint32), formulas=2)
    values = idf(np.array([1, 2, 3], np.uint32))
    assert values == pytest.approx([math.log(3 / 2), math.log(3), math.log(3)])


def test_the_same_formula_counts_its_weight_and_a_strange_one_nothing() -> None:
    found = maxsim({"a^2+b^2": 3.0}, ["z", "x^2+y^2"], [r"\qquad"], [], [r"\infty"])
    assert found == pytest.approx([3, 0, 0, 0])


def test_similarity_is_the_squared_cosine() -> None:
    one, other = (set(signature(f).tolist()) for f in ("x^2+y^2", "x^2"))
    weights = {t: float(IDF(np.array([t], np.uint32))[0]) ** 2 for t in one | other}

    def total(terms: set[int]) -> float:
        return sum(weights[t] for t in terms)

    expected = total(one & other) ** 2 / (total(one) * total(other))
    assert maxsim({"x^2": 1}, ["x^2+y^2"]) == pytest.approx([expected])


def test_each_formula_takes_its_best_match() -> None:
    single = [maxsim({q: w}, [f])[0] for q, w in (("x^2", 2), ("a/b", 1)) for f in ("x^3", "c/2")]
    both = maxsim({"x^2": 2, "a/b": 1}, ["x^3", "c/2"])
    assert both == pytest.approx([max(single[:2]) + max(single[2:])])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*COLLECTION, "", r"\infty"]), max_size=4), max_size=5))
def test_every_post_has_a_number_between_none_and_all_weight(posts: list[list[str]]) -> None:
    found = maxsim({"x^2": 2, "": 1, r"\sqrt{b}": 1}, *posts)
    assert len(found) == len(posts)
    assert all(0 <= value <= 4 + 1e-6 for value in found)


def test_the_library_compares_formulas() -> None:
    alike = arq.formula_similarity
    assert alike(r"\frac{a}{b}+c", r"{x \over y} + z") == pytest.approx(1)  # names do not matter
    assert alike("x^n", "{x}^{n}") == alike("x", "x") == 1
    assert alike("x", r"\alpha+1") == alike("", "x+y") == 0
    assert 0 < alike("x^2+y^2", "x^2+y^3") < 1
    assert alike("x^2+y^2", "x^2+y^2=z^2") > alike("x^2+y^2", r"\int f(x) dx")
    formulas, others = ["x+y", r"\sin x"], ["a+b", r"\sin(x)", r"\sum_n n"]
    table = arq.formula_similarities(formulas, others)
    assert table.shape == (2, 3)
    assert table.tolist() == [[alike(one, other) for other in others] for one in formulas]
    assert arq.formula_similarities([], others).shape == (0, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\def\norm#1{\|#1\|} \norm{x}", r"\|x\|"),
        (r"\newcommand{\R}{\mathbb R} f:\R\to\R", r"f:\mathbb{R}\to\mathbb{R}"),
    ],
)
def test_macros_in_a_formula_are_written_out(one: str, other: str) -> None:
    assert arq.formula_similarity(one, other) == 1
