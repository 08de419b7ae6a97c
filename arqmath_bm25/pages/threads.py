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
            return RowTable(path, kind, key, workers) if path else None

        self._comments = table(layout.dump("Comments"), COMMENTS, "PostId")
        self._links = PostLinks.read(layout.dump("PostLinks"))
        self._users = table(layout.dump("Users"), USERS, "Id")
        self._name = lru_cache(1 << 16)(self._read_name)

    def left_out(self) -> Iterator[str]:
        """Count for every file the rows that cannot be used."""
        for table in (self._links, self._comments, self._users):
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
        answers.sort(key=lambda answer: (not answer.accepted, -(answer.post.score or 0)))
        question = self._entry(thread.question, None) if thread.question else None
        posts = [entry.post for entry in (question, *answers) if entry]
        return ThreadPosts(thread_id, question, answers, list(self._linked(posts)))

    def _entry(self, post: Post, accepted: str | None) -> Entry:
        comments = self._comments.of(post.post_id) if self._comments else []
        return Entry(
            post, self._name(post.owner_user_id),
            post.post_id == accepted,
            [
                (row, row.get("UserDisplayName") or self._name(row.get("UserId")))
                for row in comments
            ],
        )  # fmt: skip

    def _read_name(self, user_id: str | None) -> str:
        """Return the name of a user, or the number if unknown."""
        if not user_id:
            return ""
        users = self._users.of(user_id) if self._users else []
        return users[0]["DisplayName"] if users else f"user {user_id}"

    def _linked(self, posts: list[Post]) -> Iterator[Linked]:
        inside = {post.post_id for post in posts}
        rows = [row for post in posts for row in self._links.rows_of(int(post.post_id))]
        for wanted, says in KINDS.items():
            for post_id in dict.fromkeys(str(other) for other, kind in rows if kind == wanted):
                if post_id not in inside:
                    post = self.collection.posts.read(post_id)
                    yield Linked(says, post_id, post and self.collection.question_of(post))


class ThreadWriter(PostWriter):
    """Writes the page of a thread: formulas with anchors, and links to what has a page."""

    def __init__(
        self, thread: ThreadPosts, collection: Collection, address: Address,
        delimiters: Delimiters = "mathjax", query: Sequence[Content] = (), formula_id: str = "",
    ) -> None:  # fmt: skip
        """`address` is that of a post; what `query` asks for is marked, and a formula by its id."""
        super().__init__(query, delimiters)
        self.address = address
        self._thread_id = thread.thread_id
        self._collection = collection
        self._formula_id = formula_id
        self._anchors: set[str] = set()
        self._place = "title"  # what is being written: anchors of formulas without ids begin so
        title = thread.question.post.title if thread.question else None
        self.heading = title or f"(no question {self._thread_id})"
        self.plain_title = read_title(self.heading, delimiters).text
        self.title_of_link = PostWriter(delimiters=delimiters).title

    def text(self, kind: str, number: str, text: str) -> Markup:
        """Return the body of a post or comment; its links lead to pages or nowhere."""
        self._place = f"{kind}-{number}"
        body = self.body(comment_html(text) if kind == "comment" else text, self._formula_id)
        if "<a" not in body:
            return body
        soup = BeautifulSoup(body, "html.parser")
        for link in soup.find_all("a"):
            target = str(link.get("href", ""))
            post_id = self._collection.linked_post(target)
            inside = self.address(post_id) if post_id else None
            link.attrs = {"href": inside} if inside else {"class": "outside"}
            if not inside:
                link.name = "span"
                if target and target != link.get_text():
                    link.append(f" [{target}]")
        return Markup(str(soup))  # noqa: S704  # of what `safe_html` has written

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
        return f"{file}#post-{post_id}" if file else None

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
