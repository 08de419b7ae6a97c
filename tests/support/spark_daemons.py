"""A Spark cluster on loopback: a master and workers of one core each, as processes of their own."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]


def java_home() -> Path | None:
    """Return a Java that Spark 4.0 runs with: 17 or 21, with the vector module."""
    candidates = [Path(os.environ[name]) for name in ("JAVA_HOME",) if os.environ.get(name)]
    if java := shutil.which("java"):
        candidates.append(Path(java).resolve().parent.parent)
    for home in candidates:
        release = home / "release"
        text = release.read_text() if release.is_file() else ""
        if re.search(r'^JAVA_VERSION="(17|21)', text, re.M) and "jdk.incubator.vector" in text:
            return home
    return None


def why_not() -> str | None:
    """Say what is missing to start a cluster."""
    if not find_spec("pyspark"):
        return "pyspark is not installed; see requirements-spark.lock"
    return None if java_home() else "Spark needs Java 17 in JAVA_HOME or on PATH"


def environment() -> dict[str, str]:
    """Return the environment of daemons and of processes that use them: loopback, short-lived."""
    return {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "PYTHONPATH": str(ROOT),
        "SPARK_CONF_DIR": str(Path(__file__).with_name("spark-conf")),
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def processes_of(session: int) -> dict[int, str]:
    """Return the processes of a session, with their command lines."""
    processes = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                processes[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue  # it has ended
    return processes


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """End a process, which leads a session, and all that it started."""
    for pid in processes_of(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _end_with_parent() -> None:
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


class Cluster:
    """A master with workers, ended together."""

    def __init__(self, place: Path, workers: int = 2) -> None:
        """Start the daemons; `place` takes their files."""
        self._place = place
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        try:
            self.master = self._start(
                "master", "Master", "-h", "127.0.0.1", "-p", "0", "--webui-port", "0"
            )
            said = self._wait_for(place / "master.log", "I have been elected leader")
            (self.url,) = set(re.findall(r"spark://127\.0\.0\.1:\d+", said))
            for _ in range(workers):
                self.add_worker()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._daemons):
            kill_session(process)

    def add_worker(self) -> None:
        """Start one more worker and wait until the master knows it."""
        options = ["-h", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port", "0"]
        name = f"worker-{len(self._daemons)}"
        work = ["-d", str(self._place / name)]
        self.workers.append(self._start(name, "Worker", *options, *work, self.url))
        self._wait_for(self._place / f"{name}.log", "Successfully registered with master")

    def kill_master(self) -> None:
        """Kill the master; workers and executors go on."""
        # A script starts the JVM, in whose place it is.
        for process, command in processes_of(self.master.pid).items():
            if "deploy.master.Master" in command:
                os.kill(process, signal.SIGKILL)

    def kill_worker(self, pid: int) -> None:
        """Kill the worker above a process that does a job; its executors end themselves."""
        victim = self._worker_of(pid)
        self.workers.remove(victim)
        victim.kill()
        victim.wait()

    def kill_executor(self, pid: int) -> None:
        """Kill the executor above a process that does a job."""
        for process, command in processes_of(self._worker_of(pid).pid).items():
            if "CoarseGrainedExecutorBackend" in command:
                os.kill(process, signal.SIGKILL)

    def _worker_of(self, pid: int) -> subprocess.Popen[bytes]:
        return next(worker for worker in self.workers if pid in processes_of(worker.pid))

    def executors(self) -> list[int]:
        """Return the processes of the executors."""
        running = [item for worker in self.workers for item in processes_of(worker.pid).items()]
        return [pid for pid, command in running if "CoarseGrainedExecutorBackend" in command]

    def _start(self, name: str, role: str, *options: str) -> subprocess.Popen[bytes]:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.submodule_search_locations
        spark_class = Path(spec.submodule_search_locations[0]) / "bin" / "spark-class"
        with (self._place / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [spark_class, f"org.apache.spark.deploy.{role.lower()}.{role}", *options],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        self._daemons.append(process)
        return process

    def _wait_for(self, log: Path, text: str) -> str:
        for _ in range(3000):
            if text in (said := log.read_text()):
                return said
            time.sleep(0.1)
        raise AssertionError(f"{log.name}: {log.read_text()[-2000:]}")
