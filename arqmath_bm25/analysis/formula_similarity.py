"""How alike two formulas are by their operator trees, whatever their variables are called.

The terms of a signature (`signatures`) weigh their idf among formulas, and two formulas are as
alike as the squared cosine of their weighted sets. MaxSim (Khattab and Zaharia 2020, there of
words) holds the formulas of a question against those of a post: each counts by the one that is most
like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.signatures import signatures
from arqmath_bm25.analysis.term_numbers import Trees, Vocabulary
from arqmath_bm25.analysis.terms import FormulaTree, Paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.signatures import Signature


_LOWER_BITS: Final = np.uint32(0xFFFF)


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
    trees = Trees(Vocabulary())
    read = [read_operators(latex.read(source)[0]) for source in (*formulas, *others)]
    for number, tree in enumerate(read):
        trees.number(FormulaTree(str(number), tree, Paths()))
    found, ends = signatures(trees)
    sets = [frozenset(terms.tolist()) for terms in np.split(found, ends[:-1])]
    alike = np.zeros((len(formulas), len(others)))
    for row, column in np.ndindex(alike.shape):
        one, other = sets[row], sets[len(formulas) + column]
        if read[row] == read[len(formulas) + column]:
            alike[row, column] = 1
        elif one and other:
            alike[row, column] = len(one & other) ** 2 / (len(one) * len(other))
    return alike


class FormulaIdf(NamedTuple):
    """How much each term tells among distinct formulas."""

    terms: NDArray[np.uint32]  # sorted
    values: NDArray[np.float32]
    unseen: np.float32  # of a term that at most one formula has

    @classmethod
    def of(cls, terms: NDArray[np.uint32], formulas: int) -> Self:
        """Make the table from the signatures of some distinct formulas, one after the other."""
        found, counts = np.unique(terms, return_counts=True)
        found, counts = found[counts > 1], counts[counts > 1]  # the others are as if unseen
        values = np.log((formulas + 1) / counts).astype(np.float32)
        return cls(found, values, np.float32(np.log(formulas + 1)))

    def __call__(self, terms: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Return the idf of each term."""
        if not len(self.terms):
            return np.full(len(terms), self.unseen, np.float32)
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        values = self.values[at]
        values[self.terms[at] != terms] = self.unseen
        return values


class Formulas(NamedTuple):
    """Formulas by their signatures, those of a post side by side."""

    terms: NDArray[np.uint32]  # the signatures, one after the other
    starts: NDArray[np.int64]  # of each signature among the terms, and their end
    norms: NDArray[np.float32]  # of each formula: the length of its weighted signature

    @classmethod
    def of(cls, signatures: Sequence[Signature], idf: FormulaIdf) -> Self:
        """Put signatures together."""
        terms = np.concatenate(signatures) if signatures else np.empty(0, np.uint32)
        starts = np.cumsum([0, *map(len, signatures)])
        return cls(terms, starts, norms(terms, starts, idf))


def norms(
    terms: NDArray[np.uint32], starts: NDArray[np.int64], idf: FormulaIdf
) -> NDArray[np.float32]:
    """Return the length of each weighted signature; see `Formulas`."""
    sums = np.concatenate(([0.0], np.cumsum(np.square(idf(terms), dtype=np.float64))))
    lengths: NDArray[np.float64] = np.sqrt(np.diff(sums[starts]))
    return lengths.astype(np.float32)


class FormulaQuery:
    """The formulas of a question, each with its weight, to hold against those of posts."""

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
        formula = np.searchsorted(documents.starts, shared, side="right") - 1
        cosine = np.zeros((formulas, len(self._weights)))
        for column in range(len(self._weights)):
            cosine[:, column] = np.bincount(formula, self._parts[places, column], formulas)
        cosine /= np.maximum(documents.norms, 1e-9)[:, None]
        filled = np.flatnonzero(np.diff(posts))
        best[filled] = np.maximum.reduceat(np.square(cosine)[numbers], posts[:-1][filled])
        total: NDArray[np.float64] = best @ self._weights
        return total
