"""The labs' baseline of linked posts: answers to questions that users linked with the topic's.

Votes alone order them. The labs hid these links from participants, so DATA has to be a dump of the
site that is younger than the topics. The labs' file of topic formulas gives the question of each
topic.
"""

from collections.abc import Sequence

from arqmath_bm25.collection.dump import ID
from arqmath_bm25.collection.formulas import read_topic_formulas
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import year_of
from arqmath_bm25.core.records import Hit, HitLists, Part, PartLists, Topic
from arqmath_bm25.tasks.task import OpenIndex, Ranker


class LinkedPosts(Ranker):
    """Ranks answers by votes. Thread-safe."""

    def __init__(self, index: OpenIndex) -> None:
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
