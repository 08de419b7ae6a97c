r"""The paths through an operator tree, from whatever source that is, as terms.

They go through two and three nodes and begin with a start mark, as those of `symbol_layout`. Of
`x^2+1`: `~+`, `+~^`, `+~1`, `^~1~x`, `^~2~2`, and `~+~^`, `~+~1`, `+~^~1~x`, `+~^~2~2`. The edges
are those of `operator_table`. In a blind tree variables are mere places, `\?`, unless they are
applied to something.
"""

from __future__ import annotations

from array import array
from itertools import chain, compress
from operator import add
from typing import Final, NamedTuple
from zlib import crc32

from arqmath_bm25.analysis.latex_table import VARIABLES
from arqmath_bm25.analysis.operator_table import LOWER

_PLACE: Final = "\\?"


class OperatorTree(NamedTuple):
    """A tree as three columns, in no order. Node 0 is the start mark, its own parent."""

    symbols: list[str]
    parents: list[int]
    edges: list[str]  # from the parent


def blind(tree: OperatorTree) -> OperatorTree:
    r"""Return a tree with `\?` for its variables; one with just a subscript is a variable too."""
    symbols, parents, edges = tree
    inner = set(parents)
    if LOWER in edges:
        inner = {parent for parent, edge in zip(parents, edges, strict=True) if edge != LOWER}
    hidden = [
        _PLACE if symbol in VARIABLES and node not in inner else symbol
        for node, symbol in enumerate(symbols)
    ]
    return OperatorTree(hidden, parents, edges)


def operator_paths(tree: OperatorTree) -> list[str]:
    """Return the paths through two and three nodes as terms, shorter ones first."""
    symbols, parents, edges = tree
    steps = list(map(add, edges, symbols))
    pairs = list(map(add, map(symbols.__getitem__, parents), steps))
    triples = map(add, map(pairs.__getitem__, parents), steps)
    return [*pairs[1:], *compress(triples, parents)]  # none begins above the start mark


class _Codes(dict[str, int]):
    """A number of 32 bits for every symbol and edge; looked up once, then remembered."""

    _KEPT = 1 << 16

    def __missing__(self, text: str) -> int:
        if len(self) >= self._KEPT:
            self.clear()
        code = self[text] = crc32(text.encode())
        return code


symbol_code: Final = _Codes().__getitem__


def pack(tree: OperatorTree) -> bytes:
    """Return a tree as `signatures` reads it; nothing for a tree without a symbol."""
    symbols, parents, edges = tree
    if len(symbols) == 1:
        return b""
    return array("I", chain(map(symbol_code, symbols), map(symbol_code, edges), parents)).tobytes()
