"""A formula → terms by field, as they go into the index of formulas and into its queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import arrange
from arqmath_bm25.analysis.mathml import source_latex
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

    def bags(self, source: str) -> dict[str, Bag]:
        """Analyse a formula of the files that the settings name, without spelling its terms out."""
        return self._latex(source if self._settings.source == "latex" else source_latex(source))

    def _latex(self, source: str) -> dict[str, Bag]:
        items, text = latex.read(source)
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
