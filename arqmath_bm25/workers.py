"""Work spread over processes, with no more of it in memory than they can do at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from arqmath_bm25.errors import InterruptedWorkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

J = TypeVar("J")
R = TypeVar("R")


def in_processes(work: Callable[[J], R], jobs: Iterable[J], processes: int) -> Iterator[R]:
    """Yield `work(job)` of every job, in their order; a single job is done in this process.

    Jobs are taken as they can be done: at most two for each process are waiting. Raises
    InterruptedWorkError if a process is killed.
    """
    jobs = iter(jobs)
    first = list(islice(jobs, 2))
    if processes == 1 or len(first) < 2:
        yield from map(work, chain(first, jobs))
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would copy a running JVM
    with ProcessPoolExecutor(processes, spawn, _end_with_parent) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for job in chain(first, jobs):
                waiting.append(pool.submit(work, job))
                if len(waiting) > 2 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise InterruptedWorkError(
                "a worker process was killed, perhaps for want of memory; try fewer --threads"
            ) from None
        finally:
            for future in waiting:
                future.cancel()


def _end_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    # A worker must not outlive a build that was killed.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
