r"""Formulas: number k is a function of k, so that none is stored, however many there are.

The first are the frequent ones (`n`, `\mathbb{R}`, `f(x)`), single terms. Every other one begins
with two terms, `x_{2}=\alpha`, whose numbers encode k one to one: no two are the same. Small k have
short terms. What follows, up to the length that k happens to have, is drawn by hashes of k. So the
number of a formula serves as its visual id.
"""

from __future__ import annotations

import re
import zlib
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from generation.grammar import ODD, OPERATORS, Term, terms
from generation.measured import (
    DISTINCT,
    FORMULA_SHARES,
    GROWTH,
    LATEX_LENGTHS,
    quantile_draw,
    rank_draw,
)

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from generation.measured import Integers

    Strings = NDArray[Any]  # of dtype object

_MATH: Final = (
    '<math alttext="{}" class="ltx_Math" display="inline" '
    'xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow>{}</mrow></semantics></math>'
)
_FREQUENT, _FREQUENT_SHARE = FORMULA_SHARES[-1]
_FREQUENT_TERMS: Final = list(islice(terms(), _FREQUENT))


def _simplicity(term: Term) -> tuple[int, int]:
    """Order terms by the symbols that one sees of them, and else by chance."""
    visible = re.sub(r"\\[A-Za-z]+", "c", term.latex)
    return sum(c not in "{}^_" for c in visible), zlib.crc32(term.latex.encode())


_TERMS: Final = [*sorted(dict.fromkeys(terms()), key=_simplicity), *ODD]
_OPERATORS: Final = [OPERATORS[n * 7 % len(OPERATORS)] for n in range(len(_TERMS))]
_BASE_LENGTH: Final = 7  # of the two terms that a formula begins with, roughly
_SCRAMBLE: Final = 1_000_000_007  # odd and no multiple of 3


class _Notation:
    """The pieces of formulas in one notation, by number."""

    def __init__(self, frequent: list[str], first: list[str], joined: list[str]) -> None:
        self.frequent = np.array(frequent, dtype=object)
        self.first = np.array(first, dtype=object)
        self.joined = np.array(joined, dtype=object)  # terms behind their operators


_LATEX: Final = _Notation(
    [term.latex for term in _FREQUENT_TERMS],
    [term.latex for term in _TERMS],
    [op.latex + term.latex for op, term in zip(_OPERATORS, _TERMS, strict=True)],
)
_MATHML: Final = _Notation(
    [term.mathml for term in _FREQUENT_TERMS],
    [term.mathml for term in _TERMS],
    [f"<mo>{op.mathml}</mo>{term.mathml}" for op, term in zip(_OPERATORS, _TERMS, strict=True)],
)
_MEAN_LENGTH: Final = float(np.mean([len(piece) for piece in _LATEX.joined]))


class Formulas:
    """Draws formula instances: frequent ones, new ones, and repeats, mostly of recent ones."""

    def __init__(self) -> None:
        self._instances = 0
        self._distinct = 0  # without the frequent ones

    def draw(self, random: Generator, number: int) -> Integers:
        """Return the numbers of the next formulas."""
        instance = self._instances + np.arange(1, number + 1)
        new_share = DISTINCT * GROWTH * instance ** (GROWTH - 1)
        uniform = random.random(number)
        new = (uniform >= _FREQUENT_SHARE) & (uniform < _FREQUENT_SHARE + new_share)
        seen = self._distinct + np.cumsum(new)
        self._instances += number
        self._distinct = int(seen[-1]) if number else self._distinct
        lag = np.where(new, 1, seen ** random.random(number))
        return np.where(
            uniform < _FREQUENT_SHARE,
            rank_draw(FORMULA_SHARES, uniform / _FREQUENT_SHARE),
            _FREQUENT + np.maximum(seen - lag.astype(np.int64), 0),
        )


def latex(numbers: Integers) -> list[str]:
    """Return formulas in LaTeX."""
    return _render(numbers, _LATEX)


def mathml(numbers: Integers, alternative: list[str]) -> list[str]:
    """Return formulas in presentation MathML, with their LaTeX as `alternative` text."""
    rendered = _render(numbers, _MATHML)
    return [_MATH.format(a, m) for a, m in zip(alternative, rendered, strict=True)]


def in_xml(formula: str) -> str:
    """Return LaTeX in the form of an attribute of the XML files: escaped as HTML, then as XML."""
    if "&" in formula or "<" in formula or ">" in formula or '"' in formula or "\n" in formula:
        return escape(escape(formula.replace("\n", " "), quote=False))
    return formula


def _render(numbers: Integers, notation: _Notation) -> list[str]:
    frequent = numbers < _FREQUENT
    rest = numbers[~frequent] - _FREQUENT
    first, second = _first_terms(rest)
    lengths = quantile_draw(LATEX_LENGTHS, _hash(rest) / 2**64)
    more = np.maximum(np.rint((lengths - _BASE_LENGTH) / _MEAN_LENGTH), 0).astype(np.int64)
    ends = np.cumsum(more)
    position = np.arange(more.sum()) - np.repeat(ends - more, more)
    pieces = _hash(np.repeat(rest, more) * 1000 + position) % np.uint64(len(_TERMS))
    following = notation.joined[pieces.astype(np.int64)].tolist()
    begun = (notation.first[first] + notation.joined[second]).tolist()
    rendered = np.empty(len(numbers), dtype=object)
    rendered[frequent] = notation.frequent[numbers[frequent]]
    rendered[~frequent] = [
        begin + "".join(following[end - number : end]) if number else begin
        for begin, end, number in zip(begun, ends.tolist(), more.tolist(), strict=True)
    ]
    result: list[str] = rendered.tolist()
    return result


def _first_terms(numbers: Integers) -> tuple[Integers, Integers]:
    """Return the two terms that encode each number.

    The pairs with terms below s are numbers below s * s, so that small numbers have short terms
    (Szudzik's pairing). Within each power of four numbers are scrambled first: neighbours would
    share a term.
    """
    number = numbers + 1
    low = np.int64(4) ** ((np.frexp(number)[1] - 1) // 2)
    number = low + (number - low) * _SCRAMBLE % (3 * low)
    shell = np.sqrt(number).astype(np.int64)
    rest = number - shell * shell
    return np.where(rest < shell, rest, shell), np.where(rest < shell, shell, rest - shell)


def _hash(numbers: Integers) -> NDArray[np.uint64]:
    """Return 64 well mixed bits of each number (the finalizer of SplitMix64)."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
