"""Threads that search: the web server's event loop never waits for Lucene.

An engine analyses queries with objects that belong to one thread, so that every thread opens
engines of its own; the index itself is mapped into memory once.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from arqmath_bm25.lucene.jvm import detach_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arqmath_bm25.web.engines import Engine

T = TypeVar("T")


class SearchPool:
    """Runs work with an engine in one of a few threads."""

    def __init__(self, openers: Mapping[str, Callable[[], Engine]], threads: int) -> None:
        """`openers` open the engine of each task."""
        self._openers = openers
        self._threads = ThreadPoolExecutor(threads, "search")
        self._own = threading.local()

    async def run(self, task: str, work: Callable[[Engine], T]) -> T:
        """Do `work` with the engine of a task, in another thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._work, task, work)

    def _work(self, task: str, work: Callable[[Engine], T]) -> T:
        engines: dict[str, Engine] = self._own.__dict__.setdefault("engines", {})
        try:
            if task not in engines:
                engines[task] = self._openers[task]()
            return work(engines[task])
        finally:
            detach_thread()  # the JVM must not know a thread that ends; the next call attaches it

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._threads.shutdown()
