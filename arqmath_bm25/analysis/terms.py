r"""How formulas, as trees or lines of symbols, are spelled as terms.

Terms of trees are paths through some nodes, which begin with a start mark. Of the operator tree of
`x^2+1`: `~+`, `+~^`, `+~1`, `^~1~x`, `^~2~2`, and `~+~^`, `~+~1`, `+~^~1~x`, `+~^~2~2`. In an
anonymised tree a placeholder, `\?`, stands for every variable that is not applied to something.
Further terms of trees are in `structures`.

Terms of lines are n-grams. Patterns have placeholders for variables, so that `a^2+b^2` is like
`x^2+y^2`: `\?` where a variable first occurs in the n-gram, and `\?d` where it last occurred d
symbols before (so `x^{2}+x`, read `x ^ 2 + x`, has the 5-gram `\?~^~2~+~\?4`). Other symbols stay:
numbers, operators, functions, brackets.

Lucene, people and queries get terms as text, which is made on demand. Flat postings get numbers,
which `formula_numbers` makes for many formulas at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from operator import add
from typing import NamedTuple

from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.structures import structures
from arqmath_bm25.analysis.trees import EDGES, PLACE, Tree, anonymised

LONGEST = 5  # tokens of a pattern


def _written_variables() -> list[tuple[str, ...]]:
    """Return how a variable is written at each position of a pattern, by its distance."""
    by_distance = []
    for distance in range(LONGEST + 1):
        written = [PLACE]
        for position in range(1, LONGEST):
            # The variable last occurred within the pattern if the distance reaches so far only.
            if distance <= position:
                written.append(f"~{PLACE}{distance}")
            else:
                written.append(f"~{PLACE}")

        by_distance.append(tuple(written))
    return by_distance


# The forms of a variable by the distance to its last occurrence, then by position in a pattern.
WRITTEN = _written_variables()


def paths(tree: Tree, low: int = 2, high: int = 3) -> list[str]:
    """Return the paths through `low` … `high` nodes as terms, shorter ones first."""
    symbols, parents, edges = tree
    written_edges = map(EDGES.__getitem__, edges)
    steps = list(map(add, written_edges, symbols))

    # `ending` has the path that ends at each node, `above` the node before the begin of this path:
    # 0 if the path would leave the tree.
    above = parents
    ending = list(map(add, map(symbols.__getitem__, parents), steps))
    terms = []
    if low <= 2:
        terms = ending[1:]
    for nodes in range(3, high + 1):
        if nodes > 3:
            above = list(map(above.__getitem__, parents))
        ending = list(map(add, map(ending.__getitem__, parents), steps))
        if nodes >= low:
            terms += compress(ending, above)
    return terms


def ngrams(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return all n-grams of `low` … `high` tokens, shorter ones first, each joined by `~`."""
    following = ["~" + token for token in tokens]
    return _joined(tokens, [following] * (high - 1), low)


def patterns(tokens: Sequence[str], low: int, high: int) -> list[str]:
    """Return the patterns of `low` … `high` tokens, shorter ones first, tokens joined by `~`."""
    written = []  # the forms of every token, by position in a pattern
    seen: dict[str, int] = {}
    for position, token in enumerate(tokens):
        if token in VARIABLES:
            distance = position - seen.get(token, -LONGEST)
            seen[token] = position
            written.append(WRITTEN[min(distance, LONGEST)])
        else:
            following = "~" + token
            written.append((token, following, following, following, following))

    if not written:
        return []
    first, *others = zip(*written, strict=True)
    return _joined(first, others[: high - 1], low)


def _joined(first: Sequence[str], others: Sequence[Sequence[str]], low: int) -> list[str]:
    """Join the forms of tokens by their positions to terms of at least `low` tokens."""
    longest = first
    terms: list[str] = []
    if low == 1:
        terms += first
    for n, forms in enumerate(others, 2):
        longest = list(map(add, longest, forms[n - 1 :]))
        if n >= low:
            terms += longest
    return terms


# Paths and Lines are no named tuples, since those would be equal if their numbers are.
@dataclass(frozen=True)
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


@dataclass(eq=False)
class FormulaTree:
    """A formula as a tree or a line, and the spelling of its terms."""

    source: str
    tree: Tree
    spelling: Spelling

    @cached_property
    def terms(self) -> str:
        """Its terms as text, separated by blanks."""
        terms = self.spelling.strings(self.tree)
        return " ".join(terms)


class Bag(NamedTuple):
    """The contents of a field: words, and formulas that all have the same spelling."""

    words: Sequence[str] = ()
    formulas: Sequence[FormulaTree] = ()

    @property
    def terms(self) -> str:
        """All terms as text, separated by blanks."""
        terms = list(self.words)
        for formula in self.formulas:
            if formula.terms:
                terms.append(formula.terms)
        return " ".join(terms)

    @property
    def is_empty(self) -> bool:
        """Whether there is no term."""
        if self.words:
            return False
        for formula in self.formulas:
            low = formula.spelling.low
            # Two nodes have a path, and two symbols a pair, so nothing need be spelled out then.
            if len(formula.tree.symbols) >= low and (low == 2 or formula.terms):
                return False
        return True
