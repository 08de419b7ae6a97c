"""Task 3, open-domain question answering: one answer text, from the best answer of Task 1.

The answer is the text of the highest ranked post that has any, whole if it fits into the lab's
1,200 characters, else its beginning. A topic for which no post has text gets no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arqmath_bm25.analysis.answer_text import answer_text, one_line, shorten
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.records import Hit, HitLists, PartLists, Topic
from arqmath_bm25.tasks.answers.answer_retrieval import AnswerRetrieval
from arqmath_bm25.tasks.settings import Task3Settings
from arqmath_bm25.tasks.task import Found, Ranker, SearchedIndex, Task

_YEAR = "2022"  # of the one lab that had this task


class OpenDomain(Task):
    """One answer text for a question; it has the index of Task 1."""

    name = "task3"
    model = Task3Settings
    settings: Task3Settings
    title = "Answer texts"
    example = AnswerRetrieval.example
    nothing = AnswerRetrieval.nothing
    rows_are = "answers"
    lab = "task3"

    def __init__(self, settings: Task3Settings, answers: AnswerRetrieval | None = None) -> None:
        super().__init__(settings)
        self._answers = answers or AnswerRetrieval(settings.ranking)

    @property
    def index_task(self) -> AnswerRetrieval:
        """Task 1, with the settings of the ranking."""
        return self._answers

    def fitted(self, collection: CollectionFiles) -> OpenDomain:
        """Return the task whose ranking has the delimiters that were chosen for a collection."""
        return OpenDomain(self.settings, self._answers.fitted(collection))

    @classmethod
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether a collection has posts and the topics of 2022."""
        return collection.layout.has_posts() and _YEAR in collection.layout.years("task3")

    def topic_files(
        self, collection: CollectionFiles, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return topic files, that of the one year without `chosen`."""
        return super().topic_files(collection, chosen or [_YEAR])

    def placed(self, topic: Topic) -> Topic:
        """Return a topic with its own thread, as Task 1 has it."""
        return self._answers.placed(topic)

    def ranker(self, index: SearchedIndex) -> AnswerExtractor:
        """Return the extractor of answers."""
        return AnswerExtractor(index, self._answers)

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        """Return an answer as a run has it, with the post that it comes from."""
        return super().found(hit, index)._replace(text=hit.text)


class AnswerExtractor(Ranker):
    """Extracts answers from the posts that Task 1 ranks."""

    def __init__(self, index: SearchedIndex, answers: AnswerRetrieval) -> None:
        self._posts = index.collection.posts
        self._ranker = answers.ranker(index)

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the answer to every topic, from the `depth` best posts; none if they have none."""
        for hits in self._ranker.rank(topics, variant, depth):
            answers = []
            for hit in hits:
                post = self._posts.read(hit.doc_id)
                if post is None:
                    continue
                text = one_line(shorten(answer_text(post.body)))
                if text:
                    answers.append(hit._replace(text=text))
                    break
            yield answers

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return what the ranking of Task 1 says."""
        return self._ranker.explain(topic, variant, hits)
