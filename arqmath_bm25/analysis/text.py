"""Prose → words: folded, without stop words, stemmed.

Words are runs of letters or of digits after NFKC and case folding, so that 𝐑, ﬁ and Ä meet R, fi
and ä. Stemming is Porter's second English stemmer (Snowball, by PyStemmer). One analyzer serves
all threads.
"""

from __future__ import annotations

import re
import unicodedata
from threading import Lock
from typing import Final, Literal

import Stemmer

# Function words of English, after the Snowball project's list, and a few that mathematical prose
# uses as such (let, thus, yes). Words that may name a topic (prove, find, show) stay in.
STOP_WORDS: Final = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being
    below between both but by can cannot could did do does doing don down during each either
    else ever few for from further get gets had has have having he her here hers him his how
    however i if in into is it its itself just let ll may me might more most much must my no nor not
    now of off on once only or other our ours out over own re same she should since so some such
    than that the their theirs them then there these they this those through thus to too under
    until up us ve very was we were what when where whether which while who whom whose why will
    with would yes yet you your yours
    """.split()
)

_WORD = re.compile(r"[^\W\d_]+|\d+")
_ASCII_WORD = re.compile("[a-z]+|[0-9]+")  # the same of what is folded and ASCII, twice as fast
_CONTRACTION = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))\b")
MAX_WORD: Final = 100  # characters; Lucene splits tokens at 255
_MAY_BE_MARKS = re.compile(r"[^\w\s\0-\u02ff]{31,}")
_MAX_MARKS = 30  # on one character, as in UAX #15's stream-safe text format


def normalize(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return a Unicode normal form, in linear time: Python sorts marks on a letter in quadratic.

    Marks beyond the 30th on one character go; no writing has as many.
    """
    return unicodedata.normalize(form, _MAY_BE_MARKS.sub(_fewer_marks, text))


def _fewer_marks(run: re.Match[str]) -> str:
    kept, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


class WordAnalyzer:
    """Turns prose into index terms."""

    def __init__(self, stemmer: str | None = "english", stop_words: bool = True) -> None:
        self._stems = _Stems(stemmer, STOP_WORDS if stop_words else frozenset())

    def __call__(self, prose: str) -> list[str]:
        """Return the terms of `prose` in order."""
        if not prose.isascii():
            prose = normalize("NFKC", prose)
        prose = prose.casefold()
        word = _ASCII_WORD if prose.isascii() else _WORD
        if "'" in prose or "’" in prose:
            prose = _CONTRACTION.sub(" ", prose)
        return list(filter(None, map(self._stems.__getitem__, word.findall(prose))))


class _Stems(dict[str, str]):
    """The term of every word that was met, nothing for a stop word."""

    _KEPT = 1 << 16  # words; about 10 MB

    def __init__(self, stemmer: str | None, stop_words: frozenset[str]) -> None:
        super().__init__()
        self._stem = Stemmer.Stemmer(stemmer, 0).stemWord if stemmer else str
        self._one_at_a_time = Lock()  # a stemmer works in buffers of its own
        self._stop_words = stop_words

    def __missing__(self, word: str) -> str:
        if len(self) >= self._KEPT:
            self.clear()
        with self._one_at_a_time:
            term: str = "" if word in self._stop_words else self._stem(word[:MAX_WORD])
        if len(word) <= MAX_WORD:
            self[word] = term
        return term
