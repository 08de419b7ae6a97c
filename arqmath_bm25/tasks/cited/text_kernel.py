"""Texts as vectors whose inner product is their similarity: a mixture of three kernels.

Each *view* of a text is a bag of terms: 1- to 3-grams of tokens, 5-grams of characters, or stemmed
words. It gives a unit vector of
sublinear tf-idf, (1 + log tf) · (log((1 + N) / (1 + df)) + 1). The views stand side by side, each
times the root of its weight, so the inner product of two texts is the weighted mean of the cosines.
Terms are hashed to columns (MurmurHash3): there is no vocabulary to keep, and a term that no
training text holds still counts in the length of its vector.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.analysis.terms import ngrams
from arqmath_bm25.core.system import needed_by

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.tasks.settings import View

    Matrix = NDArray[np.float64]

_COLUMNS: Final = 1 << 18  # of a view
_TOKEN: Final = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|[^\sA-Za-z]")


class TextVectors:
    """Turns texts into vectors, by the document frequencies of the texts that it was fitted to."""

    def __init__(
        self,
        weights: Mapping[View, float],
        analyzer: Analyzer,
        texts: int,
        frequencies: NDArray[np.int32],
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
        vectors.frequencies = np.concatenate(
            [np.bincount(bag.indices, minlength=_COLUMNS) for bag in bags]
        ).astype(np.int32)
        return vectors, vectors._vectors(bags)

    def __call__(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return texts × columns."""
        return self._vectors(self._bags(texts))

    def _bags(self, texts: Sequence[str]) -> list[sparse.csr_matrix]:
        with needed_by("premise selection", "nlps"):
            from sklearn.feature_extraction import FeatureHasher  # takes a second to import

        views: dict[View, Callable[[str], Sequence[str]]] = {
            "tokens": lambda text: ngrams(_TOKEN.findall(text), 1, 3),
            "characters": lambda text: [text[i : i + 5] for i in range(len(text) - 4)],
            "words": lambda text: self._analyzer(read_title(text)).words.words,
        }
        hasher = FeatureHasher(_COLUMNS, input_type="string", alternate_sign=False)
        return [hasher.transform(map(views[view], texts)) for view in self._weights]

    def _vectors(self, bags: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
        frequencies = np.split(self.frequencies, len(bags))
        idf = [np.log((1 + self._texts) / (1 + part)) + 1 for part in frequencies]
        weighed = zip(bags, idf, self._weights.values(), strict=True)
        return sparse.hstack([_unit(bag, of) * weight**0.5 for bag, of, weight in weighed], "csr")


def _unit(bag: sparse.csr_matrix, idf: Matrix) -> sparse.csr_matrix:
    """Weigh the terms, and divide by the length of each row; an empty row stays 0."""
    bag.data = (1 + np.log(bag.data)) * idf[bag.indices]
    lengths = np.sqrt(np.asarray(bag.multiply(bag).sum(axis=1)).ravel())
    return sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ bag


def gram(left: sparse.csr_matrix, right: sparse.csr_matrix) -> Matrix:
    """Return the inner products of the rows, dense: left rows × right rows."""
    products, columns = np.empty((left.shape[0], right.shape[0])), left.T.tocsr()
    for start in range(0, right.shape[0], 256):  # a sparse product takes three times the room
        some = slice(start, start + 256)
        products[:, some] = (right[some] @ columns).toarray().T
    return products
