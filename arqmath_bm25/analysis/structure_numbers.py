"""The terms of `structures` of many trees at a time, as numbers.

Nodes are handled by levels over all trees: the deepest first for shapes and sizes, the topmost
first for places in canonical order. A sub-expression is then a range of places.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.structures import BELOW, LARGEST, LONGEST_TERM, RANK_BITS, SMALLEST
from arqmath_bm25.analysis.term_numbers import EDGE_TEXTS, Texts, mixed, powers, term_numbers
from arqmath_bm25.analysis.trees import LOWER, PLACE
from arqmath_bm25.core.arrays import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.term_numbers import Columns, Numbers, Places

_BELOW: Final = np.uint64(BELOW)
_EDGE_BITS: Final = 7
_NONE: Final = -1  # the place before the first occurrence of a variable


class _Pieces(NamedTuple):
    """Pieces of text: their numbers, and how many characters they have."""

    numbers: Numbers
    lengths: Places

    def __add__(self, other: _Pieces) -> _Pieces:  # type: ignore[override]
        """Return each piece followed by that of the other."""
        numbers = self.numbers * powers(other.lengths) + other.numbers
        return _Pieces(numbers, self.lengths + other.lengths)

    def of(self, rows: NDArray[np.integer]) -> _Pieces:
        """Return the pieces of some rows."""
        return _Pieces(self.numbers[rows], self.lengths[rows])

    def then(self, other: _Pieces) -> _Pieces:
        """Return these pieces and behind them, as further rows, those of the other."""
        numbers = np.concatenate((self.numbers, other.numbers))
        return _Pieces(numbers, np.concatenate((self.lengths, other.lengths)))


class _Outline(NamedTuple):
    """All trees in canonical order, one after the other, a row for each place."""

    nodes: Places
    sizes: Places
    depths: Places
    before: Places  # where the variable of a place stood before, or _NONE


def _texts(listed: list[str]) -> _Pieces:
    return _Pieces(term_numbers(listed), np.fromiter(map(len, listed), np.int64))


def structure_numbers(columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the trees and terms of sub-expressions, then those of variables in two places."""
    texts = Texts(columns.texts)
    hidden = texts.variables[columns.symbols]
    hidden[columns.parents[columns.edges != ord(LOWER)]] = False  # as `terms.blind` does
    symbols = _Pieces(texts.numbers, texts.lengths).of(columns.symbols)
    symbols.numbers[hidden] = term_numbers([PLACE])
    symbols.lengths[hidden] = len(PLACE)
    outline = _outline(columns, symbols.numbers, hidden)
    yield _subexpressions(columns, symbols, outline)
    yield _corefs(columns, symbols, outline)


def _outline(columns: Columns, symbols: Numbers, hidden: NDArray[np.bool_]) -> _Outline:
    levels, depths = _levels(columns.parents)
    shapes, sizes = _shapes(columns, symbols, levels)
    places = _places(columns, shapes, sizes, levels)
    nodes = np.empty(len(places), np.int64)
    nodes[places] = np.arange(len(places))
    variables = np.flatnonzero(hidden[nodes])
    named = nodes[variables]
    keys = columns.trees[named] << 32 | columns.symbols[named]
    order = np.argsort(keys, kind="stable")
    repeats = np.flatnonzero(np.diff(keys[order]) == 0)
    before = np.full(len(places), _NONE)
    before[variables[order[repeats + 1]]] = variables[order[repeats]]
    return _Outline(nodes, sizes[nodes], depths[nodes], before)


def _shapes(columns: Columns, symbols: Numbers, levels: Sequence[Places]) -> tuple[Numbers, Places]:
    """Return a number for what stands at and below each node, and how many nodes these are."""
    parents = columns.parents
    edges = EDGE_TEXTS.numbers[columns.edges]
    shapes = np.empty(len(parents), np.uint64)
    below = np.zeros(len(parents), np.uint64)
    sizes = np.ones(len(parents), np.int64)
    for nodes in reversed(levels):
        above = parents[nodes]
        shapes[nodes] = mixed(symbols[nodes] + below[nodes] * _BELOW)
        np.add.at(below, above, mixed(edges[nodes] + shapes[nodes]))
        np.add.at(sizes, above, sizes[nodes])
    return shapes, sizes


def _places(columns: Columns, shapes: Numbers, sizes: Places, levels: Sequence[Places]) -> Places:
    """Return the place of each node in canonical order."""
    parents = columns.parents
    keys = parents.astype(np.uint64) << np.uint64(_EDGE_BITS) | columns.edges
    keys = keys << np.uint64(RANK_BITS) | shapes >> np.uint64(64 - RANK_BITS)
    roots = levels[0]
    keys[roots] = 0
    order = np.argsort(keys, kind="stable")[len(roots) :]  # siblings side by side
    earlier = np.cumsum(sizes[order]) - sizes[order]
    first = np.flatnonzero(np.diff(parents[order], prepend=_NONE))
    siblings = np.diff(first, append=len(order))
    places = np.empty(len(parents), np.int64)
    places[order] = 1 + earlier - np.repeat(earlier[first], siblings)
    places[roots] = roots
    for nodes in levels[1:]:
        places[nodes] += places[parents[nodes]]
    return places


def _levels(parents: Places) -> tuple[list[Places], Places]:
    """Return the nodes of each level, the roots first, and the level of each node."""
    depths = (parents != np.arange(len(parents))).astype(np.int64)
    above = parents
    # Each round looks twice as far up.
    while (further := depths[above]).any():
        depths += further
        above = above[above]
    # Numbers of 16 bits are sorted many times as fast.
    order = np.argsort(depths.astype(np.min_scalar_type(depths.max(initial=0))), kind="stable")
    cuts = [0, *np.cumsum(np.bincount(depths)).tolist()]
    return [order[begin:end] for begin, end in pairwise(cuts)], depths


def _subexpressions(
    columns: Columns, symbols: _Pieces, outline: _Outline
) -> tuple[Places, Numbers]:
    nodes, sizes, depths, before = outline
    begins = np.flatnonzero((sizes >= SMALLEST) & (sizes <= LARGEST) & (depths > 0))
    brackets = _texts([")" * number for number in range(LARGEST)])
    opened = _texts(["", "("]).of((sizes > 1).astype(np.int64))
    # More brackets than that close only behind larger ones.
    closed = np.clip(-np.diff(depths, prepend=0), 0, LARGEST - 1)
    edges = _Pieces(EDGE_TEXTS.numbers, EDGE_TEXTS.lengths).of(columns.edges[nodes])
    symbols = symbols.of(nodes)
    steps = brackets.of(closed) + edges + symbols
    distances = np.arange(len(nodes)) - before
    repeated = before >= 0
    distances[~repeated | (distances >= LARGEST)] = 0
    far = _texts(["", *map(str, range(1, LARGEST))]).of(distances)
    first, again = steps + opened, steps + far + opened
    both = first.then(again)
    lengths = sizes[begins] - 1
    inner = ranges(begins + 1, lengths)
    inner += len(nodes) * (before[inner] >= np.repeat(begins, lengths))
    rest = _joined(both.of(inner), lengths)
    last = begins + lengths
    whole = (
        symbols.of(begins) + opened.of(begins) + rest + brackets.of(depths[last] - depths[begins])
    )
    kept = whole.lengths <= LONGEST_TERM
    return columns.trees[nodes[begins]][kept], whole.numbers[kept]


def _joined(pieces: _Pieces, counts: Places) -> _Pieces:
    """Join each so many pieces."""
    ends = np.cumsum(counts)
    characters = np.concatenate(([0], np.cumsum(pieces.lengths)))
    behind = np.repeat(characters[ends], counts) - characters[1:]
    shifted = pieces.numbers * powers(behind)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(shifted, dtype=np.uint64)))
    begins = ends - counts
    return _Pieces(sums[ends] - sums[begins], characters[ends] - characters[begins])


def _corefs(columns: Columns, symbols: _Pieces, outline: _Outline) -> tuple[Places, Numbers]:
    second = np.flatnonzero(outline.before >= 0)
    one = _contexts(columns, symbols, outline.nodes[outline.before[second]])
    other = _contexts(columns, symbols, outline.nodes[second])
    swapped = one.numbers > other.numbers
    rows = np.arange(len(second))
    both = one.then(other)
    lower = both.of(rows + len(rows) * swapped)
    upper = both.of(rows + len(rows) * ~swapped)
    pairs = lower + _texts(["&"]) + upper
    return columns.trees[outline.nodes[second]], pairs.numbers


def _contexts(columns: Columns, symbols: _Pieces, nodes: Places) -> _Pieces:
    """Return what stands above variables: up to two nodes, with the edges that lead to them."""
    edges = _Pieces(EDGE_TEXTS.numbers, EDGE_TEXTS.lengths)
    parents = columns.parents[nodes]
    above = columns.parents[parents]
    nearer = symbols.of(parents) + edges.of(columns.edges[nodes])
    farther = symbols.of(above) + edges.of(columns.edges[parents])
    is_top = above == parents
    farther.numbers[is_top] = 0
    farther.lengths[is_top] = 0
    return farther + nearer
