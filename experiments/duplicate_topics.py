"""Topics and judgments without assessors: questions that users linked or called duplicates.

A question of the collection with a linked one that has answers is a topic, D.ID with its id.
Answers to its duplicates have grade 3, to other linked questions 2; the direction of a link does
not matter. No topic finds what was made of the link itself: its own thread, the titles of linked
questions and the link count nothing when such a topic is run (`Topic.own_thread`), and the notice
"Possible Duplicate: …", which the site put before old questions, is left out. Who runs such
topics with another system drops the thread of question ID from its rankings.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final

import numpy as np
from lxml import etree
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from arqmath_bm25.collection.links import DUPLICATE, KINDS, PostLinks
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.writing import complete
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.tasks.answers.answer_retrieval import thread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.collection.posts import PostTable
    from arqmath_bm25.evaluation.qrels import Qrels

TOPICS: Final = 1000
HALVES: Final = ("train", "test")
_NOTICE: Final = re.compile(
    r"\s*<blockquote>\s*<p>\s*<strong>\s*Possible Duplicates?:.*?</blockquote>", re.DOTALL
)
_FORMULA: Final = re.compile(r'(<span class="math-container"(?: id="[^"<>]*")?>)([^<$]+)(</span>)')


def judge_by_links(collection: CollectionFiles, number: int = TOPICS, seed: int = 0) -> Qrels:
    """Return judgments for `number` topics chosen at random, or all if there are fewer.

    Raises InputError if the collection has no links, or no linked question can be a topic.
    """
    links = collection.layout.dump("PostLinks")
    if links is None:
        raise InputError(
            f"DATA={collection.layout.data}: there is no PostLinks file, which tells duplicates"
        )
    near = _links(links, collection.posts)
    begins = np.flatnonzero(np.r_[True, near[1:, 0] != near[:-1, 0]][: len(near)])
    of_question = np.split(near, begins[1:])
    random.Random(seed).shuffle(of_question)  # noqa: S311  # the same for everybody
    qrels: Qrels = {}
    for rows in of_question:
        grades = {
            answer.post_id: grade
            for _, question, grade in rows.tolist()  # a duplicate comes after the same as a link
            for thread in filter(None, [collection.posts.thread(question)])
            for answer in thread.answers
        }
        if grades and len(qrels) < number:
            qrels[f"D.{rows[0, 0]}"] = grades
    if not qrels:
        raise InputError(f"{links}: no link leads from a question of DATA to one with answers")
    return dict(sorted(qrels.items(), key=lambda topic: int(topic[0].removeprefix("D."))))


def _links(path: Path, posts: PostTable) -> NDArray[np.int64]:
    """Return rows (question, linked question, grade), sorted, both ways, of known questions."""
    post, other, kind = PostLinks.read(path).rows.T
    grades = np.where(kind < DUPLICATE, 2, 3)
    between = (post != other) & (np.minimum(post, other) > 0) & np.isin(kind, list(KINDS))
    rows = np.unique(np.column_stack((post, other, grades))[between], axis=0)
    questions = np.setdiff1d(posts.ids, posts.answers)
    known: NDArray[np.int64] = rows[np.isin(rows[:, :2], questions).all(axis=1)]
    return known


def read_questions(collection: CollectionFiles, ids: Iterable[str]) -> Iterator[Topic]:
    """Read the topics with some ids, in the order of their numbers, as the labs write them."""
    numbers = sorted(int(topic_id.removeprefix("D.")) for topic_id in ids)
    for post in map(collection.posts.read, map(str, numbers)):
        if post is not None:
            body = _NOTICE.sub("", post.body, count=1) if _NOTICE.match(post.body) else post.body
            title, question = (_FORMULA.sub(r"\1$\2$\3", text) for text in (post.title or "", body))
            topic = Topic(f"D.{post.post_id}", title, question, post.tags)
            yield topic._replace(own_thread=post.post_id)


def related(collection: CollectionFiles, qrels: Qrels) -> dict[str, set[int]]:
    """Return for each topic its own thread and the threads of its relevant documents."""
    found = {}
    for topic_id, grades in qrels.items():
        threads = set(collection.posts.threads_of([doc for doc, g in grades.items() if g > 1]))
        found[topic_id] = threads | {int(own) for own in [thread_of(topic_id)] if own}
    return found


def deal(related: Mapping[str, Iterable[object]], number: int) -> list[list[str]]:
    """Divide topics into parts of about the same size; topics with a common key stay together.

    A part is larger than the others if very many topics are connected.
    """
    topics, keys = list(related), dict[object, int]()
    pairs = [
        (row, keys.setdefault(key, len(topics) + len(keys)))
        for row, topic in enumerate(topics)
        for key in related[topic]
    ]
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    size = len(topics) + len(keys)
    graph = coo_array((np.ones(len(pairs), np.int8), (ends[0], ends[1])), (size, size))
    groups: dict[int, list[str]] = {}
    for topic, group in zip(topics, connected_components(graph, directed=False)[1], strict=False):
        groups.setdefault(group, []).append(topic)
    parts: list[list[str]] = [[] for _ in range(number)]
    for members in sorted(groups.values(), key=len, reverse=True):
        min(parts, key=len).extend(members)
    return parts


def _write_topics(path: Path, topics: Iterable[Topic]) -> None:
    """Write topics of Task 1 as the labs' files have them."""
    with complete(path, by_user=True) as file:
        file.write('<?xml version="1.0" ?>\n<Topics>\n')
        for topic in topics:
            element = etree.Element("Topic", number=topic.topic_id)
            parts = (topic.title, topic.question, ",".join(topic.tags))
            for name, text in zip(("Title", "Question", "Tags"), parts, strict=True):
                etree.SubElement(element, name).text = text
            etree.indent(element, "   ", level=1)
            file.write(f"   {etree.tostring(element, encoding='unicode')}\n")
        file.write("</Topics>\n")


def write_duplicates(
    collection: CollectionFiles, place: Path, number: int, seed: int
) -> dict[str, int]:
    """Write topics_train.xml, qrels_train.tsv and the same of test; return the topics of each."""
    qrels = judge_by_links(collection, number, seed)
    halves = dict(zip(HALVES, deal(related(collection, qrels), len(HALVES)), strict=True))
    for half, topics in halves.items():
        _write_topics(place / f"topics_{half}.xml", read_questions(collection, topics))
        write_qrels(place / f"qrels_{half}.tsv", {t: qrels[t] for t in qrels if t in set(topics)})
    return {half: len(topics) for half, topics in halves.items()}
