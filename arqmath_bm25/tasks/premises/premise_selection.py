"""NLPS, premise selection: the premises of a statement's proof.

An index has the premises, and in `model/` what was fitted to the training set.
"""

from __future__ import annotations

from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.premises import Premise, Statement, read_premises, read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import DOCUMENTS
from arqmath_bm25.core.labs import PREMISES, SPLITS
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.tasks.document_parts import write_parts
from arqmath_bm25.tasks.premises.premise_documents import MATH, premise_documents
from arqmath_bm25.tasks.premises.rankers.bm25 import Bm25
from arqmath_bm25.tasks.premises.rankers.candidates import Candidates
from arqmath_bm25.tasks.premises.rankers.folds import folds
from arqmath_bm25.tasks.premises.rankers.learned import Learned, learn
from arqmath_bm25.tasks.premises.rankers.model import Fitted, Model
from arqmath_bm25.tasks.premises.rankers.ridge import Ridge
from arqmath_bm25.tasks.premises.rankers.settings import (
    Bm25Variant,
    NlpsSettings,
    RidgeVariant,
    TfidfVariant,
)
from arqmath_bm25.tasks.premises.rankers.tfidf import Tfidf
from arqmath_bm25.tasks.premises.submission import write_submission
from arqmath_bm25.tasks.queries import topic_query
from arqmath_bm25.tasks.task import Shown, Store, Task, TopicSet, begin

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from arqmath_bm25.analysis.settings import AnalysisSettings
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.engines.documents import Document
    from arqmath_bm25.engines.engine import Query
    from arqmath_bm25.tasks.document_parts import Form
    from arqmath_bm25.tasks.index import Index
    from arqmath_bm25.tasks.premises.rankers.candidates import Ranking

_MODEL: Final = "model"
_LEARNED: Final = "learned.npy"


class PremiseSelection(Task[NlpsSettings]):
    """Premises of a statement."""

    name: ClassVar[str] = "nlps"
    model = NlpsSettings
    title = "Premises"
    example = "Every prime $p > 2$ is odd."
    nothing = "No premise holds a term of this statement."
    topics_are = "statements"
    hits_are = "premise"
    lab = "nlps"
    depth = PREMISES

    @classmethod
    def has_data(cls, collection: Collection) -> bool:
        """Tell whether DATA, or DATA/nlps, holds a knowledge base."""
        return collection.premises.has_premises()

    @staticmethod
    def place(collection: Collection) -> str:
        """Return the name of the premise collection."""
        return collection.premises.name

    def sources(self, collection: Collection) -> list[Path]:
        """Return the knowledge base and the training set."""
        return [collection.premises.knowledge_base, collection.premises.train]

    @property
    def analysis(self) -> dict[str, Any]:
        """The settings of the analysis and of the regression."""
        return {**super().analysis, "ridge": self.settings.ridge.model_dump(mode="json")}

    @property
    def stores(self) -> Mapping[str, Store]:
        """An index of the premises."""
        return {"premises": Store((MATH,), "premises")}

    def write_documents(
        self, collection: Collection, place: Path, workers: Workers, forms: Sequence[Form]
    ) -> dict[str, int]:
        """Write the premises, and what is learned from the training set."""
        files = collection.premises
        premises, training = read_premises(files.knowledge_base), read_statements(files.train)
        if not any(statement.premises for statement in training):
            raise InputError(f"{files.train}: no statement names premises; is this a test set?")
        job = _Part(premises, self.settings.analysis)
        (counted,) = write_parts(_documents, [job], place / DOCUMENTS, workers, forms)
        with status("Learning from the training set"):
            analyzer = Analyzer(self.settings.analysis)
            model = Model(premises, training, self.settings.ridge, analyzer)
            model.fitted.save(place / _MODEL)
            np.save(place / _MODEL / _LEARNED, learn(model, folds(training)))
        return {
            "premises": counted["documents"],
            "statements": len(training),
            "cited": len({premise for statement in training for premise in statement.premises}),
        }

    def account(self, counts: Mapping[str, int]) -> str:
        """Say how much there is, and whether all of the training set was learned from."""
        account = (
            f"{counts['premises']:,} premises, {counts['statements']:,} training "
            f"statements, which cite {counts['cited']:,} premises"
        )
        if counts["statements"] > (landmarks := self.settings.ridge.landmarks):
            account += f"; ridge.landmarks: {landmarks:,} of the statements stand for all"
        return account

    def topic_files(
        self, collection: Collection, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return sets of statements."""
        files = collection.premises
        found: list[tuple[str, Path]] = []
        for name in chosen or files.splits() or SPLITS[:1]:  # the last says what is missing
            split = next((split for split in SPLITS if split == name), None)
            found.append(
                (name, files.statements(split)) if split else (Path(name).stem, Path(name))
            )
        return found

    def read(self, collection: Collection, folder: str, path: Path) -> TopicSet:
        """Read a set of statements."""
        if not path.is_file():
            raise InputError(
                f"--topics {path}: no such file; expected {', '.join(SPLITS)} or a file of "
                "statements in the form of dev_set.json"
            )
        statements = read_statements(path)
        return TopicSet(folder, path, [Topic(s.statement_id, s.text) for s in statements])

    @property
    def primary(self) -> str:
        """The variant for those who do not choose."""
        return self.settings.primary

    def run_name(self, variant: str) -> str:
        """Return the name of a run, which the shared task does not prescribe."""
        return variant

    def ranker(self, index: Index) -> PremiseRanker:
        """Return what ranks premises."""
        return PremiseRanker(index, self.settings)

    def finish(self, run: Path, folder: str, topics: int, rows: int) -> Iterator[str]:
        """Write the zip file for CodaLab, if the shared task would accept the run."""
        submission = run.with_suffix(".zip")
        submission.unlink(missing_ok=True)  # of an earlier run
        if rows < PREMISES * topics:
            yield (
                f"note: these runs have fewer than {PREMISES} premises for a statement; the shared "
                "task's evaluation would refuse them"
            )
        elif folder == "test":
            write_submission(submission, run)
            yield f"{submission}: for CodaLab"

    def shown(self, hit: Hit, collection: Collection) -> Shown:
        """Return a premise with its text."""
        text = self.full_text(hit, collection)
        text = text or "(cited in the training set; its text is not known)"
        return Shown(hit.doc_id, aside=f"{hit.score:.3f}", text=begin(text))

    def find(self, docno: str, index: Index) -> Hit | None:
        """Return a premise of the knowledge base."""
        texts = _texts(index.collection.premises.knowledge_base)
        return Hit(docno, 0) if docno in texts else None

    def full_text(self, hit: Hit, collection: Collection) -> str:
        """Return a premise; nothing if its text is not known."""
        return _texts(collection.premises.knowledge_base).get(hit.doc_id, "")


@lru_cache(maxsize=1)
def _texts(knowledge_base: Path) -> dict[str, str]:
    return {premise.premise_id: premise.text for premise in read_premises(knowledge_base)}


class _Part(NamedTuple):
    """All documents."""

    premises: list[Premise]
    settings: AnalysisSettings


def _documents(part: _Part, counts: Counter[str]) -> Iterator[Document]:
    yield from premise_documents(part.premises, Analyzer(part.settings))


class PremiseRanker:
    """Ranks premises by the method of each variant."""

    def __init__(self, index: Index, settings: NlpsSettings) -> None:
        knowledge_base, train = index.task.sources(index.collection)
        self._premises, self.training = read_premises(knowledge_base), read_statements(train)
        self._index = index
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._opening = Lock()
        self.method = cache(self._open)

    def rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int
    ) -> Iterator[list[Hit]]:
        """Yield the `depth` best premises of every statement, all if there are fewer."""
        statements = [Statement(topic.topic_id, topic.title, ()) for topic in topics]
        with self._opening:
            method = self.method(variant)
        rankings: Iterator[Ranking] = method.rank(statements, depth, threads)
        for ranking in rankings:
            yield [Hit(premise_id, score) for premise_id, score in ranking]

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return what fields (bm25) or kinds of evidence (ridge) gave; others raise InputError."""
        if not isinstance(self._settings.variants[variant], Bm25Variant | RidgeVariant):
            raise InputError(
                f"{variant}: its scores are no sums; those of the methods bm25 and ridge are, and "
                "can be explained"
            )
        with self._opening:
            method: Any = self.method(variant)
        found: list[list[Part]] = method.explain(
            Statement(topic.topic_id, topic.title, ()), [hit.doc_id for hit in hits]
        )
        return found

    @cached_property
    def model(self) -> Model:
        """What was learned from the training set."""
        ridge = self._settings.ridge
        fitted = Fitted.load(self._index.directory / _MODEL, ridge, self._analyzer)
        return Model(self._premises, self.training, ridge, fitted)

    def _open(self, variant: str) -> Tfidf | Bm25 | Ridge:
        chosen = self._settings.variants[variant]
        if isinstance(chosen, TfidfVariant):
            return Tfidf(self._premises)
        if isinstance(chosen, Bm25Variant):
            weights = {str(field): weight for field, weight in chosen.fields.items()}
            known = Candidates(premise.premise_id for premise in self._premises)
            return Bm25(known, self._index.searcher("premises"), partial(self._query, weights))
        if isinstance(chosen, RidgeVariant):
            return Ridge(self.model, chosen)
        return Learned(self.model, chosen, np.load(self._index.directory / _MODEL / _LEARNED))

    def _query(self, weights: dict[str, float], text: str) -> Query:
        saturation = self._settings.query.saturation
        return topic_query(Topic("", text), self._analyzer, weights, saturation)
