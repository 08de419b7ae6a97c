"""Premises by what the training set tells about them: a supervised ranking.

The score of a premise p for a statement q is a weighted sum of four parts, each divided by its
greatest value for q:

* votes: every training statement s among the nearest `neighbours` of q by BM25 gives
  (BM25(q, s) / BM25(q, nearest))^sharpness to the premises that it cites;
* profile: BM25 between q and the texts of all training statements that cite p, as one text;
* text: BM25 between q and p's own text, the one part that a premise never cited has;
* citations: log(1 + number of training statements that cite p).

Votes of neighbours are the k-NN premise selection of automated reasoning (Kaliszyk and Urban 2013,
"Stronger automation for Flyspeck by feature weighting and strategy evolution"), with BM25 for the
similarity. Candidates are the knowledge base and every premise that a training statement cites.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.config import SupervisedVariant
    from arqmath_bm25.lucene.search import Hit, Query, Searcher
    from arqmath_bm25.retrieval.nlps_ranking import Candidates, Ranking, Scores

_BLOCK: Final = 64  # statements whose hits are in memory at a time
_SEARCHED: Final = 500  # premises that each of the two searches among them returns


class Supervised:
    """Ranks premises by the votes of similar statements, their profiles, texts and citations."""

    def __init__(
        self,
        candidates: Candidates,
        premises: Searcher,
        statements: Searcher,
        profiles: Searcher,
        training: Sequence[Statement],
        query: Callable[[str], Query],
        variant: SupervisedVariant,
    ) -> None:
        """`candidates` must hold every premise that `training` cites."""
        self._candidates = candidates
        self._premises = premises
        self._statements = statements
        self._profiles = profiles
        self._query = query
        self._variant = variant
        self._neighbours = variant.neighbours
        self._cited = {
            statement.statement_id: [candidates.position[p] for p in statement.premises]
            for statement in training
        }
        citations = Counter(p for statement in training for p in statement.premises)
        self._citations = _scaled(np.log1p(candidates.scores(citations.items())))

    def rank(self, statements: Sequence[Statement], depth: int, threads: int) -> Iterator[Ranking]:
        """Yield the `depth` best premises of every statement, itself last if it is a premise."""
        for start in range(0, len(statements), _BLOCK):
            block = statements[start : start + _BLOCK]
            queries = [self._query(statement.text) for statement in block]
            # One neighbour more: a statement must not vote for itself.
            neighbours = self._statements.search_many(queries, self._neighbours + 1, threads)
            profiles = self._profiles.search_many(queries, _SEARCHED, threads)
            texts = self._premises.search_many(queries, _SEARCHED, threads)
            for statement, near, profile, text in zip(
                block, neighbours, profiles, texts, strict=True
            ):
                itself = statement.statement_id
                others = [hit for hit in near if hit.doc_id != itself][: self._neighbours]
                scores = self._scores(others, profile, text)
                yield self._candidates.best(scores, depth, last=itself)

    def _scores(
        self, neighbours: Sequence[Hit], profile: Sequence[Hit], text: Sequence[Hit]
    ) -> Scores:
        weights, scores = self._variant, self._candidates.scores
        return (
            weights.votes * _scaled(self._votes(neighbours))
            + weights.profile * _scaled(scores(profile))
            + weights.text * _scaled(scores(text))
            + weights.citations * self._citations
        )

    def _votes(self, neighbours: Sequence[Hit]) -> Scores:
        votes = np.zeros(len(self._candidates))
        for neighbour in neighbours:
            weight = (neighbour.score / neighbours[0].score) ** self._variant.sharpness
            votes[self._cited[neighbour.doc_id]] += weight
        return votes


def _scaled(scores: Scores) -> Scores:
    """Divide by the greatest score."""
    greatest = scores.max()
    return scores / greatest if greatest > 0 else scores
