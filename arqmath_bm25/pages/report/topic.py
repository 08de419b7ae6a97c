"""What a topic's page says: the question, where its documents stand, and each run's ranking.

Every document is written once: what is relevant first, whether a run found it or not, and whole as
long as there is room.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.labs import GRADE_OF_LABEL, MAX_DEPTH, RELEVANT
from arqmath_bm25.core.records import Topic
from arqmath_bm25.pages.posts import PostWriter, beginning
from arqmath_bm25.pages.report.gather import Gathered, Returned

_EXCERPT: Final = 160  # characters
_ROOM: Final = 10_000  # characters of the bodies of a page's posts, as DATA has them
_WORDS: Final = {grade: label for label, grade in GRADE_OF_LABEL.items() if grade is not None}


@dataclass
class ShownDocument:
    """What was returned or should have been, with where each run has it."""

    doc_id: str
    post: Post | None  # None if DATA does not have it
    grade: int | None  # None if nobody judged it
    ranks: list[int | None]  # of each run
    formula_id: str
    formula: Markup
    title: Markup = field(default_factory=Markup)
    link: str = ""  # empty where there is none
    shares: tuple[int, int] = (0, 0)  # of the words, and of the formulas, that the question has
    body: Markup = field(default_factory=Markup)
    whole: bool = False  # whether the body is all of the post

    @property
    def word(self) -> str:
        """The grade in a word."""
        if self.grade is None:
            return "Unjudged"
        return _WORDS[min(max(self.grade, 0), max(_WORDS))]


def topic_page(gathered: Gathered, topic: Topic) -> dict[str, Any]:
    """Return what the template `topic.html` shows."""
    title, body = read_title(topic.title), read_body(topic.question)
    if topic.latex:  # Task 2 asks for one formula
        writer = PostWriter([Content((Formula(topic.latex, None),))])
    else:
        writer = PostWriter([title, body, Content((" ".join(topic.tags).replace("-", " "),))])
    plain = PostWriter()
    documents, absent = _documents(gathered, topic.topic_id, writer)
    asked = plain.formula(Formula(topic.latex, None), display=True) if topic.latex else ""
    return {
        "topic": topic,
        "title": plain.title(topic.title, topic.formula_id),
        "plain_title": "".join(p if isinstance(p, str) else p.latex for p in title.pieces),
        "body": plain.body(topic.question, topic.formula_id),
        "formula": asked,  # Task 2: what is searched
        "asks": writer.asks,  # how many words and formulas it has
        "documents": {document.doc_id: document for document in documents},
        "judged": topic.topic_id in gathered.qrels,
        "words": [*_WORDS.values(), "Unjudged"],
        "absent": absent,  # relevant ones that no run returns and DATA does not tell
        "answer": lambda hit: writer.content(read_title(hit.answer)),
    }


def _documents(
    gathered: Gathered, topic: str, writer: PostWriter
) -> tuple[list[ShownDocument], int]:
    """Return what is shown of any run, and what is relevant; how much of that is not known.

    Relevant ones stand first, the best grade first, then those of the best rank. As many posts are
    whole as there is room: pages stay small however long posts are.
    """
    grades = gathered.qrels.get(topic, {})
    rankings = [{h.doc_id: h for h in run.topics.get(topic, ())} for run in gathered.runs]
    hits = {
        hit.doc_id: hit
        for run in gathered.runs
        for hit in reversed(run.topics.get(topic, ())[: gathered.depth])
        if hit.doc_id
    }
    absent = 0
    for doc in [doc for doc, grade in grades.items() if grade >= RELEVANT]:
        hit = next((ranking[doc] for ranking in rankings if doc in ranking), None)
        if hit is None and not gathered.rules.by_formula and gathered.post(doc) is not None:
            hit = Returned(0, 0.0, doc, doc)
        if hit is not None:
            hits.setdefault(doc, hit)
        else:  # of a formula that no run found, nothing is known
            absent += 1
    documents = []
    for doc, hit in hits.items():
        ranks = [ranking[doc].rank if doc in ranking else None for ranking in rankings]
        documents.append(_document(gathered, hit, grades.get(doc), ranks, writer))
    documents.sort(key=_place)
    room = _ROOM
    for document in documents:
        if document.post is not None:
            document.body = writer.content(beginning(document.post.body, _EXCERPT))
            if len(document.post.body) <= room:
                document.body = writer.body(document.post.body, document.formula_id)
                document.whole, room = True, room - len(document.post.body)
    return documents, absent


def _place(document: ShownDocument) -> tuple[int, int, str]:
    grade = document.grade or 0
    best = min((rank for rank in document.ranks if rank), default=MAX_DEPTH + 1)
    return -grade if grade >= RELEVANT else 0, best, document.doc_id


def _document(
    gathered: Gathered, hit: Returned, grade: int | None, ranks: list[int | None],
    writer: PostWriter,
) -> ShownDocument:  # fmt: skip
    latex = gathered.latex.get(hit.formula_id)
    formula = writer.formula(Formula(latex, None), display=True) if latex else Markup("")
    post = gathered.post(hit.post_id) if hit.post_id else None
    document = ShownDocument(hit.doc_id, post, grade, ranks, hit.formula_id, formula)
    if post is not None:
        question = gathered.collection.question_of(post)
        heading = question.title if question is not None and question.title else "(no question)"
        document.title = writer.title(heading, hit.formula_id)
        document.link = gathered.link(post)
        bodies = {
            post.post_id: post.body,
            **({question.post_id: question.body} if question else {}),
        }
        document.shares = writer.shares([read_title(heading), *map(read_body, bodies.values())])
    elif hit.post_id:
        document.title = Markup("Post {} is not in the collection").format(hit.post_id)
    return document
