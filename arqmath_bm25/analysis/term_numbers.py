"""Terms as numbers of 64 bits, and formulas as columns of numbers, so that NumPy makes their terms.

The number of a term is a polynomial in a fixed base whose coefficients are random numbers for its
characters (Karp and Rabin 1987), so that number(a + b) = number(a) · base ** len(b) + number(b).
NumPy makes the paths of many trees from the numbers of their symbols and edges, and they are those
of the same paths as text. The chance that two of a hundred million terms share a number is 0.0003.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.structures import BASE, FACTORS
from arqmath_bm25.analysis.trees import EDGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.terms import FormulaTree

    Numbers = NDArray[np.uint64]
    Places = NDArray[np.int64]

_BASE: Final = np.uint64(BASE)
_FIRST, _SECOND = map(np.uint64, FACTORS)
_powers = np.ones(1, np.uint64)


def term_numbers(terms: Sequence[str]) -> Numbers:
    """Return the number of each term."""
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    text = "".join(terms).encode("utf-32-le", "surrogatepass")
    ends = np.cumsum(lengths)
    behind = np.repeat(ends, lengths) - np.arange(1, len(text) // 4 + 1)  # characters, in the term
    values = mixed(np.frombuffer(text, np.uint32) + np.uint64(1)) * powers(behind)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)))
    numbers: Numbers = sums[ends] - sums[ends - lengths]
    return numbers


def powers(exponents: Places) -> Numbers:
    """Return powers of the base, by which a prefix is shifted past the characters after it."""
    global _powers
    if (most := int(exponents.max(initial=0))) >= len(_powers):
        bases = np.full(2 * most + 1, _BASE)
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
        self[text] = code = len(self)
        return code

    def codes(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """Return the code of each text; new ones get the next codes."""
        return np.fromiter(map(self.__getitem__, texts), np.int32)


class Columns(NamedTuple):
    """Trees one after the other, a row for each node: codes of symbols and characters of edges."""

    texts: Vocabulary  # what the codes of symbols stand for
    trees: Places  # the number of the tree of each node
    symbols: NDArray[np.int32]
    parents: Places  # rows; of a root its own
    edges: NDArray[np.uint8]


class Trees:
    """Trees, or lines of symbols without parents and edges, of formulas of distinct sources."""

    _TOGETHER = 1 << 12  # formulas that are coded at a time: text is in the way, codes are small

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
        numbers, first = self._numbers, len(self._numbers)
        new = {each.source: each.tree for each in self._waiting if each.source not in numbers}
        numbers.update(zip(new, range(first, first + len(new)), strict=True))
        self._members.extend([numbers[each.source] for each in self._waiting])
        self._waiting = []
        if not new:
            return
        texts = Vocabulary()
        symbols, parents, edges = zip(*new.values(), strict=True)
        lengths = np.fromiter(map(len, symbols), np.int64)
        trees = np.arange(len(new)).repeat(lengths)
        codes = texts.codes(chain.from_iterable(symbols))
        above = np.fromiter(chain.from_iterable(parents), np.int64)  # none of lines
        above += (np.cumsum(lengths) - lengths)[trees[: len(above)]]
        of_edges = "".join(chain.from_iterable(edges)).encode("ascii")
        self._batches.append(
            Columns(texts, first + trees, codes, above, np.frombuffer(of_edges, np.uint8))
        )


class Texts:
    """The parts of which numbers of terms are computed, by code."""

    def __init__(self, texts: Iterable[str]) -> None:
        listed = list(texts)
        self.numbers = term_numbers(listed)
        self.lengths = np.fromiter(map(len, listed), np.int64)
        self.variables = np.fromiter(map(VARIABLES.__contains__, listed), np.bool_)


EDGE_TEXTS: Final = Texts(EDGES.values())
