r"""The paths through an operator tree, from whatever source that is, as terms.

They go through two and three nodes and begin with a start mark, as those of `symbol_layout`. Of
`x^2+1`: `~+`, `+~^`, `+~1`, `^~1~x`, `^~2~2`, and `~+~^`, `~+~1`, `+~^~1~x`, `+~^~2~2`. The edges
are those of `operator_table`. In a blind tree variables are mere places, `\?`, unless they are
applied to something.
"""

from __future__ import annotations

from itertools import compress
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.analysis.latex_table import VARIABLES
from arqmath_bm25.analysis.operator_table import LOWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    Tree = tuple[Sequence[str], Sequence[int], Sequence[str]]  # symbols, parents, edges

PLACE: Final = "\\?"


class OperatorTree(NamedTuple):
    """A tree as three columns, in no order. Node 0 is the start mark, its own parent."""

    symbols: list[str]
    parents: list[int]
    edges: list[str]  # from the parent


def blind(tree: Tree) -> Tree:
    r"""Return a tree with `\?` for its variables; one with just a subscript is a variable too."""
    symbols, parents, edges = tree
    inner = set(parents)
    if LOWER in edges:
        inner = {parent for parent, edge in zip(parents, edges, strict=True) if edge != LOWER}
    hidden = [
        PLACE if symbol in VARIABLES and node not in inner else symbol
        for node, symbol in enumerate(symbols)
    ]
    return hidden, parents, edges


def operator_paths(tree: Tree) -> list[str]:
    """Return the paths through two and three nodes as terms, shorter ones first."""
    symbols, parents, edges = tree
    steps = list(map(add, edges, symbols))
    pairs = list(map(add, map(symbols.__getitem__, parents), steps))
    triples = map(add, map(pairs.__getitem__, parents), steps)
    return [*pairs[1:], *compress(triples, parents)]  # none begins above the start mark
