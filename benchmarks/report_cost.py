"""What a report costs: python benchmarks/report_cost.py DATA RUN... (goal: 40 s, 15 MB, 300 KB)."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from arqmath_bm25.cli.pages import report

if __name__ == "__main__":
    data, *runs = map(Path, sys.argv[1:])
    with TemporaryDirectory() as place:
        output = Path(place) / "report"
        began = time.process_time()
        report(runs, output, data=data)
        seconds = time.process_time() - began
        sizes = [path.stat().st_size for path in output.rglob("*") if path.is_file()]
        pages = [path.stat().st_size for path in (output / "topics").iterdir()]
    print(
        f"{len(runs)} runs, {len(pages)} topics: {seconds:.1f} s of CPU, "
        f"{sum(sizes) / 1e6:.1f} MB, largest topic page {max(pages) / 1e3:.0f} KB"
    )
