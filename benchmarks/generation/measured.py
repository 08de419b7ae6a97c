"""What the generated collection is fitted to: numbers measured on real posts, as small tables.

Unless said otherwise they come from a subset of the collection (arqmath-lite: 6,164 posts, 612,536
words, 81,203 formula rows), read with this package. Totals of the whole collection are the labs'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# Values at these shares of the posts (or titles, formulas), smallest to largest.
SHARES: Final = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1)
WORDS: Final = {
    "question": (1, 6, 13, 18, 32, 56, 101, 173, 234, 492, 1020, 1818),
    "answer": (0, 0, 5, 10, 23, 52, 115, 250, 428, 984, 2233, 3849),
    "title": (0, 1, 2, 3, 4, 7, 10, 13, 15, 21, 26, 27),
}
FORMULAS: Final = {
    "question": (0, 0, 0, 0, 2, 4, 8, 16, 23, 40, 105, 122),
    "answer": (0, 0, 0, 1, 3, 6, 14, 26, 40, 97, 322, 641),
}
# Long posts have more formulas: rank correlation of the two numbers.
CORRELATION: Final = {"question": 0.42, "answer": 0.60}
LATEX_LENGTHS: Final = (1, 2, 4, 6, 10, 19, 37, 67, 98, 198, 666, 3290)  # of distinct formulas

# Shares of the numbers 0, 1, 2, … of a thing.
TITLE_FORMULAS: Final = (0.565, 0.262, 0.106, 0.045, 0.017, 0.004, 0.001)
TAGS: Final = (0, 0.247, 0.313, 0.255, 0.116, 0.069)
# The subset has no question without an answer. The whole has 1,445,495 answers to 1,020,585
# questions (1.416); the shape is assumed.
ANSWERS: Final = (0.155, 0.500, 0.208, 0.078, 0.031, 0.014, 0.007, 0.004, 0.003)
COMMENT_FORMULAS: Final = 14_145 / 6_164  # rows for a post; they are geometrically distributed

# How much of all text the r most frequent words (formulas, tags) are. The last point of the words
# is an extrapolation: 5,940 of the subset's 13,779 words occur once.
WORD_SHARES: Final = (
    (1, 0.0604), (2, 0.0942), (5, 0.1779), (10, 0.2675), (20, 0.3579), (50, 0.4798), (100, 0.5687),
    (200, 0.6648), (500, 0.7855), (1000, 0.8692), (2000, 0.9327), (5000, 0.9750), (10_000, 0.9880),
    (300_000, 1),
)  # fmt: skip
FORMULA_SHARES: Final = (
    (1, 0.0192), (2, 0.0338), (5, 0.0661), (10, 0.1036), (20, 0.1442), (50, 0.2074), (100, 0.2518),
    (200, 0.2929), (500, 0.3473), (1000, 0.3918),
)  # fmt: skip
TAG_SHARES: Final = (
    (1, 0.052), (2, 0.098), (5, 0.190), (10, 0.293), (20, 0.423), (50, 0.630), (100, 0.775),
    (200, 0.902), (500, 0.991), (1500, 1),
)  # fmt: skip

# Distinct formulas among n instances: DISTINCT * n ** GROWTH, through 40,593 of 81,203 (subset) and
# 9.37 million of 28.32 million (whole collection).
GROWTH: Final = 0.929
DISTINCT: Final = 1.1155

# Instead of a blank, what follows a word of a body: (share, characters in the file).
SEPARATORS: Final = ((0.055, ", "), (0.045, ". "), (0.031, "&lt;/p&gt; &lt;p&gt;"))
# What surrounds a word of a body: (share of the words, characters in the file).
MARKUP: Final = (
    (0.0035, "&lt;strong&gt;%s&lt;/strong&gt;"),
    (0.0035, "&lt;em&gt;%s&lt;/em&gt;"),
    (0.0030, "&lt;a href=&quot;https://math.example/questions/1053/%s&quot;&gt;link&lt;/a&gt;"),
    (0.0025, "&lt;/p&gt; &lt;ul&gt; &lt;li&gt;%s&lt;/li&gt; &lt;/ul&gt; &lt;p&gt;"),
    (0.0016, "&lt;/p&gt; &lt;blockquote&gt; &lt;p&gt;%s&lt;/p&gt; &lt;/blockquote&gt; &lt;p&gt;"),
    (0.0010, "%s&lt;br&gt;"),
    (0.0007, "&lt;/p&gt; &lt;hr&gt; &lt;p&gt;%s"),
    (0.0004, "&lt;code&gt;%s&lt;/code&gt;"),
    (0.0004, "&lt;img src=&quot;https://i.example/%s.png&quot; alt=&quot;a picture&quot;&gt;"),
)

# Defects. Formulas without id: (share of posts that have some, share of their formulas, shape).
WITHOUT_ID: Final = (
    (0.0370, 0.22, r"\begin{align}%s\end{align}"),
    (0.0075, 0.90, "&lt;span class=&quot;math-container&quot;&gt;%s&lt;/span&gt;"),
    (0.0030, 0.33, "$%s$"),
)
UNESCAPED_POSTS: Final = 0.001  # bare `<` and `&` in formulas and prose
BLANK_LATEX: Final = 25 / 81_203
NO_VISUAL_ID: Final = 106 / 81_203
NO_MATHML: Final = 53_610 / 28_320_920  # whole collection
CORRECTED_VISUAL_ID: Final = 55_812 / 28_320_920  # issue v
# Flag d has 14.4 % of all rows. Formulas of posts have it where the post has no such id; the
# rest must be comments, which are a sixth of the rows.
DELETED_COMMENTS: Final = 0.75


def quantile_draw(table: Sequence[float], uniform: Floats) -> Integers:
    """Turn uniform numbers into whole numbers with the quantiles of `table` at SHARES."""
    logarithms = np.interp(uniform, SHARES, np.log1p(table))  # lengths are about log-normal
    return np.rint(np.expm1(logarithms)).astype(np.int64)


def rank_draw(table: Sequence[tuple[int, float]], uniform: Floats) -> Integers:
    """Turn uniform numbers into ranks 0, 1, … of which the first r have the share in `table`."""
    ranks, shares = zip(*((0.5, 0.0), *table), strict=True)
    logarithms = np.interp(uniform, np.divide(shares, shares[-1]), np.log(ranks))
    drawn: Integers = np.minimum(np.exp(logarithms).astype(np.int64), ranks[-1] - 1)
    return drawn
