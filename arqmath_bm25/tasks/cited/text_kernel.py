"""Texts as vectors whose inner product is their similarity: a mixture of three kernels.

Each *view* of a text is a bag of terms: 1- to 3-grams of tokens, 5-grams of characters, or stemmed
words. It gives a unit vector of sublinear tf-idf, (1 + log tf) · (log((1 + N) / (1 + df)) + 1). The
vectors of the views are concatenated, each times the root of its weight, so the inner product of
two texts is the weighted mean of the cosines.
Terms are hashed to columns (MurmurHash3): there is no vocabulary to keep, and a term that no
training text holds still counts in the length of its vector.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.analysis.settings import AnalysisSettings, TextSettings
from arqmath_bm25.analysis.terms import ngrams
from arqmath_bm25.core.arrays import Floats, Int32s
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.tested import read_arrays, write_arrays
from arqmath_bm25.tasks.settings import View

Matrix = Floats

_COLUMNS = 1 << 18  # of a view
_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|[^\sA-Za-z]")


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
