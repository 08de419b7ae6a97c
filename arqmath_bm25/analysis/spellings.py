"""Formulas on their way to terms: what they are made of, and how they are spelled.

Lucene, people and queries get terms as text, which is made where it is asked for. Flat postings
get numbers, which `term_numbers` makes of many formulas at a time.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arqmath_bm25.analysis.latex import ngrams
from arqmath_bm25.analysis.operator_paths import blind, operator_paths
from arqmath_bm25.analysis.patterns import patterns
from arqmath_bm25.analysis.symbol_layout import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.analysis.operator_paths import Tree


class Spelling(Protocol):
    """A way to make terms of trees; `term_numbers` makes the same of many at a time."""

    def strings(self, tree: Tree) -> list[str]:
        """Return the terms of a tree as text."""

    def has_terms(self, tree: Tree) -> bool:
        """Tell whether a tree has terms."""


class Paths(NamedTuple):
    """Paths through `low` … `high` nodes; also those of the `blind` tree, if that is asked for."""

    low: int = 2
    high: int = 3
    also_blind: bool = False

    def strings(self, tree: Tree) -> list[str]:
        """Return the paths through a tree as text."""
        spelled = self._strings(tree)
        return spelled + self._strings(blind(tree)) if self.also_blind else spelled

    def has_terms(self, tree: Tree) -> bool:
        """Tell whether a tree has paths."""
        return len(tree[0]) > 1 if self.low == 2 else bool(self.strings(tree))

    def _strings(self, tree: Tree) -> list[str]:
        low, high, *_ = self
        return operator_paths(tree) if (low, high) == (2, 3) else paths(tree, low, high)


class Lines(NamedTuple):
    """n-grams of `low` … `high` symbols in a line; with `places`, their patterns."""

    low: int
    high: int
    joint: str = "~"
    places: bool = False

    def strings(self, tree: Tree) -> list[str]:
        """Return the n-grams of a line as text."""
        if self.places:
            return patterns(tree[0], self.low, self.high)
        return ngrams(tree[0], self.low, self.high, self.joint)

    def has_terms(self, tree: Tree) -> bool:
        """Tell whether a line is long enough."""
        return len(tree[0]) >= self.low


class Formula:
    """A formula in one of its forms, and how that becomes terms."""

    def __init__(self, source: str, tree: Tree, spelling: Spelling) -> None:
        self.source = source
        self.tree = tree
        self.spelling = spelling

    @cached_property
    def terms(self) -> str:
        """Its terms as text, separated by blanks."""
        return " ".join(self.spelling.strings(self.tree))


class Bag(NamedTuple):
    """What a field of a document holds: terms, and formulas, all spelled in one way."""

    words: Sequence[str] = ()
    formulas: Sequence[Formula] = ()

    @property
    def terms(self) -> str:
        """All terms as text, separated by blanks."""
        return " ".join([*self.words, *filter(None, (each.terms for each in self.formulas))])

    @property
    def is_empty(self) -> bool:
        """Whether there is no term."""
        spelled = (each.spelling.has_terms(each.tree) for each in self.formulas)
        return not self.words and not any(spelled)
