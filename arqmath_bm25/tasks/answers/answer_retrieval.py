"""Task 1, answer retrieval: answers (posts) to a question."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.dump import ID
from arqmath_bm25.collection.formulas import read_topic_formulas
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import POST_TABLE, PostTable
from arqmath_bm25.core.arrays import Floats, Ints
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import year_of
from arqmath_bm25.core.progress import progress
from arqmath_bm25.core.records import Hit, HitLists, Part, PartLists, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.engine import Document, Query
from arqmath_bm25.tasks.answers.answer_documents import answer_documents, part_documents, parts_of
from arqmath_bm25.tasks.document_parts import PartForms, write_parts
from arqmath_bm25.tasks.document_task import DocumentTask, FieldRanker
from arqmath_bm25.tasks.queries import weight_by_tf_idf
from arqmath_bm25.tasks.settings import RerankSettings, Task1Settings
from arqmath_bm25.tasks.task import Ranker, SearchedIndex, listed
from arqmath_bm25.tasks.unreadable import settle
from arqmath_bm25.tasks.written_words import write_words


class AnswerRetrieval(DocumentTask):
    """Answers to a question."""

    name = "task1"
    decisive = ("bag", "words")
    model = Task1Settings
    settings: Task1Settings
    title = "Answers"
    nothing = "No answer holds a term of this query."
    finds_posts = True

    @classmethod
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether a collection has posts."""
        return collection.has_posts

    def sources(self, collection: CollectionFiles) -> list[Path]:
        """Return the posts."""
        return [collection.origin_site.posts]

    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Write a document for every answer, and the table of posts.

        The memory of a worker does not depend on the size of the dump, since it gets only the
        offsets of the posts that it reads.
        """
        table = collection.origin_site.scan(workers, with_contents=forms.cluster is not None)
        if not table.answer_count:
            raise InputError(
                f"{table.path}: none of the {table.counts['rows']:,} rows is an answer; Task 2 "
                "finds the formulas of questions: `index task2`"
            )
        table.save(place / POST_TABLE)
        counts = table.counts
        if forms.cluster and not self.settings.words:  # else all answers are read anyway
            table = table.of_answers(forms.cluster.lacking(table.answer_contents(), _ids_in))

        documents = partial(part_documents, self.settings)
        with progress("Analysing posts", len(table), "posts") as advance:

            def parts() -> Iterator[PostTable]:
                for part in parts_of(table):
                    yield part
                    advance(len(part))

            written = write_parts(documents, parts(), place / DOCUMENTS, workers, forms)
        settle(written, "posts")
        if self.settings.words:
            write_words(Counter(), place)
        return {**counts, **written}

    def documents(self, collection: CollectionFiles) -> Iterator[tuple[str, Document]]:
        """Yield the text and the indexed document of every answer."""
        for thread in collection.posts.threads():
            documents = answer_documents([thread], self.settings, Counter())
            for answer, document in zip(thread.answers, documents, strict=True):
                text = read_body(answer.body, self.delimiters).text
                fields = {**document.own, **document.shared}
                yield text, document._replace(own=fields, shared={})

    def placed(self, topic: Topic) -> Topic:
        """Return a topic with the thread it was made from, if its id is D.ID."""
        return topic._replace(own_thread=thread_of(topic.topic_id))

    def account(self, counts: Mapping[str, int]) -> str:
        """Account for every row: rows = questions + answers + rows left out."""
        left = dict(counts)
        rows = left.pop("rows")
        questions = left.pop("questions")
        answers = left.pop("answers")
        documents = left.pop("documents")
        said = (
            f"{rows:,} posts read, {questions:,} questions, {answers:,} answers; "
            f"{documents:,} answers indexed, {answers - documents:,} lost"
        )
        notes = listed(left)
        if notes:
            said += f" ({notes})"
        return said

    def ranker(self, index: SearchedIndex) -> Ranker:
        """Return the ranker of answers."""
        if self.settings.model == "linked":
            return LinkedPosts(index)
        return AnswerRanker(index, self.settings)


def _ids_in(store: Path, rows: Ints) -> list[str]:
    """Return the ids of documents of a store by their rows."""
    answers = PostTable.load(store / POST_TABLE, store).answers
    return list(map(str, answers[rows].tolist()))


def thread_of(topic_id: str) -> str:
    """Return the question id of a topic id "D.ID"; "" for other topic ids."""
    prefix, _, question = topic_id.partition(".")
    if prefix == "D" and question.isascii() and question.isdecimal():
        return question
    return ""


class AnswerRanker(FieldRanker):
    """Ranks answers, again by their threads where a variant has a reranker.

    The topic's own thread is left out.
    """

    def __init__(self, index: SearchedIndex, settings: Task1Settings) -> None:
        super().__init__(index, settings)
        self._posts = index.collection.posts
        self._model = settings.model
        self._rerankers: dict[str, Reranker] = {}
        for variant, rerank in settings.rerank.items():
            self._rerankers[variant] = Reranker(self._posts, rerank)

    def rank(
        self,
        topics: Sequence[Topic],
        variant: str,
        depth: int,
        candidates: Sequence[Sequence[str]] | None = None,
    ) -> HitLists:
        """Yield the `depth` best answers of every topic; `candidates` as in FieldRanker."""
        reranker = self._rerankers.get(variant)
        if reranker is None:
            yield from super().rank(topics, variant, depth, candidates)
            return

        wanted = max(depth, reranker.depth)
        for hits in super().rank(topics, variant, wanted, candidates):
            yield reranker.rerank(hits)[:depth]

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return what fields and threads contribute to each score."""
        parts = super().explain(topic, variant, hits)
        reranker = self._rerankers.get(variant)
        if reranker is None:
            return parts

        (first,) = super().rank([topic], variant, reranker.depth)
        ids = [hit.doc_id for hit in first]
        gains = dict(zip(ids, reranker.gains(first).tolist(), strict=True))
        for hit, of_hit in zip(hits, parts, strict=True):
            if hit.doc_id in gains:
                of_hit.append(Part("thread", gains[hit.doc_id]))
        return parts

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        queries = super()._queries(topics, variant)
        if self._model != "tf_idf":
            return queries
        k1 = self._settings.bm25.k1
        return [weight_by_tf_idf(query, self._searcher, k1) for query in queries]

    def _excluded(self, topic: Topic) -> Collection[str]:
        if not topic.own_thread:
            return topic.excluded
        (own,) = self._posts.numbers([topic.own_thread])
        return {*topic.excluded, *self._posts.ids_of_thread(int(own))}


class Reranker:
    """Reranks answers by the best score in their threads. Thread-safe.

    An answer of score s gets s + w · (the best score in its thread). The weight w is not negative,
    so answers that are ranked again stay ahead of the others.
    """

    def __init__(self, posts: PostTable, settings: RerankSettings) -> None:
        self._posts = posts
        self._weight = settings.thread
        self.depth = settings.depth

    def rerank(self, hits: Sequence[Hit]) -> list[Hit]:
        """Rerank the first `depth` hits of a topic; the others follow unchanged."""
        first = hits[: self.depth]
        rest = hits[self.depth :]
        before = np.array([hit.score for hit in first], float)
        scores = (before + self.gains(first)).astype(np.float32)
        ids = np.array([hit.doc_id for hit in first])
        order = np.lexsort((ids, scores))[::-1]

        reranked = list(map(Hit, ids[order].tolist(), scores[order].tolist()))
        return reranked + list(rest)

    def gains(self, hits: Sequence[Hit]) -> Floats:
        """Return what threads add to the scores of hits, which are the first `depth` of a topic."""
        scores = np.array([hit.score for hit in hits], float)
        questions = self._posts.threads_of([hit.doc_id for hit in hits])
        threads, thread = np.unique(questions, return_inverse=True)
        best = np.full(len(threads), -np.inf)
        np.maximum.at(best, thread, scores)
        gains = self._weight * best[thread]
        return gains


class LinkedPosts(Ranker):
    """Ranks the answers to linked questions by votes, the labs' baseline. Thread-safe.

    The labs hid these links from participants, so DATA has to be a dump of the site that is younger
    than the topics. The labs' file of topic formulas gives the question of each topic.
    """

    def __init__(self, index: SearchedIndex) -> None:
        self._layout = index.collection.layout
        self._posts = index.collection.posts
        self._links = PostLinks.read(self._layout.dump("PostLinks"))

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` answers with most votes of every topic, none for topics without links.

        Raises InputError if no topic has any.
        """
        year = year_of(topic.topic_id for topic in topics)
        file = self._layout.topic_formulas(year)
        question = {}
        for row in read_topic_formulas(file):
            if ID.fullmatch(row["thread_id"]):
                question[row["topic_id"]] = row["thread_id"]

        ranked = []
        for topic in topics:
            answers = self._answers(question.get(topic.topic_id, "0"))
            ranked.append(answers[:depth])
        if not any(ranked):
            raise InputError(
                f"{self._layout.data}: no question is linked with a topic of {year}; the labs hid "
                "these links: DATA must have PostLinks.xml and Posts.xml of a later dump"
            )
        return iter(ranked)

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return the votes of each hit."""
        return [[Part("votes", hit.score)] for hit in hits]

    def _answers(self, question: str) -> list[Hit]:
        hits = []
        for linked in self._links.of(int(question)):
            thread = self._posts.thread(linked)
            if thread is None:
                continue
            for answer in thread.answers:
                votes = float(answer.score or 0)
                hits.append(Hit(answer.post_id, votes))

        return sorted(hits, key=lambda hit: (hit.score, hit.doc_id), reverse=True)
