"""Prose → words: folded, without stop words, stemmed.

Words are runs of letters or of digits after NFKC and case folding, without the marks of Latin
letters, so that 𝐑, ﬁ and É equal r, fi and e; ü is u, ß is ss, ı is i. A prefix with its hyphen is
one word with what follows: "non-negative" equals "nonnegative". Han ideographs and kana, which have
no blanks between words, are pairs of neighbours, and vowel signs belong to their letters. Stemming
is Porter's second English stemmer (Snowball, by PyStemmer). One analyzer serves all threads.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Literal, TypeVar

import Stemmer

from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

T = TypeVar("T")

_TABLE = read_table(__file__)
STOP_WORDS = names_in(_TABLE["stop_words"])
SINGULARS: dict[str, str] = _TABLE["singulars"]


def _vowel_signs() -> str:
    """Return vowel signs and other marks that belong to their letters.

    Accents on Latin letters are not among them and end a word: the accents that NFKC does not join
    with a letter are found on symbols of mathematics.
    """
    signs = []
    for code in range(0x0483, 0x1CFF):
        if unicodedata.category(chr(code)) in ("Mn", "Mc"):
            signs.append(chr(code))
    return "".join(signs)


# Han ideographs and kana are written without blanks between words.
_IDEOGRAPHS = (
    "\u3005\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Thai, Lao, Burmese and Khmer have no blanks between words either, and pairs of their letters mean
# little.
_UNDIVIDED = expression("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]{2}")
_LETTER = rf"[^\W\d_{_IDEOGRAPHS}]"
_WORD = expression(r"[^\W\d_]+|\d+")
_IDEOGRAPH = expression(f"[{_IDEOGRAPHS}]")
_ASCII_WORD = expression("[a-z]+|[0-9]+")  # For folded ASCII it is twice as fast as _WORD.
# Tables have all ASCII characters, as what a table lacks takes the longest time.
_ASCII = {code: chr(code) for code in range(128)}
_OTHERS = {code: " " for code, character in _ASCII.items() if not character.isalnum()}
_ALPHANUMERIC = {**_ASCII, **_OTHERS}
_LETTERS = {**_ALPHANUMERIC, **dict.fromkeys(map(ord, "0123456789"), " ")}
_CONTRACTION = expression(r"['’](?:s|re|ve|ll|d|m)\b")
_NEGATION = expression(r"n['’]t\b")
MAX_WORD = 100  # characters; Lucene splits tokens at 255
_KEPT_WORDS = 1 << 16  # about 10 MB
_MAY_BE_MARKS = expression(r"[^\w\s\0-\u02ff]{31,}")
_MAX_MARKS = 30  # on one character, as in UAX #15's stream-safe text format


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a Unicode normal form, in linear time: Python sorts marks on a letter in quadratic.

    Marks beyond the 30th on one character are dropped; no script has so many.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, _MAY_BE_MARKS.sub(_fewer_marks, text))


def _fewer_marks(run: re.Match[str]) -> str:
    kept = []
    marks = 0
    for character in run[0]:
        if unicodedata.combining(character):
            marks += 1
        else:
            marks = 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def _unmarked_letters() -> dict[int, str]:
    """Return Latin letters with marks, and the letters without them."""
    letters = {**_ASCII, **{ord(marked): plain for marked, plain in _TABLE["letters"].items()}}
    for code in (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)):
        first = unicodedata.normalize("NFD", chr(code))[0]
        if first.isascii():
            letters[code] = first
    return letters


_UNMARKED = _unmarked_letters()
# Hyphens are few, so they are looked for first.
_AFTER_PREFIX = [rf"(?<=(?<![^\W_]){prefix}.)" for prefix in _TABLE["prefixes"].split()]
_HYPHEN = expression(rf"[-\u2010](?=[^\W\d_]{{3}})(?:{'|'.join(_AFTER_PREFIX)})")


# To compile expressions with so many characters takes longer than to read most queries.
@cache
def _other_scripts() -> re.Pattern[str]:
    return re.compile(f"[{_vowel_signs()}{_IDEOGRAPHS}]")


@cache
def _word_of_other_scripts() -> re.Pattern[str]:
    return re.compile(rf"[{_IDEOGRAPHS}]+|{_LETTER}(?>(?:{_LETTER}+|[{_vowel_signs()}]+)*)|\d+")


def words_in(prose: str) -> list[str]:
    """Return the words of prose in order, folded."""
    if not prose.isascii():
        prose = normalize("NFKC", prose).translate(_UNMARKED)
    prose = prose.casefold()
    if "-" in prose or "\u2010" in prose:
        prose = _HYPHEN.sub("", prose)
    if "'" in prose or "’" in prose:
        prose = _CONTRACTION.sub(" ", prose)
        prose = _NEGATION.sub(" ", prose)

    if prose.isascii():
        letters = prose.translate(_LETTERS)
        # Prose without digits is split in half the time.
        if letters == prose.translate(_ALPHANUMERIC):
            return letters.split()
        return _ASCII_WORD.findall(prose)

    if _other_scripts().search(prose) is None:
        return _WORD.findall(prose)
    # Of a run of ideographs pairs of neighbours are words, as in Lucene's CJK analyzer.
    words: list[str] = []
    for word in _word_of_other_scripts().findall(prose):
        if len(word) > 1 and _IDEOGRAPH.match(word):
            words += map("".join, pairwise(word))
        else:
            words.append(word)
    return words


def is_undivided(text: str) -> bool:
    """Return whether a text is in a script without marks between words, such as Thai."""
    return not text.isascii() and _UNDIVIDED.search(text) is not None


class Memo(dict[str, T]):
    """Remembers the results of a function for short texts."""

    def __init__(self, function: Callable[[str], T], most: int, longest: int) -> None:
        """Keeps results of up to `most` texts of at most `longest` characters."""
        super().__init__()
        self._function = function
        self._most = most
        self._longest = longest

    def __missing__(self, text: str) -> T:
        if len(self) >= self._most:
            self.clear()
        value = self._function(text)
        if len(text) <= self._longest:
            self[text] = value
        return value


class WordAnalyzer:
    """Turns prose into index terms."""

    def __init__(self, stemmer: str = "english", stop_words: bool = True) -> None:
        stem = str
        singulars = {}
        if stemmer != "none":
            stem = Stemmer.Stemmer(stemmer, 0).stemWord
            singulars = SINGULARS
        left_out = frozenset[str]()
        if stop_words:
            left_out = STOP_WORDS
        lock = Lock()  # A stemmer has buffers, so only one thread may use it at a time.

        def term(word: str) -> str:
            if word in left_out:
                return ""
            singular = singulars.get(word, word)
            with lock:
                return stem(singular[:MAX_WORD])

        # The term of a stop word is an empty string.
        self._stems = Memo(term, _KEPT_WORDS, MAX_WORD)

    def __call__(self, prose: str, words: set[str] | None = None) -> list[str]:
        """Return the terms of `prose` in order; its words are added to `words`."""
        found = words_in(prose)
        if words is not None:
            words.update(found)
        stems = map(self._stems.__getitem__, found)
        return list(filter(None, stems))
