"""The two forms of terms: text for people and Lucene, numbers for flat postings."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.formula_numbers import spelled
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.symbol_layout import read_layout
from arqmath_bm25.analysis.term_numbers import Trees, term_numbers
from arqmath_bm25.analysis.terms import Bag, FormulaTree, Lines, Paths
from arqmath_bm25.analysis.trees import Tree
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.core.arrays import distinct

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.analysis.terms import Spelling

FORMULAS = [
    "", "x", "x+y", "x_i^2+x_j", r"f(x)=\sum_{i=1}^n x_i", r"\frac{a}{b}-\sqrt[3]{a}", "x^{2}+x",
    "+-", r"\begin{matrix}1&x\\y&2\end{matrix}", r"\text{if } 𝔸 \subset é", "aaaaaaa",
    r"a\ne b \ne a",
]  # fmt: skip
SPELLINGS: list[Spelling] = [
    Paths(), Paths(also_anonymised=True), Paths(2, 5), Paths(3, 4, also_anonymised=True),
    Paths(4, 4), Paths(structures=True),
    Lines(1, 3), Lines(2, 5), Lines(3, 4, places=True), Lines(1, 5, places=True),
]  # fmt: skip


def formula(source: str, spelling: Spelling, of_layout: bool) -> FormulaTree:
    items, _ = latex.read(source)
    if isinstance(spelling, Lines):
        return FormulaTree(source, Tree(latex.arrange(items)), spelling)
    tree = read_layout(list(items)) if of_layout else read_operators(items)
    return FormulaTree(source, tree, spelling)


def hold_both_forms_together(sources: list[str], spelling: Spelling, of_layout: bool) -> None:
    trees, expected = Trees(), Counter[tuple[int, int]]()
    for number, source in enumerate(sources):
        made = formula(source, spelling, of_layout)
        trees.add([made, made])
        assert bool(made.terms) != Bag(formulas=[made]).is_empty
        expected.update((number, term) for term in term_numbers(made.terms.split()).tolist())
    found = Counter[tuple[int, int]]()
    assert trees.members.tolist() == [number for number in range(len(sources)) for _ in range(2)]
    for columns in trees.batches:
        for rows, numbers in spelled(spelling, columns):
            found.update(zip(rows.tolist(), numbers.tolist(), strict=True))
    assert found == expected


@pytest.mark.parametrize("of_layout", [False, True])
@pytest.mark.parametrize("spelling", SPELLINGS)
@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(FORMULAS) | st.text("xy2+-^_{}()\\, f", max_size=12), unique=True))
def test_numbers_are_those_of_the_terms_as_text(
    spelling: Spelling, of_layout: bool, sources: list[str]
) -> None:
    hold_both_forms_together(sources, spelling, of_layout)


@pytest.mark.parametrize("spelling", [SPELLINGS[1], SPELLINGS[5], SPELLINGS[8]])
def test_real_formulas(shared: Path, spelling: Spelling) -> None:
    file = shared / "data/arqmath-lite/Formulas/latex_representation_v3/1.tsv"
    rows = islice(read_formulas(file), 5000)
    texts = dict.fromkeys(row.latex for row in rows)
    assert len(texts) > 1000  # more than are done together
    hold_both_forms_together([*texts], spelling, of_layout=False)


def test_terms_have_numbers_of_their_own() -> None:
    letters = "ab~\\1é𝔸\ud800"
    terms = ["", *letters, *(a + b for a in letters for b in letters), "x" * 500, "x" * 501]
    assert len(set(term_numbers(terms).tolist())) == len(terms)
    # Flat postings hold them: where they change, the version of the form has to grow.
    assert term_numbers(["converg", "~+~x"]).tolist() == [
        10128497219825900792,
        15315768835559091608,
    ]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9)))
def test_each_number_has_the_place_of_its_like(numbers: list[int]) -> None:
    values, places = distinct(np.array(numbers, np.uint64))
    assert sorted(values.tolist()) == sorted(set(numbers))
    assert values[places].tolist() == numbers


def test_numbers_that_share_a_bucket_stay_apart() -> None:
    numbers = np.tile(np.arange(1 << 20, dtype=np.uint64), 2)  # more than there are buckets
    values, places = distinct(numbers)
    assert len(values) == 1 << 20
    assert np.array_equal(values[places], numbers)
