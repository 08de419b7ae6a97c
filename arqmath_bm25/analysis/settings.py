"""Settings of the analysis of text and formulas. A change needs a new index."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from arqmath_bm25.analysis.html import ChosenDelimiters
from arqmath_bm25.core.configuration import Settings

# This number is raised when the same settings give other terms; earlier indexes are stale then.
VERSION = 14


def _check_order(lengths: tuple[int, int]) -> tuple[int, int]:
    low, high = lengths
    if low > high:
        raise ValueError("the first number must not exceed the second")
    return lengths


_Symbols = Annotated[int, Field(ge=1, le=5)]
_Nodes = Annotated[int, Field(ge=2, le=5)]
_Lengths = Annotated[tuple[_Symbols, _Symbols], AfterValidator(_check_order)]
_LongLengths = Annotated[tuple[_Nodes, _Nodes], AfterValidator(_check_order)]
# The form is package.module:function.
_FunctionName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


class TextSettings(Settings):
    """Settings of words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True
    proofs: bool = False  # of formal declarations too


class LatexSettings(Settings):
    """Settings of the terms of formulas."""

    ngrams: _Lengths = (1, 3)
    # With `raw`, LaTeX is read as prose and joins the words; with `none`, formulas are left out.
    form: Literal["symbols", "raw", "none"] = "symbols"
    operators: bool = False  # whether operator trees give terms too
    tokenizer: _FunctionName | None = None  # makes the tokens of n-grams; see tokenizer.py
    delimiters: ChosenDelimiters = "mathjax"  # of formulas; see html.py
    macros: str = ""  # definitions for all texts and queries, one on each line


class AnalysisSettings(Settings):
    """All settings that decide the terms of an index."""

    text: TextSettings = Field(default_factory=TextSettings)
    latex: LatexSettings = Field(default_factory=LatexSettings)


FormulaField = Literal["contents", "patterns", "operators", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """Settings of the fields of a formula."""

    source: Literal["latex", "slt", "opt"] = "latex"
    delimiters: ChosenDelimiters = "mathjax"  # of formulas in posts and queries; see html.py
    ngrams: _LongLengths = (2, 3)
    layout: _LongLengths = (2, 3)
    patterns: _LongLengths = (3, 4)
