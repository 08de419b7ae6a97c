r"""n-grams of tokens in which variables are mere places, so that `a^2+b^2` is like `x^2+y^2`.

A variable that has not yet occurred in the n-gram is `\?`; one that has is `\?d`, where d is the
distance to where it last occurred (so `x^{2}+x`, read `x ^ 2 + x`, has the 5-gram
`\?~^~2~+~\?4`). Which variable it is does not matter, that it is the same one does. Other symbols
stay: numbers, operators, functions, brackets.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.latex import ngrams
from arqmath_bm25.analysis.latex_table import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

_VARIABLE = "\\?"
LONGEST = 5  # tokens of a pattern
# How a variable is written in each place of a pattern, by the distance to where it last occurred.
WRITTEN = [
    (_VARIABLE, *(f"~{_VARIABLE}{d if d <= place else ''}" for place in range(1, LONGEST)))
    for d in range(LONGEST + 1)
]


def patterns(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return the patterns of `low` … `high` tokens, shorter ones first, tokens joined by `~`."""
    written: list[tuple[str, ...]] = []  # of every token, in each place of a pattern
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token in VARIABLES:
            distance = at - seen.get(token, -LONGEST)
            seen[token] = at
            written.append(WRITTEN[distance if distance < LONGEST else LONGEST])
        else:
            following = "~" + token
            written.append((token, following, following, following, following))
    if not seen:  # every pattern is a plain n-gram
        return ngrams(tokens, low, high)
    first, *others = zip(*written, strict=True)
    longest: Sequence[str] = first
    terms = list(first) if low == 1 else []
    for n in range(2, high + 1):
        longest = list(map(add, longest, others[n - 2][n - 1 :]))
        if n >= low:
            terms += longest
    return terms
