"""Settings of the analysis of text and formulas. A change needs a new index."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.core.configuration import Settings

# Raised when the same settings come to give other terms: indexes from before are stale then.
VERSION: Final = 6


def _ordered(lengths: tuple[int, int]) -> tuple[int, int]:
    if lengths[0] > lengths[1]:
        raise ValueError("the first number must not exceed the second")
    return lengths


_Symbols = Annotated[int, Field(ge=1, le=5)]
_Nodes = Annotated[int, Field(ge=2, le=5)]
_Lengths = Annotated[tuple[_Symbols, _Symbols], AfterValidator(_ordered)]
_LongLengths = Annotated[tuple[_Nodes, _Nodes], AfterValidator(_ordered)]


class TextSettings(Settings):
    """Settings of words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True
    proofs: bool = False  # of declarations in Lean too


class LatexSettings(Settings):
    """Settings of the terms of formulas."""

    ngrams: _Lengths = (1, 3)
    # raw: LaTeX is read as prose, and joins the words; none: formulas are left out.
    form: Literal["symbols", "raw", "none"] = "symbols"
    operators: bool = False  # whether operator trees give terms too
    # package.module:function, which makes the tokens of n-grams; see tokenizer.py.
    tokenizer: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = None
    delimiters: Delimiters = "mathjax"  # what formulas stand between; see html.py
    macros: str = ""  # definitions that hold for all texts and queries, each on a line of its own


class AnalysisSettings(Settings):
    """All settings that decide the terms of an index."""

    text: TextSettings = TextSettings()
    latex: LatexSettings = LatexSettings()


FormulaField = Literal["contents", "patterns", "operators", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """Settings of the fields of a formula."""

    source: Literal["latex", "slt", "opt"] = "latex"
    delimiters: Delimiters = "mathjax"  # of formulas in posts and queries; see html.py
    ngrams: _LongLengths = (2, 3)
    layout: _LongLengths = (2, 3)
    patterns: _LongLengths = (3, 4)
