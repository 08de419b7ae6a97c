"""Threads as assessors and readers see them: static pages that open from disk, or served ones.

A page has a thread with all that users did to it: comments, links, who wrote it and when.
What a collection lacks (the lab's subsets have no users) is left out; rows of these
files that cannot be used are counted in `left_out`.

Every post has the anchor `post-ID`, every comment `comment-ID`, every formula `formula-ID`; a
formula without an id is numbered within its post. Links to posts that have a page lead there. All
others are shown with their addresses and are no links: no page leads out of the collection.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from bs4 import BeautifulSoup
from markupsafe import Markup

from arqmath_bm25.analysis.html import Content, Delimiters, Formula, read_title
from arqmath_bm25.analysis.mini_markdown import comment_html
from arqmath_bm25.collection.activity import COMMENTS, USERS, Attributes, RowKind, RowTable
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.links import KINDS, PostLinks
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.pages.page_files import site
from arqmath_bm25.pages.post_html import PostWriter

Address = Callable[[str], str | None]  # of what has a page; None for others

_NAME: Final = re.compile(r"\w+")


class Entry(NamedTuple):
    """A question or an answer."""

    post: Post
    author: str
    accepted: bool
    comments: list[tuple[Attributes, str]]  # with the names of their authors


class Linked(NamedTuple):
    """A post linked with a post of the thread."""

    says: str
    post_id: str
    question: Post | None  # of its thread; None: the collection does not have it


class ThreadPosts(NamedTuple):
    """A question, which may be missing, and its answers: accepted ones first, then by score."""

    thread_id: str
    question: Entry | None
    answers: list[Entry]
    links: list[Linked]


class ThreadReader:
    """Reads threads of a collection; its files are scanned once, when it is made."""

    def __init__(self, collection: Collection, workers: Workers = HERE) -> None:
        """Raises InputError for a file that is no dump of its kind or cut off."""
        self.collection = collection
        layout = collection.layout

        def table(path: Path | None, kind: RowKind, key: str) -> RowTable | None:
            if path is None:
                return None
            return RowTable(path, kind, key, workers)

        self._comments = table(layout.dump("Comments"), COMMENTS, "PostId")
        self._links = PostLinks.read(layout.dump("PostLinks"))
        self._users = table(layout.dump("Users"), USERS, "Id")
        self._name = lru_cache(1 << 16)(self._read_name)

    def left_out(self) -> Iterator[str]:
        """Count for every file the rows that cannot be used."""
        for table in (self._links, self._comments, self._users):
            if table is None:
                continue
            for reason, count in table.counts.items():
                if reason not in ("rows", "rows kept", "links"):
                    yield f"{table.name}: {count:,} {reason}"

    def read(self, thread_id: str) -> ThreadPosts | None:
        """Read the thread of a question's id; None if the collection has nothing of it."""
        table = self.collection.posts
        thread = table.thread(int(table.numbers([thread_id])[0]))
        if thread is None:
            return None

        accepted, question = None, None
        if thread.question:
            accepted = thread.question.accepted_answer_id
            question = self._entry(thread.question, None)

        answers = [self._entry(post, accepted) for post in thread.answers]
        answers.sort(key=lambda answer: (not answer.accepted, -(answer.post.score or 0)))
        posts = [entry.post for entry in (question, *answers) if entry]
        return ThreadPosts(thread_id, question, answers, list(self._linked(posts)))

    def _entry(self, post: Post, accepted: str | None) -> Entry:
        comments = []
        if self._comments:
            for row in self._comments.of(post.post_id):
                author = row.get("UserDisplayName") or self._name(row.get("UserId"))
                comments.append((row, author))

        return Entry(post, self._name(post.owner_user_id), post.post_id == accepted, comments)

    def _read_name(self, user_id: str | None) -> str:
        """Return the name of a user, or the number if unknown."""
        if not user_id:
            return ""
        if self._users:
            for user in self._users.of(user_id):
                return user["DisplayName"]

        return f"user {user_id}"

    def _linked(self, posts: list[Post]) -> Iterator[Linked]:
        inside = {post.post_id for post in posts}
        rows: list[list[int]] = []
        for post in posts:
            rows += self._links.rows_of(int(post.post_id))

        for wanted, says in KINDS.items():
            linked = [str(other) for other, kind in rows if kind == wanted]
            for post_id in dict.fromkeys(linked):
                if post_id not in inside:
                    yield Linked(says, post_id, self._question_of(post_id))

    def _question_of(self, post_id: str) -> Post | None:
        """Return the question of a post by its id; None if the collection lacks one of them."""
        post = self.collection.posts.read(post_id)
        if post is None:
            return None
        return self.collection.question_of(post)


class ThreadWriter(PostWriter):
    """Writes the page of a thread: formulas with anchors, links to posts that have a page."""

    def __init__(
        self, thread: ThreadPosts, collection: Collection, address: Address,
        delimiters: Delimiters = "mathjax", query: Sequence[Content] = (), formula_id: str = "",
    ) -> None:  # fmt: skip
        """`address` returns the page of a post; terms of `query` and one formula are marked."""
        super().__init__(query, delimiters)
        self.address = address
        self._thread_id = thread.thread_id
        self._collection = collection
        self._formula_id = formula_id
        self._anchors: set[str] = set()
        self._place = "title"  # what is being written: anchors of formulas without ids begin so
        self.heading = f"(no question {self._thread_id})"
        if thread.question and thread.question.post.title:
            self.heading = thread.question.post.title
        self.plain_title = read_title(self.heading, delimiters).text
        self.title_of_link = PostWriter(delimiters=delimiters).title

    def text(self, kind: str, number: str, text: str) -> Markup:
        """Return the body of a post or comment; its links lead to pages or nowhere."""
        self._place = f"{kind}-{number}"
        if kind == "comment":
            text = comment_html(text)
        body = self.body(text, self._formula_id)
        if "<a" not in body:
            return body
        soup = BeautifulSoup(body, "html.parser")

        for link in soup.find_all("a"):
            target = str(link.get("href", ""))
            inside = self._page_of(target)
            if inside:
                link.attrs = {"href": inside}
                continue

            link.name = "span"
            link.attrs = {"class": "outside"}
            if target and target != link.get_text():
                link.append(f" [{target}]")

        return Markup(str(soup))  # noqa: S704  # of what `safe_html` has written

    def _page_of(self, target: str) -> str | None:
        """Return the page of the post to which a link leads; None if it has none here."""
        post_id = self._collection.linked_post(target)
        if not post_id:
            return None
        return self.address(post_id)

    def formula(self, formula: Formula, display: bool = False, formula_id: str = "") -> Markup:
        """Return a formula as MathML with an anchor that no other one of the page has."""
        anchor = f"formula-{formula.formula_id}"
        if not _NAME.fullmatch(formula.formula_id or "") or anchor in self._anchors:
            anchor = f"{self._place}-formula-{len(self._anchors) + 1}"
        self._anchors.add(anchor)
        return Markup('<span id="{}">{}</span>').format(
            anchor, super().formula(formula, display, formula_id)
        )


def write_threads(
    reader: ThreadReader,
    post_ids: Iterable[str],
    directory: Path,
    progress: Callable[[int], None] = lambda _: None,
    delimiters: Delimiters = "mathjax",
) -> int:
    """Write a page for the thread of each post, and an overview; return how many threads.

    `directory` appears only when it is complete. Raises InputError for a post that the collection
    lacks, or if `directory` holds something else than threads.
    """
    posts = reader.collection.posts
    files: dict[str, str] = {}

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
            assert thread is not None  # noqa: S101  # one of its posts is there
            writer = ThreadWriter(thread, reader.collection, address, delimiters)
            titles[thread_id] = (file, writer.plain_title)
            pages.write(file, "thread.html", thread=thread, writer=writer)
            progress(1)

        pages.write("index.html", "threads.html", titles=titles, collection=reader.collection.name)

    return len(files)
