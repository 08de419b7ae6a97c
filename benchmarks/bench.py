"""Compares this system with its peers on this machine, and tells what the full collection takes.

    python benchmarks/bench.py [PART ...] [--sizes 0.1,0.3,1,3] [--sample 0.2] [--repeats 3] ...

The parts, all without PART:

* ingest: Posts.xml → terms beside the same pipeline on BeautifulSoup, and whether the terms are
  the same: on --sample GB of generated posts and on real ones below ARQMATH_SHARED, if there;
* scaling: the analysis over two processes beside one, on every size up to 0.3 GB;
* peers: indexing and searching beside bm25s, Tantivy and PyTerrier, on the same posts;
* growth: time and memory of the builds of Task 1 and Task 2 over --sizes, and the line to 4.1 GB.

What is compared is run in turn; figures are medians of --repeats (of growth: single builds). The
figures of the parts that were run are written to benchmarks/results/DATE.json, .md and .svg. Peers
are looked for in .venv-bench (`make bench` makes it). Collections are generated in --work and kept
there; without --work in a temporary directory. Everything takes about an hour and 20 GB of disk;
`--sizes 0.02,0.05 --sample 0.02 --repeats 1` takes two minutes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from comparison import growth, ingest, machine, peers, plot, results
from comparison.results import Part
from generation.files import write_collection
from rich.console import Console

from arqmath_bm25.collection.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RESULTS = Path(__file__).parent / "results"
SCALING_UP_TO = 0.3  # GB of posts


class Plan(NamedTuple):
    """What is to be measured, and where."""

    sizes: Sequence[float]  # GB of posts
    sample: float  # GB of posts
    repeats: int
    collections: Path  # where generated ones are
    scratch: Path
    peers: Path  # the environment of the peers
    picture: Path

    def generated(self, gigabytes: float) -> Layout:
        """Return a generated collection, which is made if it is not there."""
        directory = self.collections / f"generated-{gigabytes:g}"
        if not directory.exists():
            unfinished = self.scratch / "unfinished"
            size = int(gigabytes * 1e9)
            write_collection(unfinished, size, seed=1, slt=False, advance=lambda _: None)
            unfinished.rename(directory)
        return Layout(directory)


def real() -> list[Layout]:
    """Return the real collections below ARQMATH_SHARED: those with posts."""
    shared = Path(os.environ.get("ARQMATH_SHARED", Path(__file__).parents[2] / "shared"))
    places = sorted(path for path in shared.glob("data/*") if path.is_dir())
    return [layout for layout in map(Layout, places) if layout.has_posts()]


def measure_ingest(plan: Plan) -> Part:
    """Compare the reading of posts with BeautifulSoup."""
    return ingest.beside_soup(plan.generated(plan.sample), real(), plan.scratch, plan.repeats)


def measure_scaling(plan: Plan) -> Part:
    """Read posts in one process and in two."""
    chosen = [size for size in plan.sizes if size <= SCALING_UP_TO] or plan.sizes[:1]
    return ingest.scaling(list(map(plan.generated, chosen)), plan.scratch, plan.repeats)


def measure_peers(plan: Plan) -> Part:
    """Compare indexing and search with other engines."""
    layouts = [plan.generated(plan.sample), *(of for of in real() if of.years("task1"))]
    return peers.beside_peers(layouts, plan.scratch, plan.repeats, plan.peers)


def measure_growth(plan: Plan) -> Part:
    """Build indexes of growing collections, and draw their time and memory."""
    steps = [growth.build_all(plan.generated(size), plan.scratch) for size in plan.sizes]
    plot.draw(steps, plan.picture)
    return growth.report(steps, plan.picture)


PARTS: Mapping[str, Callable[[Plan], Part]] = {
    "ingest": measure_ingest,
    "scaling": measure_scaling,
    "peers": measure_peers,
    "growth": measure_growth,
}


def sizes(text: str) -> list[float]:
    """Read a list of sizes, in growing order."""
    return sorted(map(float, text.split(",")))


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--sizes", type=sizes, default=[0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--sample", type=float, default=0.2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", type=Path, help="where collections are generated and kept")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--peers", type=Path, default=peers.VENV, help="environment of the peers")
    options = parser.parse_args()
    if len(options.sizes) < 2:
        parser.error("--sizes: two or more are needed for a line")
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    today = date.today().isoformat()
    described = machine.describe()
    options.results.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.work) as temporary:
        plan = Plan(
            options.sizes,
            options.sample,
            options.repeats,
            options.work or Path(temporary),
            Path(temporary, "scratch"),
            options.peers,
            options.results / f"{today}.svg",
        )
        plan.scratch.mkdir()
        found = []
        for name in options.parts or PARTS:
            with console.status(f"Measuring: {name} ..."):
                found.append(PARTS[name](plan))
    page = results.write(options.results, today, described, found)
    print(page.read_text(encoding="utf-8"), page, sep="\n")


if __name__ == "__main__":
    main()
