"""Task 1, answer retrieval: answers (posts) to a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.tokenizer import tokenizer_version
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.posts import POST_TABLE
from arqmath_bm25.collection.sites import read_links, scan_sites
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.progress import tell
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.tasks.answers.answer_documents import answer_documents, write_answer_documents
from arqmath_bm25.tasks.answers.linked_posts import LinkedPosts
from arqmath_bm25.tasks.answers.post_signatures import SIGNATURES, PartSignatures, write_signatures
from arqmath_bm25.tasks.answers.second_stage import LINKS, SecondStage
from arqmath_bm25.tasks.document_parts import Form
from arqmath_bm25.tasks.queries import field_parts, heaviest, topic_query, weighed_by_tf_idf
from arqmath_bm25.tasks.settings import StageSettings, Task1Settings
from arqmath_bm25.tasks.task import IndexedTask, OpenIndex, Ranker, Shown, listed

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Document, Query


class AnswerRetrieval(IndexedTask[Task1Settings]):
    """Answers to a question."""

    name: ClassVar[str] = "task1"
    model = Task1Settings
    title = "Answers"
    example = r"Why does $\sum \frac{1}{n}$ diverge?"
    nothing = "No answer holds a term of this query."
    finds_posts = True

    @classmethod
    def has_data(cls, collection: Collection) -> bool:
        """Tell whether a collection has posts."""
        return collection.has_posts

    def sources(self, collection: Collection) -> list[Path]:
        """Return the posts, and the links between them if there are any."""
        return [file for site in collection.sites for file in (site.posts, site.links) if file]

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings that decide the content of the index."""
        bag = {"bag": True} if self.settings.bag else {}
        tokenizer = self.settings.analysis.latex.tokenizer
        version = {"tokenizer version": tokenizer_version(tokenizer)} if tokenizer else {}
        return {**super().recipe, **bag, **version}

    def write_documents(
        self, collection: Collection, place: Path, workers: Workers, forms: Sequence[Form]
    ) -> dict[str, int]:
        """Write a document for every answer, and the table of posts."""
        sites = collection.sites
        if names := ", ".join(collection.site_names):
            tell(f"{collection.layout.data}: {len(sites)} sites, {names}; ids are SITE:ID")
        table = scan_sites(sites, workers)
        if not table.answer_count:
            raise InputError(
                f"{table.path}: none of the {table.counts['rows']:,} rows is an answer; Task 2 "
                "finds the formulas of questions: `index task2`"
            )
        table.save(place / POST_TABLE)
        written = write_answer_documents(table, self.settings, place / DOCUMENTS, workers, forms)
        read_links(sites).save(place / LINKS)
        write_signatures(place / DOCUMENTS, place / SIGNATURES)
        for site in sites:
            if site.links is None:
                place = site.posts.parent
                tell(f"{place}: there is no PostLinks file, so linked questions add nothing")
        return {**table.counts, **written}

    def documents(self, collection: Collection) -> Iterator[tuple[str, Document]]:
        """Yield the text of every answer and what is indexed of it."""
        for thread in collection.posts.threads():
            documents = answer_documents([thread], self.settings, PartSignatures(), Counter())
            for answer, document in zip(thread.answers, documents, strict=True):
                text = read_body(answer.body, self.delimiters).text
                yield text, document._replace(own={**document.own, **document.shared}, shared={})

    def account(self, counts: Mapping[str, int]) -> str:
        """Say what became of every row: rows = questions + answers + what was left out."""
        left = dict(counts)
        rows, documents = left.pop("rows"), left.pop("documents")
        questions, answers = left.pop("questions"), left.pop("answers")
        return (
            f"{rows:,} posts read, {questions:,} questions, {answers:,} answers; "
            f"{documents:,} answers indexed, {answers - documents:,} lost"
            + (f" ({notes})" if (notes := listed(left)) else "")
        )

    def ranker(self, index: OpenIndex) -> Ranker:
        """Return what ranks answers."""
        if self.settings.model == "linked":
            return LinkedPosts(index)
        return AnswerRanker(index, self.settings)

    def shown(self, hit: Hit, collection: Collection) -> Shown:
        """Return an answer with the title of its question."""
        answer = collection.post(hit.doc_id)
        question = collection.question_of(answer)
        heading = question.title or "" if question else "(no question)"
        title = read_title(heading, self.delimiters).text
        note = f"{hit.score:.2f}  {collection.place(answer)}"
        return Shown(title, note=note, post=answer, question=question)


class AnswerRanker(Ranker):
    """Ranks answers by weighted fields, and the best again by a second stage."""

    def __init__(
        self, index: OpenIndex, settings: Task1Settings, stage: type[SecondStage] = SecondStage
    ) -> None:
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._collection = index.collection
        self._searcher = index.searcher()
        self._stages: dict[str, StageSettings] = {}
        # A task of one's own may have answers without what the second stage looks at.
        if settings.stages and (index.directory / SIGNATURES).exists():
            self._stages = {str(variant): weights for variant, weights in settings.stages.items()}
            self._second = stage(index, self._analyzer)

    def rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int,
        candidates: Sequence[Sequence[str]] | None = None,
    ) -> Iterator[list[Hit]]:  # fmt: skip
        """Yield the `depth` best answers of every topic.

        With `candidates` the first stage returns these answers of each topic, and no others.
        """
        queries = self._queries(topics, variant)
        stage = self._stages.get(variant)
        if candidates is None:
            most = max((len(topic.excluded) for topic in topics), default=0)
            wanted = max(depth, stage.depth if stage else 0) + most
            rankings = self._searcher.search_many(queries, wanted, threads)
        else:
            rankings = map(self._searcher.score, queries, candidates)
        for topic, hits in zip(topics, rankings, strict=True):
            hits = self._allowed(topic, hits)
            yield (self._second(topic, hits, stage) if stage else hits)[:depth]

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
        """Rank given answers of each topic."""
        most = max(map(len, candidates), default=0)
        return self.rank(topics, variant, most, 1, candidates)

    def _allowed(self, topic: Topic, hits: list[Hit]) -> list[Hit]:
        """Leave out what is excluded, and the topic's own thread, if it has one here."""
        if topic.excluded:
            hits = [hit for hit in hits if hit.doc_id not in topic.excluded]
        if not topic.own_thread:
            return hits
        posts = self._collection.posts
        threads = posts.threads_of([hit.doc_id for hit in hits])
        (own,) = posts.numbers([topic.own_thread])
        return [hit for hit, thread in zip(hits, threads, strict=True) if thread != own]

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return what fields and the second stage gave to hits."""
        ids = [hit.doc_id for hit in hits]
        (query,) = self._queries([topic], variant)
        parts = list(map(field_parts, self._searcher.explain(query, ids)))
        if stage := self._stages.get(variant):
            # as many as `rank` searches for
            wanted = MAX_DEPTH if topic.own_thread else stage.depth + len(topic.excluded)
            (best,) = self._searcher.search_many([query], wanted, 1)
            first = self._allowed(topic, best)[: stage.depth]
            places = {hit.doc_id: place for place, hit in enumerate(first)}
            gains = self._second.gains(topic, first, stage) if first else {}
            for doc_id, of_hit in zip(ids, parts, strict=True):
                if (place := places.get(doc_id)) is not None:
                    of_hit += [Part(name, float(gain[place])) for name, gain in gains.items()]
        return parts

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        settings = self._settings
        weights, saturation = settings.weights(variant), settings.query.saturation
        queries = [topic_query(topic, self._analyzer, weights, saturation) for topic in topics]
        if settings.model == "tf_idf":
            return [weighed_by_tf_idf(query, self._searcher, settings.bm25.k1) for query in queries]
        return [heaviest(query, self._searcher, settings.query.most) for query in queries]
