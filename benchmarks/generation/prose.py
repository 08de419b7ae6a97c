"""Prose: frequent words of mathematical English, then invented ones, with formulas in between."""

from __future__ import annotations

from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from generation.measured import MARKUP, SEPARATORS, WORD_SHARES, rank_draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from generation.measured import Integers

    Strings = NDArray[Any]  # of dtype object: takes and joins without copies

# The most frequent words of the subset in their order: most of them are stop words.
FREQUENT: Final = (
    "the is of a to and that in i for this we it be if you are can as by then have with so not but "
    "on an there which or all one at from function any let how set such what number some since has "
    "where first two know proof do now find my would only get also numbers prove question will use "
    "about using theorem other when given like just here because no see show problem case way more "
    "example definition your am does answer same was point these true me every each order real "
    "they than following need series thus sequence even out limit integral above prime note"
).split()
_ONSETS: Final = "b d f g h l m n p r s t v br cl dr gr pl st tr".split()
_VOWELS: Final = "a e i o u".split()
_CODAS: Final = "ton ment l ric nd".split()
_ENDINGS: Final = ("", "s", "ing", "ed")  # for the stemmer
_SIZE: Final = WORD_SHARES[-1][0]


def _invented() -> Iterator[str]:
    """Yield words of one syllable, then of two and three, each with its forms."""
    syllables = ["".join(pair) for pair in product(_ONSETS, _VOWELS)]
    for length in (1, 2, 3):
        for parts in product(*([syllables] * length), _CODAS):
            yield from ("".join(parts) + ending for ending in _ENDINGS)


def _vocabulary() -> Strings:
    """Return words by rank: frequent ones are short."""
    words = dict.fromkeys(chain(FREQUENT, islice(_invented(), _SIZE)))
    return np.array(list(words)[:_SIZE], dtype=object)


VOCABULARY: Final = _vocabulary()
_BLANK_SHARE: Final = 1 - sum(share for share, _ in SEPARATORS)
_SEPARATOR: Final = np.array(
    # 1,000 of them, so that a random number picks one
    [text for share, text in SEPARATORS for _ in range(round(share * 1000))]
    + [" "] * round(_BLANK_SHARE * 1000),
    dtype=object,
)


def words(random: Generator, number: int) -> Strings:
    """Draw words by their frequencies."""
    return VOCABULARY[rank_draw(WORD_SHARES, random.random(number))]


def texts(
    random: Generator,
    lengths: Integers,
    formulas: Integers,
    spans: Sequence[str],
    *,
    plain: bool,
) -> list[str]:
    """Return texts of `lengths` words, in each as many of `spans` in a row as `formulas` says.

    `plain` texts (titles) have neither markup nor paragraphs.
    """
    tokens = words(random, int(lengths.sum()))
    if not plain:
        _mark_up(random, tokens)
    begins = np.repeat(np.cumsum(lengths) - lengths, formulas)
    ranges = np.repeat(lengths, formulas) + 1
    # The ranges of two texts share one point, so sorting all places sorts those of each text.
    places = np.sort(begins + (random.random(len(ranges)) * ranges).astype(np.int64))
    tokens = np.insert(tokens, places, np.array(spans, dtype=object))
    pieces = np.empty(2 * len(tokens), dtype=object)
    pieces[0::2] = tokens
    pieces[1::2] = " " if plain else _SEPARATOR[random.integers(1000, size=len(tokens))]
    flat = pieces.tolist()
    stops = (2 * np.cumsum(lengths + formulas)).tolist()
    starts = [0, *stops[:-1]]
    return [
        "".join(flat[start : max(start, stop - 1)])
        for start, stop in zip(starts, stops, strict=True)
    ]


def _mark_up(random: Generator, tokens: Strings) -> None:
    """Surround some words with markup, in place."""
    for share, markup in MARKUP:
        if len(tokens):
            for place in random.integers(len(tokens), size=random.binomial(len(tokens), share)):
                tokens[place] = markup % tokens[place]
