"""What statements refer to, learnt by kernel ridge regression from those with known references.

What is learnt scores every candidate by three parts, each divided by its greatest score for the
query:

* ridge: the prediction for references, where a statement that is itself a candidate also refers to
  itself, with the weight `self_citation`;
* profile: the cosine with the sum of all statements that refer to the candidate;
* citations: ln(1 + how often it is referred to).

A prediction of the regression for a query q is influence(q) @ targets, with influence(q) =
k(q) (K + λI)⁻¹, where k(q) holds the similarities of q to the statements, K those among these, and
λ is the penalty. Targets may be changed, or be sparse and many, without fitting anew.

The kernel is a mixture of three. Each *view* of a text is a bag of terms: 1- to 3-grams of tokens,
5-grams of characters, or stemmed words. It gives a unit vector of sublinear tf-idf, (1 + log tf) ·
(log((1 + N) / (1 + df)) + 1). The vectors of the views are concatenated, each times the root of its
weight, so the inner product of two texts is the weighted mean of the cosines. Terms are hashed to
columns (MurmurHash3): there is no vocabulary to keep, and a term that no training text holds still
counts in the length of its vector.

The inverse takes 8 bytes for each pair of statements. Where they are too many for it
(`MOST_WHOLE`), every query has a regression of its own, over the statements that are most similar
to it (`NEAR`).

What is hidden from a query, such as its own references, changes nothing of its scores: the
regression is that of all other statements. The same texts and settings give the same bytes, since
one thread does the linear algebra.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve
from threadpoolctl import threadpool_limits

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.analysis.settings import AnalysisSettings, TextSettings
from arqmath_bm25.analysis.terms import ngrams
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.arrays import Floats, Int32s
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.tested import read_array, read_arrays, write_arrays
from arqmath_bm25.tasks.cited.candidates import BLOCK, Candidates
from arqmath_bm25.tasks.settings import RidgeSettings, View

Matrix = Floats

MOST_WHOLE = 8_000  # statements of one regression: an inverse of 512 MB, 1 GB to compute it
NEAR = 512  # statements of a query's own regression; MAP of NLPS .359, .360 with all
_COLUMNS = 1 << 18  # of a view
_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|[^\sA-Za-z]")
_PROFILES = 1_024  # candidates whose profiles are computed at a time
_SCORES = 4_000_000  # of a block of queries; each part that is learnt takes 32 MB

_FREQUENCIES, _INVERSE = "frequencies.npy", "inverse.npy"
_ROWS, _REFERENCES, _IDS = "statements.arrays", "references.arrays", "ids.arrays"


class TextVectors:
    """Turns texts into vectors, by the document frequencies of the texts that it was fitted to."""

    def __init__(
        self,
        weights: Mapping[View, float],
        analyzer: Analyzer,
        texts: int,
        frequencies: Int32s,
    ) -> None:
        """`weights` are per view; a view without weight is skipped.

        `frequencies` are the document frequencies, in `texts` texts, of all columns.
        """
        self.frequencies = frequencies
        self._weights = {view: weight for view, weight in sorted(weights.items()) if weight}
        self._analyzer = analyzer
        self._texts = texts

    @classmethod
    def fit(
        cls, texts: Sequence[str], weights: Mapping[View, float], analyzer: Analyzer
    ) -> tuple[TextVectors, sparse.csr_matrix]:
        """Count the document frequencies of these texts; return also their vectors."""
        vectors = cls(weights, analyzer, len(texts), np.zeros(0, np.int32))
        bags = vectors._bags(texts)
        counts = [np.bincount(bag.indices, minlength=_COLUMNS) for bag in bags]
        vectors.frequencies = np.concatenate(counts).astype(np.int32)
        return vectors, vectors._vectors(bags)

    def __call__(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return texts × columns."""
        bags = self._bags(texts)
        return self._vectors(bags)

    def _bags(self, texts: Sequence[str]) -> list[sparse.csr_matrix]:
        with needed_by("premise selection", "nlps"):
            from sklearn.feature_extraction import FeatureHasher  # takes a second to import

        hasher = FeatureHasher(_COLUMNS, input_type="string", alternate_sign=False)
        bags = []
        for view in self._weights:
            terms = (self._terms(view, text) for text in texts)
            bags.append(hasher.transform(terms))
        return bags

    def _terms(self, view: View, text: str) -> Sequence[str]:
        """Return the bag of terms that a view makes of a text."""
        if view == "tokens":
            return ngrams(_TOKEN.findall(text), 1, 3)
        if view == "characters":
            return [text[start : start + 5] for start in range(len(text) - 4)]
        return self._analyzer(read_title(text)).words.words

    def _vectors(self, bags: list[sparse.csr_matrix]) -> sparse.csr_matrix:
        """Return the vectors of bags, which are taken out of the list one by one and so freed."""
        weights = self._weights.values()
        frequencies_of_views = np.split(self.frequencies, len(bags))
        vectors = []
        for weight, frequencies in zip(weights, frequencies_of_views, strict=True):
            idf = np.log((1 + self._texts) / (1 + frequencies)) + 1
            of_view = _unit(bags.pop(0), idf)
            of_view.data *= weight**0.5
            vectors.append(of_view)
        return sparse.hstack(vectors, "csr")


def words_only(text: TextSettings) -> Analyzer:
    """Return the analyzer of the words of texts, without formulas."""
    return Analyzer(AnalysisSettings(text=text), ngrams=False)


def _unit(bag: sparse.csr_matrix, idf: Matrix) -> sparse.csr_matrix:
    """Weigh the terms, and divide by the length of each row; an empty row stays 0."""
    bag.data = (1 + np.log(bag.data)) * idf[bag.indices]
    lengths = row_lengths(bag)
    lengths[lengths == 0] = 1
    return sparse.diags(1 / lengths) @ bag


def row_lengths(matrix: sparse.csr_matrix) -> Matrix:
    """Return the Euclidean length of each row."""
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1))
    lengths: Matrix = np.sqrt(squares.ravel())
    return lengths


def gram(left: sparse.csr_matrix, right: sparse.csr_matrix) -> Matrix:
    """Return the inner products of the rows, dense: left rows × right rows."""
    products = np.empty((left.shape[0], right.shape[0]))
    columns = left.T.tocsr()
    for start in range(0, right.shape[0], 256):  # a sparse product takes three times the room
        some = slice(start, start + 256)
        products[:, some] = (right[some] @ columns).toarray().T
    return products


def write_matrix(path: Path, matrix: sparse.csr_matrix) -> None:
    """Write a sparse matrix with its checksums."""
    write_arrays(path, matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def read_matrix(path: Path) -> sparse.csr_matrix:
    """Read what `write_matrix` wrote; NoIndexError if it is not as it was written."""
    *content, shape = read_arrays(path)
    return sparse.csr_matrix(tuple(content), shape=shape)


def inverse_for(rows: sparse.csr_matrix, penalty: float) -> Matrix:
    """Fit to these rows: return (K + λI)⁻¹, which turns similarities to them into influence."""
    matrix = gram(rows, rows)
    diagonal = np.diag_indices_from(matrix)
    matrix[diagonal] += penalty
    factor, failed = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)  # half of the work of LU
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ArithmeticError("the matrix of similarities is not positive definite")

    inverse += inverse.T  # only the lower triangle is filled
    inverse[diagonal] /= 2
    return np.ascontiguousarray(inverse.T)


def whole_influence(similarity: Matrix, inverse: Matrix, hidden: Sequence[Sequence[int]]) -> Matrix:
    """Return the influence of all statements on queries, queries × statements.

    `hidden` lists the statements that each query must not learn from: their similarity has to be 0,
    and their influence is 0. The others have the influence of a regression without the hidden ones,
    by the inverse of a block: with a = k (K + λI)⁻¹ and M the inverse, a - a_S (M_SS)⁻¹ M_S.
    """
    influence = similarity @ inverse
    queries_of = dict[tuple[int, ...], list[int]]()
    for query, rows in enumerate(hidden):
        if rows:
            queries_of.setdefault(tuple(rows), []).append(query)

    for rows, queries in queries_of.items():
        left_out = list(rows)
        block = inverse[np.ix_(left_out, left_out)]
        of_left_out = np.ix_(queries, left_out)
        shares = solve(block, influence[of_left_out].T, assume_a="pos").T
        influence[queries] -= shares @ inverse[left_out]
        influence[of_left_out] = 0
    return influence


def near_influence(similarity: Matrix, rows: sparse.csr_matrix, penalty: float) -> Matrix:
    """Return the influence on queries of the `NEAR` statements that are most similar to each.

    A statement that is hidden from a query has the similarity 0, and so no influence.
    """
    influence = np.zeros_like(similarity)
    for query, similarities in enumerate(similarity):
        related = np.flatnonzero(similarities > 0)
        if len(related) > NEAR:
            nearest = np.argpartition(-similarities[related], NEAR)[:NEAR]
            related = np.sort(related[nearest])
        if not len(related):
            continue

        near = rows[related]
        matrix = gram(near, near)
        matrix[np.diag_indices_from(matrix)] += penalty
        influence[query, related] = solve(matrix, similarities[related], assume_a="pos")
    return influence


class Queries(NamedTuple):
    """Query statements as matrix rows."""

    vectors: sparse.csr_matrix
    similarity: Matrix  # to the statements learnt from; 0 to what is hidden from the query
    influence: Matrix  # of these statements on the prediction; 0 likewise


@dataclass(frozen=True)
class References:
    """Statements, the candidates that they refer to, and the regression over them."""

    settings: RidgeSettings
    statements: list[str]  # ids
    digests: list[str]  # of the texts of the statements
    candidates: Candidates
    references: sparse.csr_matrix  # statements × candidates, 1 where one refers to the other
    vectors: TextVectors
    rows: sparse.csr_matrix  # vectors of the statements
    inverse: Matrix | None  # None: each query has a regression of its own

    @classmethod
    def learn(
        cls,
        statements: Sequence[Statement],
        candidates: Candidates,
        settings: RidgeSettings,
        analyzer: Analyzer,
    ) -> References:
        """Learn from statements; references to anything but candidates are ignored."""
        texts = [statement.text for statement in statements]
        vectors, rows = TextVectors.fit(texts, settings.kernel, analyzer)
        inverse = None
        if len(statements) <= MOST_WHOLE:
            with threadpool_limits(1, "blas"):  # so that sums depend on no number of threads
                inverse = inverse_for(rows, settings.penalty)

        references = [statement.references for statement in statements]
        return cls(
            settings=settings,
            statements=[statement.statement_id for statement in statements],
            digests=[_digest(text) for text in texts],
            candidates=candidates,
            references=incidence(references, candidates),
            vectors=vectors,
            rows=rows,
            inverse=inverse,
        )

    def save(self, directory: Path) -> None:
        """Save everything that the settings do not determine."""
        directory.mkdir()
        write_arrays(directory / _FREQUENCIES, self.vectors.frequencies)
        write_matrix(directory / _ROWS, self.rows)
        write_matrix(directory / _REFERENCES, self.references)
        write_arrays(directory / _IDS, self.statements, self.digests, self.candidates.ids)
        if self.inverse is not None:
            write_arrays(directory / _INVERSE, self.inverse)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> References:
        """Read what `save` wrote."""
        rows = read_matrix(directory / _ROWS)
        frequencies = read_array(directory / _FREQUENCIES)
        vectors = TextVectors(settings.kernel, analyzer, rows.shape[0], frequencies)

        statements, digests, candidates = (ids.tolist() for ids in read_arrays(directory / _IDS))
        inverse = None
        path = directory / _INVERSE
        if path.is_file():
            inverse = read_array(path)
        return cls(
            settings=settings,
            statements=statements,
            digests=digests,
            candidates=Candidates(candidates),
            references=read_matrix(directory / _REFERENCES),
            vectors=vectors,
            rows=rows,
            inverse=inverse,
        )

    @property
    def block(self) -> int:
        """How many queries to rank at a time."""
        widest = max(len(self.statements), len(self.candidates.ids))
        return max(1, min(BLOCK, _SCORES // widest))

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each statement by its id."""
        rows = range(len(self.statements))
        return dict(zip(self.statements, rows, strict=True))

    def with_text(self, text: str) -> list[int]:
        """Return the rows of the statements that have this text, apart from white space."""
        return self._rows_of_digest.get(_digest(text), [])

    @cached_property
    def _rows_of_digest(self) -> dict[str, list[int]]:
        rows = dict[str, list[int]]()
        for row, digest in enumerate(self.digests):
            rows.setdefault(digest, []).append(row)
        return rows

    @cached_property
    def _targets(self) -> sparse.csr_matrix:
        own_ids = [(statement,) for statement in self.statements]
        own = incidence(own_ids, self.candidates)
        return self.references + own * self.settings.self_citation

    @cached_property
    def _citations(self) -> Matrix:
        counts = self.references.sum(axis=0)
        return np.asarray(np.log1p(counts))

    @cached_property
    def _profiles(self) -> sparse.csr_matrix:
        """Statements × candidates: the weight of each statement in the profile of a candidate."""
        lengths = np.zeros(len(self.candidates.ids))
        cited_by = self.references.T.tocsr()
        for start in range(0, len(lengths), _PROFILES):
            some = slice(start, start + _PROFILES)
            profiles = cited_by[some] @ self.rows
            lengths[some] = row_lengths(profiles)

        lengths[lengths == 0] = 1
        return self.references @ sparse.diags(1 / lengths)

    def queries(
        self, texts: Sequence[str], hidden: Sequence[Sequence[int]], near: bool = False
    ) -> Queries:
        """Return texts as queries; each learns from all statements but its `hidden` rows.

        With `near`, each query always gets its own regression over the statements nearest to it,
        which takes the same time for any number of hidden rows.
        """
        vectors = self.vectors(texts)
        similarity = gram(vectors, self.rows)
        for query, rows in enumerate(hidden):
            similarity[query, list(rows)] = 0

        # In one thread, so that sums depend on no number of threads. Small matrices are several
        # times as cheap.
        with threadpool_limits(1, "blas"):
            if near or self.inverse is None:
                influence = near_influence(similarity, self.rows, self.settings.penalty)
            else:
                influence = whole_influence(similarity, self.inverse, hidden)
        return Queries(vectors, similarity, influence)

    def parts(self, queries: Queries) -> dict[str, Matrix]:
        """Return the parts of the scores, queries × candidates, each scaled to 1 at most."""
        number = len(queries.similarity)
        parts = {
            "ridge": np.asarray(queries.influence @ self._targets),
            "profile": np.asarray(queries.similarity @ self._profiles),
            "citations": np.repeat(self._citations, number, axis=0),
        }
        return {name: scaled(scores) for name, scores in parts.items()}


def _digest(text: str) -> str:
    words = " ".join(text.split())
    encoded = words.encode("utf-8", "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:32]


def incidence(ids: Sequence[Iterable[str]], candidates: Candidates) -> sparse.csr_matrix:
    """Return rows × candidates, 1 where a row has the id of the candidate."""
    rows = []
    columns = []
    for row, ids_of_row in enumerate(ids):
        for candidate in ids_of_row:
            column = candidates.position.get(candidate)
            if column is not None:
                rows.append(row)
                columns.append(column)

    shape = (len(ids), len(candidates.ids))
    ones = np.ones(len(rows))
    places = np.array(rows, int), np.array(columns, int)
    return sparse.csr_matrix((ones, places), shape)


def scaled(scores: Matrix) -> Matrix:
    """Divide each row by its greatest score."""
    greatest = scores.max(axis=-1, keepdims=True)
    divisors = np.where(greatest > 0, greatest, 1)
    return np.asarray(scores / divisors)
