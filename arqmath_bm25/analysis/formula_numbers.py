"""Paths, n-grams and structures of many formulas at a time, as numbers, by NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.analysis.structure_numbers import structure_numbers
from arqmath_bm25.analysis.term_numbers import EDGE_TEXTS, Texts, powers, term_numbers
from arqmath_bm25.analysis.terms import LONGEST, WRITTEN, Paths
from arqmath_bm25.analysis.trees import LOWER, PLACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.analysis.term_numbers import Columns, Numbers, Places
    from arqmath_bm25.analysis.terms import Lines, Spelling


def spelled(spelling: Spelling, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the terms of many trees: the number of each tree, and the term."""
    if isinstance(spelling, Paths):
        return _paths(spelling, columns)
    return _lines(spelling, columns)


def _paths(paths: Paths, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the paths through many trees."""
    _, trees, symbols, parents, edges = columns
    texts = Texts(columns.texts)
    numbers = texts.numbers[symbols]
    lengths = texts.lengths[symbols]
    root = parents == np.arange(len(parents))
    for is_anonymised in (False, True)[: 1 + paths.also_anonymised]:
        if is_anonymised:
            hidden = texts.variables[symbols]
            hidden[parents[edges != ord(LOWER)]] = False
            numbers[hidden] = term_numbers([PLACE])
            lengths[hidden] = len(PLACE)

        # `ending` is the path that ends at each node; it is complete if the tree reaches so far up.
        steps = EDGE_TEXTS.numbers[edges] * powers(lengths) + numbers
        shifts = powers(EDGE_TEXTS.lengths[edges] + lengths)
        ending = numbers
        complete = np.ones(len(trees), np.bool_)
        for nodes in range(2, paths.high + 1):
            ending = ending[parents] * shifts + steps
            complete = complete[parents] & ~root
            if nodes >= paths.low:
                yield trees[complete], ending[complete]

    if paths.structures:
        yield from structure_numbers(columns)


def _lines(lines: Lines, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the n-grams of many lines."""
    _, trees, symbols, *_ = columns
    texts = Texts(columns.texts)
    variables = np.flatnonzero(texts.variables[symbols] & lines.places)
    distances = _distances(columns)[variables]
    longest = np.empty(0, np.uint64)
    for place in range(min(lines.high, len(trees))):
        joint = "~" if place else ""
        written = [each[place] for each in WRITTEN]
        numbers = (term_numbers([joint]) * powers(texts.lengths) + texts.numbers)[symbols]
        shifts = powers(texts.lengths + len(joint))[symbols]
        numbers[variables] = term_numbers(written)[distances]
        shifts[variables] = powers(np.array(list(map(len, written))))[distances]
        if not place:
            longest = numbers
        else:
            longest = longest[: len(trees) - place] * shifts[place:] + numbers[place:]
        if place + 1 >= lines.low:
            complete = trees[place:] == trees[: len(trees) - place]
            yield trees[place:][complete], longest[complete]


def _distances(columns: Columns) -> Places:
    """Return how far back each symbol last occurred in its line, LONGEST if not so near."""
    symbols = columns.symbols
    trees = columns.trees
    distances = np.full(len(symbols), LONGEST)
    for distance in range(LONGEST - 1, 0, -1):
        same_symbol = symbols[distance:] == symbols[:-distance]
        same_line = trees[distance:] == trees[:-distance]
        distances[distance:][same_symbol & same_line] = distance
    return distances
