r"""n-grams of tokens in which variables are mere places, so that `a^2+b^2` is like `x^2+y^2`.

A variable that has not yet occurred in the n-gram is `\?`; one that has is `\?d`, where d is the
distance to where it last occurred (so `x^{2}+x`, read `x ^ 2 + x`, has the 5-gram
`\?~^~2~+~\?4`). Which variable it is does not matter, that it is the same one does. Other symbols
stay: numbers, operators, functions, brackets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.analysis.latex_table import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

_VARIABLE = "\\?"


def patterns(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return the patterns of `low` … `high` tokens, shorter ones first, tokens joined by `~`."""
    distances: list[int] = []  # 0 for what is no variable
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token in VARIABLES:
            distances.append(at - seen.get(token, -high))
            seen[token] = at
        else:
            distances.append(0)
    if not seen:  # every pattern is a plain n-gram
        written = [list(tokens)] * high
    else:
        repeats = [f"{_VARIABLE}{d}" for d in range(high)]
        # written[k]: the tokens as they stand k places after the first of an n-gram
        written = [
            [
                token if not d else repeats[d] if d <= k else _VARIABLE
                for token, d in zip(tokens, distances, strict=True)
            ]
            for k in range(high)
        ]
    shifted = [column[k:] for k, column in enumerate(written)]
    terms: list[str] = []
    for n in range(low, high + 1):
        terms.extend(map("~".join, zip(*shifted[:n], strict=False)))
    return terms
