"""A formula → terms by field, as they go into the index of formulas and into its queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from arqmath_bm25.analysis import content_mathml, latex, mathml
from arqmath_bm25.analysis.content_operators import from_content
from arqmath_bm25.analysis.latex import arrange
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.spellings import Bag, Formula, Lines, Paths
from arqmath_bm25.analysis.symbol_layout import read_layout
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arqmath_bm25.analysis.operator_paths import OperatorTree, Tree
    from arqmath_bm25.analysis.settings import FormulaAnalysisSettings, FormulaField
    from arqmath_bm25.analysis.spellings import Spelling
    from arqmath_bm25.analysis.symbol_layout import Layout


class FormulaAnalyzer:
    """Turns formulas into terms as the settings say. One serves all threads."""

    def __init__(self, settings: FormulaAnalysisSettings, fields: Sequence[FormulaField]) -> None:
        self._settings = settings
        self._fields = fields
        self._words = WordAnalyzer()

    def latex(self, source: str) -> dict[str, list[str]]:
        """Analyse LaTeX without its delimiters; any string is read."""
        return _spelled(self._latex(source))

    def mathml(self, source: str) -> dict[str, list[str]]:
        """Analyse MathML, Content or Presentation as the source of the settings is `opt` or not."""
        return _spelled(self._mathml(source))

    def bags(self, source: str) -> dict[str, Bag]:
        """Analyse what the settings say that formulas are, without spelling the terms out."""
        return self._latex(source) if self._settings.source == "latex" else self._mathml(source)

    def _latex(self, source: str) -> dict[str, Bag]:
        return self._of_items(source, *latex.read(source))

    def _mathml(self, source: str) -> dict[str, Bag]:
        if self._settings.source == "opt":
            tree, text = content_mathml.read(source)
            symbols = list(filter(None, tree.symbols))
            return self._terms(source, symbols, tree, partial(from_content, tree), text)
        return self._of_items(source, *mathml.read(source))

    def _of_items(self, source: str, items: list[str], text: str) -> dict[str, Bag]:
        operators = partial(read_operators, items)
        return self._terms(source, arrange(items), read_layout(items), operators, text)

    def _terms(
        self,
        source: str,
        tokens: list[str],
        layout: Layout,
        operators: Callable[[], OperatorTree],
        text: str,
    ) -> dict[str, Bag]:
        settings = self._settings
        bags: dict[str, Bag] = {}
        for field in self._fields:
            tree: Tree = (tokens, (), ())
            words: list[str] = []
            if field == "symbols":
                spelling: Spelling = Lines(1, 1)
            elif field == "ngrams":
                spelling = Lines(*settings.ngrams)
            elif field == "contents":
                # Words stand where they will: `x \text{ if } y` has the term `~t~if`.
                words = [f"~t~{word}" for word in self._words(text)] if text else []
                tree, spelling = layout, Paths(*settings.layout)
            elif field == "operators":
                tree, spelling = operators(), Paths(also_blind=True)
            else:
                spelling = Lines(*settings.patterns, places=True)
            bags[field] = Bag(words, (Formula(source, tree, spelling),))
        return bags


def _spelled(bags: Mapping[str, Bag]) -> dict[str, list[str]]:
    return {field: bag.terms.split() for field, bag in bags.items()}
