"""The premises to choose from, and the baseline of the shared task: cosines of tf-idf vectors.

A method gives every candidate a score. The best come first; ties are ordered by descending id, as
in all rankings of the package. So every candidate has a rank: those that match nothing come last.

The baseline is `baseline_tfidf.py`, which fits scikit-learn's TfidfVectorizer on the texts of the
premises, without any option (words of two and more characters, lower case, no stop words, smoothed
idf, L2 norm), and sorts all premises for every statement by cosine distance. Its sort leaves the
order of ties to chance. Here the similarities are computed for a block of statements at a time, so
that memory does not grow with statements x premises, and only the best premises are sorted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.collection.premises import Premise, Statement
from arqmath_bm25.core.system import needed_by

PremiseScores = NDArray[np.float64]  # one for every candidate, in the order of `Candidates.ids`
PremiseRanking = list[tuple[str, float]]  # ids of premises with their scores, the best first

BLOCK: Final = 64  # statements that are ranked at a time; 8 MB of similarities for 16,000 premises
_DECIMALS: Final = 12  # scores that differ less are tied: the rest is rounding
_TIED: Final = 2 * 10.0**-_DECIMALS


class Candidates:
    """The ids of premises to rank."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = sorted(set(ids), reverse=True)
        self.position = {premise_id: place for place, premise_id in enumerate(self.ids)}

    def best(self, scores: PremiseScores, depth: int, last: str = "") -> PremiseRanking:
        """Return the `depth` best candidates, all if there are fewer, scores rounded.

        `last` is an id to put after all others: a statement is no premise of its own proof.
        """
        if last in self.position:
            scores = scores.copy()
            scores[self.position[last]] = -np.inf
        depth = min(depth, len(self.ids))
        least = np.partition(scores, -depth)[-depth]
        among = np.flatnonzero(scores >= least - _TIED)  # more if the last place is tied
        rounded = scores[among].round(_DECIMALS)
        order = np.argsort(-rounded, kind="stable")[:depth]
        ids = [self.ids[place] for place in among[order].tolist()]
        return list(zip(ids, rounded[order].tolist(), strict=True))


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

    def rank(self, statements: Sequence[Statement], depth: int) -> Iterator[PremiseRanking]:
        """Yield the `depth` best premises of every statement."""
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            vectors = self._vectorizer.transform(statement.text for statement in block)
            # Terms x statements, dense: a row of it is added for every term of a premise.
            similarities = self._premises @ np.ascontiguousarray(vectors.T.toarray())
            for scores in np.ascontiguousarray(similarities.T):
                yield self._candidates.best(scores, depth)
