r"""The signatures of formulas: what their operator trees hold, whatever variables are called.

A signature is the set of the variable-blind terms of a tree (`terms.paths`): paths through two
and three nodes, and whole subtrees. A term is a number of 32 bits, so that a signature is a small
sorted array and those of many posts one array; at ten million terms one in 400 shares its number
with another, which costs little.

Trees are hashed many at a time by NumPy: one at a time, as text, a signature took longer than all
else about a formula. The hash is ours, not Python's, so that an index is the same
wherever it is built.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

import numpy as np

from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.term_numbers import mixed
from arqmath_bm25.analysis.terms import LOWER, PLACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arqmath_bm25.analysis.term_numbers import Columns, Trees

    Signature = NDArray[np.uint32]  # sorted, without repeats
    _Hashes = NDArray[np.uint64]


class Signatures(NamedTuple):
    """Signatures of several trees."""

    terms: NDArray[np.uint32]  # one signature after the other
    ends: NDArray[np.int64]  # of each among the terms


_VARIABLES: Final = np.array([crc32(text.encode()) for text in VARIABLES], np.uint32)
_PLACE: Final = np.uint32(crc32(PLACE.encode()))
_LOWER: Final = np.uint32(crc32(LOWER.encode()))
# Odd numbers without a pattern, for the parts of a term, so that each part counts where it stands.
_SYMBOL, _EDGE, _PAIR, _TRIPLE, _BELOW = (
    np.uint64(number)
    for number in (
        0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9,
        0x94D049BB133111EB, 0xD6E8FEB86659FD93,
    )
)  # fmt: skip


def signatures(trees: Trees) -> Signatures:
    """Return the signatures of trees; of one without a symbol it is empty."""
    codes = np.array([crc32(text.encode()) for text in trees.vocabulary], np.uint32)
    terms, ends = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for batch in (_signatures(columns, codes) for columns in trees.batches()):
        ends.append(sum(map(len, terms)) + batch.ends)
        terms.append(batch.terms)
    return Signatures(np.concatenate(terms), np.concatenate(ends))


def _signatures(columns: Columns, codes: NDArray[np.uint32]) -> Signatures:
    of_tree, parents = columns.trees - columns.trees[0], columns.parents
    edges = codes[columns.edges]
    symbols = _blind(codes[columns.symbols], parents, edges).astype(np.uint64) * _SYMBOL
    root = parents == np.arange(len(parents))
    steps = edges * _EDGE + symbols
    pairs = mixed((symbols * _PAIR)[parents] + steps)
    triples = mixed(pairs[parents] * _TRIPLE + steps)
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
    ends = np.searchsorted(keys, np.arange(1, of_tree[-1] + 2) << 32)
    return Signatures(keys.astype(np.uint32), ends)


def _blind(
    symbols: NDArray[np.uint32], parents: NDArray[np.int64], edges: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Put places for variables, as `terms.blind` does."""
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
        found[nodes] = mixed(symbols[nodes] + below[nodes] * _BELOW)
        np.add.at(below, parents[nodes], mixed(edges[nodes] + found[nodes]))
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
