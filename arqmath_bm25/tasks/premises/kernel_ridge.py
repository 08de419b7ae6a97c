"""Kernel ridge regression: how much each training row has a say about a query.

A prediction for a query q is influence(q) @ targets, with influence(q) = k(q) (K + λI)⁻¹, where
k(q) holds the similarities of q to the rows, K those among the rows, and λ is the penalty. Targets
may be changed, or be sparse and many, without fitting anew.

Where there are more rows than `landmarks`, that many of them, chosen at random, stand for all (the
subset of regressors, Nyström's low-rank form of K; Rasmussen and Williams 2006, Gaussian Processes
for Machine Learning, section 8.3.1): influence(q) = k_m(q) (K_mn K_nm + λ K_mm)⁻¹ K_mn. With all
rows as landmarks both are the same. Memory grows with landmarks² and with the terms of the rows,
not with rows².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg import lapack

from arqmath_bm25.tasks.premises.text_kernel import gram

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from arqmath_bm25.tasks.premises.text_kernel import Matrix

_CHUNK: Final = 512  # rows whose similarities to the landmarks are in memory at a time
_SLICE: Final = 16  # queries whose weights of all columns, dense, are: 200 MB
_JITTER: Final = 1e-8  # texts that occur twice make K_mm singular


@dataclass(frozen=True)
class KernelRidge:
    """A fitted regression over rows."""

    rows: sparse.csr_matrix
    landmarks: NDArray[np.int64]  # numbers of rows; all of them in the exact form
    inverse: Matrix  # landmarks × landmarks

    @classmethod
    def fit(cls, rows: sparse.csr_matrix, penalty: float, landmarks: int) -> KernelRidge:
        """Fit to these rows, by `landmarks` of them if there are more."""
        count = rows.shape[0]
        if count <= landmarks:
            everything = np.arange(count)
            return cls(rows, everything, _inverse(gram(rows, rows), penalty))
        chosen = np.sort(np.random.default_rng(0).choice(count, landmarks, replace=False))
        few = rows[chosen]
        matrix = gram(few, few) * penalty
        for start in range(0, count, _CHUNK):
            similar = gram(rows[start : start + _CHUNK], few)
            matrix += similar.T @ similar
        return cls(rows, chosen, _inverse(matrix, penalty * _JITTER))

    @property
    def exact(self) -> bool:
        """Whether every row is a landmark."""
        return bool(len(self.landmarks) == self.rows.shape[0])

    def influence(self, similarity: Matrix) -> Matrix:
        """Return queries × rows for the similarities of queries to all rows."""
        if self.exact:
            return similarity @ self.inverse
        weights, few = similarity[:, self.landmarks] @ self.inverse, self.rows[self.landmarks]
        found = np.empty_like(similarity)
        for start in range(0, len(weights), _SLICE):
            part = slice(start, start + _SLICE)
            found[part] = (self.rows @ (weights[part] @ few).T).T
        return found


def _inverse(matrix: Matrix, more: float) -> Matrix:
    """Return the inverse of a positive definite matrix, with `more` on its diagonal."""
    matrix[np.diag_indices_from(matrix)] += more
    factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)  # half of the work of LU
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ArithmeticError("the matrix of similarities is not positive definite")
    inverse += inverse.T  # only the lower triangle is filled
    inverse[np.diag_indices_from(inverse)] /= 2
    return np.ascontiguousarray(inverse.T)
