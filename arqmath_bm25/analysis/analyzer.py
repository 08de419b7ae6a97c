"""Content → terms, as they go into an index and into queries: one analysis for both."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.analysis.latex import arrange, as_word, ngrams, read
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.config import AnalysisSettings

_CACHED_FORMULAS = 1 << 15  # half of all formulas are repeats; about 30 MB when full


class Terms(NamedTuple):
    """Terms of prose and of formulas, each separated by blanks."""

    words: str
    math: str


class Analyzer:
    """Turns content into terms as the settings say. One per thread."""

    def __init__(self, settings: AnalysisSettings) -> None:
        stemmer = settings.text.stemmer
        self._words = WordAnalyzer(None if stemmer == "none" else stemmer, settings.text.stop_words)
        self._low, self._high = settings.latex.ngrams
        self._as_words = settings.latex.form == "words"
        self._formula = lru_cache(maxsize=_CACHED_FORMULAS)(self._analyze_formula)

    def __call__(self, content: Content) -> Terms:
        """Analyse one field. n-grams do not cross formulas; text in formulas joins the words."""
        prose: list[str] = []
        math: list[str] = []
        texts: list[str] = []
        for piece in content.pieces:
            if isinstance(piece, str):
                prose.append(piece)
                continue
            terms = self._formula(piece.latex)
            if terms.math:
                math.append(terms.math)
            if terms.words:
                texts.append(terms.words)
        return Terms(" ".join(self._words(" ".join(prose)) + texts), " ".join(math))

    def _analyze_formula(self, latex: str) -> Terms:
        items, text = read(latex)
        symbols, joint = arrange(items), "~"
        if self._as_words:
            symbols, joint = list(map(as_word, symbols)), "_"
        grams = ngrams(symbols, self._low, self._high, joint)
        return Terms(" ".join(self._words(text)) if text else "", " ".join(grams))
