"""Work spread over an Apache Spark cluster, which serves as a queue of jobs and nothing more.

What jobs read and write lies in directories that all machines have under the same paths, and this
package is installed on each: every executor is asked for both before the work. A lost executor's
jobs are given to others, up to four times; work must therefore bear being done twice, even at the
same time. Spark needs Java 17 in JAVA_HOME or on PATH; memory and the like are set in its own
spark-defaults.conf.
"""

import hashlib
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers import J, R
from arqmath_bm25.version import __version__

_JOBS_PER_CORE = 4  # in a wave, at whose end workers wait for the last
_LOOK = 5.0  # seconds from one look at the executors to the next
_PATIENCE = 60.0  # seconds to go on without any executor
_QUIET = Path(__file__).absolute().with_name("spark-log4j2.properties")


class SparkWorkers:
    """Workers that are the executors of a Spark cluster."""

    remote = True

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
        # An executor that failed at a job does not get the same one once more.
        conf.setIfMissing("spark.excludeOnFailure.taskAndStage.enabled", "true")
        conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_QUIET.as_uri()}")

        try:
            self._context = SparkContext(conf=conf)
        except self._errors as error:
            java = ""
            if "JAVA_GATEWAY" in str(error):
                java = "Java 17 in JAVA_HOME, and "
            raise InputError(
                f"{master_url}: Spark did not start ({_reason(error)}); it needs {java}"
                "a master of its own version that this machine reaches"
            ) from None

    @property
    def count(self) -> int:
        """The number of cores of all current executors."""
        return int(self._context.defaultParallelism)

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield `work(job)` of every job, in their order; one wave is taken and done at a time.

        An InputError that `work` raises is raised here. Raises InterruptedWorkError if a job has
        failed four times or no executor is left.
        """
        jobs = iter(jobs)
        while wave := list(islice(jobs, _JOBS_PER_CORE * self.count)):
            try:
                results = self._do(partial(_done_there, work, _code()), wave)
            except self._errors as error:
                raise InterruptedWorkError(
                    f"{self.master_url}: Spark gave up a job: {_reason(error)}"
                ) from None
            for result in results:
                if isinstance(result, InputError):
                    raise result
                yield result

    def check(self, data: Path | None, indexes: Path) -> None:
        """Check that executors see DATA and INDEXES; InputError names the machine that does not.

        There are more questions than cores, so that every executor gets some.
        """
        for path in filter(None, (data, indexes)):
            if re.match(r"\w+:/", str(path)):
                raise InputError(
                    f"{path}: object stores are not read; expected a directory that all machines "
                    "have mounted"
                )

        indexes.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(prefix=".seen-by-all.", dir=indexes) as token:
            look = partial(_look, (data or indexes).absolute(), Path(token.name).absolute())
            for _ in self.map(look, range(_JOBS_PER_CORE * self.count)):
                pass

    def _do(self, work: Callable[[J], R], wave: list[J]) -> list[R]:
        tasks = self._context.parallelize(wave, len(wave)).map(work)
        with ThreadPoolExecutor(1) as thread:
            results = thread.submit(tasks.collect)
            alone = 0.0
            while alone < _PATIENCE:
                try:
                    return list(results.result(_LOOK))
                except TimeoutError:  # Spark itself would wait for executors for ever
                    processes = self._context._jsc.sc().statusTracker().getExecutorInfos()
                    if len(processes) > 1:  # one is the driver, here
                        alone = 0.0
                    else:
                        alone += _LOOK
            self._context.cancelAllJobs()
        raise InterruptedWorkError(
            f"{self.master_url}: no executor for {_PATIENCE:.0f} seconds; see whether the "
            "cluster's workers run and have cores to spare"
        )

    def close(self) -> None:
        """End the connection to the cluster."""
        self._context.stop()


def _done_there(work: Callable[[J], R], code: str, job: J) -> R | InputError:
    """Do a job on an executor's machine, which must have the same code as this one."""
    if code != _code():
        return InputError(
            f"{socket.gethostname()}: arqmath_bm25 {_code()} is installed there and "
            f"{code} here; install the same everywhere"
        )
    try:
        return work(job)
    except InputError as error:  # raised, it would be tried four times
        return error


@cache
def _code() -> str:
    """Return the version of this package, with a digest of all its code."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.read_bytes())
    return f"{__version__} ({digest.hexdigest()[:12]})"


def _look(data: Path, token: Path, _: int) -> None:
    """Raise InputError if this machine does not see the files of the building one."""
    here = socket.gethostname()
    for path in (data, token):
        if not path.exists():
            raise InputError(
                f"{here}: {path} is not there; mount the same DATA and INDEXES on all machines"
            )

    try:
        NamedTemporaryFile(prefix=".written-by-all.", dir=token.parent).close()
    except OSError as error:
        raise InputError(f"{here}: cannot write into {token.parent}: {error.strerror}") from None


def _check_reachable(master_url: str) -> None:
    """Raise InputError if no master answers; Spark would try for a minute."""
    if master_url == "yarn" and not (set(os.environ) & {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}):
        raise InputError("yarn: HADOOP_CONF_DIR must name the cluster's configuration")

    for address in master_url.rpartition("://")[2].split(","):
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError):
            socket.create_connection((host, int(port)), timeout=5).close()
            return

    if "://" in master_url:
        raise InputError(
            f"{master_url}: nothing answers there; expected spark://HOST:7077, or "
            "k8s://https://HOST:6443"
        )


def _reason(error: Exception) -> str:
    """Return the line of a Spark error, within Java's trace, that says what happened."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java else error)
    own = text.partition("\n\tat ")[0].partition("Driver stacktrace:")[0].strip()
    if not own:
        return type(error).__name__

    reason = own.splitlines()[-1].strip().rpartition("most recent failure: ")[2]
    machine = re.search(r"\(([^\s()]+) executor [^\s()]+\)", own)
    if machine:
        return f"{machine[1]}: {reason}"
    return reason
