"""Paths, n-grams and structures of many formulas at a time, as numbers, by NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.analysis.structure_numbers import structure_numbers
from arqmath_bm25.analysis.term_numbers import (
    EDGE_PIECES,
    anonymised_symbols,
    pieces,
    powers,
    term_numbers,
    variables,
)
from arqmath_bm25.analysis.terms import LONGEST, WRITTEN, Paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.analysis.term_numbers import Columns, Numbers, Pieces, Places
    from arqmath_bm25.analysis.terms import Lines, Spelling


def spelled(spelling: Spelling, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the terms of many trees: the number of each tree, and the term."""
    if isinstance(spelling, Paths):
        return _paths(spelling, columns)
    return _lines(spelling, columns)


def _paths(paths: Paths, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the paths through many trees."""
    symbols = pieces(columns.texts).of(columns.symbols)
    yield from _paths_through(paths, columns, symbols)
    if paths.also_anonymised:
        anonymised_symbols(columns, symbols)
        yield from _paths_through(paths, columns, symbols)

    if paths.structures:
        yield from structure_numbers(columns)


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
    distances = _distances(columns)[places]

    longest = np.empty(0, np.uint64)
    for position in range(min(lines.high, len(trees))):
        joint = "~" if position else ""
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


def _distances(columns: Columns) -> Places:
    """Return how far back each symbol last occurred in its line; LONGEST if that is farther."""
    symbols = columns.symbols
    trees = columns.trees
    distances = np.full(len(symbols), LONGEST)
    for distance in range(LONGEST - 1, 0, -1):
        same_symbol = symbols[distance:] == symbols[:-distance]
        same_line = trees[distance:] == trees[:-distance]
        distances[distance:][same_symbol & same_line] = distance
    return distances
