"""Kernel ridge regression: how much each training row has a say about a query.

A prediction for a query q is influence(q) @ targets, with influence(q) = k(q) (K + λI)⁻¹, where
k(q) holds the similarities of q to the rows, K those among the rows, and λ is the penalty. Targets
may be changed, or be sparse and many, without fitting anew. Memory grows with rows².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from arqmath_bm25.tasks.premises.text_kernel import gram

if TYPE_CHECKING:
    from scipy import sparse

    from arqmath_bm25.tasks.premises.text_kernel import Matrix


@dataclass(frozen=True)
class KernelRidge:
    """A fitted regression over rows."""

    rows: sparse.csr_matrix
    inverse: Matrix  # rows × rows

    @classmethod
    def fit(cls, rows: sparse.csr_matrix, penalty: float) -> KernelRidge:
        """Fit to these rows."""
        return cls(rows, _inverse(gram(rows, rows), penalty))

    def influence(self, similarity: Matrix) -> Matrix:
        """Return queries × rows for the similarities of queries to all rows."""
        return similarity @ self.inverse


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
