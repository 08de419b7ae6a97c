"""Threads that search: the web server's event loop never waits for Lucene."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from arqmath_bm25.engines.lucene.jvm import detach_thread

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_MOST: Final = 64  # searches that wait; further ones are told to come back


class BusyError(Exception):
    """There is too much to do."""


class SearchThreads:
    """Does work in one of a few threads."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "search")
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Do `work` in another thread; raises BusyError if too much of it is waiting already."""
        if self._waiting >= _MOST:
            raise BusyError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _work, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._threads.shutdown()


def _work(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        detach_thread()  # the JVM must not know a thread that ends; the next call attaches it
