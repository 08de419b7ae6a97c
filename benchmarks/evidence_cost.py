"""What the default of Task 1 costs: CPU time of build and run, and bytes, beside other rankings.

    python benchmarks/evidence_cost.py DATA [CHECKOUT]

DATA is a collection of any size, such as benchmarks/generate.py writes. Measured are the default
configuration, the plain baseline (task1_tokens.yaml), the default without its second stage, and
with CHECKOUT the default of the program in that directory, such as a worktree of an older commit.
Each build or run is a program of its own; the last column is the ratio of the default to the row.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parent.parent
COLUMNS: Final = ("build, CPU s", "run, CPU s", "Lucene, MB", "all, MB")


def cpu(command: list[str], place: Path, checkout: Path) -> float:
    """Run the program of a checkout there; return the CPU seconds of it and its children."""
    before = os.times()
    program = [sys.executable, "-m", "arqmath_bm25", "--quiet", *command]
    subprocess.run(program, cwd=place, env={**os.environ, "PYTHONPATH": str(checkout)}, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def stored(place: Path) -> float:
    """Return the megabytes of all files."""
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6


def measure(data: Path, place: Path, checkout: Path, config: Path) -> list[float]:
    """Build and run Task 1 in an empty directory."""
    place.mkdir()
    options = ["--data", str(data), "--config", str(config)]
    build = cpu(["index", "task1", *options], place, checkout)
    run = cpu(["run", "task1", *options, "--variant", "both"], place, checkout)
    return [
        build,
        run,
        stored(next(place.glob("indexes/*/task1/lucene"))),
        stored(place / "indexes"),
    ]


def main() -> None:
    """Print the table."""
    data, *checkouts = (Path(argument).resolve() for argument in sys.argv[1:])
    configs = ROOT / "configs"
    with tempfile.TemporaryDirectory() as work:
        plain = Path(work, "plain.yaml")
        default = yaml.safe_load((configs / "task1.yaml").read_text("utf-8"))
        plain.write_text(yaml.safe_dump({**default, "stages": {}}), "utf-8")
        rows = {
            "default": (ROOT, configs / "task1.yaml"),
            "without the second stage": (ROOT, plain),
            "words and LaTeX tokens": (ROOT, configs / "task1_tokens.yaml"),
            **{str(place): (place, place / "configs" / "task1.yaml") for place in checkouts},
        }
        table = Table("", *COLUMNS, title=f"Task 1 on {data.name}; in brackets default / row")
        first: list[float] = []
        for number, (name, (checkout, config)) in enumerate(rows.items()):
            values = measure(data, Path(work, str(number)), checkout, config)
            first = first or values
            cells = zip(values, first, strict=True)
            table.add_row(name, *(f"{value:.1f} ({now / value:.2f})" for value, now in cells))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
