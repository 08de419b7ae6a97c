"""Terms as numbers of 64 bits, and formulas as columns of numbers, so that NumPy makes their terms.

The number of a term is a polynomial in a fixed base whose coefficients are random numbers for its
characters (Karp and Rabin 1987), so that number(a + b) = number(a) · base ** len(b) + number(b).
NumPy makes the numbers of the paths of many trees from the numbers of their symbols and edges. They
equal the numbers of the same paths as text. The chance that two of a hundred million terms share a
number is 0.0003.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.structures import BASE, FACTORS
from arqmath_bm25.analysis.terms import FormulaTree
from arqmath_bm25.analysis.trees import EDGES, LOWER, PLACE, Tree

Numbers = NDArray[np.uint64]
Places = NDArray[np.int64]

_BASE = np.uint64(BASE)
_FIRST, _SECOND = map(np.uint64, FACTORS)
_powers = np.ones(1, np.uint64)


def term_numbers(terms: Sequence[str]) -> Numbers:
    """Return the number of each term."""
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    ends = np.cumsum(lengths)
    text = "".join(terms).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(text, np.uint32)

    # A character is shifted past the characters after it in its term.
    positions = np.arange(1, len(characters) + 1)
    following = np.repeat(ends, lengths) - positions
    values = mixed(characters + np.uint64(1)) * powers(following)
    sums = sums_before(values)
    numbers: Numbers = sums[ends] - sums[ends - lengths]
    return numbers


def sums_before(values: Numbers) -> Numbers:
    """Return the sum of the values before each position, and of all, modulo 2 ** 64."""
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values, dtype=np.uint64, out=sums[1:])
    return sums


def powers(exponents: Places) -> Numbers:
    """Return powers of the base, by which a prefix is shifted past the characters after it."""
    global _powers
    largest = int(exponents.max(initial=0))
    if largest >= len(_powers):
        bases = np.full(2 * largest + 1, _BASE)
        bases[0] = 1
        _powers = np.cumprod(bases, dtype=np.uint64)
    return _powers[exponents]


def mixed(numbers: Numbers) -> Numbers:
    """Mix the bits, so that each depends on all (the end of SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


class Vocabulary(dict[str, int]):
    """Codes of words and symbols in order of first occurrence."""

    def __missing__(self, text: str) -> int:
        code = len(self)
        self[text] = code
        return code

    def codes(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """Return the code of each text; new ones get the next codes."""
        return np.fromiter(map(self.__getitem__, texts), np.int32)


class Columns(NamedTuple):
    """Trees one after the other, a row for each node."""

    texts: Vocabulary  # symbol → its code
    trees: Places  # the number of the tree of each node
    symbols: NDArray[np.int32]  # codes
    parents: Places  # the row of the parent; the parent of a root is the root
    edges: NDArray[np.uint8]  # characters


class Trees:
    """Trees, or lines of symbols without parents and edges, of formulas of distinct sources."""

    # So many formulas are coded at a time, since codes take less memory than text.
    _TOGETHER = 1 << 12

    def __init__(self) -> None:
        self.added = 0
        self._waiting: list[FormulaTree] = []
        self._numbers: dict[str, int] = {}  # by the sources of formulas
        self._members = array("i")
        self._batches: list[Columns] = []

    def __len__(self) -> int:
        self._code()
        return len(self._numbers)

    def add(self, formulas: Sequence[FormulaTree]) -> None:
        """Add formulas; equal sources share a tree."""
        self._waiting += formulas
        self.added += len(formulas)
        if len(self._waiting) >= self._TOGETHER:
            self._code()

    @property
    def members(self) -> NDArray[np.int32]:
        """The number of the tree of each formula that was added, in their order."""
        self._code()
        return np.frombuffer(self._members, np.int32)

    @property
    def batches(self) -> Sequence[Columns]:
        """All trees, in the order of their numbers, some at a time."""
        self._code()
        return self._batches

    def _code(self) -> None:
        """Number the formulas that wait, and code the trees that are new."""
        numbers = self._numbers
        first = len(numbers)
        new = {each.source: each.tree for each in self._waiting if each.source not in numbers}
        for number, source in enumerate(new, first):
            numbers[source] = number

        self._members.extend([numbers[each.source] for each in self._waiting])
        self._waiting = []
        if new:
            self._batches.append(_columns(list(new.values()), first))


def _columns(trees: Sequence[Tree], first: int) -> Columns:
    """Code trees, whose numbers begin with `first`."""
    texts = Vocabulary()
    symbols, parents, edges = zip(*trees, strict=True)
    lengths = np.fromiter(map(len, symbols), np.int64)
    begins = np.cumsum(lengths) - lengths
    numbers = np.arange(len(trees)).repeat(lengths)
    codes = texts.codes(chain.from_iterable(symbols))

    # A line of symbols has no parents; trees and lines are never mixed.
    rows = np.fromiter(chain.from_iterable(parents), np.int64)
    rows += begins[numbers[: len(rows)]]
    edge_text = "".join(chain.from_iterable(edges))
    edge_codes = np.frombuffer(edge_text.encode("ascii"), np.uint8)
    return Columns(texts, first + numbers, codes, rows, edge_codes)


class Pieces(NamedTuple):
    """Pieces of text as numbers, with their lengths in characters."""

    numbers: Numbers
    lengths: Places

    def __add__(self, other: Pieces) -> Pieces:  # type: ignore[override]
        """Join each piece with the one in the same row of `other`."""
        numbers = self.numbers * powers(other.lengths) + other.numbers
        return Pieces(numbers, self.lengths + other.lengths)

    def of(self, rows: NDArray[np.integer]) -> Pieces:
        """Return the pieces of some rows."""
        return Pieces(self.numbers[rows], self.lengths[rows])

    def then(self, other: Pieces) -> Pieces:
        """Return the rows of `other` after the rows of these pieces."""
        numbers = np.concatenate((self.numbers, other.numbers))
        lengths = np.concatenate((self.lengths, other.lengths))
        return Pieces(numbers, lengths)


def pieces(texts: Iterable[str]) -> Pieces:
    """Return texts as pieces."""
    listed = list(texts)
    return Pieces(term_numbers(listed), np.fromiter(map(len, listed), np.int64))


def variables(texts: Vocabulary) -> NDArray[np.bool_]:
    """Return which texts are variables, by their codes."""
    return np.fromiter(map(VARIABLES.__contains__, texts), np.bool_)


def anonymised_symbols(columns: Columns, symbols: Pieces) -> NDArray[np.bool_]:
    """Write placeholders for variables (see `trees.anonymised`); return which nodes get one."""
    hidden = variables(columns.texts)[columns.symbols]
    has_argument = columns.edges != ord(LOWER)
    hidden[columns.parents[has_argument]] = False
    symbols.numbers[hidden] = term_numbers([PLACE])
    symbols.lengths[hidden] = len(PLACE)
    return hidden


EDGE_PIECES = pieces(EDGES.values())
