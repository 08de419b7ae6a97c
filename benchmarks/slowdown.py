"""Six small works by two commits, side by side: does the newer one take more CPU time?

    python benchmarks/slowdown.py [--base HEAD~1] [--rounds 5] [--gigabytes 0.01]
    python benchmarks/slowdown.py --table --base v0.4.0 [--rounds 1] [--gigabytes 0.1] [--own DIR]

The tree that this file is in is compared with a commit: builds of Task 1 and Task 2, of own
documents with formulas and without, a run, pages of `serve`. Both do a work in turns, and each
counts by its fastest round. A work that takes more than 1.15 of the time of before is measured once
more, with twice the rounds; if that confirms it, the exit status is 1. Linux only.

With --table more is measured, and printed as a table in Markdown, without a verdict: builds for
Lucene, cold starts, a query in three times as many posts, memory, and what the peers of .venv-bench
take for the same documents, from the start of Python to the run file of one variant. PyTerrier
ranks by four models. Every system has its bytecode compiled before. DIR is a directory as BEIR has
it, whose documents are measured as well.
"""

from __future__ import annotations

import argparse
import compileall
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

import Stemmer
from comparison.memory import Peaks
from comparison.rankers import TERRIER, VENV
from generation.files import write_collection
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import CORPUS, read_documents
from arqmath_bm25.collection.own_documents import QUERIES as QUERY_FILE
from arqmath_bm25.engines.lucene.jvm import anserini_jar, java_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).parents[1]
LIMIT: Final = 1.15  # of the CPU time of before
QUERIES: Final = (
    r"Why does $\sum \frac{1}{n}$ diverge?", "prove that the limit exists", "$x^2+y^2=z^2$",
)  # fmt: skip
PAGES: Final = 120
PROGRAM: Final = ("-m", "arqmath_bm25", "--quiet")
_STEP: Final = 0.05  # seconds between two looks at memory
PEERS: Final = ("bm25s", "tantivy", "anserini", "terrier")
_FORMULA: Final = re.compile(r"\$+[^$]*\$+")


class Cost(NamedTuple):
    """What a work took."""

    seconds: float  # of CPU
    megabytes: float  # of memory, of all processes together; 0 if not measured
    disk: float = 0  # megabytes of the index; 0 if there is none, or if not measured

    def __str__(self) -> str:
        """Return seconds, memory and disk as a cell of a table."""
        cell = f"{self.seconds:.2f} s"
        if self.megabytes:
            cell += f", {self.megabytes:.0f} MB"
        if self.disk:
            cell += f", index {self.disk:.1f} MB"
        return cell


def _cost_of(process: subprocess.Popen[bytes]) -> Cost:
    """Wait for a process; return what it and its children took."""
    # Memory is looked at meanwhile: what the system reports has that of this process in it.
    peaks = Peaks(process.pid)
    ended = 0
    while not ended:
        peaks.look()
        time.sleep(_STEP)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)

    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{process.args!r} failed: status {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, peaks.together / 1e6)


class Version(NamedTuple):
    """A state of the program: its sources, and a directory for its indexes and runs."""

    tree: Path
    place: Path
    is_compiled: bool  # where `make setup` could; else the sources alone are used

    def cost_of(self, *arguments: object) -> Cost:
        """Call the program; return what it and its processes took."""
        return _cost_of(self._start(*PROGRAM, *arguments))

    def cost_of_script(self, script: str) -> Cost:
        """Run a script with this version of the library; return what it took."""
        return _cost_of(self._start("-c", script))

    def output_of_script(self, script: str, *arguments: object) -> str:
        """Run a script with this version of the library; return what it prints."""
        with self._start("-c", script, *arguments, output=subprocess.PIPE) as process:
            output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{process.args!r} failed: status {process.returncode}")
        return output.decode()

    @contextmanager
    def serving(self, *arguments: object) -> Iterator[tuple[int, str]]:
        """Serve the search page; yields the process and the address of the page."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self._start(*PROGRAM, "serve", *arguments, "--port", port) as process:
            try:
                yield process.pid, f"http://127.0.0.1:{port}/"
            finally:
                process.send_signal(signal.SIGINT)

    def _start(
        self, *arguments: object, output: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        sources_alone = "" if self.is_compiled else "1"
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=self.place,
            env={
                **os.environ,
                "PYTHONPATH": str(self.tree),
                "ARQMATH_SOURCES": sources_alone,
            },
            stdout=output,
            stderr=subprocess.DEVNULL,
        )


class Data(NamedTuple):
    """What the works read."""

    collection: Path
    formulas: Path  # own documents
    plain: Path  # the same without their formulas
    more: Path  # a larger collection, or the same


Work = Callable[[Version, Data], Cost]


def index(task: str, engine: str = "flat") -> Work:
    """Return the work of building the index of a task of the labs."""

    def build(version: Version, data: Data) -> Cost:
        return _build(version, task, data.collection, engine)

    return build


def index_plain(version: Version, data: Data) -> Cost:
    """Index own documents without formulas."""
    return _build(version, "docs", data.plain, "flat")


def index_formulas(version: Version, data: Data) -> Cost:
    """Index own documents with formulas."""
    return _build(version, "docs", data.formulas, "flat")


def run(version: Version, data: Data) -> Cost:
    """Rank all topics of Task 1."""
    version.cost_of(*_index("task1", data.collection))  # unless it is there
    options = ("--data", data.collection, "--engine", "flat", "--overwrite", "--jobs", 1)
    return version.cost_of("run", "task1", *options)


def pages(version: Version, data: Data) -> Cost:
    """Ask for pages of hits; only the time of these counts."""
    version.cost_of(*_index("task1", data.collection))
    with version.serving("--data", data.collection) as (process, address):
        _ask(address, QUERIES[0], patience=60)
        before = _cpu(process)
        for number in range(PAGES):
            _ask(address, QUERIES[number % len(QUERIES)])
        return Cost(_cpu(process) - before, _memory(process))


WORKS: Final[dict[str, Work]] = {
    "index task1": index("task1"),
    "index task2": index("task2"),
    "index docs, plain": index_plain,
    "index docs, formulas": index_formulas,
    "run task1": run,
    f"{PAGES} pages": pages,
}


# Prints the seconds of CPU of 100 topics by `both`; the first topics load what all need.
_QUERY: Final = """
import sys, time, warnings
import arqmath_bm25 as arq
warnings.simplefilter("ignore")
collection = arq.Collection(sys.argv[1])
index = collection.index("task1", engine="flat", threads=1)
topics = collection.topics("task1", 2022)
index.run(topics.head(5), variant="both")
began = time.process_time()
index.run(topics, variant="both")
print((time.process_time() - began) / len(topics) * 100)
"""


def query(version: Version, data: Data) -> Cost:
    """Rank 100 topics, in an index of more posts, which is built before if it is not there."""
    seconds = version.output_of_script(_QUERY, data.more)
    return Cost(float(seconds), 0)


def search(version: Version, data: Data) -> Cost:
    """Search the index of Task 1, from the start of Python."""
    version.cost_of(*_index("task1", data.collection))
    return version.cost_of("search", "task1", QUERIES[0], "--data", data.collection)


def write_texts(data: Path, work: Path) -> None:
    """Write documents and queries in the form of the peers."""
    (work / "documents").mkdir()
    with (work / "documents" / "all.jsonl").open("w", encoding="utf-8") as file:
        for document, _ in read_documents(data / CORPUS):
            contents = f"{document.title} {document.text}".strip()
            row = {"id": document.doc_id, "contents": contents}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (work / "queries.tsv").open("w", encoding="utf-8") as file:
        for query, _ in read_documents(data / QUERY_FILE):
            file.write(f"{query.doc_id}\t{' '.join(query.text.split())}\n")


def own_documents(directory: Path) -> Work:
    """Return the work of indexing and ranking documents of one's own, by one variant."""

    def index_and_run(version: Version, data: Data) -> Cost:
        # In a place of its own, where nothing of an earlier index can be used again.
        with tempfile.TemporaryDirectory(dir=version.place) as place:
            indexes = ("--indexes", place)
            options = ("--data", directory, "--variant", "both", "--overwrite", "--jobs", 1)
            built = version.cost_of(*_index("docs", directory), *indexes)
            disk = _size(place)
            ran = version.cost_of("run", "docs", *options, *indexes, "--runs", place)
        return Cost(built.seconds + ran.seconds, max(built.megabytes, ran.megabytes), disk)

    return index_and_run


def peer(system: str, directory: Path) -> Cost | None:
    """Index and rank the same documents by a peer; None if it is not installed."""
    python = VENV / "bin" / "python"
    if not python.is_file():
        return None

    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        write_texts(directory, work)
        further = {"anserini": [anserini_jar()], "bm25s": [Path(Stemmer.__file__).parent]}
        files = [work / "documents", work / "queries.tsv", work, *further.get(system, [])]
        texts = _size(place)
        process = subprocess.Popen(
            [python, "-m", "comparison.rankers", system, *map(str, files)],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "benchmarks"),
                "JAVA_HOME": str(java_home()),
                "PYTERRIER_HOME": str(VENV / "terrier"),
                **TERRIER,
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        cost = _cost_of(process)
        for run in work.glob("*.trec"):
            run.unlink()
        return cost._replace(disk=_size(place) - texts)


def _size(directory: str) -> float:
    """Return the megabytes of all files below a directory."""
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file()) / 1e6


def _build(version: Version, task: str, data: Path, engine: str) -> Cost:
    """Build an index in a place of its own, where nothing of an earlier round can be used again."""
    with tempfile.TemporaryDirectory(dir=version.place) as place:
        return version.cost_of(*_index(task, data, engine), "--indexes", place)


_SAMPLE: Final = "import arqmath_bm25 as arq; arq.sample()"


def _index(task: str, data: Path, engine: str = "flat") -> list[object]:
    return ["index", task, "--data", data, "--engine", engine, "--jobs", 1]


def _memory(process: int) -> float:
    """Return the most megabytes of memory that a process had so far."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1e3


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


def make_data(place: Path, gigabytes: float, gigabytes_more: float) -> Data:
    """Write what the works read: generated collections, and answers as own documents."""
    collection = place / "generated"
    write_collection(collection, int(gigabytes * 1e9), 1, slt=False, advance=lambda _: None)
    more = collection
    if gigabytes_more > gigabytes:
        more = place / "more"
        write_collection(more, int(gigabytes_more * 1e9), 1, slt=False, advance=lambda _: None)

    posts = CollectionFiles(collection, place / "unused").posts
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
    titles = [thread.question.title for thread in posts.threads() if thread.question]
    for directory in (formulas, plain):
        with (directory / "queries.jsonl").open("w", encoding="utf-8") as file:
            for number, title in enumerate(filter(None, titles[:100])):
                text = read_title(title).text
                if directory == plain:
                    text = _FORMULA.sub(" ", text)
                print(json.dumps({"id": f"q{number}", "text": text}), file=file)
    return Data(collection, formulas, plain, more)


def measure(work: Work, before: Version, now: Version, data: Data, rounds: int) -> list[Cost]:
    """Return the least cost of a work, before and now, of rounds that take turns."""
    costs: dict[Version, list[Cost]] = {before: [], now: []}
    for number in range(rounds):
        turns = [before, now]
        if number % 2:
            turns.reverse()
        for version in turns:
            costs[version].append(work(version, data))
    return [min(costs[before]), min(costs[now])]


def compare_all(
    before: Version, now: Version, data: Data, own: Sequence[Path], rounds: int
) -> Table:
    """Return a table of what all works take, with peers."""
    works: dict[str, Work] = {
        **WORKS,
        "index task1, Lucene": index("task1", "lucene"),
        "index task2, Lucene": index("task2", "lucene"),
        "`--help`": lambda version, _: version.cost_of("--help"),
        "`arq.sample()`": lambda version, _: version.cost_of_script(_SAMPLE),
        "`search task1`": search,
        "100 topics by `both`, three times the posts": query,
    }
    own_places = {f"documents and run: {place.name}": place for place in own}
    works |= {name: own_documents(place) for name, place in own_places.items()}

    table = Table("", "before", "now", "ratio", *PEERS, box=MARKDOWN)
    for name, work in works.items():
        costs = measure(work, before, now, data, rounds)
        ratio = costs[1].seconds / costs[0].seconds
        cells = [name, *map(str, costs), f"{ratio:.2f}"]
        if name in own_places:
            for system in PEERS:
                cost = peer(system, own_places[name])
                times = costs[1].seconds / cost.seconds if cost else 0
                cells.append(f"{cost} ({times:.1f})" if cost else "not installed")
        table.add_row(*cells)
        print(*cells, sep=" | ", file=sys.stderr, flush=True)  # as the whole takes long
    return table


def main() -> None:
    """Measure all works, print a table, and exit with 1 if one is slower than before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", default="HEAD~1", metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=0.01)
    parser.add_argument("--table", action="store_true", help="measure more; no verdict")
    parser.add_argument("--own", type=Path, action="append", default=[], metavar="DIR")
    options = parser.parse_args()

    table = Table("", "before, CPU s", "now", "ratio")
    slower = []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        old = place / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), options.base], check=True)
        try:
            more = 3 * options.gigabytes if options.table else 0
            data = make_data(place, options.gigabytes, more)
            # A commit is never compiled, which would be unfair where a verdict is asked for.
            before = Version(old, place / "before", is_compiled=False)
            now = Version(ROOT, place / "now", is_compiled=options.table)
            for version in (before, now):
                version.place.mkdir()
                # As in an installed package; else each start may compile the sources again.
                compileall.compile_dir(version.tree / "arqmath_bm25", quiet=1)

            if options.table:
                # The packages that each needs too; those of the peers were compiled by pip.
                compileall.compile_dir(sys.prefix, quiet=2)
                own = [data.plain, data.formulas, *map(Path.absolute, options.own)]
                Console(width=140).print(compare_all(before, now, data, own, options.rounds))
                return

            for name, work in WORKS.items():
                costs = measure(work, before, now, data, options.rounds)
                if costs[1].seconds > LIMIT * costs[0].seconds:
                    costs = measure(work, before, now, data, 2 * options.rounds)
                ratio = costs[1].seconds / costs[0].seconds
                table.add_row(name, *(f"{cost.seconds:.2f}" for cost in costs), f"{ratio:.2f}")
                if ratio > LIMIT:
                    slower.append(name)
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)

    Console().print(table)
    if slower:
        sys.exit(f"more than {LIMIT} of the time of {options.base}: {', '.join(slower)}")


if __name__ == "__main__":
    main()
