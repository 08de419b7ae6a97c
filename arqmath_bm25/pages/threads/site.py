"""Threads as pages: static ones that open from disk, and one at a time for the search page.

Every post has the anchor `post-ID`, every comment `comment-ID`, every formula `formula-ID`; a
formula without an id is numbered within its post. Links to posts that have a page lead there. All
others are shown with their addresses and are no links: no page leads out of the collection.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from bs4 import BeautifulSoup
from markupsafe import Markup

from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.analysis.mini_markdown import comment_html
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.posts import PostWriter
from arqmath_bm25.pages.writing import site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from arqmath_bm25.analysis.html import Formula
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.posts import PostTable
    from arqmath_bm25.pages.threads.gather import ThreadPosts, ThreadReader

    Address = Callable[[str], str | None]  # of what has a page; None for others

_NAME: Final = re.compile(r"\w+")


class ThreadWriter(PostWriter):
    """Writes the posts of one page, formulas with anchors and links as `address` has them."""

    def __init__(self, address: Address) -> None:
        """`address` is that of what a link leads to."""
        super().__init__()
        self._address = address
        self._anchors: set[str] = set()
        self.place = "title"  # what is being written: anchors of formulas without ids begin so

    def body(self, html: str, found: str = "") -> Markup:
        """Return a body; its links lead to pages or nowhere."""
        body = super().body(html, found)
        if "<a" not in body:
            return body
        soup = BeautifulSoup(body, "html.parser")
        for link in soup.find_all("a"):
            target = str(link.get("href", ""))
            inside = self._address(target)
            link.attrs = {"href": inside} if inside else {"class": "outside"}
            if not inside:
                link.name = "span"
                if target and target != link.get_text():
                    link.append(f" [{target}]")
        return Markup(str(soup))  # noqa: S704  # of what `safe_html` has written

    def formula(self, formula: Formula, display: bool = False, found: str = "") -> Markup:
        """Return a formula as MathML with an anchor that no other one of the page has."""
        anchor = f"formula-{formula.formula_id}"
        if not _NAME.fullmatch(formula.formula_id or "") or anchor in self._anchors:
            anchor = f"{self.place}-formula-{len(self._anchors) + 1}"
        self._anchors.add(anchor)
        return Markup('<span id="{}">{}</span>').format(
            anchor, super().formula(formula, display, found)
        )


def thread_values(thread: ThreadPosts, collection: Collection, address: Address) -> dict[str, Any]:
    """Return what the template `thread.html` shows; `address` is that of a post."""

    def address_of_link(url: str) -> str | None:
        post_id = collection.linked_post(url, thread.thread_id)
        return address(post_id) if post_id else None

    writer = ThreadWriter(address_of_link)
    question = thread.question.post if thread.question else None
    title = (question and question.title) or f"(no question {thread.thread_id})"

    def body(kind: str, number: str, text: str) -> Markup:
        writer.place = f"{kind}-{number}"
        return writer.body(comment_html(text) if kind == "comment" else text)

    return {
        "thread": thread, "title": writer.title(title), "plain_title": read_title(title).text,
        "body": body, "title_of": PostWriter().title, "address": address,
    }  # fmt: skip


def write_threads(
    reader: ThreadReader,
    post_ids: Iterable[str],
    directory: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write a page for the thread of each post, and an overview; return how many threads.

    `directory` appears only when it is complete. Raises InputError for a post that the collection
    lacks, or if `directory` holds something else than threads.
    """
    posts = reader.collection.posts
    threads = list(dict.fromkeys(map(_thread_of(posts), post_ids)))
    files = {thread_id: f"{thread_id.replace(':', '-')}.html" for thread_id in threads}

    def address(post_id: str) -> str | None:
        file = files.get(posts.thread_of(post_id) or "")
        return f"{file}#post-{post_id}" if file else None

    titles = {}
    with site(directory, "threads", origin=reader.collection.origin) as pages:
        for thread_id, file in files.items():
            thread = reader.read(thread_id)
            assert thread is not None  # noqa: S101  # one of its posts is there
            values = thread_values(thread, reader.collection, address)
            titles[thread_id] = (file, values["plain_title"])
            pages.write(file, "thread.html", **values)
            progress(1)
        pages.write("index.html", "threads.html", titles=titles, collection=reader.collection.name)
    return len(threads)


def _thread_of(posts: PostTable) -> Callable[[str], str]:
    def thread_id(post_id: str) -> str:
        thread = posts.thread_of(post_id)
        if thread is None:
            raise InputError(
                f"{posts.path}: no question or answer {post_id}; expected ids of posts"
            )
        return thread

    return thread_id
