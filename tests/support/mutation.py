"""Real formulas, broken at random places, and what holds of the terms of any source."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from arqmath_bm25.collection.formulas import read_formulas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Analysis = Callable[[str], Sequence[str]]


def real_formulas(folder: Path) -> list[str]:
    """Return distinct formulas of a directory of TSVs, the shortest ones first."""
    return sorted(
        {row.latex for row in islice(read_formulas(folder), 0, 20_000, 13)},
        key=lambda source: (len(source), source),
    )


@st.composite
def mutated(draw: st.DrawFn, formulas: Sequence[str], pieces: Sequence[str], edits: int = 6) -> str:
    """Delete, duplicate and swap parts of a formula, and insert `pieces` and other characters."""
    source = draw(st.sampled_from(formulas))
    for _ in range(draw(st.integers(1, edits))):
        a, b, c = sorted(draw(st.lists(st.integers(0, len(source)), min_size=3, max_size=3)))
        match draw(st.sampled_from(("delete", "duplicate", "swap", "insert"))):
            case "delete":
                source = source[:a] + source[b:]
            case "duplicate":
                source = source[:b] + source[a:b] + source[b:]
            case "swap":
                source = source[:a] + source[b:c] + source[a:b] + source[c:]
            case "insert":
                piece = draw(st.one_of(st.sampled_from(pieces), st.characters()))
                source = source[:a] + piece + source[a:]
    return source


def check_terms(analyse: Analysis, source: str, for_each_character: int) -> None:
    """Terms fit an index, are the same each time, and not many more than the source is long."""
    terms = analyse(source)
    for term in terms:
        assert 0 < len(term.encode()) <= 255  # what Lucene takes; raises for half a character
        assert not any(character.isspace() for character in term)
    assert analyse(source) == terms
    assert len(terms) <= for_each_character * (len(source) + 1)
