"""What training statements tell about every candidate premise, as queries × candidates.

* ridge: the prediction of kernel ridge regression for citations, where a statement that is itself
  a candidate also cites itself, with the weight `self_citation`;
* cited: the same for citations alone;
* text: the similarity of the query to the candidate's own text;
* nearest: the greatest similarity to a statement that cites the candidate;
* profile: the cosine with the sum of all statements that cite it;
* votes: the sum over these statements of similarity³;
* together: the citations that it shares with the 50 best by `ridge`, the number for each pair
  divided by the root of the product of both candidates' numbers of citations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arqmath_bm25.tasks.premises.rankers.kernel import Matrix

_BEST: Final = 50


class Queries(NamedTuple):
    """Statements to find premises for, beside the candidates and the training statements."""

    text: Matrix  # similarity to the texts of candidates, 0 to a query itself
    similarity: Matrix  # to training statements, 0 to a query itself and to what is hidden
    influence: Matrix  # of training statements (`KernelRidge`); 0 likewise


class Evidence:
    """The evidence of citations."""

    def __init__(
        self, rows: sparse.csr_matrix, citations: sparse.csr_matrix, selves: sparse.csr_matrix
    ) -> None:
        """`rows` are the vectors of statements.

        `citations` and `selves` are statements × candidates: what a statement cites, and what it is
        (times the weight of self-citation). The rows of hidden statements are empty in both.
        """
        counts = np.asarray(citations.sum(axis=0)).ravel()
        self.citations = np.log1p(counts)
        self.selves = np.asarray(selves.sum(axis=0)).ravel()
        self._cited = citations
        self._targets = citations + selves
        profiles = citations.T @ rows
        lengths = np.sqrt(np.asarray(profiles.multiply(profiles).sum(axis=1)).ravel())
        self._profiles = citations @ sparse.diags(1 / np.where(lengths > 0, lengths, 1))
        scale = sparse.diags(1 / np.sqrt(np.maximum(counts, 1)))
        pairs = scale @ (citations.T @ citations) @ scale
        self._together = (pairs - sparse.diags(pairs.diagonal())).tocsr()
        by_candidate = citations.tocsc()
        by_candidate.eliminate_zeros()
        self._any = np.flatnonzero(counts)
        self._citing, self._starts = by_candidate.indices, by_candidate.indptr[self._any]

    def ridge(self, queries: Queries) -> Matrix:
        """Return the part `ridge`."""
        return np.asarray(queries.influence @ self._targets)

    def profile(self, queries: Queries) -> Matrix:
        """Return the part `profile`."""
        return np.asarray(queries.similarity @ self._profiles)

    def parts(self, queries: Queries) -> dict[str, Matrix]:
        """Return all parts by name."""
        ridge = self.ridge(queries)
        nearest = np.zeros_like(ridge)
        if len(self._any):
            citing = queries.similarity[:, self._citing]
            nearest[:, self._any] = np.maximum.reduceat(citing, self._starts, axis=1)
        best = np.where(among_best(ridge, _BEST), np.maximum(ridge, 0), 0)
        return {
            "ridge": ridge,
            "cited": queries.influence @ self._cited,
            "text": queries.text,
            "nearest": nearest,
            "profile": self.profile(queries),
            "votes": queries.similarity**3 @ self._cited,
            "together": best @ self._together,
        }


def among_best(scores: Matrix, count: int) -> NDArray[np.bool_]:
    """Tell which scores are among the `count` best of their row (more, if the last is tied)."""
    count = min(count, scores.shape[1])
    return np.asarray(scores >= np.partition(scores, -count, axis=1)[:, -count, None])


def scaled(scores: Matrix) -> Matrix:
    """Divide each row by its greatest score."""
    greatest = scores.max(axis=-1, keepdims=True)
    return np.asarray(scores / np.where(greatest > 0, greatest, 1))
