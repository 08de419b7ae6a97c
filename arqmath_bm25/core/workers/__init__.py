"""Who does the work: the processes of this machine (`local`), or a Spark cluster (`spark`).

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
        """How many jobs are done at a time."""

    @property
    def remote(self) -> bool:
        """Whether they are on other machines, which share files with this one and no memory."""

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order; jobs are taken as they can be done.

        Raises InterruptedWorkError if a worker is lost.
        """

    def close(self) -> None:
        """Free what workers hold; another `map` gets it again."""
