"""The search page as tests use it: over indexes that they build, in a thread of their own."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.pages.web.server import listen, server
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


def build_indexes(data: Path, indexes: Path) -> Path:
    """Index the answers of a collection, and its formulas if it has any."""
    collection = CollectionFiles(data, indexes)
    for name in ("task1", "task2"):
        if name == "task1" or collection.layout.has_formulas():
            ensure(IndexContent.of(configured(name).index_task, collection))
    return indexes


def open_site(data: Path, indexes: Path, prefix: str = "") -> SearchPages:
    """Return the handlers of a search page."""
    collection = CollectionFiles(data, indexes)
    tasks = [name for name in ("task1", "task2", "docs") if (collection.directory / name).exists()]
    opened = {name: OpenIndex.open(collection, name) for name in tasks}
    folder = None
    if collection.is_imported:
        folder = data
    return SearchPages(opened, threads=2, prefix=prefix, folder=folder)


def documents_site(
    directory: Path, rows: Sequence[Mapping[str, object]], prefix: str = ""
) -> SearchPages:
    """Index documents of one's own in a directory; return the handlers of a search page."""
    corpus = directory / "corpus.jsonl"
    lines = [json.dumps(row) + "\n" for row in rows]
    corpus.write_text("".join(lines), encoding="utf-8")
    return folder_site(directory, directory / "indexes", prefix)


def folder_site(data: Path, indexes: Path, prefix: str = "") -> SearchPages:
    """Index a folder of documents; return the handlers of a search page."""
    collection = CollectionFiles(data, indexes).imported()
    task = configured("docs")
    ensure(IndexContent.of(task.index_task.fitted(collection), collection))
    return open_site(data, indexes, prefix)


@contextmanager
def running(site: SearchPages, *names: str) -> Iterator[str]:
    """Serve a search page at a free port, also under these names; yields its address."""
    listening = listen("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    served = server(site.app({"localhost", "127.0.0.1", "::1", *names}))
    thread = threading.Thread(target=served.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not served.started:
            assert thread.is_alive()
            time.sleep(0.05)
        yield address
    finally:
        served.should_exit = True
        thread.join()
        listening.close()


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Client:
    """Asks the server at an address."""

    address: str

    def get(self, path: str, method: str = "GET", **parameters: object) -> Answer:
        query = f"?{urlencode(parameters)}" if parameters else ""
        request = Request(self.address + path + query, method=method)  # noqa: S310
        try:
            with urlopen(request) as answer:  # noqa: S310
                return Answer(answer.status, answer.headers, answer.read().decode())
        except HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read().decode())


def page(client: Client, path: str, **parameters: object) -> LexborHTMLParser:
    """Return a page that is there."""
    answer = client.get(path, **parameters)
    assert answer.status == 200
    return LexborHTMLParser(answer.text)
