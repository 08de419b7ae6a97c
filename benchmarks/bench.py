"""Time and memory of the builds of Task 1 and Task 2 over growing collections, on this machine.

    python benchmarks/bench.py [--sizes 0.1,0.3,1,3] [--work DIR] [--results DIR]

Builds both indexes of a generated collection of each size, once, and draws the line to the 4.1 GB
of the full collection. The figures are written to benchmarks/results/DATE.json and .md. Collections
are generated in --work and kept there; without --work in a temporary directory. Everything takes
about half an hour and 20 GB of disk; `--sizes 0.02,0.05` takes two minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import date
from pathlib import Path

from comparison import growth, machine, results
from generation.files import write_collection
from rich.console import Console

from arqmath_bm25.collection.layout import Layout

RESULTS = Path(__file__).parent / "results"


def generated(gigabytes: float, collections: Path, scratch: Path) -> Layout:
    """Return a generated collection, which is made if it is not there."""
    directory = collections / f"generated-{gigabytes:g}"
    if not directory.exists():
        unfinished = scratch / "unfinished"
        size = int(gigabytes * 1e9)
        write_collection(unfinished, size, seed=1, slt=False, advance=lambda _: None)
        unfinished.rename(directory)
    return Layout(directory)


def sizes(text: str) -> list[float]:
    """Read a list of sizes, in growing order."""
    return sorted(map(float, text.split(",")))


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=sizes, default=[0.1, 0.3, 1.0, 3.0], help="GB of posts")
    parser.add_argument("--work", type=Path, help="where collections are generated and kept")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if len(options.sizes) < 2:
        parser.error("--sizes: two or more are needed for a line")
    options.results.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
    steps = []
    with tempfile.TemporaryDirectory(dir=options.work) as temporary:
        scratch = Path(temporary)
        for size in options.sizes:
            with console.status(f"Measuring: {size:g} GB ..."):
                layout = generated(size, options.work or scratch, scratch)
                steps.append(growth.build_all(layout, scratch / "indexes"))
    today = date.today().isoformat()
    page = results.write(options.results, today, machine.describe(), [growth.report(steps)])
    print(page.read_text(encoding="utf-8"), page, sep="\n")


if __name__ == "__main__":
    main()
