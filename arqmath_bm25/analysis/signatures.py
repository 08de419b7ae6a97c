r"""The signatures of formulas: what their operator trees hold, whatever variables are called.

A signature is the set of the variable-blind terms of a tree (`operator_paths`): paths through two
and three nodes, and whole subtrees. A term is a number of 32 bits, so that a signature is a small
sorted array and those of many posts one array; at ten million terms one in 400 shares its number
with another, which costs little.

Trees are kept packed and hashed many at a time by NumPy: one at a time, as text, a signature took
longer than all else about a formula. The hash is ours, not Python's, so that an index is the same
wherever it is built.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.latex_table import VARIABLES
from arqmath_bm25.analysis.operator_paths import symbol_code
from arqmath_bm25.analysis.operator_table import LOWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Signature = NDArray[np.uint32]  # sorted, without repeats
    _Hashes = NDArray[np.uint64]


class Signatures(NamedTuple):
    """Signatures of several trees."""

    terms: NDArray[np.uint32]  # one signature after the other
    ends: NDArray[np.int64]  # of each among the terms


_TOGETHER: Final = 1 << 12  # trees; a node takes some 200 bytes meanwhile
_VARIABLES: Final = np.array(list(map(symbol_code, VARIABLES)), np.uint32)
_PLACE: Final = np.uint32(symbol_code("\\?"))  # what a variable is in a blind tree
_LOWER: Final = np.uint32(symbol_code(LOWER))
# Odd numbers without a pattern, for the parts of a term, so that each part counts where it stands.
_SYMBOL, _EDGE, _PAIR, _TRIPLE, _BELOW = (
    np.uint64(number)
    for number in (
        0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9,
        0x94D049BB133111EB, 0xD6E8FEB86659FD93,
    )
)  # fmt: skip


def signatures(packed: Sequence[bytes]) -> Signatures:
    """Return the signatures of packed trees; of one without a symbol it is empty."""
    batches = range(0, len(packed), _TOGETHER)
    terms, ends = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for batch in (_signatures(packed[begin : begin + _TOGETHER]) for begin in batches):
        ends.append(sum(map(len, terms)) + batch.ends)
        terms.append(batch.terms)
    return Signatures(np.concatenate(terms), np.concatenate(ends))


def _signatures(packed: Sequence[bytes]) -> Signatures:
    sizes = np.array([len(tree) // 12 for tree in packed], np.int64)  # nodes of each tree
    of_tree = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)  # of the tree of each node
    columns = np.frombuffer(b"".join(packed), np.uint32)
    at = np.arange(len(of_tree)) + 2 * begins  # of each symbol; its edge and its parent follow
    sizes = np.repeat(sizes, sizes)
    edges, parents = columns[at + sizes], columns[at + 2 * sizes] + begins
    symbols = _blind(columns[at], parents, edges).astype(np.uint64) * _SYMBOL
    root = parents == np.arange(len(parents))
    steps = edges * _EDGE + symbols
    pairs = _mixed((symbols * _PAIR)[parents] + steps)
    triples = _mixed(pairs[parents] * _TRIPLE + steps)
    subtrees, inner = _subtrees(symbols, parents, edges * _EDGE)
    kinds = ((pairs, ~root), (triples, ~root & ~root[parents]), (subtrees, inner & ~root))
    # Trees stay apart as the upper half of a number whose lower half is the term.
    keys = np.concatenate(
        [
            (of_tree[there] << 32) + (hashes[there] >> np.uint64(32)).astype(np.int64)
            for hashes, there in kinds
        ]
    )
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique takes many times as long
    ends = np.searchsorted(keys, np.arange(1, len(packed) + 1) << 32)
    return Signatures(keys.astype(np.uint32), ends)


def _blind(
    symbols: NDArray[np.uint32], parents: NDArray[np.int64], edges: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Put places for variables, as `operator_paths.blind` does."""
    applied = np.zeros(len(symbols), np.bool_)
    applied[parents[edges != _LOWER]] = True
    return np.where(np.isin(symbols, _VARIABLES) & ~applied, _PLACE, symbols)


def _subtrees(
    symbols: _Hashes, parents: NDArray[np.int64], edges: _Hashes
) -> tuple[_Hashes, NDArray[np.bool_]]:
    """Return a number for each subtree, and whether it has more than a node.

    Edges, not places, order arguments: what is below a node is added up. That goes by levels, the
    deepest first, over all trees at once.
    """
    order, cuts = _levels(parents)
    found, below = np.zeros_like(symbols), np.zeros_like(symbols)
    inner = np.zeros(len(symbols), np.bool_)
    for begin, end in reversed(list(pairwise(cuts))):
        nodes = order[begin:end]
        found[nodes] = _mixed(symbols[nodes] + below[nodes] * _BELOW)
        np.add.at(below, parents[nodes], _mixed(edges[nodes] + found[nodes]))
        inner[parents[nodes]] = True
    return found, inner


def _levels(parents: NDArray[np.int64]) -> tuple[NDArray[np.intp], list[int]]:
    """Return all nodes but the roots by their depth, and where those of each depth begin."""
    depth = (parents != np.arange(len(parents))).astype(np.int64)
    above = parents
    # Each round looks twice as far up.
    while (further := depth[above]).any():
        depth += further
        above = above[above]
    order = np.argsort(depth, kind="stable")
    return order, np.cumsum(np.bincount(depth)).tolist()


def _mixed(hashes: _Hashes) -> _Hashes:
    """Let every bit decide about every bit (the end of SplitMix64, Steele et al. 2014)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
