"""The terms of `structures` as numbers, made for many trees at a time.

All trees are handled together, level by level: from the leaves up for hashes and sizes of
sub-expressions, from the roots down for places in canonical order. In that order a sub-expression
is a range of places.
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
    """Pieces of text as numbers (see `term_numbers`), with their lengths in characters."""

    numbers: Numbers
    lengths: Places

    def __add__(self, other: _Pieces) -> _Pieces:  # type: ignore[override]
        """Join each piece with the one in the same row of `other`."""
        numbers = self.numbers * powers(other.lengths) + other.numbers
        return _Pieces(numbers, self.lengths + other.lengths)

    def of(self, rows: NDArray[np.integer]) -> _Pieces:
        """Return the pieces of some rows."""
        return _Pieces(self.numbers[rows], self.lengths[rows])

    def then(self, other: _Pieces) -> _Pieces:
        """Return the rows of `other` after the rows of these pieces."""
        numbers = np.concatenate((self.numbers, other.numbers))
        return _Pieces(numbers, np.concatenate((self.lengths, other.lengths)))


class _Outline(NamedTuple):
    """All trees in canonical order, one after the other, a row for each place."""

    nodes: Places
    sizes: Places
    depths: Places
    before: Places  # the place where the variable of a place last occurred, or _NONE


def _texts(listed: list[str]) -> _Pieces:
    return _Pieces(term_numbers(listed), np.fromiter(map(len, listed), np.int64))


def structure_numbers(columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the `sub` terms and then the `coref` terms: the number of each tree, and the term."""
    texts = Texts(columns.texts)
    hidden = texts.variables[columns.symbols]
    hidden[columns.parents[columns.edges != ord(LOWER)]] = False  # as `terms.anonymised` does
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
    """Return the hash of the sub-expression at each node, and the number of its nodes."""
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
    order = np.argsort(keys, kind="stable")[len(roots) :]  # siblings are neighbours
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
    further = depths[above]
    # Each round looks twice as far up.
    while further.any():
        depths += further
        above = above[above]
        further = depths[above]

    # NumPy sorts numbers of 8 or 16 bits many times as fast.
    small = np.min_scalar_type(depths.max(initial=0))
    order = np.argsort(depths.astype(small), kind="stable")
    cuts = [0, *np.cumsum(np.bincount(depths)).tolist()]
    levels = [order[begin:end] for begin, end in pairwise(cuts)]
    return levels, depths


def _subexpressions(
    columns: Columns, symbols: _Pieces, outline: _Outline
) -> tuple[Places, Numbers]:
    nodes, sizes, depths, before = outline
    begins = np.flatnonzero((sizes >= SMALLEST) & (sizes <= LARGEST) & (depths > 0))

    # How a node is written: closing brackets, edge, symbol, opening bracket. More brackets than
    # LARGEST close only after sub-expressions that are too large.
    brackets = _texts([")" * number for number in range(LARGEST)])
    closed = np.clip(-np.diff(depths, prepend=0), 0, LARGEST - 1)
    edges = _Pieces(EDGE_TEXTS.numbers, EDGE_TEXTS.lengths).of(columns.edges[nodes])
    symbols = symbols.of(nodes)
    steps = brackets.of(closed) + edges + symbols
    opened = _texts(["", "("]).of((sizes > 1).astype(np.int64))

    # A variable is followed by its distance if it occurs earlier in the same sub-expression.
    distances = np.arange(len(nodes)) - before
    distances[(before < 0) | (distances >= LARGEST)] = 0
    far = _texts(["", *map(str, range(1, LARGEST))]).of(distances)
    either = (steps + opened).then(steps + far + opened)

    lengths = sizes[begins] - 1
    inner = ranges(begins + 1, lengths)
    inner += len(nodes) * (before[inner] >= np.repeat(begins, lengths))
    rest = _joined(either.of(inner), lengths)

    last = begins + lengths
    closing = brackets.of(depths[last] - depths[begins])
    whole = symbols.of(begins) + opened.of(begins) + rest + closing
    kept = whole.lengths <= LONGEST_TERM
    return columns.trees[nodes[begins]][kept], whole.numbers[kept]


def _joined(pieces: _Pieces, counts: Places) -> _Pieces:
    """Join consecutive pieces into one: as many for each as `counts` says."""
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

    rows = np.arange(len(second))
    both = one.then(other)
    swapped = one.numbers > other.numbers
    lower = both.of(rows + len(rows) * swapped)
    upper = both.of(rows + len(rows) * ~swapped)
    pairs = lower + _texts(["&"]) + upper
    return columns.trees[outline.nodes[second]], pairs.numbers


def _contexts(columns: Columns, symbols: _Pieces, nodes: Places) -> _Pieces:
    """Return up to two nodes above each variable, with the edges that lead down to it."""
    edges = _Pieces(EDGE_TEXTS.numbers, EDGE_TEXTS.lengths)
    parents = columns.parents[nodes]
    above = columns.parents[parents]
    nearer = symbols.of(parents) + edges.of(columns.edges[nodes])
    farther = symbols.of(above) + edges.of(columns.edges[parents])
    is_top = above == parents
    farther.numbers[is_top] = 0
    farther.lengths[is_top] = 0
    return farther + nearer
