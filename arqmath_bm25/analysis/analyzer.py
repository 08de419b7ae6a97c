"""Content → terms, as they go into an index and into queries: one analysis for both."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.formula_similarity import signature
from arqmath_bm25.analysis.latex import arrange, as_word, ngrams, read
from arqmath_bm25.analysis.operator_paths import operator_paths
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from arqmath_bm25.analysis.formula_similarity import Signature
    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.analysis.settings import AnalysisSettings

_CACHED_FORMULAS = 1 << 15  # half of all formulas are repeats; about 30 MB when full
_NO_SIGNATURE: Final = np.empty(0, np.uint32)


class Terms(NamedTuple):
    """Terms of prose and of formulas, each separated by blanks."""

    words: str
    math: str  # n-grams of tokens
    operators: str  # paths through operator trees; none unless the settings want them


class _Formula(NamedTuple):
    """One formula: its terms, and what it is like."""

    terms: Terms
    signature: Signature


class Analyzer:
    """Turns content into terms as the settings say. One serves all threads."""

    def __init__(self, settings: AnalysisSettings) -> None:
        stemmer = settings.text.stemmer
        self._words = WordAnalyzer(None if stemmer == "none" else stemmer, settings.text.stop_words)
        self._latex = settings.latex
        self._formula = lru_cache(maxsize=_CACHED_FORMULAS)(self._analyze_formula)

    def __call__(self, content: Content) -> Terms:
        """Analyse one field. n-grams do not cross formulas; text in formulas joins the words."""
        prose: list[str] = []
        formulas: list[Terms] = []
        for piece in content.pieces:
            if isinstance(piece, str):
                prose.append(piece)
            elif self._latex.form == "raw":
                prose.append(piece.latex)
            elif self._latex.form != "none":
                formulas.append(self._formula(piece.latex).terms)
        return Terms(
            " ".join(self._words(" ".join(prose)) + [one.words for one in formulas if one.words]),
            " ".join(one.math for one in formulas if one.math),
            " ".join(one.operators for one in formulas if one.operators),
        )

    def signatures(self, content: Content) -> list[Signature]:
        """Return the signatures of the formulas that have one; the settings want operators."""
        found = (self._formula(formula.latex).signature for formula in content.formulas)
        return [terms for terms in found if len(terms)]

    def _analyze_formula(self, latex: str) -> _Formula:
        items, text = read(latex)
        symbols, joint = arrange(items), "~"
        if self._latex.form == "words":
            symbols, joint = list(map(as_word, symbols)), "_"
        words = " ".join(self._words(text)) if text else ""
        math = " ".join(ngrams(symbols, *self._latex.ngrams, joint))
        if not self._latex.operators:
            return _Formula(Terms(words, math, ""), _NO_SIGNATURE)
        tree = read_operators(items)
        return _Formula(Terms(words, math, " ".join(operator_paths(tree))), signature(tree))
