"""The baseline of the shared task, `baseline_tfidf.py`: cosine similarity of tf-idf vectors.

The script fits scikit-learn's TfidfVectorizer on the texts of the premises, without any option
(words of two and more characters, lower case, no stop words, smoothed idf, L2 norm), and sorts all
premises for every statement by cosine distance. Its sort leaves the order of ties to chance. Here
the similarities are computed for a block of statements at a time, so that memory does not grow with
statements x premises, and only the best premises are sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.core.system import needed_by
from arqmath_bm25.tasks.premises.candidates import Candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.collection.premises import Premise, Statement
    from arqmath_bm25.tasks.premises.candidates import Ranking

_BLOCK: Final = 64  # statements; 8 MB of similarities for 16,000 premises


class Tfidf:
    """Ranks premises by the similarity of their text to a statement."""

    def __init__(self, premises: Sequence[Premise]) -> None:
        with needed_by("premise selection", "nlps"):
            from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second to import

        self._candidates = Candidates(premise.premise_id for premise in premises)
        texts = {premise.premise_id: premise.text for premise in premises}
        self._vectorizer = TfidfVectorizer()
        self._premises = self._vectorizer.fit_transform(
            texts[premise_id] for premise_id in self._candidates.ids
        )

    def rank(self, statements: Sequence[Statement], depth: int, threads: int) -> Iterator[Ranking]:
        """Yield the `depth` best premises of every statement; one thread does it."""
        for start in range(0, len(statements), _BLOCK):
            block = statements[start : start + _BLOCK]
            vectors = self._vectorizer.transform(statement.text for statement in block)
            # Terms x statements, dense: a row of it is added for every term of a premise.
            similarities = self._premises @ np.ascontiguousarray(vectors.T.toarray())
            for scores in np.ascontiguousarray(similarities.T):
                yield self._candidates.best(scores, depth)
