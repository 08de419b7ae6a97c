"""Task 1 documents: one per answer, with its question as context.

Every answer carries the terms of its question, because an answer seldom repeats what it was
asked, and the titles of the questions that are linked with it. The fields stay apart, so that a
query can weigh them; comments have fields too where they are asked for. `contents` is the answer's
own prose: Anserini requires a field of this name, and skips documents in which it is blank.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.tasks.answers.post_signatures import PartSignatures
from arqmath_bm25.tasks.document_parts import write_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.analysis.analyzer import Terms
    from arqmath_bm25.analysis.settings import AnalysisSettings
    from arqmath_bm25.collection.activity import Comment
    from arqmath_bm25.collection.links import PostLinks
    from arqmath_bm25.collection.posts import Post, PostTable, Thread
    from arqmath_bm25.collection.row_table import RowTable
    from arqmath_bm25.core.workers import Workers

Task1Field = Literal[
    "contents",
    "answer_math",
    "answer_operators",
    "question_text",
    "question_math",
    "question_operators",
    "title_text",
    "title_math",
    "title_operators",
    "tags",
    "linked_text",
    "linked_math",
    "linked_operators",
    "comments_text",
    "comments_math",
]
COMMENT_FIELDS: Final = ("comments_text", "comments_math")  # there only if a variant weighs them
FIELDS: Final[tuple[str, ...]] = get_args(Task1Field)[: -len(COMMENT_FIELDS)]
_BAG: Final = ("contents", "question_text", "title_text", "tags")
NOTHING: Final = "∅"  # stands for an answer without words; no query holds it

_POSTS_PER_PART: Final = 10_000


def question_fields(
    title: Terms, body: Terms, tags: tuple[str, ...], analyzer: Analyzer
) -> dict[str, str]:
    """Terms of a question by field; topics are analysed by this too."""
    return {
        "question_text": body.words,
        "question_math": body.math,
        "question_operators": body.operators,
        "title_text": title.words,
        "title_math": title.math,
        "title_operators": title.operators,
        "tags": analyzer(Content((" ".join(tags).replace("-", " "),))).words,
    }


def answer_documents(
    threads: Iterable[Thread],
    linked: Iterable[Thread],
    links: PostLinks,
    analyzer: Analyzer,
    signatures: PartSignatures,
    comments: RowTable[Comment] | None = None,
) -> Iterator[dict[str, str]]:
    """Yield a document, field → terms, for every answer; without its question if that is missing.

    Of the questions of `links`, `linked` holds those that the collection has. `signatures` gets
    those of every post. With `comments` there are fields for those on the answer and its question.
    """
    titles = {
        thread.question.post_id: analyzer(read_title(thread.question.title))
        for thread in linked
        if thread.question and thread.question.title
    }
    for thread in threads:
        context: dict[str, str] = {}
        if thread.question and not thread.answers:
            signatures.add()
        elif question := thread.question:
            title = analyzer(read_title(question.title or ""))
            body = analyzer(read_body(question.body))
            signatures.add(body.trees, title.trees)
            linked_titles = [titles[post] for post in links.of(question.post_id) if post in titles]
            context = {
                **question_fields(title, body, question.tags, analyzer),
                **_linked_fields(linked_titles),
            }
        for answer in thread.answers:
            terms = analyzer(read_body(answer.body))
            signatures.add(terms.trees)
            yield {
                "id": answer.post_id,
                "contents": terms.words or NOTHING,
                "answer_math": terms.math,
                "answer_operators": terms.operators,
                **context,
                **(_comment_fields(thread, answer, comments, analyzer) if comments else {}),
            }


def _comment_fields(
    thread: Thread, answer: Post, comments: RowTable[Comment], analyzer: Analyzer
) -> dict[str, str]:
    posts = [answer, thread.question] if thread.question else [answer]
    said = [comment.text for post in posts for comment in comments.of(post.post_id)]
    terms = list(map(analyzer, map(read_title, said)))
    return {
        "comments_text": " ".join(one.words for one in terms if one.words),
        "comments_math": " ".join(one.math for one in terms if one.math),
    }


def as_bag(document: Mapping[str, str]) -> dict[str, str]:
    """Put the words of an answer and its question into one field."""
    words = (document.get(field, "") for field in _BAG)
    contents = " ".join(text for text in words if text not in ("", NOTHING))
    return {"id": document["id"], "contents": contents or NOTHING}


def _linked_fields(linked: Sequence[Terms]) -> dict[str, str]:
    return {
        "linked_text": " ".join(terms.words for terms in linked if terms.words),
        "linked_math": " ".join(terms.math for terms in linked if terms.math),
        "linked_operators": " ".join(terms.operators for terms in linked if terms.operators),
    }


class _Part(NamedTuple):
    """Some threads of a dump, and what else their documents take from it."""

    posts: PostTable
    linked: PostTable
    links: PostLinks
    settings: AnalysisSettings
    comments: RowTable[Comment] | None
    bag: bool  # all words in one field
    signatures: Path  # where those of its posts are written


def write_answer_documents(
    table: PostTable,
    links: PostLinks,
    settings: AnalysisSettings,
    directory: Path,
    workers: Workers,
    progress: Callable[[int], None] = lambda _: None,
    comments: RowTable[Comment] | None = None,
    bag: bool = False,
) -> dict[str, int]:
    """Write documents of all answers of a dump as JSON lines; return what was counted.

    With `bag` they have but one field, for all words of an answer and its question. The files do
    not depend on the number of `workers`, nor their memory on the size of the dump: each is sent
    the places of the posts that it reads. `progress` is told how many posts each step did.
    """
    cuts = [0]
    for start in table.thread_starts().tolist():
        if start - cuts[-1] >= _POSTS_PER_PART:
            cuts.append(start)
    cuts.append(len(table))
    parts = (
        _part(
            table, begin, end, links, settings, comments, bag, directory / f"part-{begin:010}.npz"
        )
        for begin, end in pairwise(cuts)
    )
    counts: Counter[str] = Counter()
    written = write_parts(_documents, parts, directory, workers)
    for (begin, end), counted in zip(pairwise(cuts), written, strict=True):
        counts.update(counted)
        progress(end - begin)
    return dict(counts)


def _part(
    table: PostTable, begin: int, end: int, links: PostLinks, settings: AnalysisSettings,
    comments: RowTable[Comment] | None, bag: bool, file: Path,
) -> _Part:  # fmt: skip
    posts = table.part(begin, end)
    links = links.part(posts.ids)
    comments = comments and comments.part(posts.ids)
    return _Part(posts, table.subset(links.linked()), links, settings, comments, bag, file)


@lru_cache(maxsize=1)  # a process does many parts, and the analyzer remembers what it met
def _analyzer(settings: AnalysisSettings) -> Analyzer:
    return Analyzer(settings)


def _documents(part: _Part, counts: Counter[str]) -> Iterator[dict[str, str]]:
    analyzer = _analyzer(part.settings)
    counts.update({"answers without a question": 0, "answers without words": 0})
    threads, linked = part.posts.threads(), part.linked.threads()
    signatures = PartSignatures()
    documents = answer_documents(threads, linked, part.links, analyzer, signatures, part.comments)
    for document in documents:
        counts["answers without a question"] += "tags" not in document
        counts["answers without words"] += document["contents"] == NOTHING
        yield as_bag(document) if part.bag else document
    signatures.save(part.signatures)
