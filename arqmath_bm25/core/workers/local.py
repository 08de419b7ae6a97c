"""Work spread over processes, with no more jobs in memory than can run at once."""

import atexit
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Final

from arqmath_bm25.core.errors import InterruptedWorkError
from arqmath_bm25.core.workers import J, R


class _Process(SpawnProcess):
    """A process that does not run the main module first, as other spawned processes do.

    So a script that builds an index needs no `if __name__ == "__main__"`. multiprocessing has no
    setting for it: it takes the main module from `sys.modules`.
    """

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; a process that starts in it never gets it."""
    noted = []
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if is_main:  # another thread may take the signal, and this one would stop at once
        signal.signal(signal.SIGINT, lambda *signs: noted.append(signs))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if is_main:
            signal.signal(signal.SIGINT, handler)
        if noted:
            signal.raise_signal(signal.SIGINT)


class _Spawn(SpawnContext):
    """A fork would copy a running JVM."""

    Process = _Process


class Processes:
    """Workers that are processes of this machine; one process is this one."""

    remote: Final = False

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None  # kept, as its processes take long to start

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order; a single job is done in this process.

        At most two jobs for each process are waiting. Raises InterruptedWorkError if a process is
        killed or lacks memory.
        """
        jobs = iter(jobs)
        first = list(islice(jobs, 2))
        jobs = chain(first, jobs)
        if self.count == 1 or len(first) < 2:
            yield from map(work, jobs)
            return

        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, _Spawn(), _end_with_parent)
        pool = self._pool
        with ExitStack() as at_end:
            at_end.callback(self.close)
            waiting: deque[Future[R]] = deque()
            try:
                while True:
                    room = 2 * self.count + 1 - len(waiting)
                    for job in islice(jobs, room):
                        with _undisturbed():  # the first job starts the processes
                            waiting.append(pool.submit(work, job))
                    if not waiting:
                        break
                    yield waiting.popleft().result()
            except (BrokenProcessPool, MemoryError):
                raise InterruptedWorkError(
                    "a worker process was killed, or had too little memory; try fewer of them"
                ) from None
            at_end.pop_all()  # all is done: the processes wait for other work

    def close(self) -> None:
        """End the processes and drop the waiting jobs."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _end_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    atexit.register(os._exit, 0)  # instead of freeing millions of objects one by one

    def wait() -> None:
        # A worker must not outlive a build that was killed.
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
