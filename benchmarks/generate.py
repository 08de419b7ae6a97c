"""Writes a collection of any size in the official formats, for measurements of speed and memory.

    python benchmarks/generate.py OUT --gigabytes 0.3 [--seed 1] [--slt] [--describe]
    python benchmarks/generate.py OUT --describe

OUT gets posts of that size (the official file has 4.1 GB), links, formula TSVs in LaTeX and, with
--slt, in presentation MathML, and the topics of 2022. Lengths, frequencies, repeats and defects are
fitted to a real subset (generation/measured.py); words and formulas are invented. The same size and
seed give the same files. There are no judgments: nothing here is relevant to anything.

--describe reads OUT with the package and prints its figures beside those of the real subset
`arqmath-lite` below ARQMATH_SHARED, if that is there.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Final

from generation.describe import describe
from generation.files import write_collection
from rich.console import Console

from arqmath_bm25.core.progress import progress

LARGEST: Final = 30.0  # gigabytes: all distinct formulas that the grammar has


def main() -> None:
    """Generate, describe or both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="the directory to make")
    parser.add_argument("--gigabytes", type=float, help="size of the posts (10^9 bytes)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slt", action="store_true", help="write MathML as well (10 x the LaTeX)")
    parser.add_argument("--describe", action="store_true", help="print what is in OUT")
    options = parser.parse_args()
    if options.gigabytes is None and not options.describe:
        parser.error("give --gigabytes, --describe or both")
    console = Console()
    if options.gigabytes is not None:
        if not 0 < options.gigabytes <= LARGEST:
            parser.error(
                f"--gigabytes {options.gigabytes}: expected more than 0, at most {LARGEST}"
            )
        if options.out.exists():
            parser.error(f"{options.out} is there already; remove it or choose another name")
        size, began = int(options.gigabytes * 1e9), time.perf_counter()
        with progress("generating", size / 1e6, "MB") as advance:
            write_collection(
                options.out, size, options.seed, options.slt, lambda step: advance(step / 1e6)
            )
        seconds = time.perf_counter() - began
        written = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
        console.print(
            f"{options.out}: {written / 1e6:,.0f} MB in {seconds:.1f} s "
            f"({written / 1e6 / seconds:.0f} MB/s)"
        )
    if options.describe:
        shared = os.environ.get("ARQMATH_SHARED", Path(__file__).parents[2] / "shared")
        subset = Path(shared) / "data" / "arqmath-lite"
        console.print(describe([options.out, *([subset] if subset.is_dir() else [])]))


if __name__ == "__main__":
    main()
