"""A ranking that learns from training statements, and can do without some of them to be tested."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.tasks.premises.rankers.candidates import Ranking
    from arqmath_bm25.tasks.premises.rankers.evidence import Evidence, Queries
    from arqmath_bm25.tasks.premises.rankers.kernel import Matrix
    from arqmath_bm25.tasks.premises.rankers.model import Model


class Supervised(ABC):
    """Ranks by the evidence of a model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @abstractmethod
    def scores(self, evidence: Evidence, queries: Queries) -> Matrix:
        """Return queries × candidates."""

    def rank(self, statements: Sequence[Statement], depth: int, threads: int) -> Iterator[Ranking]:
        """Yield the `depth` best premises of every statement, itself last if it is a premise."""
        yield from self._best(self._evidence, self._model.queries(statements), depth)

    def rank_hidden(self, fold: NDArray[np.int64], depth: int) -> Iterator[Ranking]:
        """Yield the same for a fold of the training statements, none of which is seen."""
        yield from self._best(self._model.evidence(fold), self._model.hidden(fold), depth)

    @cached_property
    def _evidence(self) -> Evidence:
        return self._model.evidence()

    def _best(
        self,
        evidence: Evidence,
        blocks: Iterable[tuple[Sequence[Statement], Queries]],
        depth: int,
    ) -> Iterator[Ranking]:
        for block, queries in blocks:
            for statement, scores in zip(block, self.scores(evidence, queries), strict=True):
                yield self._model.candidates.best(scores, depth, last=statement.statement_id)
