"""Real OpenSearch nodes on this machine, for tests."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "opensearch_node.sh"
MISSING = 3  # its status where something it needs is missing


class Nodes(NamedTuple):
    """A running cluster."""

    directory: Path
    hosts: list[str]

    def signal(self, node: int, number: signal.Signals) -> None:
        """Send a signal to a node, counted from 1."""
        os.kill(int((self.directory / str(node) / "pid").read_text()), number)

    def kill(self, *nodes: int) -> None:
        """End nodes without a warning."""
        for node in nodes:
            self.signal(node, signal.SIGKILL)

    def start_again(self, *nodes: int) -> None:
        """Start nodes that were killed, and wait until all shards are there."""
        starts = [
            subprocess.Popen([SCRIPT, "again", self.directory, str(node)], env=environment())
            for node in nodes
        ]
        for start in starts:
            assert start.wait() == 0


def environment() -> dict[str, str]:
    """Return the environment of the script. Nodes that live for seconds need no second compiler."""
    return {
        **os.environ, "PYTHON": sys.executable, "NODE_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
    }  # fmt: skip


@contextmanager
def started(count: int, secured: str = "") -> Iterator[Nodes]:
    """Start nodes; skip the test where there is no client, no Java or no download.

    They end with the block, or with this process. `secured` is the variable SECURED of the script:
    1 or stock for OpenSearch's security plugin. The keys are in `directory / "keys"` then.
    """
    pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)  # another user runs the nodes if this one is root
        directory, errors = Path(parent, "nodes"), Path(parent, "errors")
        lock_name = f"arqmath-opensearch-{os.getuid()}.lock"
        with Path(tempfile.gettempdir(), lock_name).open("w") as lock, errors.open("w") as said:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the first may have to download
            command = [str(SCRIPT), "hold", str(directory), str(count), str(free_ports(count))]
            process = subprocess.Popen(
                command,
                env={**environment(), "SECURED": secured},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,  # Ctrl-C comes to it as the end of its input
            )
            assert process.stdout is not None
            hosts = [host.strip() for host in islice(process.stdout, count)]
        try:
            if len(hosts) < count:
                said_last = errors.read_text().strip()
                if process.wait() == MISSING:
                    pytest.skip(f"no OpenSearch: {said_last.splitlines()[-1]}")
                raise AssertionError(said_last)
            yield Nodes(directory, hosts)
        finally:
            process.communicate()
            assert not directory.exists()


def free_ports(count: int) -> int:
    """Return the first of `count` free ports in a row; the nodes' own begin 100 after it.

    They are below those that the system gives to others meanwhile.
    """
    for first in random.Random().sample(range(10_000, 30_000), 1000):
        with ExitStack() as bound:
            try:
                for port in (
                    *range(first, first + count),
                    *range(first + 100, first + 100 + count),
                ):
                    bound.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")
