"""The baseline of the shared task: cosines of tf-idf vectors.

`baseline_tfidf.py` of the shared task fits scikit-learn's TfidfVectorizer on the texts of the
premises, without any option (words of two and more characters, lower case, no stop words, smoothed
idf, L2 norm), and sorts all premises for every statement by cosine distance. Its sort leaves the
order of ties to chance. Here the similarities are computed for a block of statements at a time, so
that memory does not grow with statements x premises, and only the best premises are sorted.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from arqmath_bm25.collection.premises import Premise
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.tasks.cited.candidates import BLOCK, CandidateRanking, Candidates


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

    def rank(self, statements: Sequence[Statement], depth: int) -> Iterator[CandidateRanking]:
        """Yield the `depth` best premises of every statement."""
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            vectors = self._vectorizer.transform(statement.text for statement in block)
            # Terms x statements, dense: a row of it is added for every term of a premise.
            similarities = self._premises @ np.ascontiguousarray(vectors.T.toarray())
            for scores in np.ascontiguousarray(similarities.T):
                yield self._candidates.best(scores, depth)
