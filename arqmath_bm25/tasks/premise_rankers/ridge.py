"""Premises by kernel ridge regression of what people cited in the training set.

score = ridge + profile · (profile) + text · (text) + citations · log(1 + number of citations), each
part of `evidence.py` divided by its greatest value for the query. `ridge` puts the right premises
first; the others, with little weight, find more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.tasks.premise_rankers.evidence import scaled
from arqmath_bm25.tasks.premise_rankers.supervised import Supervised

if TYPE_CHECKING:
    from arqmath_bm25.tasks.premise_rankers.evidence import Evidence, Queries
    from arqmath_bm25.tasks.premise_rankers.kernel import Matrix
    from arqmath_bm25.tasks.premise_rankers.model import Model
    from arqmath_bm25.tasks.premise_rankers.settings import Parts


class Ridge(Supervised):
    """Ranks premises by the regression, profiles, texts and citations."""

    def __init__(self, model: Model, variant: Parts) -> None:
        super().__init__(model)
        self.variant = variant

    def scores(self, evidence: Evidence, queries: Queries) -> Matrix:
        """Return queries × candidates."""
        return (
            scaled(evidence.ridge(queries))
            + self.variant.profile * scaled(evidence.profile(queries))
            + self.variant.text * scaled(queries.text)
            + self.variant.citations * scaled(evidence.citations)
        )
