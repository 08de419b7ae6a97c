"""What can be chosen of the analysis of text and formulas. A change here needs a new index."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from arqmath_bm25.settings import Settings

# Raised when the same settings come to give other terms: indexes from before are stale then.
VERSION: Final = 2

_FromOne = Annotated[int, Field(ge=1, le=5)]
_FromTwo = Annotated[int, Field(ge=2, le=5)]


def _ordered(lengths: tuple[int, int]) -> tuple[int, int]:
    if lengths[0] > lengths[1]:
        raise ValueError("the first number must not exceed the second")
    return lengths


class TextSettings(Settings):
    """How prose becomes words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True


class LatexSettings(Settings):
    """How formulas become terms."""

    ngrams: Annotated[tuple[_FromOne, _FromOne], AfterValidator(_ordered)] = (1, 3)
    form: Literal["symbols", "words"] = "symbols"
    operators: bool = False  # operator trees too: their paths as terms, their signatures


class AnalysisSettings(Settings):
    """What decides the terms of an index."""

    text: TextSettings = TextSettings()
    latex: LatexSettings = LatexSettings()


FormulaField = Literal["contents", "patterns", "operators", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """How a formula becomes the terms of its fields."""

    source: Literal["latex", "slt", "opt"] = "latex"
    ngrams: Annotated[tuple[_FromTwo, _FromTwo], AfterValidator(_ordered)] = (2, 3)
    layout: Annotated[tuple[_FromTwo, _FromTwo], AfterValidator(_ordered)] = (2, 3)
    patterns: Annotated[tuple[_FromTwo, _FromTwo], AfterValidator(_ordered)] = (3, 4)
