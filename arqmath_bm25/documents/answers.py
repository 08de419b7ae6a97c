"""Task 1 documents: one per answer, with its question as context.

Every answer carries the terms of its question, because an answer seldom repeats what it was
asked, and the titles of the questions that are linked with it. The fields stay apart, so that a
query can weigh them. `contents` is the answer's own prose: Anserini requires a field of this name,
and skips documents in which it is blank.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.config import AnalysisSettings, Task1Field
from arqmath_bm25.documents.workers import in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.posts import Post, Thread

FIELDS: Final[tuple[str, ...]] = get_args(Task1Field)
POST_TABLE: Final = "posts.npy"
LINK_TABLE: Final = "links.npy"
NOTHING: Final = "∅"  # stands for an answer without words; no query holds it

_POSTS_PER_PART: Final = 20_000


def question_fields(
    title: Content, body: Content, tags: tuple[str, ...], analyzer: Analyzer
) -> dict[str, str]:
    """Terms of a question by field; topics are analysed by this too."""
    title_terms, body_terms = analyzer(title), analyzer(body)
    tag_terms = analyzer(Content((" ".join(tags).replace("-", " "),)))
    return {
        "question_text": body_terms.words,
        "question_math": body_terms.math,
        "title_text": title_terms.words,
        "title_math": title_terms.math,
        "tags": tag_terms.words,
    }


def answer_documents(
    threads: Iterable[Thread], table: PostTable, links: PostLinks, analyzer: Analyzer
) -> Iterator[dict[str, str]]:
    """Yield a document, field → terms, for every answer; without its question if that is missing.

    Titles of linked questions are looked up in `table`; links that lead out of it are passed over.
    """
    for thread in threads:
        context: dict[str, str] = {}
        if thread.answers and thread.question:
            context = _context(thread.question, table, links, analyzer)
        for answer in thread.answers:
            terms = analyzer(read_body(answer.body))
            own = {"contents": terms.words or NOTHING, "answer_math": terms.math}
            yield {"id": answer.post_id, **own, **context}


def _context(
    question: Post, table: PostTable, links: PostLinks, analyzer: Analyzer
) -> dict[str, str]:
    title, body = read_title(question.title or ""), read_body(question.body)
    linked = map(table.read, links.of(question.post_id))
    titles = [analyzer(read_title(post.title)) for post in linked if post and post.title]
    return {
        **question_fields(title, body, question.tags, analyzer),
        "linked_text": " ".join(terms.words for terms in titles if terms.words),
        "linked_math": " ".join(terms.math for terms in titles if terms.math),
    }


class _Part(NamedTuple):
    """Some threads of a dump, to be written to a file of their own."""

    posts: Path
    tables: Path
    settings: AnalysisSettings
    begin: int  # row of the table
    end: int
    file: Path


def write_answer_documents(
    posts: Path,
    tables: Path,
    settings: AnalysisSettings,
    directory: Path,
    processes: int,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, int]:
    """Write documents of all answers in the dump `posts` as JSON lines; return what was counted.

    In `tables` lie POST_TABLE and LINK_TABLE of the dump. The parts that are written do not depend
    on the number of `processes`. `progress` is told how many posts each step did.
    """
    table = PostTable.load(tables / POST_TABLE, posts)
    cuts = [0]
    for start in table.thread_starts().tolist():
        if start - cuts[-1] >= _POSTS_PER_PART:
            cuts.append(start)
    parts = [
        _Part(posts, tables, settings, begin, end, directory / f"part-{number:05}.jsonl")
        for number, (begin, end) in enumerate(pairwise([*cuts, len(table)]))
    ]
    counts: Counter[str] = Counter()
    for part, written in zip(parts, in_processes(_write_part, parts, processes), strict=True):
        counts += written
        progress(part.end - part.begin)
    return dict(counts)


@lru_cache(maxsize=1)  # a process writes many parts of the same dump
def _open(
    posts: Path, tables: Path, settings: AnalysisSettings
) -> tuple[PostTable, PostLinks, Analyzer]:
    table = PostTable.load(tables / POST_TABLE, posts)
    return table, PostLinks.load(tables / LINK_TABLE), Analyzer(settings)


def _write_part(part: _Part) -> Counter[str]:
    table, links, analyzer = _open(part.posts, part.tables, part.settings)
    threads = table.threads(part.begin, part.end)
    counts: Counter[str] = Counter()
    with part.file.open("w", encoding="utf-8", newline="\n") as file:
        for document in answer_documents(threads, table, links, analyzer):
            counts["documents"] += 1
            counts["answers without a question"] += "tags" not in document
            counts["answers without words"] += document["contents"] == NOTHING
            file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
    return counts
