"""What builds cost: flat postings, the same by the compiled wheel, and Lucene's index.

    python benchmarks/builds.py [--sizes 0.1,0.3] [--tasks task1,task2] [--rounds 3]

Of each size a collection is generated, and its tasks are indexed with two processes by this
checkout for both engines, and for flat postings by the wheel that `make wheel` compiles of it.
task2 needs the index of Task 1, so that it stands for both, as the last task does in the last
line: CPU time of all processes, the JVM's included, and the most memory they had at one time. The
cheapest of the rounds counts, since other work slows them down. The last line calculates with what
a GB more costs, for the whole collection (4.1 GB) on two cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from compileall import compile_dir
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from comparison.children import cpu, watch
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT: Final = Path(__file__).parent.parent
_WHOLE: Final = 4.1  # GB
_SHARED_BY_TWO: Final = 1.8  # times as fast two processes are


class Cost(NamedTuple):
    """What a build took."""

    seconds: float  # of CPU
    megabytes: float  # of memory
    disk: float  # megabytes


def main(sizes: Sequence[float], tasks: Sequence[str], rounds: int) -> None:
    """Build everything and print a table."""
    table = Table("GB", "task", "version", "it took", "CPU", "memory", "disk")
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        versions = _versions(work)
        costs: defaultdict[tuple[str, str], list[Cost]] = defaultdict(list)
        for size in sizes:
            data = work / f"{size} GB"
            generate = [sys.executable, str(_ROOT / "benchmarks" / "generate.py"), str(data)]
            subprocess.run([*generate, "--gigabytes", str(size)], check=True)
            for task in tasks:
                builds = [
                    [_build(code, task, data, work, engine) for code, engine in versions.values()]
                    for _ in range(rounds)
                ]
                cheapest = list(map(min, zip(*builds, strict=True)))
                for version, cost in zip(versions, cheapest, strict=True):
                    costs[task, version].append(cost)
                    pairs = zip(cost, cheapest[0], strict=True)
                    ratios = [f"{now / before:.2f}" for now, before in pairs]
                    table.add_row(f"{size}", task, version, _said(cost), *ratios)
    for version in versions:
        minutes = _whole(sizes, costs[tasks[-1], version]) / 60 / _SHARED_BY_TWO
        table.caption = f"{table.caption or ''}{_WHOLE} GB, {version}: {minutes:.1f} min. "
    Console(width=120).print(table)


def _versions(work: Path) -> dict[str, tuple[Path, str]]:
    """Return where the code of each version is, and its engine; the wheel is made in `work`."""
    make = ["make", "-C", str(_ROOT), "wheel", f"WHEELS={work}"]
    subprocess.run(make, check=True)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    install += ["--target", str(work / "compiled"), *map(str, work.glob("*.whl"))]
    subprocess.run(install, check=True)
    versions: dict[str, tuple[Path, str]] = {
        "flat": (_ROOT, "flat"),
        "flat, compiled": (work / "compiled", "flat"),
        "Lucene": (_ROOT, "lucene"),
    }
    for code, _ in versions.values():
        compile_dir(code / "arqmath_bm25", quiet=1)  # as installing does
    return versions


def _build(code: Path, task: str, data: Path, work: Path, engine: str) -> Cost:
    """Build the index of a task by the program in a directory."""
    indexes = work / f"{code.name} {engine} {task} {data.name}"
    program = (
        f"import sys; sys.path.insert(0, {str(code)!r}); import arqmath_bm25.cli as cli; cli.main()"
    )
    options = ["--data", data, "--indexes", indexes, "--engine", engine]
    os.environ["XDG_CACHE_HOME"] = str(work / "cache")
    os.environ["ARQMATH_SOURCES"] = "1"  # the checkout's, not what `make setup` compiled of them
    before = cpu()
    _, peaks = watch([sys.executable, "-c", program, "index", task, *options])
    seconds = cpu() - before
    disk = sum(file.stat().st_size for file in indexes.rglob("*") if file.is_file())
    shutil.rmtree(indexes)
    return Cost(seconds, peaks.together / 1e6, disk / 1e6)


def _whole(sizes: Sequence[float], costs: Sequence[Cost]) -> float:
    """Return the CPU seconds for the whole collection, extrapolated by the cost of each GB."""
    first, last = costs[0].seconds, costs[-1].seconds
    if len(costs) == 1:
        return first * _WHOLE / sizes[0]
    return last + (last - first) / (sizes[-1] - sizes[0]) * (_WHOLE - sizes[-1])


def _said(cost: Cost) -> str:
    return f"{cost.seconds:.1f} s, {cost.megabytes:.0f} MB, {cost.disk:.0f} MB on disk"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument(
        "--sizes", type=lambda text: [*map(float, text.split(","))], default=[0.1, 0.3]
    )
    options.add_argument("--tasks", type=lambda text: text.split(","), default=["task1", "task2"])
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    main(chosen.sizes, chosen.tasks, chosen.rounds)
