"""A thread with all that users did to it: comments, votes, links, who wrote it and when.

What a collection lacks (the lab's subsets have neither users nor votes) is left out of the pages;
rows of these files that cannot be used are counted in `left_out`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arqmath_bm25.collection.activity import COMMENTS, USERS, RowTable, Tally, VoteTable
from arqmath_bm25.collection.links import KINDS, PostLinks
from arqmath_bm25.core.workers.local import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.collection.activity import Comment, Kind
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.collection.posts import Post
    from arqmath_bm25.core.workers import Workers

R = TypeVar("R")


class Entry(NamedTuple):
    """A question or an answer."""

    post: Post
    author: str
    accepted: bool
    votes: Tally | None  # None: not known
    comments: list[tuple[Comment, str]]  # with the names of their authors


class Linked(NamedTuple):
    """A post that a post of the thread is linked with."""

    says: str
    post_id: str
    question: Post | None  # of its thread; None: the collection does not have it


class ThreadPosts(NamedTuple):
    """A question, which may be missing, and its answers: accepted ones first, then by score."""

    thread_id: str
    question: Entry | None
    answers: list[Entry]
    links: list[Linked]


class _Activity:
    """What users did on one site."""

    def __init__(self, layout: Layout, workers: Workers) -> None:
        def table(path: Path | None, kind: Kind[R], key: str) -> RowTable[R] | None:
            return RowTable.scan(path, kind, key, workers) if path else None

        votes = layout.dump("Votes")
        self.comments = table(layout.dump("Comments"), COMMENTS, "PostId")
        self.links = PostLinks.read(layout.dump("PostLinks"))
        self.votes = VoteTable.scan(votes, workers) if votes else None
        self.users = table(layout.dump("Users"), USERS, "Id")
        self.name = lru_cache(1 << 16)(self._read_name)

    def _read_name(self, user_id: str | None) -> str:
        """Return the name of a user; the number of one who is not known."""
        if not user_id:
            return ""
        users = self.users.of(user_id) if self.users else []
        return users[0].name if users else f"user {user_id}"


class ThreadReader:
    """Reads threads of a collection; its files are scanned once, when it is made."""

    def __init__(self, collection: Collection, workers: Workers = HERE) -> None:
        """Raises InputError for a file that is no dump of its kind or cut off."""
        self.collection = collection
        self._sites = {
            site.name if collection.site_names else "": _Activity(site.layout, workers)
            for site in collection.sites
        }

    def left_out(self) -> Iterator[str]:
        """Say of every file which of its rows cannot be used."""
        for site in self._sites.values():
            for table in (site.links, site.comments, site.users):
                for reason, count in table.counts.items() if table else ():
                    if reason not in ("rows", "rows kept", "links"):
                        yield f"{table.name if table else ''}: {count:,} {reason}"

    def read(self, thread_id: str) -> ThreadPosts | None:
        """Read the thread of a question's id; None if the collection has nothing of it."""
        table = self.collection.posts
        thread = table.thread(int(table.numbers([thread_id])[0]))
        if thread is None:
            return None
        accepted = thread.question.accepted_answer_id if thread.question else None
        answers = [self._entry(post, accepted) for post in thread.answers]
        answers.sort(key=lambda one: (not one.accepted, -(one.post.score or 0)))
        question = self._entry(thread.question, None) if thread.question else None
        posts = [one.post for one in (question, *answers) if one]
        return ThreadPosts(thread_id, question, answers, list(self._linked(posts)))

    def _entry(self, post: Post, accepted: str | None) -> Entry:
        name, _, number = post.post_id.rpartition(":")
        site = self._sites[name]
        votes = site.votes.of(number) if site.votes else None
        comments = site.comments.of(number) if site.comments else []
        return Entry(
            post, site.name(post.owner_user_id),
            post.post_id == accepted or bool(votes and votes.accepted), votes,
            [(one, one.user_name or site.name(one.user_id)) for one in comments],
        )  # fmt: skip

    def _linked(self, posts: list[Post]) -> Iterator[Linked]:
        inside = {post.post_id for post in posts}
        name, colon, _ = posts[0].post_id.rpartition(":")
        links = self._sites[name].links
        numbers = [int(post.post_id.rpartition(":")[2]) for post in posts]
        rows = [(kind, other) for number in numbers for other, kind in links.rows_of(number)]
        for wanted, says in KINDS.items():
            for other in dict.fromkeys(other for kind, other in rows if kind == wanted):
                post_id = f"{name}{colon}{other}"
                if post_id not in inside:
                    post = self.collection.posts.read(post_id)
                    yield Linked(says, post_id, post and self.collection.question_of(post))
