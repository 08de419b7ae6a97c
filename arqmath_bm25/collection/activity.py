"""What the site's users did besides posts: comments, votes, links, tags, and the users themselves.

Each kind of row is a typed record, read as a stream from the lab's file or the archive's dump.
Required are only the ids and texts that a record is worthless without: the lab's files lack other
attributes in many rows (only the last comment of a post has a score, a date and a user), and the
archive drops users who are gone. Attributes: README_DATA.md of the lab, the archive's schema.
Badges and the history of posts, which nothing reads, are known well enough to be counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from arqmath_bm25.collection.dump import BROKEN, ParsedRows, check

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.dump import Row

R = TypeVar("R")
Attributes = dict[str, str]

LINKED: Final = 1  # LinkTypeId: one post mentions the other
DUPLICATE: Final = 3  # the post asks what the related one asks

ACCEPTED: Final = 1  # VoteTypeId
UP: Final = 2
DOWN: Final = 3
FAVOURITE: Final = 5
VOTE_TYPES: Final = {
    1: "accepted", 2: "up", 3: "down", 4: "offensive", 5: "favourite", 6: "close", 7: "reopen",
    8: "bounty start", 9: "bounty close", 10: "deletion", 11: "undeletion", 12: "spam",
    13: "inform moderator", 15: "moderator review", 16: "edit approved",
}  # fmt: skip

_ID: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")  # -1 is the site's own user


class Comment(NamedTuple):
    """A comment on a question or an answer."""

    comment_id: str
    post_id: str  # may be a post that the collection lacks
    text: str  # Markdown; in the lab's files with spans of formulas
    creation_date: str | None = None  # ISO 8601 without zone (UTC)
    score: int | None = None
    user_id: str | None = None
    user_name: str | None = None  # instead of the id where the user is gone


class Vote(NamedTuple):
    """One vote on a post."""

    vote_id: str
    post_id: str
    vote_type: int  # a key of VOTE_TYPES
    creation_date: str | None = None  # of the day only
    user_id: str | None = None  # of favourites and bounties
    bounty: int | None = None  # reputation


class User(NamedTuple):
    """A user of the site."""

    user_id: str
    name: str
    reputation: int | None = None
    creation_date: str | None = None


class Tag(NamedTuple):
    """A tag of questions."""

    tag_id: str
    name: str
    questions: int | None = None  # of the site that have it
    excerpt_post_id: str | None = None
    wiki_post_id: str | None = None


class Link(NamedTuple):
    """A link from one post to another."""

    post_id: str
    related_post_id: str  # may be a post that the collection lacks
    link_type: int  # LINKED or DUPLICATE
    creation_date: str | None = None


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of dump: its root element, and how its rows become records."""

    root: str
    ids: tuple[str, ...]  # attributes that every row has, whole numbers
    texts: tuple[str, ...]  # others that every row has
    record: Callable[[Attributes], R]
    date: str = "CreationDate"

    def lacks(self, row: Attributes | str | None) -> str | None:
        """Say why a row, or what stands for it, is no record; None if it is one."""
        if row is None or isinstance(row, str):
            return row or BROKEN
        if all(is_id(row.get(name, "")) for name in self.ids) and all(
            name in row for name in self.texts
        ):
            return None
        *names, last = (*self.ids, *self.texts)
        return f"rows without {', '.join(names)} or {last}"


def is_id(text: str) -> bool:
    """Tell whether a text is an id as the dumps write them."""
    return _ID.fullmatch(text) is not None


def read(path: Path, kind: Kind[R], counts: Counter[str]) -> Iterator[R]:
    """Yield the records of a dump; `counts` gets the rows and, by reason, those left out.

    Raises InputError if the file is missing, of another kind, or cut off.
    """
    check(path, kind.root)
    for _, row in good_rows(ParsedRows(path, kind.root), kind, counts):
        yield kind.record(row)


def good_rows(
    rows: ParsedRows, kind: Kind[R], counts: Counter[str]
) -> Iterator[tuple[Row, Attributes]]:
    """Yield the rows that are records, with their places."""
    for place, row in rows:
        counts["rows"] += 1
        if reason := kind.lacks(row):
            counts[reason] += 1
        elif isinstance(row, dict):
            yield place, row


def _comment(row: Attributes) -> Comment:
    return Comment(
        row["Id"], row["PostId"], row["Text"], row.get("CreationDate"), _number(row, "Score"),
        row.get("UserId"), row.get("UserDisplayName"),
    )  # fmt: skip


def _vote(row: Attributes) -> Vote:
    return Vote(
        row["Id"], row["PostId"], int(row["VoteTypeId"]), row.get("CreationDate"),
        row.get("UserId"), _number(row, "BountyAmount"),
    )  # fmt: skip


def _user(row: Attributes) -> User:
    return User(row["Id"], row["DisplayName"], _number(row, "Reputation"), row.get("CreationDate"))


def _tag(row: Attributes) -> Tag:
    return Tag(
        row["Id"], row["TagName"], _number(row, "Count"), row.get("ExcerptPostId"),
        row.get("WikiPostId"),
    )  # fmt: skip


def _link(row: Attributes) -> Link:
    return Link(
        row["PostId"], row["RelatedPostId"], int(row["LinkTypeId"]), row.get("CreationDate")
    )


def _number(row: Attributes, name: str) -> int | None:
    value = row.get(name, "")
    return int(value) if is_id(value) else None


COMMENTS: Final = Kind("comments", ("Id", "PostId"), ("Text",), _comment)
VOTES: Final = Kind("votes", ("Id", "PostId", "VoteTypeId"), (), _vote)
USERS: Final = Kind("users", ("Id",), ("DisplayName",), _user)
TAGS: Final = Kind("tags", ("Id",), ("TagName",), _tag)
LINKS: Final = Kind("postlinks", ("PostId", "RelatedPostId", "LinkTypeId"), (), _link)
BADGES: Final = Kind("badges", ("Id", "UserId"), ("Name",), dict, date="Date")
POST_HISTORY: Final = Kind("posthistory", ("Id", "PostId", "PostHistoryTypeId"), (), dict)
