"""A formula → terms by field, as they go into the index of formulas and into its queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.analysis import latex, mathml
from arqmath_bm25.analysis.latex import arrange, ngrams
from arqmath_bm25.analysis.patterns import patterns
from arqmath_bm25.analysis.symbol_layout import paths, read_layout
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.config import FormulaAnalysisSettings, FormulaField


class FormulaAnalyzer:
    """Turns formulas into terms as the settings say. One per thread."""

    def __init__(self, settings: FormulaAnalysisSettings, fields: Sequence[FormulaField]) -> None:
        self._settings = settings
        self._fields = fields
        self._words = WordAnalyzer()

    def latex(self, source: str) -> dict[str, list[str]]:
        """Analyse LaTeX without its delimiters; any string is read."""
        return self._terms(*latex.read(source))

    def mathml(self, source: str) -> dict[str, list[str]]:
        """Analyse Presentation MathML; any string is read."""
        return self._terms(*mathml.read(source))

    def _terms(self, items: list[str], text: str) -> dict[str, list[str]]:
        tokens = arrange(items)
        terms: dict[str, list[str]] = {}
        for field in self._fields:
            if field == "symbols":
                terms[field] = tokens
            elif field == "ngrams":
                terms[field] = ngrams(tuple(tokens), *self._settings.ngrams)
            elif field == "contents":
                # Words stand where they will: `x \text{ if } y` has the term `~t~if`.
                words = [f"~t~{word}" for word in self._words(text)] if text else []
                terms[field] = paths(read_layout(items), *self._settings.layout) + words
            else:
                terms[field] = patterns(tokens, *self._settings.patterns)
        return terms
