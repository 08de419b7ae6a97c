"""What a topic's page says: the question, each run's ranking, and every post once below them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.evaluation.measures import RELEVANT
from arqmath_bm25.judging.annotation import GRADES
from arqmath_bm25.pages.posts import PostWriter, beginning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arqmath_bm25.pages.report.gather import Gathered
    from arqmath_bm25.pages.report.hits import Returned
    from arqmath_bm25.records import Topic

_EXCERPT: Final = 140  # characters
_WORDS: Final = {grade: label for label, grade in GRADES.items() if grade is not None}


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
    grade: Grade | None
    post: Document | None  # None in Task 3
    text: Markup | None = None  # Task 3: the answer


@dataclass
class Document:
    """What was returned, with where each run has it."""

    doc_id: str
    post_id: str
    grade: Grade | None
    title: Markup
    body: Markup  # empty if DATA does not have the post
    summary: Markup
    formula: Markup
    link: str  # empty where there is none
    ranks: dict[str, int] = field(default_factory=dict)  # run -> rank


@dataclass(frozen=True)
class Relevant:
    """A relevant document, with the rank that each run gave it."""

    doc_id: str
    grade: Grade | None
    ranks: list[int | None]


@dataclass(frozen=True)
class TopicPage:
    """Everything that a topic's page shows."""

    topic_id: str
    title: Markup
    plain_title: str
    body: Markup
    tags: tuple[str, ...]
    formula: Markup  # Task 2: what is searched
    rankings: dict[str, list[Place]]  # run -> places
    documents: list[Document]
    relevant: list[Relevant]  # High and Medium, best grade first


def topic_page(gathered: Gathered, topic: Topic) -> TopicPage:
    """Put together a page."""
    title, body = read_title(topic.title), read_body(topic.question)
    if topic.latex:  # Task 2 asks for one formula
        writer = PostWriter([Content((Formula(topic.latex, None),))])
    else:
        writer = PostWriter([title, body, Content((" ".join(topic.tags).replace("-", " "),))])
    plain = PostWriter()
    documents: dict[str, Document] = {}
    rankings = {}
    for run in gathered.runs:
        places = []
        for hit in run.topics.get(topic.topic_id, ())[: gathered.depth]:
            places.append(_place(gathered, topic.topic_id, hit, writer, documents))
            if (document := documents.get(hit.doc_id)) is not None:
                document.ranks[run.name] = hit.rank
        rankings[run.name] = places
    asked = plain.formula(Formula(topic.latex, None), display=True) if topic.latex else Markup("")
    return TopicPage(
        topic.topic_id,
        plain.title(topic.title, topic.formula_id),
        "".join(p if isinstance(p, str) else p.latex for p in title.pieces),
        plain.body(topic.question, topic.formula_id),
        topic.tags,
        asked,
        rankings,
        list(documents.values()),
        _relevant(gathered, topic.topic_id),
    )


def _place(
    gathered: Gathered, topic: str, hit: Returned, writer: PostWriter,
    documents: dict[str, Document],
) -> Place:  # fmt: skip
    if not hit.doc_id:
        return Place(hit, None, None, writer.content(read_title(hit.answer)))
    judgments = gathered.qrels.get(topic, {})
    grade = Grade.of(judgments.get(hit.doc_id), bool(judgments))
    if hit.doc_id not in documents:
        documents[hit.doc_id] = _document(gathered, hit, grade, writer)
    return Place(hit, grade, documents[hit.doc_id])


def _document(
    gathered: Gathered, hit: Returned, grade: Grade | None, writer: PostWriter
) -> Document:
    latex = gathered.latex.get(hit.formula_id)
    formula = writer.formula(Formula(latex, None), display=True) if latex else Markup("")
    post = gathered.collection.posts.read(hit.post_id)
    if post is None:
        title = Markup("Post {} is not in the collection").format(hit.post_id)
        nothing = Markup("")
        return Document(hit.doc_id, hit.post_id, grade, title, nothing, nothing, formula, "")
    question = gathered.collection.question_of(post)
    heading = question.title if question is not None and question.title else "(no question)"
    return Document(
        hit.doc_id,
        post.post_id,
        grade,
        writer.title(heading, hit.formula_id),
        writer.body(post.body, hit.formula_id),
        writer.content(beginning(post.body, _EXCERPT)),
        formula,
        gathered.collection.link(post),
    )


def _relevant(gathered: Gathered, topic: str) -> list[Relevant]:
    judgments: Mapping[str, int] = gathered.qrels.get(topic, {})
    found = [{hit.doc_id: hit.rank for hit in run.topics.get(topic, ())} for run in gathered.runs]
    relevant = [(-grade, doc) for doc, grade in judgments.items() if grade >= RELEVANT]

    def order(item: tuple[int, str]) -> tuple[int, int, str]:
        ranks = [ranks[item[1]] for ranks in found if item[1] in ranks]
        return item[0], min(ranks, default=1 << 30), item[1]

    return [
        Relevant(doc, Grade.of(-grade, True), [ranks.get(doc) for ranks in found])
        for grade, doc in sorted(relevant, key=order)
    ]
