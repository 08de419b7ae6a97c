"""NLPS, premise selection: the premises of a statement's proof.

An index holds what was fitted to the training set, in `model/`; no engine searches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import starmap
from pathlib import Path
from threading import Lock
from typing import Any, Final

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.premises import read_premises, read_statements
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError, NoPartsError
from arqmath_bm25.core.labs import PREMISES, SPLITS
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.records import Hit, HitLists, PartLists, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.tasks.cited.text_kernel import words_only
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.premises.premise_ridge import Model, Ridge
from arqmath_bm25.tasks.premises.tfidf import Tfidf
from arqmath_bm25.tasks.settings import NlpsSettings, RidgeVariant
from arqmath_bm25.tasks.task import Found, IndexedTask, OpenIndex, Ranker, TopicFile

_MODEL: Final = "model"


class PremiseSelection(IndexedTask):
    """Premises of a statement."""

    name = "nlps"
    model = NlpsSettings
    settings: NlpsSettings
    title = "Premises"
    example = "Every prime $p > 2$ is odd."
    nothing = "No premise holds a term of this statement."
    topics_are = "statements"
    hits_are = "premise"
    lab = "nlps"
    depth = PREMISES

    @classmethod
    def has_data(cls, collection: Collection) -> bool:
        """Return whether DATA, or DATA/nlps, holds a knowledge base."""
        return collection.premises.has_premises()

    @staticmethod
    def place(collection: Collection) -> str:
        """Return the name of the premise collection."""
        return collection.premises.name

    def sources(self, collection: Collection) -> list[Path]:
        """Return the knowledge base and the training set."""
        return [collection.premises.knowledge_base, collection.premises.train]

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings of the analysis and of the regression."""
        return {**super().recipe, "ridge": self.settings.ridge.model_dump(mode="json")}

    def write_documents(
        self, collection: Collection, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Fit the model to the training set and write it."""
        files = collection.premises
        premises = read_premises(files.knowledge_base)
        training = read_statements(files.train)
        if not any(statement.references for statement in training):
            raise InputError(f"{files.train}: no statement names premises; is this a test set?")

        with status("Learning from the training set"):
            analyzer = words_only(self.settings.analysis.text)
            model = Model.fit(premises, training, self.settings.ridge, analyzer)
            model.save(place / _MODEL)

        cited = set[str]()
        for statement in training:
            cited.update(statement.references)
        return {
            "documents": len(premises),
            "training statements": len(training),
            "premises that these cite": len(cited),
        }

    def topic_files(
        self, collection: Collection, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return sets of statements."""
        files = collection.premises
        sets = list[tuple[str, Path]]()
        for name in chosen or files.splits() or SPLITS[:1]:  # the last says what is missing
            if name in SPLITS:
                sets.append((name, files.statements(name)))
            else:
                sets.append((Path(name).stem, Path(name)))
        return sets

    def read(
        self, collection: Collection, folder: str, path: Path, index: OpenIndex | None = None
    ) -> TopicFile:
        """Read a set of statements."""
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; expected {', '.join(SPLITS)} or a file of "
                "statements in the form of dev_set.json"
            )
        topics = [Topic(each.statement_id, each.text) for each in read_statements(path)]
        return TopicFile(folder, path, topics)

    def judgments(self, collection: Collection, topics: Path) -> Path | None:
        """Return the statements themselves, which name their premises."""
        return topics

    def ranker(self, index: OpenIndex) -> PremiseRanker:
        """Return the ranker of premises."""
        return PremiseRanker(index, self.settings)

    def found(self, hit: Hit, index: OpenIndex) -> Found:
        """Return the text of a premise; none if it is only cited in the training set."""
        return Found(text=index.texts().get(hit.doc_id, ""))

    def texts(self, index: OpenIndex) -> Callable[[], dict[str, str]]:
        """Return what reads the texts of all premises, once."""
        knowledge_base = index.collection.premises.knowledge_base

        @cache
        def texts() -> dict[str, str]:
            return {each.premise_id: each.text for each in read_premises(knowledge_base)}

        return texts

    def find(self, docno: str, index: OpenIndex) -> Hit | None:
        """Return a premise of the knowledge base."""
        if docno in index.texts():
            return Hit(docno, 0)
        return None


class PremiseRanker(Ranker):
    """Ranks premises by the method of each variant."""

    def __init__(self, index: OpenIndex, settings: NlpsSettings) -> None:
        self._index = index
        self._settings = settings
        self._opening = Lock()
        self._methods: dict[str, Tfidf | Ridge] = {}

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` best premises of every statement."""
        statements = list(map(_statement, topics))
        for ranking in self.method(variant).rank(statements, depth):
            yield list(starmap(Hit, ranking))

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return the parts of each score; InputError for methods other than `ridge`."""
        method = self.method(variant)
        if not isinstance(method, Ridge):
            raise NoPartsError(
                f"{variant}: only variants of the method ridge can be explained, whose scores are "
                "sums"
            )
        premises = [hit.doc_id for hit in hits]
        return method.explain(_statement(topic), premises)

    @cached_property
    def training(self) -> list[Statement]:
        """The training set."""
        return read_statements(self._index.collection.premises.train)

    @cached_property
    def model(self) -> Model:
        """What is learnt from the training set."""
        directory = self._index.directory / _MODEL
        analyzer = words_only(self._settings.analysis.text)
        return Model.load(directory, self._settings.ridge, analyzer)

    def method(self, variant: str) -> Tfidf | Ridge:
        """Return the method of a variant, opened once for all threads."""
        chosen = self._settings.variants[variant]
        with self._opening:
            if variant not in self._methods:
                if isinstance(chosen, RidgeVariant):
                    self._methods[variant] = Ridge(self.model, chosen)
                else:
                    knowledge_base = self._index.collection.premises.knowledge_base
                    self._methods[variant] = Tfidf(read_premises(knowledge_base))
            return self._methods[variant]


def _statement(topic: Topic) -> Statement:
    return Statement(topic.topic_id, topic.title, ())
