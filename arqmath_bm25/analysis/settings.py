"""What can be chosen of the analysis of text and formulas. A change here needs a new index."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.core.settings import Settings

# Raised when the same settings come to give other terms: indexes from before are stale then.
VERSION: Final = 4


class TextSettings(Settings):
    """How prose becomes words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True


class LatexSettings(Settings):
    """How formulas become terms."""

    ngrams: tuple[Annotated[int, Field(ge=1, le=5)], Annotated[int, Field(ge=1, le=5)]] = (1, 3)
    # raw: LaTeX is read as prose, and joins the words; none: formulas are left out.
    form: Literal["symbols", "raw", "none"] = "symbols"
    operators: bool = False  # operator trees too: their paths as terms, their signatures
    # package.module:function, which makes the tokens of n-grams; see tokenizer.py.
    tokenizer: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = None
    delimiters: Delimiters = "mathjax"  # what formulas stand between; see html.py

    @model_validator(mode="after")
    def _ordered(self) -> LatexSettings:
        if self.ngrams[0] > self.ngrams[1]:
            raise ValueError("ngrams: the first number must not exceed the second")
        return self


class AnalysisSettings(Settings):
    """What decides the terms of an index."""

    text: TextSettings = TextSettings()
    latex: LatexSettings = LatexSettings()


FormulaField = Literal["contents", "patterns", "operators", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """How a formula becomes the terms of its fields."""

    source: Literal["latex", "slt", "opt"] = "latex"
    delimiters: Delimiters = "mathjax"  # of formulas in posts and queries; see html.py
    ngrams: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    layout: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    patterns: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (3, 4)

    @model_validator(mode="after")
    def _ordered(self) -> FormulaAnalysisSettings:
        for name in ("ngrams", "layout", "patterns"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name}: the first number must not exceed the second")
        return self
