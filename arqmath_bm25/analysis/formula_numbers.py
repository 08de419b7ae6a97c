"""The terms of many formulas as numbers: paths, n-grams and structures, made by NumPy."""

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
    """Yield the terms of many trees: the number of the tree, and that of the term."""
    if isinstance(spelling, Paths):
        return _paths(spelling, columns)
    return _lines(spelling, columns)


def _paths(paths: Paths, columns: Columns) -> Iterator[tuple[Places, Numbers]]:
    """Yield the paths through many trees."""
    _, trees, symbols, parents, edges = columns
    texts = Texts(columns.texts)
    numbers, lengths = texts.numbers[symbols], texts.lengths[symbols]
    root = parents == np.arange(len(parents))
    for is_blind in (False, True)[: 1 + paths.also_blind]:
        if is_blind:
            hidden = texts.variables[symbols]
            hidden[parents[edges != ord(LOWER)]] = False
            numbers[hidden], lengths[hidden] = term_numbers([PLACE]), len(PLACE)
        steps = EDGE_TEXTS.numbers[edges] * powers(lengths) + numbers
        shifts = powers(EDGE_TEXTS.lengths[edges] + lengths)
        ending, complete = numbers, np.ones(len(trees), np.bool_)
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
    distances = np.full(len(symbols), LONGEST)
    for distance in range(LONGEST - 1, 0, -1):
        same = symbols[distance:] == symbols[:-distance]
        distances[distance:][same & (trees[distance:] == trees[:-distance])] = distance
    variables = np.flatnonzero(texts.variables[symbols] & lines.places)
    distances = distances[variables]
    longest = np.empty(0, np.uint64)
    for place in range(min(lines.high, len(trees))):
        joint, written = "~" if place else "", [each[place] for each in WRITTEN]
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
