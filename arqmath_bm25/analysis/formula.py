"""A formula → terms by field, as they go into the index of formulas and into its queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from arqmath_bm25.analysis import content_mathml, latex, mathml
from arqmath_bm25.analysis.content_operators import from_content
from arqmath_bm25.analysis.latex import arrange, ngrams
from arqmath_bm25.analysis.operator_paths import blind, operator_paths
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.patterns import patterns
from arqmath_bm25.analysis.symbol_layout import paths, read_layout
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arqmath_bm25.analysis.operator_paths import OperatorTree
    from arqmath_bm25.analysis.settings import FormulaAnalysisSettings, FormulaField
    from arqmath_bm25.analysis.symbol_layout import Layout


class FormulaAnalyzer:
    """Turns formulas into terms as the settings say. One serves all threads."""

    def __init__(self, settings: FormulaAnalysisSettings, fields: Sequence[FormulaField]) -> None:
        self._settings = settings
        self._fields = fields
        self._words = WordAnalyzer()

    def latex(self, source: str) -> dict[str, list[str]]:
        """Analyse LaTeX without its delimiters; any string is read."""
        items, text = latex.read(source)
        return self._terms(arrange(items), read_layout(items), partial(read_operators, items), text)

    def mathml(self, source: str) -> dict[str, list[str]]:
        """Analyse MathML, Content or Presentation as the source of the settings is `opt` or not."""
        if self._settings.source == "opt":
            tree, text = content_mathml.read(source)
            symbols = list(filter(None, tree.symbols))
            return self._terms(symbols, tree, partial(from_content, tree), text)
        items, text = mathml.read(source)
        return self._terms(arrange(items), read_layout(items), partial(read_operators, items), text)

    def _terms(
        self, tokens: list[str], layout: Layout, operators: Callable[[], OperatorTree], text: str
    ) -> dict[str, list[str]]:
        terms: dict[str, list[str]] = {}
        for field in self._fields:
            if field == "symbols":
                terms[field] = tokens
            elif field == "ngrams":
                terms[field] = ngrams(tuple(tokens), *self._settings.ngrams)
            elif field == "contents":
                # Words stand where they will: `x \text{ if } y` has the term `~t~if`.
                words = [f"~t~{word}" for word in self._words(text)] if text else []
                terms[field] = paths(layout, *self._settings.layout) + words
            elif field == "operators":
                tree = operators()
                terms[field] = operator_paths(tree) + operator_paths(blind(tree))
            else:
                terms[field] = patterns(tokens, *self._settings.patterns)
        return terms
