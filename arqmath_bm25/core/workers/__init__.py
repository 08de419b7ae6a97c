"""Workers: the processes of this machine (`local`), or a Spark cluster (`spark`).

Builds know no more of it than the protocol: jobs go in, results come out in their order, and what
is written does not depend on how many workers there are, or where.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

J = TypeVar("J")
R = TypeVar("R")


class Workers(Protocol):
    """Does jobs, several at a time. Work and jobs are sent to it pickled."""

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
