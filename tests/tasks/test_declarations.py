"""Declarations in Lean are found by English, LaTeX and Lean, alone and among other documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arqmath_bm25 as arq

if TYPE_CHECKING:
    from pathlib import Path

DECLARATIONS = [
    {"id": "swap", "text": "theorem Nat.lcm_swap (a b : ℕ) : lcm a b = lcm b a := by simp"},
    {"id": "total", "text": "theorem totalMass_le (s : Finset ι) : ∑ i ∈ s, f i ≤ total"},
    {"id": "open", "text": "/-- A gate lets points through. -/\nstructure Gate.IsOpen where"},
]
QUERIES = [
    ("lcm", "swap"),
    ("Nat.lcm_swap", "swap"),
    ("lcm_swap", "swap"),
    ("total mass", "total"),
    (r"$\sum_{i \in s} f_i \le t$", "total"),
    ("theorem foo (s : Finset ι) : ∑ i ∈ s, g i ≤ 1", "total"),
    ("when is a gate open?", "open"),
]


@pytest.mark.parametrize(("query", "found"), QUERIES)
def test_a_declaration_is_found(query: str, found: str, tmp_path: Path) -> None:
    index = arq.Collection.of(DECLARATIONS, indexes=tmp_path).index("docs", engine="flat")
    assert index.search(query, variant="both")["docno"].tolist()[0] == found


@pytest.mark.parametrize(("query", "found"), QUERIES)
def test_a_declaration_is_found_beside_formulas(query: str, found: str, tmp_path: Path) -> None:
    rows = [*DECLARATIONS, {"id": "formula", "text": "Here $e^x > 0$ for all $x$"}]
    index = arq.Collection.of(rows, indexes=tmp_path).index("docs", engine="flat")
    assert index.search(query, variant="both")["docno"].tolist()[0] == found
    assert index.search("$e^x > 0$", variant="both")["docno"].tolist()[0] == "formula"


def test_a_proof_is_not_searched(tmp_path: Path) -> None:
    collection = arq.Collection.of(DECLARATIONS, indexes=tmp_path)
    assert len(collection.index("docs", engine="flat").search("simp", variant="both")) == 0
