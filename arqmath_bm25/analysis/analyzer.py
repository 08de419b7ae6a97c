"""Content → terms, as they go into an index and into queries: one analysis for both."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.analysis.latex import arrange, as_word, ngrams, read
from arqmath_bm25.analysis.macros import write_out
from arqmath_bm25.analysis.operator_paths import operator_paths, pack
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.analysis.settings import AnalysisSettings

_CACHED_FORMULAS = 1 << 15  # half of all formulas are repeats; about 30 MB when full


class Terms(NamedTuple):
    """Terms of prose and of formulas, each separated by blanks."""

    words: str
    math: str  # n-grams of tokens
    operators: str  # paths through operator trees; none unless the settings want them
    trees: tuple[bytes, ...]  # those with a symbol, packed for their `signatures`


class Analyzer:
    """Turns content into terms as the settings say. One serves all threads."""

    def __init__(self, settings: AnalysisSettings, ngrams: bool = True) -> None:
        """Without `ngrams` no formula has any, which saves their time."""
        stemmer = settings.text.stemmer
        self._words = WordAnalyzer(None if stemmer == "none" else stemmer, settings.text.stop_words)
        self._latex = settings.latex
        self._ngrams = ngrams
        self._formula = lru_cache(maxsize=_CACHED_FORMULAS)(self._analyze_formula)

    def __call__(self, content: Content) -> Terms:
        """Analyse one field. n-grams do not cross formulas; text in formulas joins the words."""
        prose: list[str] = []
        formulas: list[Terms] = []
        for piece in write_out(content).pieces:
            if isinstance(piece, str):
                prose.append(piece)
            elif self._latex.form == "raw":
                prose.append(piece.latex)
            elif self._latex.form != "none":
                formulas.append(self._formula(piece.latex))
        return Terms(
            " ".join(self._words(" ".join(prose)) + [one.words for one in formulas if one.words]),
            " ".join(one.math for one in formulas if one.math),
            " ".join(one.operators for one in formulas if one.operators),
            tuple(tree for one in formulas for tree in one.trees),
        )

    def _analyze_formula(self, latex: str) -> Terms:
        items, text = read(latex)
        words = " ".join(self._words(text)) if text else ""
        math = ""
        if self._ngrams:
            symbols, joint = arrange(items), "~"
            if self._latex.form == "words":
                symbols, joint = list(map(as_word, symbols)), "_"
            math = " ".join(ngrams(symbols, *self._latex.ngrams, joint))
        if not self._latex.operators:
            return Terms(words, math, "", ())
        tree = read_operators(items)
        packed = pack(tree)
        return Terms(words, math, " ".join(operator_paths(tree)), (packed,) if packed else ())
