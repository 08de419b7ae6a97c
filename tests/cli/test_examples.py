"""The examples of every --help do what they say, on the sample as `make demo` leaves it."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from pathlib import Path
from typing import Final

import pytest
from program import arqmath

from arqmath_bm25.cli import COMMANDS, load
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE

ELSEWHERE: Final = ("fetch", "cluster", "serve")  # the network, a cluster, a server that stays
WRITES_BATCH: Final = "pool"
# What users have that the examples name.
RUNS: Final = {
    "myrun.tsv": "both-P", "a.tsv": "both-P", "b.tsv": "math-A", "c.tsv": "text-A",
    "text.tsv": "text-A", "math.tsv": "math-A", "Team-task1-bm25-auto-both-P.tsv": "both-P",
}  # fmt: skip
EXAMPLES: Final = [
    example
    for name in sorted(COMMANDS, key=lambda name: name != WRITES_BATCH)
    for example in re.findall(r"Example: arqmath-bm25 (.*)", load(name).help or "")
    if name not in ELSEWHERE
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with indexes and runs of the sample, as `make demo` leaves it."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        arqmath("index", "task1", "--engine", "flat")
        arqmath("index", "task2", "--engine", "flat")
        arqmath("run", "task1", "--topics", "2021")
        arqmath("run", "task2", "--topics", "2021")
        for name, made in RUNS.items():
            run = f"runs/arqmath-sample/2021/bm25arq-task1-bm25-auto-{made}.tsv"
            shutil.copy(run, name)
            if name.startswith("Team"):  # convert --tira says how the run was made
                shutil.copy(f"{run}.manifest.json", f"{name}.manifest.json")
        shutil.copy(Layout(SAMPLE).qrels("task1", "2021"), "qrel_official_task1")
        arqmath("pool", "a.tsv", "-o", "batch.csv", "--depth", "2")
        for name in ("one.csv", "two.csv"):
            write_results(Path("batch.csv"), Path(name))
        Path("notes").mkdir()
        Path("notes/one.md").write_text("# Primes\n\nThere is no largest prime $p$.\n")
    return folder


def write_results(batch: Path, results: Path) -> None:
    """Write what Turkle does: the columns of the batch, and a label for each hit."""
    with batch.open(newline="") as file:
        rows = list(csv.DictReader(file))
    annotated = []
    for row in rows:
        inputs = {f"Input.{name}": value for name, value in row.items()}
        annotated.append({"WorkerId": results.stem, **inputs, "Answer.grade_1": "High"})
    with results.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(annotated[0]))
        writer.writeheader()
        writer.writerows(annotated)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_of_a_command_works(
    demo: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo)
    words = []
    for word in shlex.split(example):
        here = word.replace("/data/ARQMath", str(SAMPLE)).replace("indexes/ARQMath", "indexes/*")
        if "*" in here:
            words += sorted(map(str, Path().glob(here)))
        else:
            words.append(here)
    arqmath(*words)
