"""Real OpenSearch nodes on this machine, for tests."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "opensearch_node.sh"
MISSING = 3  # its status where something it needs is missing


class Nodes(NamedTuple):
    """A running cluster."""

    directory: Path
    hosts: list[str]

    def kill(self, number: int) -> None:
        """End a node, counted from 1, without a warning."""
        os.kill(int((self.directory / str(number) / "pid").read_text()), signal.SIGKILL)

    def start_again(self, number: int) -> None:
        """Start a node that was killed, and wait until it holds its shards."""
        command = [str(SCRIPT), "again", str(self.directory), str(number)]
        subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, check=True)


@contextmanager
def started(count: int, port: int) -> Iterator[Nodes]:
    """Start nodes; skip the test where there is no client, no Java or no download."""
    pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # another user runs the nodes if this one is root
        directory = Path(parent, "nodes")
        port += 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
        command = [str(SCRIPT), "start", str(directory), str(count), str(port)]
        environment = {**os.environ, "PYTHON": sys.executable}
        with Path(tempfile.gettempdir(), "arqmath-opensearch.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the first may have to download
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode == MISSING:
            pytest.skip(f"no OpenSearch: {done.stderr.strip().splitlines()[-1]}")
        assert not done.returncode, done.stderr
        try:
            yield Nodes(directory, done.stdout.split())
        finally:
            subprocess.run([SCRIPT, "stop", directory], check=True)
