"""Task 2, formula retrieval: formulas similar to a given one, each in one of its posts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arqmath_bm25.analysis.analyzer import FormulaAnalyzer
from arqmath_bm25.analysis.html import Formula, read_title
from arqmath_bm25.analysis.settings import FormulaField
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import formula_files
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.arrays import Floats, Int32s
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import status, tell
from arqmath_bm25.core.records import Hit, HitLists, Json, Part, PartLists, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.formulas.formula_documents import InstanceTable, write_formula_documents
from arqmath_bm25.tasks.formulas.post_formulas import contents, find_formula, write_post_formulas
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.queries import field_parts
from arqmath_bm25.tasks.settings import Task2Settings
from arqmath_bm25.tasks.task import Found, IndexedTask, Ranker, SearchedIndex, listed

_INSTANCES = "instances.npy"
_IN_CONTEXT = 1000  # best formulas that are reranked by context; answers that give it


class FormulaRetrieval(IndexedTask):
    """Finds formulas similar to one formula; free text without dollars is a single formula."""

    name = "task2"
    model = Task2Settings
    settings: Task2Settings
    title = "Formulas"
    example = "$x^n + y^n = z^n$"
    nothing = "No formula is like this one in any place."
    hits_are = "formula"
    lab = topics_of = "task2"
    finds_posts = True

    @classmethod
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether a collection has formula TSVs."""
        return collection.layout.has_formulas()

    def sources(self, collection: CollectionFiles) -> list[Path]:
        """Return the formula TSVs; of a dump without any its posts, whose formulas are read."""
        source = collection.layout.formula_source(self.settings.analysis.source)
        return list(formula_files(source))

    def needed(self, collection: CollectionFiles) -> list[str]:
        """Return Task 1 where a variant looks at the posts."""
        if self._contextual and collection.has_answers:
            return ["task1"]
        return []

    @property
    def _contextual(self) -> list[str]:
        return [name for name, variant in self.settings.variants.items() if variant.context]

    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Write a document for every visually distinct formula, and the table of instances."""
        formulas = collection.layout.formula_source(self.settings.analysis.source)
        source = formulas
        if formulas.suffix == ".xml":
            source = place / "formulas.tsv"
            tell(
                f"{formulas}: there are no formula files, so the formulas of the posts get ids of "
                "our own; the judgments of the labs do not hold for these"
            )
            with status("Reading formulas of posts"):
                write_post_formulas(collection.origin_site, source, workers, self.delimiters)

        counts = write_formula_documents(
            formulas=source,
            settings=self.settings,
            directory=place / DOCUMENTS,
            instances=place / _INSTANCES,
            workers=workers,
            forms=forms,
        )
        if source != formulas:
            source.unlink()
        if not counts["documents"]:
            raise InputError(
                f"{formulas}: none of the {counts['rows']:,} rows may be returned; expected "
                "formulas of type title, question or answer"
            )
        return counts

    def account(self, counts: Mapping[str, int]) -> str:
        """Account for every row: rows = instances + rows left out."""
        left = dict(counts)
        rows = left.pop("rows")
        instances = left.pop("instances")
        documents = left.pop("documents")
        indexed = ("instances without a visual id", "formulas without a symbol")
        notes = listed({kind: left.pop(kind, 0) for kind in indexed})
        left_out = listed(left)
        lost = rows - instances - sum(left.values())

        said = (
            f"{rows:,} formulas read, {instances:,} indexed as {documents:,} visually distinct ones"
        )
        if notes:
            said += f" ({notes})"
        if left_out:
            said += f"; left out: {left_out}"
        return f"{said}; {lost:,} lost"

    def read(
        self, collection: CollectionFiles, path: Path, index: SearchedIndex | None = None
    ) -> list[Topic]:
        """Read topics with their formulas; InputError for topics of another task."""
        topics = super().read(collection, path)
        for topic in topics:
            if not topic.formulas:
                raise InputError(
                    f"{path}: topic {topic.topic_id} has no <Formula_Id> or no <Latex>; expected "
                    "a topic file of Task 2"
                )
        return topics

    def topic(self, text: str) -> Topic:
        """Return free text as a topic: its formulas, and its words if there are any."""
        title = self.marked(Topic("", text)).title
        content = read_title(title, self.delimiters)
        if not content.formulas:
            return Topic("", "", formulas=(text,))

        words = ""
        if content.prose.strip():
            words = title
        formulas = tuple(formula.latex for formula in content.formulas)
        return Topic("", words, formulas=formulas)

    def runnable(self, index: SearchedIndex) -> tuple[list[str], str]:
        """Return all variants; without answers, those without context."""
        collection = index.collection
        if collection.has_answers:
            return self.variants, ""
        note = f"{collection.layout.data}: no answers, so only the variants without context are run"
        return [name for name in self.variants if name not in self._contextual], note

    def ranker(self, index: SearchedIndex) -> FormulaRanker:
        """Return the ranker of formulas."""
        return FormulaRanker(index, self.settings)

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        """Return a formula with its post and the text around it."""
        found = super().found(hit, index)
        post = index.collection.post(hit.post_id)
        place = find_formula(hit.doc_id, contents(post, self.delimiters))
        if place is None:
            return found._replace(formula=Formula("", hit.doc_id))

        before, formula, after = place
        return found._replace(formula=formula, around=(before.text, after.text))

    def find(self, docno: str, index: SearchedIndex) -> Hit | None:
        """Return an instance of a formula by its id."""
        if not docno.isascii() or not docno.isdecimal():
            return None

        table = InstanceTable(index.directory / _INSTANCES)
        instance = table.find(int(docno))
        if instance is None:
            return None
        visual_id, post_id = instance
        return Hit(docno, 0, post_id=post_id, visual_id=visual_id)


class Context(NamedTuple):
    """Scores of threads for a question, sorted by thread."""

    threads: Int32s
    scores: Floats


_NO_CONTEXT = Context(np.empty(0, np.int32), np.empty(0))


def thread_context(posts: PostTable, *rankings: list[Hit]) -> Context:
    """Add up what each ranking gives to a thread, its best score as a share of the best of all.

    The sum, too, becomes a share of the best thread's.
    """
    shares = []
    of_threads = []
    for hits in rankings:
        if not hits:
            continue
        threads = posts.threads_of([hit.doc_id for hit in hits])
        scores = np.array([hit.score for hit in hits])

        # Hits are sorted by score, so that the first of a thread is its best.
        distinct, first = np.unique(threads, return_index=True)
        of_threads.append(distinct)
        shares.append(scores[first] / hits[0].score)

    if not shares:
        return _NO_CONTEXT
    distinct, places = np.unique(np.concatenate(of_threads), return_inverse=True)
    total = np.bincount(places, np.concatenate(shares), len(distinct))
    return Context(distinct.astype(np.int32), total / total.max())


class FormulaRanker(Ranker):
    """Ranks formulas by weighted fields and by their context, the posts they occur in."""

    def __init__(self, index: SearchedIndex, settings: Task2Settings) -> None:
        self._collection = index.collection
        self._settings = settings
        self._analyzer = FormulaAnalyzer(settings.analysis, settings.fields)
        self._instances = InstanceTable(index.directory / _INSTANCES)
        self._engine = index.engine
        self._searcher = index.searcher()

    @cached_property
    def _answers(self) -> OpenIndex:
        answers = OpenIndex.open(self._collection, "task1", engine=self._engine)
        answers.threads = self._searcher.threads
        return answers

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` best formulas of every topic."""
        weights = self._settings.variants[variant]  # type: ignore[index]  # it is one of them
        queries = [self.query(topic, weights.fields) for topic in topics]
        if weights.context:
            contexts = self.contexts(topics)
            searched = max(depth, _IN_CONTEXT)
        else:
            contexts = repeat(_NO_CONTEXT, len(topics))
            searched = depth

        rankings = self._searcher.search_many(queries, searched)
        for hits, context in zip(rankings, contexts, strict=True):
            chosen = self.choose(hits, context, weights.context)
            yield chosen[:depth]

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return the shares of fields in the scores of hits and, if it counts, of their context."""
        weights = self._settings.variants[variant]  # type: ignore[index]  # it is one of them
        query = self.query(topic, weights.fields)
        visual_ids = [hit.visual_id for hit in hits]
        fields = self._searcher.explain(query, visual_ids)
        (best,) = self._searcher.search_many([query], _IN_CONTEXT)
        if not weights.context or not best:
            return [field_parts(of_hit) for of_hit in fields]

        reranked = {hit.doc_id for hit in best}
        (context,) = self.contexts([topic])
        explained = []
        for visual_id, of_hit in zip(visual_ids, fields, strict=True):
            parts = field_parts(of_hit, best[0].score)
            if visual_id in reranked:
                *_, share = self._instances.best(visual_id, *context)
                parts.append(Part("context", weights.context * share))
            explained.append(parts)

        return explained

    def query(self, topic: Topic, weights: Mapping[FormulaField, float]) -> Json:
        """Return field → term → weight; a term that occurs twice weighs twice as much."""
        analysed = [self._analyzer.latex(formula) for formula in topic.formulas]
        query = dict[str, dict[str, float]]()
        for field, weight in weights.items():
            terms = Counter[str]()
            for fields in analysed:
                terms.update(fields.get(field, ()))
            query[field] = {term: weight * n for term, n in terms.items()}
        return query

    def contexts(self, topics: Sequence[Topic]) -> Iterator[Context]:
        """Yield the scores of threads for the questions of topics.

        Threads are searched for by the words of title and tags, and by the operators of title and
        body. Without any title or question among the topics, all contexts are empty.
        """
        if not any(topic.title or topic.question for topic in topics):
            return repeat(_NO_CONTEXT, len(topics))

        titles = [topic._replace(question="") for topic in topics]
        by_words = self._answers.rank(titles, "text", _IN_CONTEXT)
        by_operators = self._answers.rank(topics, "math", _IN_CONTEXT)
        context = partial(thread_context, self._collection.posts)
        return map(context, by_words, by_operators)

    def choose(self, hits: list[Hit], context: Context, weight: float) -> list[Hit]:
        """Choose one instance of each formula; with a context, rerank the first formulas."""
        chosen = []
        for rank, hit in enumerate(hits):
            formula_id, post_id, share = self._instances.best(hit.doc_id, *context)
            score = hit.score
            if weight:
                score /= hits[0].score
            if weight and rank < _IN_CONTEXT:
                score += weight * share
            chosen.append(Hit(formula_id, score, post_id, hit.doc_id))
        return sorted(chosen, key=lambda hit: -hit.score)
