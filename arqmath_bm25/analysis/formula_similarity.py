"""How alike two formulas are by their operator trees, whatever their variables are called.

The signature of a formula is the set of the variable-blind terms of its operator tree
(`terms.paths`): paths through two and three nodes, and whole subtrees. A term is a number of 32
bits, so that a signature is a small sorted array and those of many posts one array; of ten million
terms one in 400 shares its number with another, which costs little. Trees are hashed many at a time
by NumPy: one at a time, as text, a signature took longer than all else about a formula. The hash is
ours, not Python's, so that an index is the same wherever it is built.

The terms of a signature weigh their idf among formulas, and two formulas are as alike as the
squared cosine of their weighted sets. MaxSim (Khattab and Zaharia 2020, there of words) matches
each formula of a question with its most similar formula in a post.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import VARIABLES
from arqmath_bm25.analysis.macros import written_out
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.term_numbers import Columns, Trees, mixed
from arqmath_bm25.analysis.terms import FormulaTree, Paths
from arqmath_bm25.analysis.trees import EDGES, LOWER, PLACE
from arqmath_bm25.core.arrays import distinct

Signature = NDArray[np.uint32]  # sorted, without repeats
_Hashes = NDArray[np.uint64]


_LOWER_BITS: Final = np.uint32(0xFFFF)


class Signatures(NamedTuple):
    """Signatures of several trees."""

    terms: NDArray[np.uint32]  # one signature after the other
    ends: NDArray[np.int64]  # of each among the terms


_VARIABLES: Final = np.array([crc32(text.encode()) for text in VARIABLES], np.uint32)
_PLACE: Final = np.uint32(crc32(PLACE.encode()))
_EDGES: Final = np.array([crc32(text.encode()) for text in EDGES.values()], np.uint32)
# Odd numbers without a pattern, for the parts of a term, so that each part counts where it stands.
_SYMBOL, _EDGE, _PAIR, _TRIPLE, _BELOW = (
    np.uint64(number)
    for number in (
        0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9,
        0x94D049BB133111EB, 0xD6E8FEB86659FD93,
    )
)  # fmt: skip


def signatures(trees: Trees) -> Signatures:
    """Return the signatures of trees; of one without a symbol it is empty."""
    terms, ends = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for batch in map(_signatures, trees.batches):
        ends.append(sum(map(len, terms)) + batch.ends)
        terms.append(batch.terms)
    return Signatures(np.concatenate(terms), np.concatenate(ends))


def _signatures(columns: Columns) -> Signatures:
    codes = np.array([crc32(text.encode()) for text in columns.texts], np.uint32)
    of_tree, parents = columns.trees - columns.trees[0], columns.parents
    edges = _EDGES[columns.edges]
    variables = np.isin(codes, _VARIABLES)[columns.symbols]
    variables[parents[columns.edges != ord(LOWER)]] = False  # as `terms.blind` does
    symbols = np.where(variables, _PLACE, codes[columns.symbols]).astype(np.uint64) * _SYMBOL
    root = parents == np.arange(len(parents))
    steps = edges * _EDGE + symbols
    pairs = mixed((symbols * _PAIR)[parents] + steps)
    triples = mixed(pairs[parents] * _TRIPLE + steps)
    subtrees, inner = _subtrees(symbols, parents, edges * _EDGE)
    kinds = ((pairs, ~root), (triples, ~root & ~root[parents]), (subtrees, inner & ~root))
    # Trees stay apart as the upper half of a number whose lower half is the term.
    keys = np.concatenate(
        [
            (of_tree[there] << 32) + (hashes[there] >> np.uint64(32)).astype(np.int64)
            for hashes, there in kinds
        ]
    )
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique takes many times as long
    ends = np.searchsorted(keys, np.arange(1, of_tree[-1] + 2) << 32)
    return Signatures(keys.astype(np.uint32), ends)


def _subtrees(
    symbols: _Hashes, parents: NDArray[np.int64], edges: _Hashes
) -> tuple[_Hashes, NDArray[np.bool_]]:
    """Return a number for each subtree, and whether it has more than a node.

    Edges, not places, order arguments: what is below a node is added up. That goes by levels, the
    deepest first, over all trees at once.
    """
    depth = (parents != np.arange(len(parents))).astype(np.int64)
    above = parents
    # Each round looks twice as far up.
    while (further := depth[above]).any():
        depth += further
        above = above[above]
    # Numbers of 16 bits are sorted many times as fast.
    order = np.argsort(depth.astype(np.min_scalar_type(depth.max(initial=0))), kind="stable")
    cuts = np.cumsum(np.bincount(depth)).tolist()
    subtrees, below = np.zeros_like(symbols), np.zeros_like(symbols)
    inner = np.zeros(len(symbols), np.bool_)
    for begin, end in reversed(list(pairwise(cuts))):
        nodes = order[begin:end]
        subtrees[nodes] = mixed(symbols[nodes] + below[nodes] * _BELOW)
        np.add.at(below, parents[nodes], mixed(edges[nodes] + subtrees[nodes]))
        inner[parents[nodes]] = True
    return subtrees, inner


def formula_similarity(one: str, other: str) -> float:
    r"""Return how alike two formulas are, from 0 to 1, in LaTeX without dollars.

    They are compared by their operator trees, as in the second stage of Task 1, whatever their
    variables are called: by the squared cosine of the sets of paths and subtrees that they hold.
    All of these weigh the same, as there is no collection to count them in. Formulas that read the
    same (`x^n`, `{x}^{n}`) have 1; other ones of a single symbol, which have no paths, have 0.
    """
    return float(formula_similarities([one], [other])[0, 0])


def formula_similarities(formulas: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """Return how alike each formula (rows) is to each of the others (columns)."""
    trees = Trees()
    sources = [written_out([source])[0] for source in (*formulas, *others)]  # each by its macros
    read = [read_operators(latex.read(source)[0]) for source in sources]
    trees.add([FormulaTree(str(number), tree, Paths()) for number, tree in enumerate(read)])
    all_terms, ends = signatures(trees)
    sets = [frozenset(terms.tolist()) for terms in np.split(all_terms, ends[:-1])]
    alike = np.zeros((len(formulas), len(others)))
    for row, column in np.ndindex(alike.shape):
        terms, others_terms = sets[row], sets[len(formulas) + column]
        if read[row] == read[len(formulas) + column]:
            alike[row, column] = 1
        elif terms and others_terms:
            shared = len(terms & others_terms)
            alike[row, column] = shared**2 / (len(terms) * len(others_terms))
    return alike


class FormulaIdf(NamedTuple):
    """The idf of terms among distinct formulas."""

    terms: NDArray[np.uint32]  # sorted
    values: NDArray[np.float32]
    unseen: np.float32  # of a term that at most one formula has

    @classmethod
    def of(cls, terms: NDArray[np.uint32], formulas: int) -> Self:
        """Make the table from the signatures of some distinct formulas, one after the other."""
        distinct, counts = np.unique(terms, return_counts=True)
        distinct, counts = distinct[counts > 1], counts[counts > 1]  # the others are as if unseen
        values = np.log((formulas + 1) / counts).astype(np.float32)
        return cls(distinct, values, np.float32(np.log(formulas + 1)))

    def __call__(self, terms: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Return the idf of each term."""
        if not len(self.terms):
            return np.full(len(terms), self.unseen, np.float32)
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        values = self.values[places]
        values[self.terms[places] != terms] = self.unseen
        return values


class Formulas(NamedTuple):
    """Formulas by their signatures, those of a post side by side."""

    terms: NDArray[np.uint32]  # the signatures, one after the other
    starts: NDArray[np.int64]  # of each signature among the terms, and their end
    norms: NDArray[np.float32]  # of each formula: the length of its weighted signature


def norms(
    terms: NDArray[np.uint32], starts: NDArray[np.int64], idf: FormulaIdf
) -> NDArray[np.float32]:
    """Return the length of each weighted signature; see `Formulas`."""
    different, places = distinct(terms.astype(np.uint64))  # searched for once each
    squares = np.square(idf(different.astype(np.uint32)), dtype=np.float64)[places]
    sums = np.concatenate(([0.0], np.cumsum(squares)))
    lengths: NDArray[np.float64] = np.sqrt(np.diff(sums[starts]))
    return lengths.astype(np.float32)


class FormulaQuery:
    """The weighted formulas of a question, to be compared with those of posts."""

    def __init__(self, formulas: Sequence[tuple[Signature, float]], idf: FormulaIdf) -> None:
        signatures = [terms for terms, _ in formulas]
        self._weights = np.array([weight for _, weight in formulas])
        self._terms = np.unique(np.concatenate(signatures)) if formulas else np.empty(0, np.uint32)
        self._may_be = np.zeros(_LOWER_BITS + 1, np.bool_)  # a term, by its lower bits
        self._may_be[self._terms & _LOWER_BITS] = True
        # Squared idf of each term in each formula, as a part of the formula's length.
        self._parts = np.zeros((len(self._terms), len(formulas)))
        for column, terms in enumerate(signatures):
            squares = np.square(idf(terms), dtype=np.float64)
            length = np.sqrt(squares.sum()) or 1.0
            self._parts[np.searchsorted(self._terms, terms), column] = squares / length

    def maxsim(
        self, documents: Formulas, numbers: NDArray[np.int64], posts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the MaxSim of each post.

        `numbers` are those of its formulas; `posts` says where they start, and the end.
        """
        best = np.zeros((len(posts) - 1, len(self._weights)))
        if not len(self._terms) or not len(documents.terms):
            return np.zeros(len(best))
        shared = np.flatnonzero(self._may_be[documents.terms & _LOWER_BITS])  # few are
        terms = documents.terms[shared]
        places = np.minimum(np.searchsorted(self._terms, terms), len(self._terms) - 1)
        there = self._terms[places] == terms
        shared, places = shared[there], places[there]
        formulas = len(documents.norms)
        formula = np.repeat(np.arange(formulas), np.diff(documents.starts))[shared]
        cosine = np.zeros((formulas, len(self._weights)))
        for column in range(len(self._weights)):
            cosine[:, column] = np.bincount(formula, self._parts[places, column], formulas)
        cosine /= np.maximum(documents.norms, 1e-9)[:, None]
        filled = np.flatnonzero(np.diff(posts))
        best[filled] = np.maximum.reduceat(np.square(cosine)[numbers], posts[:-1][filled])
        total: NDArray[np.float64] = best @ self._weights
        return total
