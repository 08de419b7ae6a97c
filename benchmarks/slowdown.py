"""Six small works by two commits, side by side: does the newer one take more CPU time?

    python benchmarks/slowdown.py [--base HEAD~1] [--rounds 5] [--gigabytes 0.01]

The tree that this file is in is compared with a commit: builds of Task 1 and Task 2, of own
documents with formulas and without, a run, pages of `serve`. Both do a work in turns, and each
counts by its fastest round. A work that takes more than 1.15 of the time of before is measured once
more, with twice the rounds; if that confirms it, the exit status is 1. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from generation.files import write_collection
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.collection.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
LIMIT: Final = 1.15  # of the CPU time of before
QUERIES: Final = (
    r"Why does $\sum \frac{1}{n}$ diverge?", "prove that the limit exists", "$x^2+y^2=z^2$",
)  # fmt: skip
PAGES: Final = 120
_FORMULA: Final = re.compile(r"\$+[^$]*\$+")


class Version(NamedTuple):
    """A state of the program: its sources, and a directory for its indexes and runs."""

    tree: Path
    place: Path

    def cpu_of(self, *arguments: object) -> float:
        """Call the program; return the CPU seconds of it and its processes."""
        process = self._start(*arguments)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.tree}: {arguments} failed: status {process.returncode}")
        return used.ru_utime + used.ru_stime

    @contextmanager
    def serving(self, *arguments: object) -> Iterator[tuple[int, str]]:
        """Serve the search page; yields the process and the address of the page."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self._start("serve", *arguments, "--port", port) as process:
            try:
                yield process.pid, f"http://127.0.0.1:{port}/"
            finally:
                process.send_signal(signal.SIGINT)

    def _start(self, *arguments: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "arqmath_bm25", "--quiet", *map(str, arguments)],
            cwd=self.place,
            env={**os.environ, "PYTHONPATH": str(self.tree)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class Data(NamedTuple):
    """What the works read."""

    collection: Path
    formulas: Path  # own documents
    plain: Path  # the same without their formulas


Work = Callable[[Version, Data], float]


def index(task: str) -> Work:
    """Return the work of building the index of a task of the labs."""

    def build(version: Version, data: Data) -> float:
        return version.cpu_of(*_index(task, data.collection))

    return build


def index_plain(version: Version, data: Data) -> float:
    """Index own documents without formulas."""
    return version.cpu_of(*_index("docs", data.plain))


def index_formulas(version: Version, data: Data) -> float:
    """Index own documents with formulas."""
    return version.cpu_of(*_index("docs", data.formulas))


def run(version: Version, data: Data) -> float:
    """Rank all topics of Task 1, whose index is there."""
    options = ("--data", data.collection, "--engine", "flat", "--overwrite", "--jobs", 1)
    return version.cpu_of("run", "task1", *options)


def pages(version: Version, data: Data) -> float:
    """Ask for pages of hits; only the time of these counts."""
    with version.serving("--data", data.collection) as (process, address):
        _ask(address, QUERIES[0], patience=60)
        before = _cpu(process)
        for number in range(PAGES):
            _ask(address, QUERIES[number % len(QUERIES)])
        return _cpu(process) - before


WORKS: Final[dict[str, Work]] = {
    "index task1": index("task1"),
    "index task2": index("task2"),
    "index docs, plain": index_plain,
    "index docs, formulas": index_formulas,
    "run task1": run,
    f"{PAGES} pages": pages,
}


def _index(task: str, data: Path) -> list[object]:
    return ["index", task, "--data", data, "--engine", "flat", "--overwrite", "--jobs", 1]


def _ask(address: str, query: str, patience: float = 0) -> None:
    url = f"{address}?{urllib.parse.urlencode({'q': query})}"
    ends = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
                answer.read()
            return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def _cpu(process: int) -> float:
    """Return the seconds of CPU of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_data(place: Path, gigabytes: float) -> Data:
    """Write what the works read: a generated collection, and its answers as own documents."""
    collection = place / "generated"
    write_collection(collection, int(gigabytes * 1e9), 1, slt=False, advance=lambda _: None)
    posts = Collection(collection, place / "unused").posts
    formulas = place / "formulas"
    plain = place / "plain"
    for directory in (formulas, plain):
        directory.mkdir()

    with (
        (formulas / "corpus.jsonl").open("w", encoding="utf-8") as with_formulas,
        (plain / "corpus.jsonl").open("w", encoding="utf-8") as without,
    ):
        answers = chain.from_iterable(thread.answers for thread in posts.threads())
        for post in answers:
            text = answer_text(post.body)
            words = _FORMULA.sub(" ", text)
            print(json.dumps({"id": post.post_id, "text": text}), file=with_formulas)
            print(json.dumps({"id": post.post_id, "text": words}), file=without)
    return Data(collection, formulas, plain)


def measure(work: Work, before: Version, now: Version, data: Data, rounds: int) -> list[float]:
    """Return the least CPU seconds of a work, before and now, of rounds that take turns."""
    seconds: dict[Version, list[float]] = {before: [], now: []}
    for number in range(rounds):
        turns = [before, now]
        if number % 2:
            turns.reverse()
        for version in turns:
            seconds[version].append(work(version, data))
    return [min(seconds[before]), min(seconds[now])]


def main() -> None:
    """Measure all works, print a table, and exit with 1 if one is slower than before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", default="HEAD~1", metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=0.01)
    options = parser.parse_args()

    table = Table("", "before, CPU s", "now", "ratio")
    slower = []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        old = place / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), options.base], check=True)
        try:
            data = make_data(place, options.gigabytes)
            before = Version(old, place / "before")
            now = Version(ROOT, place / "now")
            for version in (before, now):
                version.place.mkdir()

            for name, work in WORKS.items():
                seconds = measure(work, before, now, data, options.rounds)
                if seconds[1] > LIMIT * seconds[0]:
                    seconds = measure(work, before, now, data, 2 * options.rounds)
                ratio = seconds[1] / seconds[0]
                table.add_row(name, *(f"{second:.2f}" for second in seconds), f"{ratio:.2f}")
                if ratio > LIMIT:
                    slower.append(name)
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)

    Console().print(table)
    if slower:
        sys.exit(f"more than {LIMIT} of the time of {options.base}: {', '.join(slower)}")


if __name__ == "__main__":
    main()
