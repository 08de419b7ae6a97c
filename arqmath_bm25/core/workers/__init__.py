"""Workers: this process, the processes of this machine (`local`), or a Spark cluster (`spark`).

Builds use only the protocol `Workers`: jobs go in, and results come out in the order of the jobs.
What is written depends neither on the number of workers nor on their machines.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

J = TypeVar("J")
R = TypeVar("R")


class Workers(Protocol):
    """Does several jobs at a time. The function and the jobs are pickled."""

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""

    @property
    def remote(self) -> bool:
        """Whether workers are on other machines, which share files but no memory with this one."""

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order; jobs are taken as they can be done.

        Raises InterruptedWorkError if a worker is lost.
        """

    def close(self) -> None:
        """Release the workers; the next `map` starts them again."""


class _ThisProcess:
    """Does one job after the other, where they are not worth another process."""

    count = 1
    remote = False

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order."""
        return map(work, jobs)

    def close(self) -> None:
        """Release nothing."""


HERE = _ThisProcess()
