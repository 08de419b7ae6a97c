"""Work spread over an Apache Spark cluster, which serves as a queue of jobs and nothing more.

What jobs read and write lies in directories that all machines have under the same paths, and this
package is installed on each. A lost executor's jobs are given to others, up to four times; work
must therefore bear being done twice, even at the same time. Spark needs Java 17 in JAVA_HOME or on
PATH; memory and the like are set in its own spark-defaults.conf.
"""

from __future__ import annotations

import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

J = TypeVar("J")
R = TypeVar("R")

_JOBS_PER_CORE: Final = 4  # in a wave, at whose end workers wait for the last
_LOOK: Final = 5.0  # seconds from one look at the executors to the next
_PATIENCE: Final = 60.0  # seconds to go on without any executor
_QUIET: Final = Path(__file__).absolute().with_name("spark-log4j2.properties")
_STANDALONE: Final = "spark://"


class SparkWorkers:
    """Workers that are the executors of a Spark cluster."""

    remote: Final = True

    def __init__(self, master_url: str) -> None:
        """Connect to a cluster: `spark://HOST:PORT`, or another address that Spark knows.

        Raises InputError if pyspark or its Java is missing, or the cluster does not answer.
        """
        with needed_by("Spark", "spark"):
            from py4j.protocol import Py4JError
            from pyspark import SparkConf, SparkContext
            from pyspark.errors import PySparkException
        _check_reachable(master_url)
        self.master_url = master_url
        self._errors = (Py4JError, PySparkException)
        # An environment that lies elsewhere on the other machines can be named by this variable.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = SparkConf().setMaster(master_url).setAppName("arqmath-bm25")
        conf.set("spark.ui.showConsoleProgress", "false")
        conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_QUIET.as_uri()}")
        try:
            self._context = SparkContext(conf=conf)
        except self._errors as error:
            raise InputError(
                f"{master_url}: Spark did not start ({_reason(error)}); it needs Java 17 in "
                "JAVA_HOME, and a master of its own version"
            ) from None

    @property
    def count(self) -> int:
        """Cores of the executors that are there now."""
        return int(self._context.defaultParallelism)

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order; one wave is taken and done at a time.

        An InputError that `work` raises is raised here. Raises InterruptedWorkError if a job has
        failed four times or no executor is left.
        """
        jobs = iter(jobs)
        while wave := list(islice(jobs, _JOBS_PER_CORE * self.count)):
            try:
                results = self._do(_Try(work, __version__), wave)
            except self._errors as error:
                raise InterruptedWorkError(
                    f"{self.master_url}: Spark gave up a job: {_reason(error)}"
                ) from None
            for result in results:
                if isinstance(result, InputError):
                    raise result
                yield result

    def _do(self, work: _Try[J, R], wave: list[J]) -> list[R | InputError]:
        tasks = self._context.parallelize(wave, len(wave)).map(work)
        with ThreadPoolExecutor(1) as thread:
            results = thread.submit(tasks.collect)
            alone = 0.0
            while alone < _PATIENCE:
                try:
                    return list(results.result(_LOOK))
                except TimeoutError:  # Spark itself would wait for executors for ever
                    alone = 0.0 if self._executors() else alone + _LOOK
            self._context.cancelAllJobs()
        raise InterruptedWorkError(
            f"{self.master_url}: no executor for {_PATIENCE:.0f} seconds; see whether the "
            "cluster's workers run and have cores to spare"
        )

    def _executors(self) -> int:
        known: Any = self._context._jsc.sc().statusTracker().getExecutorInfos()
        return len(known) - 1  # one of them is the driver, this process

    def close(self) -> None:
        """Let the cluster go."""
        self._context.stop()


class _Try(NamedTuple, Generic[J, R]):
    """What an executor does with a job."""

    work: Callable[[J], R]
    version: str

    def __call__(self, job: J) -> R | InputError:
        if self.version != __version__:
            return InputError(
                f"{socket.gethostname()}: arqmath_bm25 {__version__} is installed there and "
                f"{self.version} here; make them the same"
            )
        try:
            return self.work(job)
        except InputError as error:  # raised, it would be tried four times
            return error


def _check_reachable(master_url: str) -> None:
    """Raise InputError if no master of a standalone cluster answers; Spark would try a minute."""
    if not master_url.startswith(_STANDALONE):
        return
    problem: Exception | None = None
    for address in master_url.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except (OSError, ValueError) as error:
            problem = error
    raise InputError(f"{master_url}: no Spark master there ({problem}); expected spark://HOST:7077")


def _reason(error: Exception) -> str:
    """Return the one line of an error of Spark, Java's trace around it, that says what happened."""
    java: Any = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java else error)
    own = text.partition("\n\tat ")[0].partition("Driver stacktrace:")[0]
    lines = [line.strip() for line in own.splitlines() if line.strip()]
    return lines[-1].rpartition("most recent failure: ")[2] if lines else type(error).__name__
