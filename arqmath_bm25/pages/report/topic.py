"""What a topic's page says: the question, where its documents stand, and each run's ranking.

Every document is written once: what is relevant first, whether a run found it or not, and whole as
long as there is room.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.core.labs import GRADE_OF_LABEL, MAX_DEPTH, RELEVANT
from arqmath_bm25.pages.posts import PostWriter, beginning
from arqmath_bm25.pages.report.returned import Returned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arqmath_bm25.collection.posts import Post
    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.pages.report.gather import Gathered

_EXCERPT: Final = 160  # characters
_ROOM: Final = 24_000  # characters of the bodies of a page's posts, as DATA has them
_WORDS: Final = {grade: label for label, grade in GRADE_OF_LABEL.items() if grade is not None}


@dataclass(frozen=True)
class Grade:
    """Relevance, as a word and as a class of the style sheet."""

    word: str
    css: str

    @classmethod
    def of(cls, grade: int | None, judged: bool) -> Grade | None:
        """Name a grade; None if there are no judgments of the topic at all."""
        if not judged:
            return None
        if grade is None:
            return cls("Unjudged", "unjudged")
        word = _WORDS.get(min(max(grade, 0), max(_WORDS)), str(grade))
        return cls(word, word.lower().replace(" ", "-"))


@dataclass(frozen=True)
class Place:
    """One place of a ranking."""

    hit: Returned
    document: Document | None  # None in Task 3
    before: int | None  # rank in the first run
    text: Markup | None = None  # Task 3: the answer


@dataclass
class Document:
    """What was returned or should have been, with where each run has it."""

    doc_id: str
    post: Post | None  # None if DATA does not have it
    grade: Grade | None
    ranks: list[int | None]  # of each run
    formula_id: str
    formula: Markup
    title: Markup
    link: str  # empty where there is none
    shares: tuple[int, int]  # of the words, and of the formulas, that the question has
    body: Markup = field(default_factory=Markup)
    whole: bool = False  # whether the body is all of the post

    @property
    def best(self) -> int:
        """The best rank of all runs."""
        return min((rank for rank in self.ranks if rank), default=MAX_DEPTH + 1)


@dataclass(frozen=True)
class TopicPage:
    """Everything that a topic's page shows."""

    topic_id: str
    title: Markup
    plain_title: str
    body: Markup
    tags: tuple[str, ...]
    formula: Markup  # Task 2: what is searched
    asks: tuple[int, int]  # how many words and formulas it has
    rankings: dict[str, list[Place]]  # run -> places
    documents: list[Document]  # relevant ones first, best grade first, then by rank
    absent: int  # relevant ones that no run returns and DATA does not tell


def topic_page(gathered: Gathered, topic: Topic) -> TopicPage:
    """Put together a page."""
    title, body = read_title(topic.title), read_body(topic.question)
    if topic.latex:  # Task 2 asks for one formula
        writer = PostWriter([Content((Formula(topic.latex, None),))])
    else:
        writer = PostWriter([title, body, Content((" ".join(topic.tags).replace("-", " "),))])
    plain = PostWriter()
    documents, absent = _documents(gathered, topic.topic_id, writer)
    asked = plain.formula(Formula(topic.latex, None), display=True) if topic.latex else Markup("")
    return TopicPage(
        topic.topic_id,
        plain.title(topic.title, topic.formula_id),
        "".join(p if isinstance(p, str) else p.latex for p in title.pieces),
        plain.body(topic.question, topic.formula_id),
        topic.tags,
        asked,
        writer.asks,
        {
            run.name: [
                _place(hit, documents, writer)
                for hit in run.topics.get(topic.topic_id, ())[: gathered.depth]
            ]
            for run in gathered.runs
        },
        list(documents.values()),
        absent,
    )


def _place(hit: Returned, documents: Mapping[str, Document], writer: PostWriter) -> Place:
    if not hit.doc_id:
        return Place(hit, None, None, writer.content(read_title(hit.answer)))
    document = documents[hit.doc_id]
    return Place(hit, document, document.ranks[0])


def _documents(
    gathered: Gathered, topic: str, writer: PostWriter
) -> tuple[dict[str, Document], int]:
    """Return what is shown of any run, and what is relevant; how much of that is not known.

    As many posts are whole as there is room, the most telling ones first: pages stay small however
    long posts are.
    """
    judgments = gathered.qrels.get(topic, {})
    rankings = [{h.doc_id: h for h in run.topics.get(topic, ())} for run in gathered.runs]
    shown = {
        hit.doc_id: hit
        for run in gathered.runs
        for hit in reversed(run.topics.get(topic, ())[: gathered.depth])
        if hit.doc_id
    }
    absent = 0
    for doc, grade in judgments.items():
        if grade >= RELEVANT:
            hit = next((r[doc] for r in rankings if doc in r), None)
            if hit is not None:
                shown.setdefault(doc, hit)
            elif gathered.task == "task1" and gathered.collection.posts.read(doc) is not None:
                shown[doc] = Returned(0, 0.0, doc, doc)
            else:  # of a formula that no run found, nothing is known
                absent += 1
    found = []
    for doc, hit in shown.items():
        judged = judgments.get(doc)
        ranks = [r[doc].rank if doc in r else None for r in rankings]
        named = Grade.of(judged, bool(judgments))
        first = judged if judged is not None and judged >= RELEVANT else 0
        found.append((-first, _document(gathered, hit, named, ranks, writer)))
    found.sort(key=lambda one: (one[0], one[1].best, one[1].doc_id))
    room = _ROOM
    for _, document in found:
        if document.post is not None:
            document.body = writer.content(beginning(document.post.body, _EXCERPT))
            if len(document.post.body) <= room:
                document.body = writer.body(document.post.body, document.formula_id)
                document.whole, room = True, room - len(document.post.body)
    return {document.doc_id: document for _, document in found}, absent


def _document(
    gathered: Gathered, hit: Returned, grade: Grade | None, ranks: list[int | None],
    writer: PostWriter,
) -> Document:  # fmt: skip
    latex = gathered.latex.get(hit.formula_id)
    formula = writer.formula(Formula(latex, None), display=True) if latex else Markup("")
    post = gathered.collection.posts.read(hit.post_id) if hit.post_id else None
    title, link, shares = Markup(""), "", (0, 0)
    if post is None and hit.post_id:
        title = Markup("Post {} is not in the collection").format(hit.post_id)
    elif post is not None:
        question = gathered.collection.question_of(post)
        heading = question.title if question is not None and question.title else "(no question)"
        title, link = writer.title(heading, hit.formula_id), gathered.collection.link(post)
        whole = {post.post_id: post.body, **({question.post_id: question.body} if question else {})}
        shares = writer.shares([read_title(heading), *map(read_body, whole.values())])
    return Document(hit.doc_id, post, grade, ranks, hit.formula_id, formula, title, link, shares)
