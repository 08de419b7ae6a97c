"""Task 1 documents: one per answer, with its question as context.

Every answer carries the terms of its question, because an answer seldom repeats what it was
asked. The fields stay apart, so that a query can weigh them; only those that a variant weighs are
indexed, and `contents`, the answer's own prose.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise

import numpy as np

from arqmath_bm25.analysis.analyzer import Terms
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.collection.posts import Post, PostTable, Thread
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.document_fields import (
    NOTHING,
    analyzer_of,
    document_fields,
    part_fields,
)
from arqmath_bm25.tasks.settings import Task1Settings
from arqmath_bm25.tasks.unreadable import read_or_leave_out

_BAG = ("contents", "question_text", "title_text", "tags")
_PER_PART = 5_000  # posts that one process does at a time


def answer_documents(
    threads: Iterable[Thread], settings: Task1Settings, counts: Counter[str]
) -> Iterator[Document]:
    """Yield a document for every answer, which shares the fields of its question if there is one.

    It has only the fields that `settings` weigh, or the bag that they ask for. Answers that lack a
    question or words are counted in `counts`.
    """
    fields = settings.fields
    analyzer = analyzer_of(settings)

    def read(analyze: Callable[..., Terms], post: Post, text: str, words: set[str]) -> Terms:
        written = None
        if settings.words:
            written = words
        return read_or_leave_out(partial(analyze, written=written), text, "", post.post_id, counts)

    for thread in threads:
        context = {}
        of_question = set[str]()
        question = thread.question
        if question and thread.answers:
            title = read(analyzer.title, question, question.title or "", of_question)
            body = read(analyzer.body, question, question.body, of_question)
            context = document_fields(title, body, question.tags, analyzer, "question")
        shared = {field: context[field] for field in fields if field in context}

        for answer in thread.answers:
            words = set(of_question)
            terms = read(analyzer.body, answer, answer.body, words)
            own = {"contents": terms.words, **part_fields("body", terms)}
            if not context:
                counts["answers without a question"] += 1
            if not terms.words.words:
                own["contents"] = NOTHING
                counts["answers without words"] += 1

            if settings.bag:
                bags = {**own, **context}
                in_bag = chain.from_iterable(bags[field].words for field in _BAG if field in bags)
                contents = {"contents": Bag(list(in_bag))}
                yield Document(answer.post_id, contents, words=words)
            else:
                chosen = {field: terms for field, terms in own.items() if field in fields}
                yield Document(answer.post_id, chosen, shared, words)


def parts_of(table: PostTable) -> Iterator[PostTable]:
    """Cut a table between threads into parts of about the same number of posts."""
    bounds = np.append(table.thread_starts(), len(table))
    begins = np.arange(0, len(table), _PER_PART)
    cuts = np.unique([*bounds[np.searchsorted(bounds, begins)], len(table)])
    for begin, end in pairwise(cuts.tolist()):
        yield table.part(begin, end)


def part_documents(
    settings: Task1Settings, posts: PostTable, counts: Counter[str]
) -> Iterator[Document]:
    """Yield the documents of a part."""
    counts.update({"answers without a question": 0, "answers without words": 0})
    yield from answer_documents(posts.threads(), settings, counts)
