"""How fast the search page answers: parallel clients against an index of generated posts.

    python benchmarks/serve_load.py [--documents 100000] [--clients 8] [--seconds 60] [--work DIR]
                                    [--engines lucene,flat]

The posts are those of generate.py, fitted to a real subset. Every client asks for pages of ten
results, one after the other: the title of a topic and what another one begins with, formulas
included. CPU time of the server is told by `ps`, in whole seconds. WORK keeps posts and index for
the next call. Ends with status 1 if a request failed, if a page had not ten results, or if the 95th
percentile of the times is above 200 ms.
"""

from __future__ import annotations

import argparse
import http.client
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from generation.files import write_collection

from arqmath_bm25.analysis.excerpts import excerpt
from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.topics import read_topics

GOAL: Final = 0.2  # seconds, 95th percentile
BYTES: Final = 3_600  # of Posts.xml for each answer
BEGINNING: Final = 60  # characters of a question in a query
FEW: Final = 3  # words, which may all be function words, so that nothing is found


class Client(threading.Thread):
    """Asks for one page after the other until the time is over."""

    def __init__(self, address: str, queries: list[str], until: float) -> None:
        super().__init__()
        self._host = urlsplit(address).netloc
        self._queries = queries
        self._until = until
        self.seconds: list[float] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask."""
        connection = http.client.HTTPConnection(self._host, timeout=30)
        for query in self._queries:
            if time.monotonic() > self._until:
                break
            path = f"/?{urlencode({'q': query})}"
            began = time.monotonic()
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                page = answer.read()
            except OSError as error:
                self.failures.append(str(error))
                connection.close()
                continue
            self.seconds.append(time.monotonic() - began)
            if answer.status != 200 or page.count(b">answer</a>") != 10:
                self.failures.append(f"status {answer.status}, {len(page)} bytes: {path[:80]}")
        connection.close()


def main() -> int:
    """Generate and index posts, serve them, send queries and print the measurements."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--work", type=Path, default=Path("serve-load"))
    options.add_argument("--engines", type=lambda text: text.split(","), default=["lucene", "flat"])
    given = options.parse_args()

    data = given.work / f"generated-{given.documents}"
    if not data.exists():
        size = given.documents * BYTES
        write_collection(data, size, seed=1, slt=False, advance=lambda _: None)
    program = [sys.executable, "-m", "arqmath_bm25"]
    where = ["--data", str(data), "--indexes", str(given.work / "indexes")]
    subprocess.run([*program, "index", "task1", *where, "--engine", "flat"], check=True)
    command = [*program, "serve", *where]
    return max([served(command, engine, data, given) for engine in given.engines])


def served(command: list[str], engine: str, data: Path, given: argparse.Namespace) -> int:
    """Serve by an engine, send queries and print the measurements; return the status."""
    command = [*command, "--port", "0", "--engine", engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(": ")[0]
            load(address, data, 2, 5.0, seed=1)  # opens what a server opens once
            before = cpu_seconds(server.pid)
            clients = load(address, data, given.clients, given.seconds, seed=2)
            used = cpu_seconds(server.pid) - before
        finally:
            server.terminate()
    print(f"{engine}: ", end="")
    return tell(clients, given.seconds, used)


def cpu_seconds(process: int) -> int:
    """Return the CPU time that a process has used."""
    ps = shutil.which("ps") or "/bin/ps"
    return int(subprocess.check_output([ps, "-o", "cputimes=", "-p", str(process)], text=True))


def load(address: str, data: Path, clients: int, seconds: float, seed: int) -> list[Client]:
    """Let clients ask for some seconds."""
    chance = random.Random(seed)
    topics = read_topics(Layout(data).topics("task1", "2022"))
    titles = [read_title(topic.title) for topic in topics]
    beginnings = [excerpt(read_body(topic.question), BEGINNING) for topic in topics]
    until = time.monotonic() + seconds
    started = []
    for _ in range(clients):
        pieces = zip(
            chance.choices(titles, k=5000), chance.choices(beginnings, k=5000), strict=True
        )
        queries = [Content((*one.pieces, " ", *other.pieces)).text for one, other in pieces]
        asking = [query for query in queries if len(query.split()) > FEW]
        started.append(Client(address, asking, until))
    for client in started:
        client.start()
    for client in started:
        client.join()
    return started


def tell(clients: list[Client], seconds: float, used: float) -> int:
    """Print the measurements and return the status; `used` is the server's CPU time."""
    times = sorted(second for client in clients for second in client.seconds)
    failures = [failure for client in clients for failure in client.failures]
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{len(clients)} clients, {seconds:.0f} s: {len(times):,} pages, {len(failures)} failed")
    print(f"{len(times) / seconds:.0f} pages/s; median {statistics.median(times) * 1000:.0f} ms")
    print(f"{1000 * used / len(times):.1f} ms of the server's CPU time a page")
    print(f"95th percentile {p95 * 1000:.0f} ms (goal: {GOAL * 1000:.0f} ms)")
    print(f"99th percentile {statistics.quantiles(times, n=100)[-1] * 1000:.0f} ms")
    for failure in failures[:5]:
        print(failure)
    return int(bool(failures) or p95 > GOAL)


if __name__ == "__main__":
    sys.exit(main())
