"""The search page as tests use it: over indexes that they build, in a thread of their own."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.config import load_task1, load_task2
from arqmath_bm25.retrieval import task1, task2
from arqmath_bm25.web.app import Site
from arqmath_bm25.web.engines import ENGINES, available
from arqmath_bm25.web.pool import SearchPool
from arqmath_bm25.web.server import listen, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def build_indexes(data: Path, indexes: Path) -> Path:
    """Index the answers of a collection, and its formulas if it has any."""
    where = Layout(data)
    task1.build_index(where.posts(), where.post_links(), indexes / "task1", load_task1(), 1)
    if where.has_formulas():
        task2.build_index(where.formulas(), indexes / "task2", load_task2(), 1)
    return indexes


def open_site(data: Path, indexes: Path) -> Site:
    """Return the handlers of a search page."""
    openers = {task: partial(ENGINES[task], Layout(data), indexes) for task in available(indexes)}
    engines = {task: opener() for task, opener in openers.items()}
    return Site(SearchPool(openers, 2), engines, on_site=True)


@contextmanager
def running(site: Site) -> Iterator[str]:
    """Serve a search page at a free port; yields its address."""
    listening = listen("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    served = server(site.app())
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
