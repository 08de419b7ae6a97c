"""What settings are worth for every topic: a trial needs no new index and no JVM.

What each field gives to a document comes from flat postings, once for every k1, b and k3.
A trial adds it up by its weights, and ranks the first documents anew as the task does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.premises import read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH, RELEVANT, YEARS
from arqmath_bm25.core.records import Hit
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.flat import FlatSearcher, best_rows
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import measure, named_measures
from arqmath_bm25.tasks.answers.answer_retrieval import Reranker
from arqmath_bm25.tasks.formulas.formula_retrieval import FormulaRanker
from arqmath_bm25.tasks.premises.premise_selection import PremiseRanker
from arqmath_bm25.tasks.queries import build_query
from experiments.duplicate_topics import deal, judge_by_links, read_questions, related
from experiments.tuning.premise_folds import cross_validate, folds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.collection.references import Statement
    from arqmath_bm25.core.labs import LabTask
    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.engines.engine import Query
    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.tasks.open_index import OpenIndex

    Values = dict[str, float]  # topic → measure
    Ids = NDArray[np.int64]

DEPTH: Final = 300  # documents of a topic that are measured
DUPLICATES: Final = "duplicates"
_STORE: Final = "lucene"


class Judged(NamedTuple):
    """Topics with a relevant document that the collection holds, and the judgments of such."""

    topics: list[Topic]
    qrels: Qrels

    @classmethod
    def read(cls, index: OpenIndex, sets: Sequence[str]) -> Judged:
        """Read sets of topics: `duplicates`, years, and files topics_X.xml with a qrels_X.tsv.

        Raises InputError for a missing file, and for a topic of two sets.
        """
        collected = FlatSearcher(index.directory / _STORE, Bm25()).ids
        topics: dict[str, Topic] = {}
        qrels: Qrels = {}
        for name in sets:
            found = _read(index, name)
            of_set = {topic.topic_id: topic for topic in found.topics}
            if common := next(iter(of_set.keys() & topics.keys()), None):
                raise InputError(f"--on {name}: topic {common} is in another set too")
            topics |= of_set
            for topic_id, grades in found.qrels.items():
                there = collected.find(list(grades)) >= 0
                held = {doc: g for (doc, g), t in zip(grades.items(), there, strict=True) if t}
                if topic_id in of_set and max(held.values(), default=0) >= RELEVANT:
                    qrels[topic_id] = held
        if len(qrels) < 2:
            raise InputError(f"--on {' '.join(sets)}: fewer than 2 topics have a relevant document")
        return cls([topic for topic in topics.values() if topic.topic_id in qrels], qrels)


def _read(index: OpenIndex, name: str) -> Judged:
    task, collection = index.task, index.collection
    lab: LabTask = "task2" if task.lab == "task2" else "task1"
    if name == DUPLICATES:
        if lab != "task1":
            raise InputError(f"--on {name}: linked questions tell of answers only, of task1")
        qrels = judge_by_links(collection)
        return Judged(list(read_questions(collection, qrels)), qrels)
    ((_, path),) = task.topic_files(collection, [name])
    topics = task.read(collection, path)
    year = next((year for year in YEARS if year == name), None)
    beside = path.with_name(path.name.replace("topics", "qrels", 1)).with_suffix(".tsv")
    file = collection.layout.qrels(lab, year) if year else beside
    return Judged(topics, Evaluator(collection).judgments(lab, file).qrels)


class Trials(ABC):
    """Trials of settings for a variant; the same settings are tried once."""

    places: ClassVar[tuple[str, ...]] = ("bm25", "query", "variants", "rerank")  # of what is tuned

    def __init__(self, index: OpenIndex, variant: str, threads: int) -> None:
        self.index = index
        self.variant = variant
        self.threads = threads
        self._settings: dict[str, Any] = {}
        self._values = cache(lambda key: self._measure(self._settings[key]))

    def values(self, settings: Any) -> Values:
        """Return the value of every topic."""
        key = settings.model_dump_json()
        self._settings[key] = settings
        found: Values = self._values(key)
        return found

    @abstractmethod
    def folds(self, number: int) -> list[list[str]]:
        """Deal the topics into parts."""

    @abstractmethod
    def _measure(self, settings: Any) -> Values: ...


class FieldScores(NamedTuple):
    """What each field of a query gives to some documents."""

    ids: NDArray[np.bytes_]
    fields: list[str]
    scores: NDArray[np.float32]  # documents × fields; their sum is the score of the document


def field_scores(searcher: FlatSearcher, query: Query, depth: int) -> FieldScores:
    """Return what each field gives to the `depth` best documents of any field, and of all."""
    if not query:
        return FieldScores(np.empty(0, np.bytes_), [], np.empty((0, 0), np.float32))
    of_fields = [searcher.sums({field: terms}) for field, terms in query.items()]
    sums = np.stack([*of_fields, np.sum(of_fields, axis=0)], axis=1).astype(np.float32)
    best = np.unique(np.concatenate([best_rows(column, depth) for column in sums.T]))
    return FieldScores(np.array(searcher.ids.of(best), np.bytes_), list(query), sums[best, :-1])


class RankedFields(Trials):
    """Trials by what each field gives: nDCG of the first documents."""

    searched: ClassVar[int] = DEPTH  # documents of a topic that are ranked anew

    def __init__(self, index: OpenIndex, variant: str, threads: int, judged: Judged) -> None:
        super().__init__(index, variant, threads)
        self.judged = judged
        self._found = lru_cache(maxsize=4)(self._search)

    def _search(
        self, k1: float, b: float, k3: float, own: frozenset[tuple[str, tuple[float, float]]]
    ) -> list[tuple[Any, ...]]:
        """Return, for every topic, ids of documents, fields, documents × fields."""
        searcher = FlatSearcher(self.index.directory / _STORE, Bm25(k1, b, dict(own)))
        queries = (self.query(topic, k3) for topic in self.judged.topics)
        found = []
        with ThreadPoolExecutor(self.threads) as pool:
            by_field = pool.map(partial(field_scores, searcher, depth=self.searched), queries)
            for topic, (ids, fields, scores) in zip(self.judged.topics, by_field, strict=True):
                thread = self.index.collection.posts.thread(int(topic.own_thread or -1))
                answers = [answer.post_id for answer in thread.answers] if thread else []
                keep = ~np.isin(ids, np.array(answers, np.bytes_))
                found.append((ids[keep], fields, scores[keep].astype(float)))
        searcher.close()
        return found

    def _measure(self, settings: Any) -> Values:
        bm25, weights = settings.bm25, self.weights(settings)
        k3 = settings.query.k3 if hasattr(settings, "query") else 0.0
        rankings = {}
        table = self._found(bm25.k1, bm25.b, k3, frozenset(bm25.parameters.by_field.items()))
        for topic, (ids, fields, parts) in zip(self.judged.topics, table, strict=True):
            scores = parts @ np.array([weights[field] for field in fields])
            order = np.lexsort((ids, scores))[::-1][: self.searched]
            hits = [Hit(ids[at].decode(), float(scores[at])) for at in order if scores[at] > 0]
            ranked = self.again(topic, hits, settings)[:DEPTH] if hits else []
            rankings[topic.topic_id] = {hit.visual_id or hit.doc_id: hit.score for hit in ranked}
        measured = measure(rankings, self.judged.qrels, named_measures("ndcg"), RELEVANT)
        return {topic: values["ndcg"] for topic, values in measured.items()}

    @abstractmethod
    def weights(self, settings: Any) -> dict[str, float]:
        """Return the weights of the fields."""

    @abstractmethod
    def query(self, topic: Topic, k3: float) -> Query:
        """Return the query of a topic, with all weights 1."""

    @abstractmethod
    def again(self, topic: Topic, hits: list[Hit], settings: Any) -> list[Hit]:
        """Rank the hits of the fields anew."""


class AnswerTrials(RankedFields):
    """Trials for Task 1."""

    def __init__(self, index: OpenIndex, variant: str, threads: int, judged: Judged) -> None:
        super().__init__(index, variant, threads, judged)
        self._analyzer = Analyzer(index.task.settings.analysis)
        self._weights = index.task.settings.weights(variant)

    def folds(self, number: int) -> list[list[str]]:
        """Keep topics together that have a thread in common."""
        return deal(related(self.index.collection, self.judged.qrels), number)

    def weights(self, settings: Any) -> dict[str, float]:
        """Return the weights of the variant."""
        return dict(settings.variants[self.variant])

    def query(self, topic: Topic, k3: float) -> Query:
        """Return the terms of the topic in every field that has a weight in the index.

        The terms are chosen by the default weights.
        """
        settings = self.index.task.settings.query.model_copy(update={"k3": k3})
        query = build_query(topic, self._analyzer, self._weights, settings, self.index.searcher())
        return {
            field: {term: weight / self._weights[field] for term, weight in terms.items()}
            for field, terms in query.items()
        }

    def again(self, topic: Topic, hits: list[Hit], settings: Any) -> list[Hit]:
        """Apply the reranker."""
        rerank = settings.rerank.get(self.variant)
        if rerank is None:
            return hits
        return Reranker(self.index.collection.posts, rerank).rerank(hits)


class FormulaTrials(RankedFields):
    """Trials for Task 2."""

    searched = MAX_DEPTH  # as many as a run with a context ranks anew

    def __init__(self, index: OpenIndex, variant: str, threads: int, judged: Judged) -> None:
        super().__init__(index, variant, threads, judged)
        index.threads = threads
        self._ranker = FormulaRanker(index, index.task.settings)
        self._fields = dict.fromkeys(index.task.settings.variants[variant].fields, 1.0)
        contexts = self._ranker.contexts(judged.topics)
        self._contexts = {
            topic.topic_id: one for topic, one in zip(judged.topics, contexts, strict=True)
        }

    def folds(self, number: int) -> list[list[str]]:
        """Keep topics together that have a relevant formula in common."""
        relevant = {
            topic: [doc for doc, grade in grades.items() if grade >= RELEVANT]
            for topic, grades in self.judged.qrels.items()
        }
        return deal(relevant, number)

    def weights(self, settings: Any) -> dict[str, float]:
        """Return the weights of the variant."""
        return dict(settings.variants[self.variant].fields)

    def query(self, topic: Topic, k3: float) -> Query:
        """Return the terms of the topic in every field."""
        return self._ranker.query(topic, self._fields)

    def again(self, topic: Topic, hits: list[Hit], settings: Any) -> list[Hit]:
        """Apply the context."""
        context = settings.variants[self.variant].context
        return self._ranker.choose(hits, self._contexts[topic.topic_id], context)


class PremiseTrials(Trials):
    """Trials for NLPS, on the training set alone: MAP@500, each fold with itself hidden."""

    places = ("variants", "ridge")

    def folds(self, number: int) -> list[list[str]]:
        """Return the folds of the training set, whose number is fixed."""
        training = self._training
        return [[training[n].statement_id for n in part] for part in folds(training)]

    @cached_property
    def _training(self) -> list[Statement]:
        return read_statements(self.index.collection.premises.train)

    def _measure(self, settings: Any) -> Values:
        ranker = PremiseRanker(self.index, settings)
        found = cross_validate(ranker, self._training, self.variant)
        return {s: values["map_500"] for score in found for s, values in score.values.items()}


def trials(index: OpenIndex, variant: str, threads: int, sets: Sequence[str]) -> Trials:
    """Return the trials of a task on some sets of topics; InputError if it has none."""
    name = index.task.name
    if name == "nlps":
        if sets:
            raise InputError("--on: nlps is tuned on its training set alone")
        return PremiseTrials(index, variant, threads)
    kinds: dict[str, type[RankedFields]] = {"task1": AnswerTrials, "task2": FormulaTrials}
    if name not in kinds:
        raise InputError(f"tune {name}: expected task1, task2 or nlps")
    if not sets:
        raise InputError("tune on which topics? Give --on duplicates, a year or a topic file")
    return kinds[name](index, variant, threads, Judged.read(index, sets))
