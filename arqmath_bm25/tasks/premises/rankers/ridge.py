"""Premises by kernel ridge regression of what people cited in the training set.

score = ridge + profile · (profile) + text · (text) + citations · log(1 + number of citations), each
part of `evidence.py` divided by its greatest value for the query. `ridge` puts the right premises
first; the others, with little weight, find more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.core.records import Part
from arqmath_bm25.tasks.premises.rankers.evidence import scaled
from arqmath_bm25.tasks.premises.rankers.supervised import Supervised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.tasks.premises.rankers.evidence import Evidence, Queries
    from arqmath_bm25.tasks.premises.rankers.kernel import Matrix
    from arqmath_bm25.tasks.premises.rankers.model import Model
    from arqmath_bm25.tasks.premises.rankers.settings import Parts


class Ridge(Supervised):
    """Ranks premises by the regression, profiles, texts and citations."""

    def __init__(self, model: Model, variant: Parts) -> None:
        super().__init__(model)
        self.variant = variant

    def scores(self, evidence: Evidence, queries: Queries) -> Matrix:
        """Return queries × candidates."""
        return sum(self._parts(evidence, queries).values(), np.zeros(1))

    def explain(self, statement: Statement, premises: Sequence[str]) -> list[list[Part]]:
        """Return what each kind of evidence gave to the scores of premises."""
        ((_, queries),) = self._model.queries([statement])
        parts = self._parts(self._evidence, queries)
        places = [self._model.candidates.position[premise] for premise in premises]
        return [
            [Part(name, float(np.atleast_2d(part)[0, at])) for name, part in parts.items()]
            for at in places
        ]

    def _parts(self, evidence: Evidence, queries: Queries) -> dict[str, Matrix]:
        return {
            "ridge": scaled(evidence.ridge(queries)),
            "profile": self.variant.profile * scaled(evidence.profile(queries)),
            "text": self.variant.text * scaled(queries.text),
            "citations": self.variant.citations * scaled(evidence.citations),
        }
