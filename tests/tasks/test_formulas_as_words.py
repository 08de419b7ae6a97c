"""Formulas of queries where no document has one: their words and symbols are searched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arqmath_bm25 as arq
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    {"id": "gcd", "text": "The gcd of two numbers commutes"},
    {"id": "sin", "text": "The sine is continuous"},
]


@pytest.mark.parametrize("query", ["gcd", "gcd(m,n)", r"$\gcd(m,n)$", r"\gcd(m,n)", "about $gcd$"])
def test_a_formula_is_searched_for_by_its_words(query: str, tmp_path: Path) -> None:
    index = arq.Collection.of(WORDS, indexes=tmp_path).index("docs", engine="flat")
    assert index.search(query, variant="both")["docno"].tolist() == ["gcd"]


def test_a_formula_stays_one_where_documents_have_some(tmp_path: Path) -> None:
    rows = [*WORDS, {"id": "formula", "text": r"Here $\gcd(m,n)=1$"}]
    index = arq.Collection.of(rows, indexes=tmp_path).index("docs", engine="flat")
    assert index.search(r"$\gcd(m,n)=1$", variant="both")["docno"].tolist() == ["formula"]


def test_variants_that_no_document_has_a_field_of_are_left_out(tmp_path: Path) -> None:
    collection = arq.Collection.of(WORDS, indexes=tmp_path)
    collection.index("docs", engine="flat")
    index = OpenIndex.open(collection, "docs")
    assert index.task.runnable(index) == (
        ["text", "both"],
        "no document has a formula, so not run: math",
    )
