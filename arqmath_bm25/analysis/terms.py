r"""The terms of a text, for any engine: lists of strings, without pandas, Java or an index.

    terms(r"Why does $\sum \frac1n$ diverge?")  # words and paths through operator trees

The settings are the default ones of Task 1; `Index.analyze` has those of an index.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, get_args

import yaml

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Content, Formula
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.settings import default_config

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["words", "math", "operators"]  # math: n-grams of LaTeX tokens
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


def terms(
    text: str, kinds: Sequence[Kind] = ("words", "operators"), html: bool = False
) -> list[str]:
    """Return the terms of a text with `$…$` around its formulas, or of the HTML of a post.

    They hold no blank, and come kind by kind. Raises InputError for another kind or no text.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"kind {unknown[0]!r}: expected some of {', '.join(KINDS)}")
    found = analyze(text, html)
    return [term for kind in kinds for term in found[kind]]


def analyze(
    text: str, html: bool = False, analyzer: Analyzer | None = None
) -> dict[str, list[str]]:
    """Return the terms of a text with `$…$` around its formulas, or of HTML, by their kind."""
    if not isinstance(text, str):
        raise InputError(f"text: expected a string, not {type(text).__name__}")
    analyzer = analyzer or _default_analyzer()
    found = analyzer.body(text) if html else analyzer.title(text)
    return {kind: getattr(found, kind).split() for kind in KINDS}


def tokenize(source: str) -> list[str]:
    """Return the n-grams of the tokens of one formula, in LaTeX without dollars."""
    return _default_analyzer()(Content((Formula(source, None),))).math.split()


@cache
def _default_analyzer() -> Analyzer:
    configured = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))
    return Analyzer(AnalysisSettings.model_validate(configured["analysis"]))
