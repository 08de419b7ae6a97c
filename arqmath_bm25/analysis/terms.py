r"""Formulas before they are terms: trees, lines of symbols, and how both are spelled.

Terms of trees are paths through some nodes, which begin with a start mark. Of the operator tree of
`x^2+1`: `~+`, `+~^`, `+~1`, `^~1~x`, `^~2~2`, and `~+~^`, `~+~1`, `+~^~1~x`, `+~^~2~2`. In an
anonymised tree a placeholder, `\?`, stands for every variable that is not applied to something.
Further terms of trees are in `structures`.

Terms of lines are n-grams. Patterns have placeholders for variables, so that `a^2+b^2` is like
`x^2+y^2`: `\?` where a variable first occurs in the n-gram, and `\?d` where it last occurred d
symbols before (so `x^{2}+x`, read `x ^ 2 + x`, has the 5-gram `\?~^~2~+~\?4`). Other symbols stay:
numbers, operators, functions, brackets.

Lucene, people and queries get terms as text, which is made where it is asked for. Flat postings
get numbers, which `term_numbers` makes of many formulas at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import add
from typing import Final, NamedTuple

from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.structures import structures
from arqmath_bm25.analysis.trees import EDGES, PLACE, Tree, anonymised

LONGEST: Final = 5  # tokens of a pattern
# How a variable is written in each place of a pattern, by the distance to where it last occurred.
WRITTEN: Final = [
    (PLACE, *(f"~{PLACE}{d if d <= place else ''}" for place in range(1, LONGEST)))
    for d in range(LONGEST + 1)
]


def paths(tree: Tree, low: int = 2, high: int = 3) -> list[str]:
    """Return the paths through `low` … `high` nodes as terms, shorter ones first."""
    symbols, parents, edges = tree
    steps = list(map(add, map(EDGES.__getitem__, edges), symbols))
    ending = list(map(add, map(symbols.__getitem__, parents), steps))  # the path to each node
    terms = ending[1:] if low <= 2 else []
    above = parents  # the node before which a path begins; 0 where it would leave the tree
    for nodes in range(3, high + 1):
        if nodes > 3:
            above = list(map(above.__getitem__, parents))
        ending = list(map(add, map(ending.__getitem__, parents), steps))
        if nodes >= low:
            terms += compress(ending, above)
    return terms


def ngrams(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return all n-grams of `low` … `high` tokens, shorter ones first, each joined by `~`."""
    begun = [token + "~" for token in tokens]
    longest = tokens
    grams = list(tokens) if low == 1 else []
    for n in range(2, high + 1):
        longest = list(map(add, begun, longest[1:]))
        if n >= low:
            grams += longest
    return grams


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


@dataclass(frozen=True)  # tuples of both kinds would be equal
class Paths:
    """Paths through `low` … `high` nodes of a tree.

    With `also_anonymised`, paths of the anonymised tree too; with `structures`, the terms of
    `structures`.
    """

    low: int = 2
    high: int = 3
    also_anonymised: bool = False
    structures: bool = False

    def strings(self, tree: Tree) -> list[str]:
        """Return the paths through a tree as text."""
        terms = paths(tree, self.low, self.high)
        if self.also_anonymised:
            terms += paths(anonymised(tree), self.low, self.high)
        if self.structures:
            terms += structures(tree)
        return terms


@dataclass(frozen=True)
class Lines:
    """n-grams of `low` … `high` symbols in a line; with `places`, their patterns."""

    low: int
    high: int
    places: bool = False

    def strings(self, tree: Tree) -> list[str]:
        """Return the n-grams of a line as text."""
        if self.places:
            return patterns(tree.symbols, self.low, self.high)
        return ngrams(tree.symbols, self.low, self.high)


Spelling = Paths | Lines


class FormulaTree:
    """A formula in one of its forms, and how that becomes terms."""

    def __init__(self, source: str, tree: Tree, spelling: Spelling) -> None:
        self.source = source
        self.tree = tree
        self.spelling = spelling

    @cached_property
    def terms(self) -> str:
        """Its terms as text, separated by blanks."""
        return " ".join(self.spelling.strings(self.tree))


class Bag(NamedTuple):
    """The contents of a field: words, and formulas that all have the same spelling."""

    words: Sequence[str] = ()
    formulas: Sequence[FormulaTree] = ()

    @property
    def terms(self) -> str:
        """All terms as text, separated by blanks."""
        return " ".join([*self.words, *filter(None, (each.terms for each in self.formulas))])

    @property
    def is_empty(self) -> bool:
        """Whether there is no term."""
        large = (each for each in self.formulas if len(each.tree.symbols) >= each.spelling.low)
        # Two nodes have a path, two symbols a pair: they need not be spelled out to know it.
        return not self.words and not any(each.spelling.low == 2 or each.terms for each in large)
