r"""Two kinds of terms of operator trees that are more than a path: `sub` and `coref`.

A `sub` is a complete sub-expression of 3 to 40 nodes and at most 127 characters. It is written with
its arguments in brackets, in canonical order where they have none of their own, and with `\?` for
variables: `\?` where one first occurs in the sub-expression, and `\?d` where it last occurred d
nodes before. Of `x^2+xy`, and of `ba+a^2`:

    ^(~1~\?~2~2)    times(~\?~\?)    +(~^(~1~\?~2~2)~times(~\?3~\?))

A `coref` is a variable that occurs twice: what stands above the one and above the other. Of the
same formulas: `+~^~1~&+~times~`. No variable is named, so renaming does not change them.

Canonical order and text are made of numbers, since NumPy makes the same terms (structure_numbers).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from arqmath_bm25.analysis.trees import EDGES, PLACE, Tree, blind

SMALLEST: Final = 3  # nodes of a sub-expression
LARGEST: Final = 40
# Characters of a term, of which each may be two units of UTF-16: Lucene and OpenSearch cut tokens
# at 255 units.
LONGEST_TERM: Final = 127
BASE: Final = 0xD1342543DE82EF95  # of the numbers of terms; odd and without a pattern
BELOW: Final = 0xD6E8FEB86659FD93  # what stands below a node counts this often
FACTORS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # SplitMix64 (Steele et al. 2014)
RANK_BITS: Final = 24  # of a shape, by which arguments are ordered
_WORD: Final = (1 << 64) - 1


class Outline(NamedTuple):
    """A tree in canonical order: every sub-expression stands in one piece, its top node first."""

    nodes: Sequence[int]  # of the tree
    sizes: Sequence[int]  # of the sub-expression that begins at each place
    depths: Sequence[int]


def structures(tree: Tree) -> list[str]:
    """Return the sub-expressions and the variables in two places of a formula, as terms."""
    hidden = blind(tree)
    outline = _outline(hidden)
    before = _occurrences_before(tree, hidden, outline)
    return _subexpressions(hidden, outline, before) + _corefs(hidden, outline, before)


def _subexpressions(hidden: Tree, outline: Outline, before: Sequence[int]) -> list[str]:
    symbols, _, edges = hidden
    nodes, sizes, depths = outline
    # Brackets that close before a place are written with it.
    steps = [
        ")" * (depth - deeper) + EDGES[edges[node]] + symbols[node]
        for node, depth, deeper in zip(nodes[1:], depths, depths[1:], strict=False)
    ]
    steps = ["", *steps]
    opened = ["(" if size > 1 else "" for size in sizes]
    terms = []
    for begin, size in enumerate(sizes):
        if begin == 0 or not SMALLEST <= size <= LARGEST:
            continue
        pieces = [symbols[nodes[begin]], "("]
        for place in range(begin + 1, begin + size):
            pieces.append(steps[place])
            if before[place] >= begin:
                pieces.append(str(place - before[place]))
            pieces.append(opened[place])
        last = begin + size - 1
        pieces.append(")" * (depths[last] - depths[begin]))
        term = "".join(pieces)
        if len(term) <= LONGEST_TERM:
            terms.append(term)
    return terms


def _corefs(hidden: Tree, outline: Outline, before: Sequence[int]) -> list[str]:
    contexts = {
        place: _context(hidden, outline.nodes[place])
        for pair in enumerate(before)
        if pair[1] >= 0
        for place in pair
    }
    pairs = [(contexts[first], contexts[place]) for place, first in enumerate(before) if first >= 0]
    return ["&".join(sorted(pair, key=number)) for pair in pairs]


def _context(hidden: Tree, node: int) -> str:
    """Return what stands above a variable: up to two nodes, with the edges that lead to it."""
    symbols, parents, edges = hidden
    parent = parents[node]
    context = symbols[parent] + EDGES[edges[node]]
    if parent:
        context = symbols[parents[parent]] + EDGES[edges[parent]] + context
    return context


def _outline(hidden: Tree) -> Outline:
    symbols, parents, edges = hidden
    below = children(hidden)
    numbers = shapes(hidden, below)
    for siblings in below:
        if len(siblings) > 1:
            siblings.sort(key=lambda node: (edges[node], numbers[node] >> (64 - RANK_BITS)))
    order: list[int] = []
    waiting = [0]
    depth = [0] * len(symbols)
    while waiting:
        node = waiting.pop()
        order.append(node)
        for child in reversed(below[node]):
            depth[child] = depth[node] + 1
            waiting.append(child)
    size = [1] * len(symbols)
    for node in reversed(order[1:]):
        size[parents[node]] += size[node]
    return Outline(order, [size[node] for node in order], [depth[node] for node in order])


def children(tree: Tree) -> list[list[int]]:
    """Return the children of each node."""
    below: list[list[int]] = [[] for _ in tree.symbols]
    for node in range(1, len(tree.symbols)):
        below[tree.parents[node]].append(node)
    return below


def shapes(hidden: Tree, below: Sequence[Sequence[int]]) -> list[int]:
    """Return a number for the sub-expression at each node, whatever the order of its arguments.

    `below` are the `children` of each node.
    """
    symbols, parents, edges = hidden
    downwards = [0]
    for node in downwards:
        downwards += below[node]
    numbers = [0] * len(symbols)
    arguments = [0] * len(symbols)
    for node in reversed(downwards):
        numbers[node] = _mixed(number(symbols[node]) + arguments[node] * BELOW & _WORD)
        arguments[parents[node]] += _mixed(number(EDGES[edges[node]]) + numbers[node] & _WORD)
    return numbers


def _occurrences_before(tree: Tree, hidden: Tree, outline: Outline) -> list[int]:
    """Return for each place where its variable stood before, -1 if it is none or the first."""
    last: dict[str, int] = {}
    before = []
    for place, node in enumerate(outline.nodes):
        if hidden.symbols[node] == PLACE:
            name = tree.symbols[node]
            before.append(last.get(name, -1))
            last[name] = place
        else:
            before.append(-1)
    return before


@lru_cache(1 << 16)
def number(text: str) -> int:
    """Return the number of a term, as `term_numbers` does for many."""
    value = 0
    for character in text:
        value = value * BASE + _mixed(ord(character) + 1) & _WORD
    return value


def _mixed(value: int) -> int:
    first, second = FACTORS
    value = (value ^ value >> 30) * first & _WORD
    value = (value ^ value >> 27) * second & _WORD
    return value ^ value >> 31
