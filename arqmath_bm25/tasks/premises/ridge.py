"""Premises by kernel ridge regression of what people cited in the training set.

The score is the sum of four parts, each divided by its greatest value for the query and times its
weight (of `ridge` 1):

* ridge: the prediction for citations, where a training statement that is itself a candidate also
  cites itself, with the weight `self_citation`;
* profile: the cosine with the sum of all statements that cite the candidate;
* text: the similarity of the query to the candidate's own text, which finds what nobody cited yet;
* citations: ln(1 + how often it is cited).

A prediction of the regression for a query q is influence(q) @ targets, with influence(q) =
k(q) (K + λI)⁻¹, where k(q) holds the similarities of q to the training statements, K those among
these, and λ is the penalty. Targets may be changed, or be sparse and many, without fitting anew.

The regression is fitted when the index is built, and kept there as arrays of numbers. The same
texts and settings give the same bytes, since one thread does the linear algebra. A query that is a
training statement itself is ranked as if it were not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits  # scikit-learn depends on it

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.premises import Premise, Statement
from arqmath_bm25.core.records import Part
from arqmath_bm25.tasks.premises.text_kernel import TextVectors, gram
from arqmath_bm25.tasks.premises.tfidf import BLOCK, Candidates
from arqmath_bm25.tasks.settings import RidgeSettings, RidgeVariant

if TYPE_CHECKING:
    from arqmath_bm25.tasks.premises.text_kernel import Matrix
    from arqmath_bm25.tasks.premises.tfidf import PremiseRanking


def inverse_for(rows: sparse.csr_matrix, penalty: float) -> Matrix:
    """Fit to these rows: return (K + λI)⁻¹, which turns similarities to them into influence."""
    matrix = gram(rows, rows)
    matrix[np.diag_indices_from(matrix)] += penalty
    factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)  # half of the work of LU
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ArithmeticError("the matrix of similarities is not positive definite")
    inverse += inverse.T  # only the lower triangle is filled
    inverse[np.diag_indices_from(inverse)] /= 2
    return np.ascontiguousarray(inverse.T)


@dataclass(frozen=True)
class Fitted:
    """The slow part of fitting, which is saved."""

    vectors: TextVectors
    rows: sparse.csr_matrix  # vectors of the training statements
    inverse: Matrix  # of the regression over them, rows × rows
    texts: sparse.csr_matrix  # vectors of all candidates, empty where the text is not known

    def save(self, directory: Path) -> None:
        """Save everything that the settings do not determine."""
        directory.mkdir()
        np.save(directory / "frequencies.npy", self.vectors.frequencies)
        np.save(directory / "inverse.npy", self.inverse)
        sparse.save_npz(directory / "statements.npz", self.rows, compressed=False)
        sparse.save_npz(directory / "candidates.npz", self.texts, compressed=False)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> Fitted:
        """Read what `save` wrote."""
        rows = sparse.load_npz(directory / "statements.npz")
        frequencies = np.load(directory / "frequencies.npy")
        vectors = TextVectors(settings.kernel, analyzer, rows.shape[0], frequencies)
        inverse = np.load(directory / "inverse.npy", mmap_mode="r")
        return cls(vectors, rows, inverse, sparse.load_npz(directory / "candidates.npz"))


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
        texts = {premise.premise_id: premise.text for premise in premises}
        cited = (premise for statement in training for premise in statement.premises)
        self.candidates = Candidates([*texts, *cited])
        self.training = training
        self.row = {statement.statement_id: n for n, statement in enumerate(training)}
        selves = self._incidence([(statement.statement_id,) for statement in training])
        citations = self._incidence([statement.premises for statement in training])
        self.targets = citations + selves * settings.self_citation
        self.citations = np.log1p(np.asarray(citations.sum(axis=0)))
        if not isinstance(fitted, Fitted):
            vectors, rows = TextVectors.fit([s.text for s in training], settings.kernel, fitted)
            with threadpool_limits(1, "blas"):  # so that sums depend on no number of threads
                inverse = inverse_for(rows, settings.penalty)
            of_candidates = [texts.get(premise, "") for premise in self.candidates.ids]
            fitted = Fitted(vectors, rows, inverse, vectors(of_candidates))
        self.fitted = fitted
        profiles = citations.T @ fitted.rows
        lengths = np.sqrt(np.asarray(profiles.multiply(profiles).sum(axis=1)).ravel())
        self.profiles = citations @ sparse.diags(1 / np.where(lengths > 0, lengths, 1))

    def _incidence(self, premises: Sequence[Iterable[str]]) -> sparse.csr_matrix:
        """Return training statements × candidates, 1 where a statement has the premise."""
        position = self.candidates.position
        pairs = [(n, position[p]) for n, ids in enumerate(premises) for p in ids if p in position]
        places = np.array(pairs, int).reshape(-1, 2).T
        shape = (len(premises), len(self.candidates.ids))
        return sparse.csr_matrix((np.ones(places.shape[1]), places), shape)


class Queries(NamedTuple):
    """Query statements as matrix rows."""

    vectors: sparse.csr_matrix
    similarity: Matrix  # to training statements, 0 to a query itself and to what is hidden
    influence: Matrix  # of training statements on the prediction; 0 likewise


class Ridge:
    """Ranks premises by the regression, and by profiles, texts and citations."""

    def __init__(self, model: Model, variant: RidgeVariant) -> None:
        self.model = model
        self._variant = variant

    def rank(self, statements: Sequence[Statement], depth: int) -> Iterator[PremiseRanking]:
        """Yield the `depth` best premises of every statement, itself last if it is a premise."""
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            yield from self.best(block, self._queries(block), depth)

    def best(
        self, block: Sequence[Statement], queries: Queries, depth: int
    ) -> Iterator[PremiseRanking]:
        """Yield the same for statements that are analysed."""
        scores = sum(self._parts(block, queries).values())
        for statement, row in zip(block, np.asarray(scores), strict=True):
            yield self.model.candidates.best(row, depth, last=statement.statement_id)

    def explain(self, statement: Statement, premises: Sequence[str]) -> list[list[Part]]:
        """Return the contribution of each part to the scores of premises."""
        parts = self._parts([statement], self._queries([statement]))
        places = [self.model.candidates.position[premise] for premise in premises]
        return [
            [Part(name, float(part[0, place])) for name, part in parts.items()] for place in places
        ]

    def _parts(self, block: Sequence[Statement], queries: Queries) -> dict[str, Matrix]:
        """Return the weighted parts of the score, statements × candidates."""
        model, variant = self.model, self._variant
        texts = gram(queries.vectors, model.fitted.texts)
        for n, statement in enumerate(block):
            own = model.candidates.position.get(statement.statement_id)
            if own is not None:
                texts[n, own] = 0
        citations = np.repeat(model.citations, len(block), axis=0)
        return {
            "ridge": _scaled(np.asarray(queries.influence @ model.targets)),
            "profile": variant.profile * _scaled(np.asarray(queries.similarity @ model.profiles)),
            "text": variant.text * _scaled(texts),
            "citations": variant.citations * _scaled(citations),
        }

    def _queries(self, block: Sequence[Statement]) -> Queries:
        fitted = self.model.fitted
        vectors = fitted.vectors([statement.text for statement in block])
        similarity = gram(vectors, fitted.rows)
        influence = similarity @ fitted.inverse
        for n, statement in enumerate(block):
            row = self.model.row.get(statement.statement_id)
            if row is not None:  # leave-one-out of a linear smoother
                own = influence[n, row]
                similarity[n, row] = influence[n, row] = 0
                influence[n] /= 1 - own
        return Queries(vectors, similarity, influence)


def _scaled(scores: Matrix) -> Matrix:
    """Divide each row by its greatest score."""
    greatest = scores.max(axis=-1, keepdims=True)
    return np.asarray(scores / np.where(greatest > 0, greatest, 1))
