"""NLPS, premise selection: the premises of a statement's proof.

An index holds what was fitted to the training set, in `model/`; no engine searches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import starmap
from pathlib import Path
from threading import Lock

import numpy as np
from scipy import sparse

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.premises import Premise, read_premises, read_statements
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError, NoPartsError
from arqmath_bm25.core.labs import PREMISES, SPLITS
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.records import Hit, HitLists, Part, PartLists, Topic
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.tasks.cited.candidates import BLOCK, CandidateRanking, Candidates
from arqmath_bm25.tasks.cited.ridge import (
    Matrix,
    Queries,
    References,
    gram,
    read_matrix,
    scaled,
    words_only,
    write_matrix,
)
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.settings import NlpsSettings, RidgeSettings, RidgeVariant
from arqmath_bm25.tasks.task import Found, IndexedTask, Ranker, SearchedIndex

_MODEL = "model"
_LEARNT, _TEXTS = "learnt", "candidates.arrays"


class PremiseSelection(IndexedTask):
    """Premises of a statement."""

    name = "nlps"
    decisive = ("ridge",)
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
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether DATA, or DATA/nlps, holds a knowledge base."""
        return collection.premises.has_premises()

    @staticmethod
    def place(collection: CollectionFiles) -> str:
        """Return the name of the premise collection."""
        return collection.premises.name

    def sources(self, collection: CollectionFiles) -> list[Path]:
        """Return the knowledge base and the training set."""
        return [collection.premises.knowledge_base, collection.premises.train]

    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
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
        self, collection: CollectionFiles, chosen: Sequence[str] | None = None
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
        self, collection: CollectionFiles, path: Path, index: SearchedIndex | None = None
    ) -> list[Topic]:
        """Read a set of statements."""
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; expected {', '.join(SPLITS)} or a file of "
                "statements in the form of dev_set.json"
            )
        return [Topic(each.statement_id, each.text) for each in read_statements(path)]

    def judgments(self, collection: CollectionFiles, topics: Path) -> Path | None:
        """Return the statements themselves, which name their premises."""
        return topics

    def tag(self, variant: str) -> str:
        """Return the variant, as the shared task had no names of runs."""
        return variant

    def ranker(self, index: SearchedIndex) -> PremiseRanker:
        """Return the ranker of premises."""
        return PremiseRanker(index, self.settings)

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        """Return the text of a premise; none if it is only cited in the training set."""
        return Found(text=index.texts().get(hit.doc_id, ""))

    def texts(self, index: SearchedIndex) -> Callable[[], dict[str, str]]:
        """Return what reads the texts of all premises, once."""
        knowledge_base = index.collection.premises.knowledge_base

        @cache
        def texts() -> dict[str, str]:
            return {each.premise_id: each.text for each in read_premises(knowledge_base)}

        return texts

    def find(self, docno: str, index: SearchedIndex) -> Hit | None:
        """Return a premise of the knowledge base."""
        if docno in index.texts():
            return Hit(docno, 0)
        return None


class PremiseRanker(Ranker):
    """Ranks premises by the method of each variant."""

    def __init__(self, index: SearchedIndex, settings: NlpsSettings) -> None:
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


class Tfidf:
    """Ranks premises by the cosine of tf-idf vectors of texts, the baseline of the shared task.

    `baseline_tfidf.py` of the shared task fits scikit-learn's TfidfVectorizer on the texts of the
    premises, without any option, and sorts all premises for every statement by cosine distance. Its
    sort leaves the order of ties to chance. Here a block of statements is compared at a time, so
    that memory does not grow with statements x premises, and only the best premises are sorted.
    """

    def __init__(self, premises: Sequence[Premise]) -> None:
        with needed_by("premise selection", "nlps"):
            from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second to import

        self._candidates = Candidates(premise.premise_id for premise in premises)
        texts = {premise.premise_id: premise.text for premise in premises}
        self._vectorizer = TfidfVectorizer()
        self._premises = self._vectorizer.fit_transform(
            texts[premise_id] for premise_id in self._candidates.ids
        )

    def rank(self, statements: Sequence[Statement], depth: int) -> Iterator[CandidateRanking]:
        """Yield the `depth` best premises of every statement."""
        for start in range(0, len(statements), BLOCK):
            block = statements[start : start + BLOCK]
            vectors = self._vectorizer.transform(statement.text for statement in block)
            # Terms x statements, dense: a row of it is added for every term of a premise.
            similarities = self._premises @ np.ascontiguousarray(vectors.T.toarray())
            for scores in np.ascontiguousarray(similarities.T):
                yield self._candidates.best(scores, depth)


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
        write_matrix(directory / _TEXTS, self.texts)

    @classmethod
    def load(cls, directory: Path, settings: RidgeSettings, analyzer: Analyzer) -> Model:
        """Read what `save` wrote."""
        learnt = References.load(directory / _LEARNT, settings, analyzer)
        return cls(learnt, read_matrix(directory / _TEXTS))


class Ridge:
    """Ranks premises by learnt references and by their texts."""

    def __init__(self, model: Model, variant: RidgeVariant) -> None:
        self.model = model
        self._variant = variant

    def rank(
        self, statements: Sequence[Statement], depth: int, hidden: Sequence[int] = ()
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
        queries = self._queries([statement])
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

    def _queries(self, block: Sequence[Statement], hidden: Sequence[int] = ()) -> Queries:
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
