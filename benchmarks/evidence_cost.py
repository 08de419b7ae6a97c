"""What operator trees and the second stage cost: CPU time of builds and runs, with and without.

    python benchmarks/evidence_cost.py DATA

DATA is a collection of any size, such as benchmarks/generate.py writes. Each build or run is a
program of its own. `without` is the configuration without operator trees (no field and no path of
them, no signatures) and without the second stage; the last column is the ratio to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console
from rich.table import Table

CONFIGS: Final = Path(__file__).parent.parent / "configs"


def without(task: str) -> dict[str, Any]:
    """Return the default configuration of a task without operator trees and second stage."""
    config: dict[str, Any] = yaml.safe_load((CONFIGS / f"{task}.yaml").read_text("utf-8"))
    config.pop("stages", None)
    if task == "task1":
        config["analysis"]["latex"]["operators"] = False
    for variant in config["variants"].values():
        weights = variant.get("fields", variant)
        for field in [name for name in weights if name.endswith("operators")]:
            del weights[field]
    return config


def cpu(command: list[str], place: Path) -> float:
    """Run the program there; return the CPU seconds of it and its children."""
    before = os.times()
    program = [sys.executable, "-m", "arqmath_bm25", "--quiet", *command]
    subprocess.run(program, cwd=place, check=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def stored(place: Path) -> int:
    """Return the bytes of all files."""
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def main() -> None:
    """Measure both tasks."""
    data = Path(sys.argv[1]).resolve()
    table = Table(
        "", "without", "with", "ratio", title=f"Operator trees and second stage, {data.name}"
    )
    for task in ("task1", "task2"):
        seconds: dict[str, list[float]] = {"build, CPU s": [], "run, CPU s": [], "index, MB": []}
        with tempfile.TemporaryDirectory() as work:
            for name, config in (("without", without(task)), ("with", None)):
                place = Path(work) / name
                place.mkdir()
                options = ["--data", str(data)]
                if task == "task2":  # whose context needs it, and which is not measured again
                    cpu(["index", "task1", *options], place)
                shared = stored(place)
                if config:
                    (place / "config.yaml").write_text(yaml.safe_dump(config), "utf-8")
                    options += ["--config", "config.yaml"]
                seconds["build, CPU s"].append(cpu(["index", task, *options], place))
                seconds["index, MB"].append((stored(place) - shared) / 1e6)
                run = ["run", task, *options, "--variant", "both"]
                seconds["run, CPU s"].append(cpu(run, place))
        for measured, (before, now) in seconds.items():
            row = (f"{task}: {measured}", f"{before:.1f}", f"{now:.1f}", f"{now / before:.2f}")
            table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
