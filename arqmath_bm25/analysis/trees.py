"""Formulas as trees, with or without the names of their variables."""

from collections.abc import Sequence
from typing import NamedTuple

from arqmath_bm25.analysis.latex import VARIABLES

LOWER = "_"  # the edge to a subscript
# How edges, which are one character each, are written in terms.
EDGES = {chr(code): f"~{chr(code)}~" for code in range(128)} | {"~": "~"}
PLACE = "\\?"


class Tree(NamedTuple):
    """A tree as three columns. Node 0 is the start mark, its own parent; a line is symbols only."""

    symbols: Sequence[str]
    parents: Sequence[int] = ()
    edges: Sequence[str] = ()  # from the parent, as the keys of EDGES


def anonymised(tree: Tree) -> Tree:
    r"""Return a tree with `\?` for its variables; one with just a subscript is a variable too."""
    symbols, parents, edges = tree
    inner = set(parents)
    if LOWER in edges:
        inner = {parent for parent, edge in zip(parents, edges, strict=True) if edge != LOWER}

    hidden = list(symbols)
    for node, symbol in enumerate(symbols):
        if symbol in VARIABLES and node not in inner:
            hidden[node] = PLACE
    return Tree(hidden, parents, edges)
