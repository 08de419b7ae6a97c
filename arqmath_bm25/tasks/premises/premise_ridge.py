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
from arqmath_bm25.core.records import Part, PartLists
from arqmath_bm25.core.tested import open_bytes, write_checksums
from arqmath_bm25.tasks.cited.candidates import BLOCK, CandidateRanking, Candidates
from arqmath_bm25.tasks.cited.ridge import Queries, References, scaled
from arqmath_bm25.tasks.cited.text_kernel import gram
from arqmath_bm25.tasks.settings import RidgeSettings, RidgeVariant

if TYPE_CHECKING:
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
        ids = list(texts)
        for statement in training:
            ids += statement.references

        candidates = Candidates(ids)
        learnt = References.learn(training, candidates, settings, analyzer)
        own_texts = [texts.get(premise, "") for premise in candidates.ids]
        return cls(learnt, learnt.vectors(own_texts))

    def save(self, directory: Path) -> None:
        """Save everything that the settings do not determine."""
        directory.mkdir()
        self.learnt.save(directory / _LEARNT)
        sparse.save_npz(directory / _TEXTS, self.texts, compressed=False)
        write_checksums(directory / _TEXTS)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> Model:
        """Read what `save` wrote."""
        learnt = References.load(directory / _LEARNT, settings, analyzer)
        texts = sparse.load_npz(open_bytes(directory / _TEXTS))
        return cls(learnt, texts)


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
        candidates = self.model.learnt.candidates
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            queries = self._queries(block, hidden)
            parts = self._parts(block, queries)
            scores = np.asarray(sum(parts.values()))
            for statement, row in zip(block, scores, strict=True):
                yield candidates.best(row, depth, last=statement.statement_id)

    def explain(self, statement: Statement, premises: Sequence[str]) -> PartLists:
        """Return the contribution of each part to the scores of premises."""
        queries = self._queries([statement], _UNHIDDEN)
        parts = self._parts([statement], queries)
        position = self.model.learnt.candidates.position
        explained = []
        for premise in premises:
            place = position[premise]
            explained.append([Part(name, float(of[0, place])) for name, of in parts.items()])

        return explained

    def _parts(self, block: Sequence[Statement], queries: Queries) -> dict[str, Matrix]:
        """Return the weighted parts of the score, statements × candidates."""
        learnt = self.model.learnt
        variant = self._variant
        position = learnt.candidates.position
        texts = gram(queries.vectors, self.model.texts)
        for row, statement in enumerate(block):
            own = position.get(statement.statement_id)
            if own is not None:
                texts[row, own] = 0

        parts = learnt.parts(queries)
        return {
            "ridge": parts["ridge"],
            "profile": variant.profile * parts["profile"],
            "text": variant.text * scaled(texts),
            "citations": variant.citations * parts["citations"],
        }

    def _queries(self, block: Sequence[Statement], hidden: Sequence[int]) -> Queries:
        learnt = self.model.learnt
        texts = []
        hidden_from = []
        for statement in block:
            rows = list(hidden)
            own = learnt.row.get(statement.statement_id)
            if own is not None and own not in hidden:
                rows.append(own)
            texts.append(statement.text)
            hidden_from.append(rows)

        return learnt.queries(texts, hidden_from)
