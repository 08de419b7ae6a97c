"""Premises by what is learnt from the training set (`tasks/cited`), and by their own texts.

The score is the sum of the parts that are learnt and of the similarity of the statement to the
premise's own text, which finds what nobody cited yet; each part has its weight, of `ridge` 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.premises import Premise
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.records import Part
from arqmath_bm25.tasks.cited.candidates import BLOCK, CandidateRanking, Candidates
from arqmath_bm25.tasks.cited.ridge import References, scaled
from arqmath_bm25.tasks.cited.text_kernel import gram
from arqmath_bm25.tasks.settings import RidgeSettings, RidgeVariant

if TYPE_CHECKING:
    from arqmath_bm25.tasks.cited.ridge import Queries
    from arqmath_bm25.tasks.cited.text_kernel import Matrix

_LEARNT, _TEXTS = "learnt", "candidates.npz"
_UNHIDDEN: Final = ()


@dataclass(frozen=True)
class Model:
    """What is learnt from a training set, and the vectors of the premises' own texts."""

    learnt: References
    texts: sparse.csr_matrix  # of all candidates, empty where the text is not known

    @classmethod
    def fit(
        cls,
        premises: Sequence[Premise],
        training: Sequence[Statement],
        settings: RidgeSettings,
        analyzer: Analyzer,
    ) -> Model:
        """Learn from a training set.

        Candidates are the premises and all ids that training statements cite.
        """
        texts = {premise.premise_id: premise.text for premise in premises}
        cited = [premise for statement in training for premise in statement.references]
        candidates = Candidates([*texts, *cited])
        learnt = References.learn(training, candidates, settings, analyzer)
        own_texts = [texts.get(premise, "") for premise in candidates.ids]
        return cls(learnt, learnt.vectors(own_texts))

    def save(self, directory: Path) -> None:
        """Save everything that the settings do not determine."""
        directory.mkdir()
        self.learnt.save(directory / _LEARNT)
        sparse.save_npz(directory / _TEXTS, self.texts, compressed=False)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> Model:
        """Read what `save` wrote."""
        learnt = References.load(directory / _LEARNT, settings, analyzer)
        return cls(learnt, sparse.load_npz(directory / _TEXTS))


class Ridge:
    """Ranks premises by learnt references and by their texts."""

    def __init__(self, model: Model, variant: RidgeVariant) -> None:
        self.model = model
        self._variant = variant

    def rank(
        self, statements: Sequence[Statement], depth: int, hidden: Sequence[int] = _UNHIDDEN
    ) -> Iterator[CandidateRanking]:
        """Yield the `depth` best premises of every statement, itself last if it is a premise.

        A statement of the training set is ranked as if it were not in it; `hidden` are further
        rows of the training set that no statement learns from.
        """
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            scores = sum(self._parts(block, self._queries(block, hidden)).values())
            for statement, row in zip(block, np.asarray(scores), strict=True):
                candidates = self.model.learnt.candidates
                yield candidates.best(row, depth, last=statement.statement_id)

    def explain(self, statement: Statement, premises: Sequence[str]) -> list[list[Part]]:
        """Return the contribution of each part to the scores of premises."""
        parts = self._parts([statement], self._queries([statement], _UNHIDDEN))
        explained = []
        for premise in premises:
            place = self.model.learnt.candidates.position[premise]
            explained.append([Part(name, float(part[0, place])) for name, part in parts.items()])
        return explained

    def _parts(self, block: Sequence[Statement], queries: Queries) -> dict[str, Matrix]:
        """Return the weighted parts of the score, statements × candidates."""
        learnt, variant = self.model.learnt, self._variant
        texts = gram(queries.vectors, self.model.texts)
        for n, statement in enumerate(block):
            own = learnt.candidates.position.get(statement.statement_id)
            if own is not None:
                texts[n, own] = 0

        parts = learnt.parts(queries)
        return {
            "ridge": parts["ridge"],
            "profile": variant.profile * parts["profile"],
            "text": variant.text * scaled(texts),
            "citations": variant.citations * parts["citations"],
        }

    def _queries(self, block: Sequence[Statement], hidden: Sequence[int]) -> Queries:
        rows = self.model.learnt.row
        hidden_from = []
        for statement in block:
            own = rows.get(statement.statement_id)
            more = [own] if own is not None and own not in hidden else []
            hidden_from.append([*hidden, *more])
        return self.model.learnt.queries([statement.text for statement in block], hidden_from)
