"""What operator trees and the second stage cost: CPU time of builds and runs, with and without.

    python benchmarks/evidence_cost.py DATA

DATA is a collection of any size, such as benchmarks/generate.py writes. Each build or run is a
program of its own. `without` is the configuration without operator trees (no field and no path of
them, no signatures) and without the second stage; the last column is the ratio to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console
from rich.table import Table

CONFIGS: Final = Path(__file__).parent.parent / "configs"


def default(task: str) -> dict[str, Any]:
    """Return the default configuration of a task."""
    config: dict[str, Any] = yaml.safe_load((CONFIGS / f"{task}.yaml").read_text("utf-8"))
    return config


def without(task: str) -> dict[str, Any]:
    """Return the default configuration of a task without operator trees and second stage."""
    config = default(task)
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
    options = ["--data", str(data)]
    with tempfile.TemporaryDirectory() as work:
        for task in ("task1", "task2"):
            rows: dict[str, list[float]] = {"build, CPU s": [], "run, CPU s": [], "index, MB": []}
            for name in ("without", "with"):
                place = Path(work, name)
                place.mkdir(exist_ok=True)
                config = place / f"{task}.yaml"
                chosen = without(task) if name == "without" else default(task)
                config.write_text(yaml.safe_dump(chosen), "utf-8")
                given = [*options, "--config", str(config)]
                if task == "task2":  # whose context needs Task 1, the same for both
                    shutil.rmtree(place / "indexes", ignore_errors=True)
                    shutil.copytree(Path(work, "task1"), place / "indexes", copy_function=os.link)
                shared = stored(place)
                rows["build, CPU s"].append(cpu(["index", task, *given], place))
                rows["index, MB"].append((stored(place) - shared) / 1e6)
                rows["run, CPU s"].append(cpu(["run", task, *given, "--variant", "both"], place))
            if task == "task1":
                (place / "indexes").rename(Path(work, "task1"))
            for measured, (before, now) in rows.items():
                row = (f"{task}: {measured}", f"{before:.1f}", f"{now:.1f}", f"{now / before:.2f}")
                table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
