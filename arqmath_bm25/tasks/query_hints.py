"""What may be wrong with a query that was typed: formulas without dollars, prose for a formula."""

from __future__ import annotations

import re
from typing import Final

from arqmath_bm25.analysis.html import read_title

_MATH: Final = re.compile(r"\\[A-Za-z]{2,}|[\^_]\s*[{\w]|[∑∏∫∂√∞≤≥≠∈⊂∀∃⁰¹²³⁴-⁹₀-₉]|\w\s*=\s*\w")
_WORD: Final = re.compile(r"(?<![\\\w])[A-Za-z]{3,}")
_DOLLAR: Final = re.compile(r"(?<!\\)\$")


def advice(query: str, formula_wanted: bool = False) -> str:
    """Return what to say of a query, nothing if it is as it should be.

    `formula_wanted` tells that formulas are searched for, so that one needs no dollars.
    """
    if len(_DOLLAR.findall(query)) % 2:
        return "a dollar is left open: formulas stand between two, as in $x^2$"
    content = read_title(query)
    if content.formulas:
        return ""
    if formula_wanted:
        if len(_WORD.findall(query)) > 2 and not _MATH.search(query):
            return "this reads like prose, and formulas are searched for; for words take task1"
        return ""
    if _MATH.search(query):
        return f"there is no formula between dollars, so all of it counts as words; try '${query}$'"
    return ""
