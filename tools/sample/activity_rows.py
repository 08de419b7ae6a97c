"""The rows of the sample beside its posts: tags, links, votes and users."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING

from tools.sample.read_source import Answer, Question, with_answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime

ACCEPTED, UP, DOWN, FAVOURITE = 1, 2, 3, 5  # VoteTypeId
Row = dict[str, int | str | None]
"""The attributes of a `<row>` in order; those with the value None are left out."""


def tag_rows(questions: Sequence[Question]) -> list[Row]:
    """Return the tags, with the number of their questions."""
    counts = Counter(tag for question in questions for tag in question.tags)
    return [
        {"Id": number, "TagName": tag, "Count": count}
        for number, (tag, count) in enumerate(counts.items(), start=1)
    ]


def link_rows(questions: Sequence[Question]) -> list[Row]:
    """Return the links, each as old as the later of its questions."""
    dates = {question.id: question.date for question in questions}
    links = [(question, link) for question in questions for link in question.links]
    return [
        {
            "Id": number,
            "CreationDate": timestamp(max(question.date, dates[link.to])),
            "PostId": question.id,
            "RelatedPostId": link.to,
            "LinkTypeId": link.type,
        }
        for number, (question, link) in enumerate(links, start=1)
    ]


def vote_rows(questions: Sequence[Question]) -> list[Row]:
    """Return votes that add up to the scores, one a day; every fifth post has a vote down more.

    Questions that many have seen are a favourite of the first to answer.
    """
    votes: list[tuple[date, int, int, int | None]] = []

    def add(post: Question | Answer, kind: int, count: int, user: int | None = None) -> None:
        days = (post.date.date() + timedelta(days=day) for day in range(count))
        votes.extend((day, post.id, kind, user) for day in days)

    for question in questions:
        for post in with_answers(question):
            disliked = max(-post.score, 0) + (post.id % 5 == 0)
            add(post, UP, post.score + disliked)
            add(post, DOWN, disliked)
            if isinstance(post, Answer) and post.accepted:
                add(post, ACCEPTED, 1)
        fan = next((answer.owner for answer in question.answers), None)
        if question.views >= 1_000 and fan is not None:
            add(question, FAVOURITE, 1, fan)
    return [
        {
            "Id": number,
            "PostId": post,
            "VoteTypeId": kind,
            "CreationDate": f"{day}T00:00:00.000",
            "UserId": user,
        }
        for number, (day, post, kind, user) in enumerate(sorted(votes, key=itemgetter(0)), start=1)
    ]


def user_rows(questions: Sequence[Question], users: Mapping[int, str]) -> list[Row]:
    """Return the users, with the reputation that their posts earned."""
    earned: Counter[int] = Counter()
    seen: dict[int, list[datetime]] = {user: [] for user in users}
    for question in questions:
        for post in with_answers(question):
            for written in (post, *post.comments):
                if written.owner is not None:
                    seen[written.owner].append(written.date)
            if post.owner is not None:
                accepted = isinstance(post, Answer) and post.accepted
                earned[post.owner] += 10 * max(post.score, 0) + 15 * accepted
    return [
        {
            "Id": user,
            "Reputation": 1 + earned[user],
            "CreationDate": timestamp(min(seen[user]) - timedelta(days=user)),
            "DisplayName": name,
            "LastAccessDate": timestamp(max(seen[user])),
            "Views": len(seen[user]),
            "UpVotes": 0,
            "DownVotes": 0,
        }
        for user, name in users.items()
    ]


def timestamp(date: datetime) -> str:
    """Write a time as the dumps do."""
    return date.isoformat(timespec="milliseconds")
