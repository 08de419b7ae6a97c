"""Paths, n-grams and structures of many formulas at a time, as numbers, by NumPy.

For structures all trees are handled together, level by level: from the leaves up for hashes and
sizes of sub-expressions, from the roots down for positions in canonical order. In that order a
sub-expression is a range of positions.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis.structures import BELOW, LARGEST, LONGEST_TERM, RANK_BITS, SMALLEST
from arqmath_bm25.analysis.term_numbers import (
    EDGE_PIECES,
    Columns,
    Numbers,
    Pieces,
    Places,
    anonymised_symbols,
    mixed,
    pieces,
    powers,
    sums_before,
    term_numbers,
    variables,
)
from arqmath_bm25.analysis.terms import LONGEST, WRITTEN, Lines, Paths, Spelling
from arqmath_bm25.core.arrays import ranges

_BELOW = np.uint64(BELOW)
_EDGE_BITS = 7
_NONE = -1  # the position before the first occurrence of a variable


def spelled(spelling: Spelling, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the terms of many trees: the number of each tree, and the term."""
    if isinstance(spelling, Lines):
        yield from _lines(spelling, columns)
        return

    symbols = pieces(columns.texts).of(columns.symbols)
    yield from _paths_through(spelling, columns, symbols)
    if spelling.also_anonymised:
        anonymised_symbols(columns, symbols)
        yield from _paths_through(spelling, columns, symbols)

    if spelling.structures:
        symbols = pieces(columns.texts).of(columns.symbols)
        hidden = anonymised_symbols(columns, symbols)
        outline = _outline(columns, symbols.numbers, hidden)
        yield _subexpressions(columns, symbols, outline)
        yield _corefs(columns, symbols, outline)


def _paths_through(
    paths: Paths, columns: Columns, symbols: Pieces
) -> Iterator[tuple[Places, Numbers]]:
    """Yield the paths through trees with these symbols."""
    parents = columns.parents
    is_inner = parents != np.arange(len(parents))
    steps = EDGE_PIECES.of(columns.edges) + symbols
    shifts = powers(steps.lengths)

    # `ending` is the path that ends at each node; it is complete if it begins within the tree.
    ending = symbols.numbers
    complete = np.ones(len(parents), np.bool_)
    for nodes in range(2, paths.high + 1):
        ending = ending[parents] * shifts + steps.numbers
        complete = complete[parents] & is_inner
        if nodes >= paths.low:
            yield columns.trees[complete], ending[complete]


def _lines(lines: Lines, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the n-grams of many lines."""
    trees = columns.trees
    symbols = columns.symbols
    texts = pieces(columns.texts)
    places = np.flatnonzero(variables(columns.texts)[symbols] & lines.places)

    # How far back each symbol last occurred in its line; LONGEST if that is farther.
    distances = np.full(len(symbols), LONGEST)
    for distance in range(LONGEST - 1, 0, -1):
        same_symbol = symbols[distance:] == symbols[:-distance]
        same_line = trees[distance:] == trees[:-distance]
        distances[distance:][same_symbol & same_line] = distance
    distances = distances[places]

    longest = np.empty(0, np.uint64)
    for position in range(min(lines.high, len(trees))):
        joint = ""
        if position:
            joint = "~"
        joined = term_numbers([joint]) * powers(texts.lengths) + texts.numbers
        numbers = joined[symbols]
        shifts = powers(texts.lengths + len(joint))[symbols]

        written = [by_position[position] for by_position in WRITTEN]
        lengths = np.fromiter(map(len, written), np.int64)
        numbers[places] = term_numbers(written)[distances]
        shifts[places] = powers(lengths)[distances]

        if position == 0:
            longest = numbers
        else:
            longest = longest[:-1] * shifts[position:] + numbers[position:]

        if position + 1 >= lines.low:
            is_complete = trees[position:] == trees[: len(trees) - position]
            yield trees[position:][is_complete], longest[is_complete]


class _Outline(NamedTuple):
    """All trees in canonical order, one after the other, a row for each position."""

    nodes: Places
    sizes: Places
    depths: Places
    before: Places  # the position where the variable of a position last occurred, or _NONE


def _outline(columns: Columns, symbols: Numbers, hidden: NDArray[np.bool_]) -> _Outline:
    parents = columns.parents
    levels, depths = _levels(parents)

    # The hash of the sub-expression at each node, and the number of its nodes.
    edges = EDGE_PIECES.numbers[columns.edges]
    shapes = np.empty(len(parents), np.uint64)
    below = np.zeros(len(parents), np.uint64)
    sizes = np.ones(len(parents), np.int64)
    for level in reversed(levels):
        above = parents[level]
        shapes[level] = mixed(symbols[level] + below[level] * _BELOW)
        arguments = mixed(edges[level] + shapes[level])
        np.add.at(below, above, arguments)
        np.add.at(sizes, above, sizes[level])

    positions = _positions(columns, shapes, sizes, levels)
    nodes = np.empty(len(positions), np.int64)
    nodes[positions] = np.arange(len(positions))

    variables = np.flatnonzero(hidden[nodes])
    variable_nodes = nodes[variables]
    keys = columns.trees[variable_nodes] << 32 | columns.symbols[variable_nodes]

    # The order is stable, so neighbours of one key are consecutive occurrences of a variable.
    order = np.argsort(keys, kind="stable")
    repeats = np.flatnonzero(np.diff(keys[order]) == 0)
    earlier = variables[order[repeats]]
    later = variables[order[repeats + 1]]

    before = np.full(len(nodes), _NONE)
    before[later] = earlier
    return _Outline(nodes, sizes[nodes], depths[nodes], before)


def _positions(
    columns: Columns, shapes: Numbers, sizes: Places, levels: Sequence[Places]
) -> Places:
    """Return the position of each node in canonical order."""
    parents = columns.parents
    roots = levels[0]

    # Siblings are ordered by their edges, then by the first bits of their hashes.
    keys = parents.astype(np.uint64) << np.uint64(_EDGE_BITS)
    keys |= columns.edges
    keys <<= np.uint64(RANK_BITS)
    keys |= shapes >> np.uint64(64 - RANK_BITS)
    keys[roots] = 0
    order = np.argsort(keys, kind="stable")[len(roots) :]

    # The nodes of earlier siblings are between a parent and its child.
    sizes_in_order = sizes[order]
    earlier = np.cumsum(sizes_in_order) - sizes_in_order
    first = np.flatnonzero(np.diff(parents[order], prepend=_NONE))
    siblings = np.diff(first, append=len(order))
    before_first = np.repeat(earlier[first], siblings)

    positions = np.empty(len(parents), np.int64)
    positions[order] = 1 + earlier - before_first
    positions[roots] = roots
    for nodes in levels[1:]:
        positions[nodes] += positions[parents[nodes]]
    return positions


def _levels(parents: Places) -> tuple[list[Places], Places]:
    """Return the nodes of each level, the roots first, and the level of each node."""
    is_root = parents == np.arange(len(parents))
    depths = (~is_root).astype(np.int64)
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
    ends = np.cumsum(np.bincount(depths)).tolist()
    cuts = [0, *ends]
    levels = [order[begin:end] for begin, end in pairwise(cuts)]
    return levels, depths


def _subexpressions(columns: Columns, symbols: Pieces, outline: _Outline) -> tuple[Places, Numbers]:
    nodes, sizes, depths, before = outline
    is_term = (sizes >= SMALLEST) & (sizes <= LARGEST) & (depths > 0)
    begins = np.flatnonzero(is_term)

    # A node is written as closing brackets, edge, symbol, opening bracket. More brackets than
    # LARGEST close only after sub-expressions that are too large.
    brackets = pieces([")" * number for number in range(LARGEST)])
    rises = -np.diff(depths, prepend=0)
    closed = np.clip(rises, 0, LARGEST - 1)
    symbols = symbols.of(nodes)
    steps = brackets.of(closed) + EDGE_PIECES.of(columns.edges[nodes]) + symbols
    has_arguments = (sizes > 1).astype(np.int64)
    opened = pieces(["", "("]).of(has_arguments)

    # A variable is followed by its distance if it occurs earlier in the same sub-expression.
    distances = np.arange(len(nodes)) - before
    is_far = (before < 0) | (distances >= LARGEST)
    distances[is_far] = 0
    written_distances = pieces(["", *map(str, range(1, LARGEST))])
    without_distance = steps + opened
    with_distance = steps + written_distances.of(distances) + opened
    either = without_distance.then(with_distance)

    lengths = sizes[begins] - 1
    inner = ranges(begins + 1, lengths)
    is_repeated = before[inner] >= np.repeat(begins, lengths)
    rows = inner + len(nodes) * is_repeated
    rest = _joined(either.of(rows), lengths)

    last = begins + lengths
    closing = brackets.of(depths[last] - depths[begins])
    whole = symbols.of(begins) + opened.of(begins) + rest + closing

    is_short = whole.lengths <= LONGEST_TERM
    trees = columns.trees[nodes[begins]]
    return trees[is_short], whole.numbers[is_short]


def _joined(parts: Pieces, counts: Places) -> Pieces:
    """Join consecutive pieces: the first `counts[0]` pieces become one, and so on."""
    ends = np.cumsum(counts)
    begins = ends - counts

    # A piece is shifted past the characters after it in its group, then the group is added up.
    characters = np.concatenate(([0], np.cumsum(parts.lengths)))
    ends_of_groups = np.repeat(characters[ends], counts)
    following = ends_of_groups - characters[1:]
    shifted = parts.numbers * powers(following)
    sums = sums_before(shifted)

    numbers = sums[ends] - sums[begins]
    lengths = characters[ends] - characters[begins]
    return Pieces(numbers, lengths)


def _corefs(columns: Columns, symbols: Pieces, outline: _Outline) -> tuple[Places, Numbers]:
    second = np.flatnonzero(outline.before >= 0)
    first = outline.before[second]
    second_nodes = outline.nodes[second]
    first_contexts = _contexts(columns, symbols, outline.nodes[first])
    second_contexts = _contexts(columns, symbols, second_nodes)

    # The context of the lower number comes first.
    rows = np.arange(len(second))
    both = first_contexts.then(second_contexts)
    is_swapped = first_contexts.numbers > second_contexts.numbers
    lower = both.of(rows + len(rows) * is_swapped)
    upper = both.of(rows + len(rows) * ~is_swapped)
    pairs = lower + pieces(["&"]) + upper
    return columns.trees[second_nodes], pairs.numbers


def _contexts(columns: Columns, symbols: Pieces, nodes: Places) -> Pieces:
    """Return up to two nodes above each variable, with the edges that lead down to it."""
    parents = columns.parents[nodes]
    above = columns.parents[parents]
    nearer = symbols.of(parents) + EDGE_PIECES.of(columns.edges[nodes])
    farther = symbols.of(above) + EDGE_PIECES.of(columns.edges[parents])
    is_top = above == parents
    farther.numbers[is_top] = 0
    farther.lengths[is_top] = 0
    return farther + nearer
