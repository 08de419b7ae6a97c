"""Premises by BM25 of their own text: words, and n-grams of formulas if the variant weighs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.tasks.queries import field_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.core.records import Part
    from arqmath_bm25.engines.engine import Query, Searcher
    from arqmath_bm25.tasks.premises.rankers.candidates import Candidates, Ranking


class Bm25:
    """Ranks premises by their own text."""

    def __init__(
        self, candidates: Candidates, premises: Searcher, query: Callable[[str], Query]
    ) -> None:
        """`query` turns the text of a statement into terms."""
        self._candidates = candidates
        self._premises = premises
        self._query = query

    def rank(self, statements: Sequence[Statement], depth: int, threads: int) -> Iterator[Ranking]:
        """Yield the `depth` best premises of every statement, itself last if it is a premise."""
        queries = [self._query(statement.text) for statement in statements]
        found = self._premises.search_many(queries, depth + 1, threads)
        for statement, hits in zip(statements, found, strict=True):
            scores = self._candidates.scores(hits)
            yield self._candidates.best(scores, depth, last=statement.statement_id)

    def explain(self, statement: Statement, premises: Sequence[str]) -> list[list[Part]]:
        """Return what each field gave to the scores of premises."""
        found = self._premises.explain(self._query(statement.text), premises)
        return list(map(field_parts, found))
