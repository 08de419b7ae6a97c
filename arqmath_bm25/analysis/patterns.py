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
_LONGEST = 5  # tokens of a pattern
# What the last of n tokens is called, by its distance to where it last occurred: at most _LONGEST;
# nothing is what is no variable.
_NAMES = [
    ("", *(f"~{_VARIABLE}{d if d < n else ''}" for d in range(1, _LONGEST + 1)))
    for n in range(_LONGEST + 1)
]


def patterns(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return the patterns of `low` … `high` tokens, shorter ones first, tokens joined by `~`."""
    distances: list[int] = []  # 0 for what is no variable
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token in VARIABLES:
            distance = at - seen.get(token, -_LONGEST)
            distances.append(distance if distance < _LONGEST else _LONGEST)
            seen[token] = at
        else:
            distances.append(0)
    if not seen:  # every pattern is a plain n-gram
        return ngrams(tokens, low, high)
    following = ["~" + token for token in tokens]
    written: Sequence[str] = [
        _VARIABLE if d else token for token, d in zip(tokens, distances, strict=True)
    ]
    terms = list(written) if low == 1 else []
    for n in range(2, high + 1):
        # The last token of an n-gram stands n - 1 places after the first.
        names = _NAMES[n]
        lasts = [names[d] or token for token, d in zip(following, distances, strict=True)]
        written = list(map(add, written, lasts[n - 1 :]))
        if n >= low:
            terms += written
    return terms
