"""Threads as assessors and readers see them: static pages that open from disk, or served ones.

A page has a thread with its comments and links, and with author and date of each post. Files that
a collection lacks (the lab's subsets have no users) are left out; rows of these files that cannot
be used are counted in `left_out`.

Every post has the anchor `post-ID`, every comment `comment-ID`, every formula `formula-ID`; a
formula without an id is numbered within its post. Links to posts that have a page lead there. Other
links become text with their addresses, so no page leads out of the collection.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup
from markupsafe import Markup

from arqmath_bm25.analysis.html import Content, Delimiters, Formula, read_title
from arqmath_bm25.analysis.mini_markdown import comment_html
from arqmath_bm25.collection.activity import COMMENTS, USERS, Attributes, RowKind, RowTable
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.links import KINDS, PostLinks
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.pages.page_files import site
from arqmath_bm25.pages.post_html import PostWriter

# From the id of a post to its page; None if it has no page.
Address = Callable[[str], str | None]

_NAME = re.compile(r"\w+")


class Entry(NamedTuple):
    """A question or an answer."""

    post: Post
    author: str
    accepted: bool
    comments: list[tuple[Attributes, str]]  # comments with the names of their authors


class LinkedPost(NamedTuple):
    """A post linked with a post of the thread."""

    says: str  # the type of the link, in words
    post_id: str
    question: Post | None  # the question of its thread; None if the collection does not have it


class ThreadPosts(NamedTuple):
    """A question, which may be missing, and its answers: accepted ones first, then by score."""

    thread_id: str
    question: Entry | None
    answers: list[Entry]
    links: list[LinkedPost]


class ThreadReader:
    """Reads threads of a collection; its files are scanned once, when the reader is made."""

    def __init__(self, collection: CollectionFiles, workers: Workers = HERE) -> None:
        """Raises InputError for a truncated file, or one of another type."""
        self.collection = collection
        layout = collection.layout
        comments = layout.dump("Comments")
        users = layout.dump("Users")
        self._comments = _open_table(comments, COMMENTS, "PostId", workers)
        self._links = PostLinks.read(layout.dump("PostLinks"))
        self._users = _open_table(users, USERS, "Id", workers)
        self._name = lru_cache(1 << 16)(self._read_name)

    def left_out(self) -> Iterator[str]:
        """Yield for every file how many rows cannot be used."""
        for table in (self._links, self._comments, self._users):
            if table is None:
                continue
            for reason, count in table.counts.items():
                if reason not in ("rows", "rows kept", "links"):
                    yield f"{table.name}: {count:,} {reason}"

    def read(self, thread_id: str) -> ThreadPosts | None:
        """Read the thread with a question's id; None if the collection has no post of it."""
        table = self.collection.posts
        number = table.numbers([thread_id])[0]
        thread = table.thread(int(number))
        if thread is None:
            return None

        accepted = None
        question = None
        posts = []
        if thread.question:
            accepted = thread.question.accepted_answer_id
            question = self._entry(thread.question, None)
            posts.append(thread.question)

        answers = [self._entry(post, accepted) for post in thread.answers]
        answers.sort(key=lambda answer: (not answer.accepted, -(answer.post.score or 0)))
        posts += [answer.post for answer in answers]
        links = list(self._linked_posts(posts))
        return ThreadPosts(thread_id, question, answers, links)

    def _entry(self, post: Post, accepted: str | None) -> Entry:
        """Return a post with its author and its comments."""
        author = self._name(post.owner_user_id)
        comments = []
        if self._comments:
            for row in self._comments.of(post.post_id):
                commenter = row.get("UserDisplayName") or self._name(row.get("UserId"))
                comments.append((row, commenter))

        is_accepted = post.post_id == accepted
        return Entry(post, author, is_accepted, comments)

    def _read_name(self, user_id: str | None) -> str:
        """Return the name of a user, or the number if unknown."""
        if not user_id:
            return ""
        if self._users:
            for user in self._users.of(user_id):
                return user["DisplayName"]

        return f"user {user_id}"

    def _linked_posts(self, posts: list[Post]) -> Iterator[LinkedPost]:
        """Yield the posts outside the thread that its posts are linked with, by type of link."""
        in_thread = {post.post_id for post in posts}
        linked: dict[int, list[str]] = {kind: [] for kind in KINDS}
        for post in posts:
            for other, kind in self._links.rows_of(int(post.post_id)):
                linked.setdefault(kind, []).append(str(other))

        for kind, says in KINDS.items():
            for post_id in dict.fromkeys(linked[kind]):
                if post_id not in in_thread:
                    found = self.collection.posts.read(post_id)
                    question = found and self.collection.question_of(found)
                    yield LinkedPost(says, post_id, question)


def _open_table(path: Path | None, kind: RowKind, key: str, workers: Workers) -> RowTable | None:
    """Open the table of a dump; None if the collection lacks it."""
    if path is None:
        return None
    return RowTable(path, kind, key, workers)


class ThreadWriter(PostWriter):
    """Writes the page of a thread: formulas with anchors, links to posts that have a page."""

    def __init__(
        self,
        thread: ThreadPosts,
        collection: CollectionFiles,
        address: Address,
        delimiters: Delimiters = "mathjax",
        query: Sequence[Content] = (),
        formula_id: str = "",
    ) -> None:
        """`address` returns the page of a post; terms of `query` and one formula are marked."""
        super().__init__(query, delimiters)
        self.address = address
        self._thread_id = thread.thread_id
        self._collection = collection
        self._formula_id = formula_id
        self._anchors: set[str] = set()

        # The part of the page that is being written begins the anchors of formulas without ids.
        self._part = "title"
        self.heading = f"(no question {self._thread_id})"
        if thread.question and thread.question.post.title:
            self.heading = thread.question.post.title
        self.plain_title = read_title(self.heading, delimiters).text
        self.title_of_link = PostWriter(delimiters=delimiters).title

    def text(self, kind: str, number: str, text: str) -> Markup:
        """Return the body of a post or comment; its links lead to pages or nowhere."""
        self._part = f"{kind}-{number}"
        if kind == "comment":
            text = comment_html(text)

        body = self.body(text, self._formula_id)
        if "<a" not in body:
            return body

        soup = BeautifulSoup(body, "html.parser")
        for link in soup.find_all("a"):
            target = str(link.get("href", ""))
            post_id = self._collection.linked_post(target)
            page = post_id and self.address(post_id)
            if page:
                link.attrs = {"href": page}
                continue

            link.name = "span"
            link.attrs = {"class": "outside"}
            if target and target != link.get_text():
                link.append(f" [{target}]")

        # The text is safe, since `safe_html` has written it.
        return Markup(str(soup))  # noqa: S704

    def formula(self, formula: Formula, display: bool = False, formula_id: str = "") -> Markup:
        """Return a formula as MathML with an anchor that is unique on the page."""
        anchor = f"formula-{formula.formula_id}"
        has_name = _NAME.fullmatch(formula.formula_id or "")
        if not has_name or anchor in self._anchors:
            number = len(self._anchors) + 1
            anchor = f"{self._part}-formula-{number}"

        self._anchors.add(anchor)
        html = super().formula(formula, display, formula_id)
        return Markup('<span id="{}">{}</span>').format(anchor, html)


def write_threads(
    reader: ThreadReader,
    post_ids: Iterable[str],
    directory: Path,
    progress: Callable[[int], None] = lambda _: None,
    delimiters: Delimiters = "mathjax",
) -> int:
    """Write a page for the thread of each post, and an overview; return the number of threads.

    `directory` appears only when it is complete. Raises InputError for a post that the collection
    lacks, or if `directory` holds something else than threads.
    """
    posts = reader.collection.posts
    files = {}

    for post_id in post_ids:
        thread_id = posts.thread_of(post_id)
        if thread_id is None:
            raise InputError(
                f"{posts.path}: no question or answer {post_id}; expected ids of posts"
            )

        files[thread_id] = f"{thread_id}.html"

    def address(post_id: str) -> str | None:
        file = files.get(posts.thread_of(post_id) or "")
        if file is None:
            return None
        return f"{file}#post-{post_id}"

    titles = {}

    with site(directory, "threads", origin=reader.collection.origin) as pages:
        for thread_id, file in files.items():
            thread = reader.read(thread_id)
            # The collection has one of its posts, by which it was found.
            assert thread is not None  # noqa: S101
            writer = ThreadWriter(thread, reader.collection, address, delimiters)
            titles[thread_id] = (file, writer.plain_title)
            pages.write(file, "thread.html", thread=thread, writer=writer)
            progress(1)

        pages.write("index.html", "threads.html", titles=titles, collection=reader.collection.name)

    return len(files)
