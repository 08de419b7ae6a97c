"""What the sample's source says: records, reading, and checks that it is consistent."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.core.labs import Year

_YEARS: dict[int, Year] = {0: "2020", 2: "2021", 3: "2022"}  # by hundreds of the number


@dataclass(frozen=True)
class Comment:
    """A comment on a question or an answer."""

    id: int
    date: datetime
    score: int
    owner: int | None
    text: str


@dataclass(frozen=True)
class Answer:
    """An answer (post type 2)."""

    id: int
    date: datetime
    score: int
    accepted: bool
    owner: int | None
    body: str
    comments: tuple[Comment, ...]


@dataclass(frozen=True)
class Link:
    """A link to an earlier question; type 1 is related, type 3 is duplicate."""

    to: int
    type: int


@dataclass(frozen=True)
class Question:
    """A question (post type 1) with everything that hangs on it."""

    id: int
    date: datetime
    score: int
    views: int
    owner: int | None
    title: str
    tags: tuple[str, ...]
    body: str
    comments: tuple[Comment, ...]
    answers: tuple[Answer, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Topic:
    """A Task 1 topic; without judgments it is one that was not assessed."""

    number: str
    title: str
    tags: tuple[str, ...]
    question: str
    judgments: Mapping[int, int]

    @property
    def year(self) -> Year:
        """The lab year: A.1 to A.100 are of 2020, A.201 of 2021, A.301 of 2022 and so on."""
        return _year(self.number)


@dataclass(frozen=True)
class FormulaTopic:
    """A Task 2 topic: a formula of the Task 1 topic with the same number."""

    number: str
    formula: str
    judgments: Mapping[str, int]  # LaTeX of a formula in the collection -> grade

    @property
    def year(self) -> Year:
        """The lab year, as of the Task 1 topic."""
        return _year(self.number)


def _year(number: str) -> Year:
    match = re.fullmatch(r"[AB]\.([1-9]\d*)", number)
    year = _YEARS.get((int(match[1]) - 1) // 100) if match else None
    if year is None:
        raise ValueError(f"topic {number}: not a topic number")
    return year


# Reading


def load_collection(path: Path) -> list[Question]:
    """Read the questions of the collection, in the order of the file."""
    return [_question(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def load_users(path: Path) -> dict[int, str]:
    """Read the names of the users, in the order of the file."""
    users = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {int(user): str(name) for user, name in users.items()}


def load_topics(path: Path) -> list[Topic]:
    """Read the topics, in the order of the file."""
    return [
        Topic(
            number=str(entry["number"]),
            title=str(entry["title"]),
            tags=tuple(entry["tags"]),
            question=str(entry["question"]),
            judgments={int(k): int(v) for k, v in entry.get("judgments", {}).items()},
        )
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def load_formula_topics(path: Path) -> list[FormulaTopic]:
    """Read the Task 2 topics, in the order of the file."""
    return [
        FormulaTopic(
            number=str(entry["number"]),
            formula=str(entry["formula"]),
            judgments={str(k): int(v) for k, v in entry.get("judgments", {}).items()},
        )
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def _question(entry: Mapping[str, Any]) -> Question:
    return Question(
        id=int(entry["id"]),
        date=_date(entry),
        score=int(entry["score"]),
        views=int(entry["views"]),
        owner=entry.get("owner"),
        title=str(entry["title"]),
        tags=tuple(entry["tags"]),
        body=str(entry["body"]),
        comments=_comments(entry),
        answers=tuple(_answer(answer) for answer in entry.get("answers", [])),
        links=tuple(Link(int(x["to"]), int(x["type"])) for x in entry.get("links", [])),
    )


def _answer(entry: Mapping[str, Any]) -> Answer:
    return Answer(
        id=int(entry["id"]),
        date=_date(entry),
        score=int(entry["score"]),
        accepted=bool(entry.get("accepted", False)),
        owner=entry.get("owner"),
        body=str(entry["body"]),
        comments=_comments(entry),
    )


def _comments(entry: Mapping[str, Any]) -> tuple[Comment, ...]:
    return tuple(
        Comment(
            id=int(comment["id"]),
            date=_date(comment),
            score=int(comment["score"]),
            owner=comment.get("owner"),
            text=str(comment["text"]),
        )
        for comment in entry.get("comments", [])
    )


def _date(entry: Mapping[str, Any]) -> datetime:
    date = entry["date"]
    if not isinstance(date, datetime):
        raise ValueError(f"{entry['id']}: not a date with a time: {date!r}")
    return date


# Checking


def check(questions: Sequence[Question], topics: Sequence[Topic], users: Mapping[int, str]) -> None:
    """Raise ValueError, naming the id, if the source contradicts itself."""
    answers = [answer for question in questions for answer in question.answers]
    _check_unique("post", [question.id for question in questions] + [a.id for a in answers])
    _check_unique("comment", [comment.id for comment in _all_comments(questions)])
    _check_unique("topic", [topic.number for topic in topics])

    question_ids = {question.id for question in questions}
    for question in questions:
        for answer in question.answers:
            if answer.date < question.date:
                raise ValueError(f"answer {answer.id} is earlier than question {question.id}")
        if sum(answer.accepted for answer in question.answers) > 1:
            raise ValueError(f"question {question.id} has more than one accepted answer")
        for link in question.links:
            if link.to not in question_ids or link.type not in (1, 3):
                raise ValueError(f"question {question.id} has a wrong link {link}")

    posts = [post for question in questions for post in with_answers(question)]
    written = (*posts, *_all_comments(questions))
    owners = {one.owner for one in written if one.owner is not None}
    if owners != set(users):
        raise ValueError(f"users without name or posts: {sorted(owners ^ set(users))}")

    answer_ids = {answer.id for answer in answers}
    for topic in topics:
        for answer_id, grade in topic.judgments.items():
            if answer_id not in answer_ids:
                raise ValueError(f"topic {topic.number} judges the unknown answer {answer_id}")
            if grade not in range(4):
                raise ValueError(f"topic {topic.number} gives {answer_id} the grade {grade}")


def _check_unique(what: str, ids: Sequence[int | str]) -> None:
    for value, count in Counter(ids).items():
        if count > 1:
            raise ValueError(f"{what} id {value} is used {count} times")


def _all_comments(questions: Iterable[Question]) -> Iterator[Comment]:
    for question in questions:
        for post in with_answers(question):
            yield from post.comments


def with_answers(question: Question) -> tuple[Question | Answer, ...]:
    """Return a question and its answers."""
    return question, *question.answers
