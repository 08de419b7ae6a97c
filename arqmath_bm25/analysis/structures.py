r"""Two kinds of terms of operator trees that say more than a path: `sub` and `coref`.

A `sub` is a complete sub-expression of 3 to 40 nodes and at most 127 characters. Its arguments are
written in brackets, in canonical order where the operator is commutative. A variable is written
`\?` where it first occurs in the sub-expression, and `\?d` if it last occurred d nodes before. The
formulas `x^2+xy` and `ba+a^2` both give

    ^(~1~\?~2~2)    times(~\?~\?)    +(~^(~1~\?~2~2)~times(~\?3~\?))

A `coref` is a variable that occurs twice, written as the operators above either occurrence: the
same formulas give `+~^~1~&+~times~`. Neither term names a variable, so renaming does not change
them.

The canonical order is an order of hashes, so that NumPy can make the same terms for many trees at a
time (`formula_numbers`).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from arqmath_bm25.analysis.trees import EDGES, PLACE, Tree, anonymised

SMALLEST = 3  # nodes of a sub-expression
LARGEST = 40
# Each character is up to two units of UTF-16, and Lucene and OpenSearch cut tokens at 255 units.
LONGEST_TERM = 127
BASE = 0xD1342543DE82EF95  # of the numbers of terms; odd and without a pattern
BELOW = 0xD6E8FEB86659FD93  # factor of the arguments in the hash of a sub-expression
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # SplitMix64 (Steele et al. 2014)
RANK_BITS = 24  # of the hash of a sub-expression, by which arguments are ordered
_WORD = (1 << 64) - 1


class Outline(NamedTuple):
    """A tree in canonical order, in which each sub-expression is a range that begins with its root.

    All columns have one entry for each position in this order.
    """

    nodes: Sequence[int]  # numbers of the nodes in the tree
    sizes: Sequence[int]  # of the sub-expression that begins here
    depths: Sequence[int]


def structures(tree: Tree) -> list[str]:
    """Return the `sub` terms and then the `coref` terms of a formula."""
    hidden = anonymised(tree)
    outline = _outline(hidden)

    # The position where the variable of each position last occurred; -1 if nowhere.
    last: dict[str, int] = {}
    before = [-1] * len(outline.nodes)
    for position, node in enumerate(outline.nodes):
        if hidden.symbols[node] == PLACE:
            name = tree.symbols[node]
            before[position] = last.get(name, -1)
            last[name] = position

    subexpressions = _subexpressions(hidden, outline, before)
    return subexpressions + _corefs(hidden, outline, before)


def _subexpressions(hidden: Tree, outline: Outline, before: Sequence[int]) -> list[str]:
    symbols, _, edges = hidden
    nodes, sizes, depths = outline
    # The brackets that close before a node are written with it.
    steps = [""]
    for node, depth_before, depth in zip(nodes[1:], depths, depths[1:], strict=False):
        closing = ")" * (depth_before - depth)
        edge = EDGES[edges[node]]
        steps.append(closing + edge + symbols[node])

    opened = ["(" if size > 1 else "" for size in sizes]

    terms = []
    for begin, size in enumerate(sizes):
        if begin == 0 or not SMALLEST <= size <= LARGEST:
            continue

        root = nodes[begin]
        pieces = [symbols[root], "("]
        for position in range(begin + 1, begin + size):
            pieces.append(steps[position])
            if before[position] >= begin:
                distance = position - before[position]
                pieces.append(str(distance))
            pieces.append(opened[position])

        last = begin + size - 1
        pieces.append(")" * (depths[last] - depths[begin]))
        term = "".join(pieces)
        if len(term) <= LONGEST_TERM:
            terms.append(term)
    return terms


def _corefs(hidden: Tree, outline: Outline, before: Sequence[int]) -> list[str]:
    terms = []
    for position, first in enumerate(before):
        if first < 0:
            continue

        contexts = [
            _context(hidden, outline.nodes[first]),
            _context(hidden, outline.nodes[position]),
        ]
        contexts.sort(key=number)
        terms.append("&".join(contexts))
    return terms


def _context(hidden: Tree, node: int) -> str:
    """Return up to two nodes above a variable, with the edges that lead down to it."""
    symbols, parents, edges = hidden
    parent = parents[node]
    context = symbols[parent] + EDGES[edges[node]]
    if parent:
        above = symbols[parents[parent]]
        context = above + EDGES[edges[parent]] + context
    return context


def _outline(hidden: Tree) -> Outline:
    symbols, parents, edges = hidden
    below = children(hidden)
    numbers = shapes(hidden, below)
    ranks = [value >> (64 - RANK_BITS) for value in numbers]
    for siblings in below:
        if len(siblings) > 1:
            siblings.sort(key=lambda node: (edges[node], ranks[node]))

    order = []
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

    sizes = [size[node] for node in order]
    depths = [depth[node] for node in order]
    return Outline(order, sizes, depths)


def children(tree: Tree) -> list[list[int]]:
    """Return the children of each node."""
    below: list[list[int]] = [[] for _ in tree.symbols]
    for node in range(1, len(tree.symbols)):
        parent = tree.parents[node]
        below[parent].append(node)
    return below


def shapes(hidden: Tree, below: Sequence[Sequence[int]]) -> list[int]:
    """Return a hash of the sub-expression at each node that ignores the order of arguments.

    `below` lists the `children` of each node.
    """
    symbols, parents, edges = hidden
    downwards = [0]
    for node in downwards:
        downwards += below[node]

    numbers = [0] * len(symbols)
    arguments = [0] * len(symbols)
    for node in reversed(downwards):
        shape = number(symbols[node]) + arguments[node] * BELOW
        numbers[node] = _mixed(shape & _WORD)
        argument = number(EDGES[edges[node]]) + numbers[node]
        arguments[parents[node]] += _mixed(argument & _WORD)
    return numbers


@lru_cache(1 << 16)
def number(text: str) -> int:
    """Return the 64-bit number of a term, as `term_numbers.term_numbers` does for many."""
    value = 0
    for character in text:
        value = value * BASE + _mixed(ord(character) + 1) & _WORD
    return value


def _mixed(value: int) -> int:
    first, second = FACTORS
    value = (value ^ (value >> 30)) * first & _WORD
    value = (value ^ (value >> 27)) * second & _WORD
    return value ^ (value >> 31)
