"""What is fitted to a training set when the index is built, kept there as arrays of numbers.

A query that is a training statement itself is ranked as if it were not among them. The same texts
and settings give the same bytes, since one thread does the linear algebra.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits  # scikit-learn depends on it

from arqmath_bm25.tasks.premises.rankers.candidates import Candidates
from arqmath_bm25.tasks.premises.rankers.evidence import Evidence, Queries
from arqmath_bm25.tasks.premises.rankers.kernel import TextVectors, gram
from arqmath_bm25.tasks.premises.rankers.regression import KernelRidge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.collection.premises import Premise, Statement
    from arqmath_bm25.tasks.premises.rankers.settings import RidgeSettings

_BLOCK: Final = 64  # statements that are ranked at a time


def single_thread() -> threadpool_limits:
    """Return a context in which sums do not depend on the number of threads."""
    return threadpool_limits(1, "blas")


@dataclass(frozen=True)
class Fitted:
    """The part that takes time: it goes to the disk."""

    vectors: TextVectors
    ridge: KernelRidge  # over the training statements
    texts: sparse.csr_matrix  # vectors of all candidates, empty where the text is not known

    def save(self, directory: Path) -> None:
        """Write all that is not in the settings."""
        directory.mkdir()
        np.save(directory / "frequencies.npy", self.vectors.frequencies)
        np.save(directory / "landmarks.npy", self.ridge.landmarks)
        np.save(directory / "inverse.npy", self.ridge.inverse)
        sparse.save_npz(directory / "statements.npz", self.ridge.rows, compressed=False)
        sparse.save_npz(directory / "candidates.npz", self.texts, compressed=False)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> Fitted:
        """Read what `save` wrote."""
        rows = sparse.load_npz(directory / "statements.npz")
        frequencies = np.load(directory / "frequencies.npy")
        inverse = np.load(directory / "inverse.npy", mmap_mode="r")
        return cls(
            TextVectors(settings.kernel, analyzer, rows.shape[0], frequencies),
            KernelRidge(rows, np.load(directory / "landmarks.npy"), inverse),
            sparse.load_npz(directory / "candidates.npz"),
        )


class Model:
    """Training statements, what they cite, and the regression over them."""

    def __init__(
        self,
        premises: Iterable[Premise],
        training: Sequence[Statement],
        settings: RidgeSettings,
        fitted: Fitted | Analyzer,
    ) -> None:
        """Fit to a training set, unless it is `fitted`; an analyzer is what fitting needs.

        Candidates are the premises and whatever the training statements cite.
        """
        known = {premise.premise_id: premise.text for premise in premises}
        cited = (premise for statement in training for premise in statement.premises)
        self.candidates = Candidates([*known, *cited])
        self.training = training
        self._row = {statement.statement_id: n for n, statement in enumerate(training)}
        self._citations = self._incidence([statement.premises for statement in training])
        self._selves = self._incidence([(statement.statement_id,) for statement in training])
        self._selves *= settings.self_citation
        if not isinstance(fitted, Fitted):
            vectors, rows = TextVectors.fit([s.text for s in training], settings.kernel, fitted)
            with single_thread():
                ridge = KernelRidge.fit(rows, settings.penalty, settings.landmarks)
            texts = [known.get(premise, "") for premise in self.candidates.ids]
            fitted = Fitted(vectors, ridge, vectors(texts))
        self.fitted = fitted

    def evidence(self, hidden: NDArray[np.int64] | None = None) -> Evidence:
        """Return the evidence of all training statements but the hidden ones."""
        visible = np.ones(len(self.training))
        visible[[] if hidden is None else hidden] = 0
        kept = sparse.diags(visible)
        return Evidence(self.fitted.ridge.rows, kept @ self._citations, kept @ self._selves)

    def queries(
        self, statements: Sequence[Statement]
    ) -> Iterator[tuple[Sequence[Statement], Queries]]:
        """Yield statements, some at a time, with what there is to know about them."""
        ridge = self.fitted.ridge
        for start in range(0, len(statements), _BLOCK):
            block = statements[start : start + _BLOCK]
            vectors = self.fitted.vectors([statement.text for statement in block])
            similarity = gram(vectors, ridge.rows)
            influence = ridge.influence(similarity)
            for n, statement in enumerate(block):
                row = self._row.get(statement.statement_id)
                if row is not None:  # `KernelRidge.hidden` for a fold of one
                    own = influence[n, row]
                    similarity[n, row] = influence[n, row] = 0
                    influence[n] /= 1 - own
            yield block, Queries(self._text(block, vectors), similarity, influence)

    def hidden(self, fold: NDArray[np.int64]) -> Iterator[tuple[Sequence[Statement], Queries]]:
        """Yield the training statements of a fold as if none of them was a training statement."""
        ridge = self.fitted.ridge
        every = ridge.hidden(fold)
        for start in range(0, len(fold), _BLOCK):
            some = slice(start, start + _BLOCK)
            block, vectors = [self.training[n] for n in fold[some]], ridge.rows[fold[some]]
            similarity = gram(vectors, ridge.rows)
            similarity[:, fold] = 0
            yield block, Queries(self._text(block, vectors), similarity, every[some])

    def cited_by(self, statements: Sequence[Statement]) -> NDArray[np.bool_]:
        """Tell what training statements cite: statements × candidates."""
        rows = [self._row[statement.statement_id] for statement in statements]
        return np.asarray(self._citations[rows].toarray() > 0)

    def _text(self, block: Sequence[Statement], vectors: sparse.csr_matrix) -> NDArray[np.float64]:
        similarity = gram(vectors, self.fitted.texts)
        for n, statement in enumerate(block):
            if (own := self.candidates.position.get(statement.statement_id)) is not None:
                similarity[n, own] = 0
        return similarity

    def _incidence(self, premises: Sequence[Iterable[str]]) -> sparse.csr_matrix:
        """Return training statements × candidates, 1 where a statement has the premise."""
        position = self.candidates.position
        pairs = [(n, position[p]) for n, ids in enumerate(premises) for p in ids if p in position]
        found = np.array(pairs, int).reshape(-1, 2).T
        shape = (len(premises), len(self.candidates))
        return sparse.csr_matrix((np.ones(found.shape[1]), found), shape)
