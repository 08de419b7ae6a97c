"""Formulas → terms → index: how fast, on formulas made by varying those of the sample.

    python benchmarks/formula_tokens.py [DISTINCT]

First table: formulas a second in one process (CPU time), of every part of the analysis, for 100,000
distinct formulas and for three times as many drawn from these: 28.3 million formulas of the
collection have 9.4 million visual ids, and what was analysed once is looked up (`lru_cache`).
Second: rows a second (CPU time) of 300,000 in a TSV of the lab, each formula three times in it: by
the csv module, as records, as columns of ids, and as these with the text of each formula that is
met first, which is what the documents are made of.
Third: DISTINCT (1,000,000) formulas, written as a TSV of the lab, become an index on two cores.
Takes two minutes.
"""

from __future__ import annotations

import csv
import random
import re
import resource
import sys
import tempfile
import time
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.analyzer import FormulaAnalyzer
from arqmath_bm25.analysis.latex import read, tokenize
from arqmath_bm25.analysis.symbol_layout import read_layout
from arqmath_bm25.analysis.terms import ngrams, paths
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.formulas import (
    COLUMNS,
    read_formula_blocks,
    read_formula_ids,
    read_formulas,
)
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPEATS = 3
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VARIED = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|[0-9]+")


def varied(seed: int) -> Iterator[str]:
    """Yield distinct formulas: those of the sample with other letters and numbers."""
    chosen = random.Random(seed)
    sources = [row.latex for row in read_formulas(Layout(SAMPLE).formulas())]
    seen: set[int] = set()

    def other(found: re.Match[str]) -> str:
        return str(chosen.randint(0, 99)) if found[0].isdigit() else chosen.choice(LETTERS)

    while True:
        formula = _VARIED.sub(other, chosen.choice(sources))
        if hash(formula) not in seen:
            seen.add(hash(formula))
            yield formula


def tuples(latex: str) -> str:
    """Return the paths through the symbol layout tree."""
    return " ".join(paths(read_layout(read(latex)[0]), 2, 3))


def grams(latex: str) -> str:
    """Return the n-grams of Task 1."""
    return " ".join(ngrams(tokenize(latex), 1, 3))


def rate(analyse: Callable[[str], object], formulas: list[str]) -> str:
    """Return formulas a second."""
    began = time.process_time()
    for formula in formulas:
        analyse(formula)
    return f"{len(formulas) / (time.process_time() - began):,.0f}"


def analysis(count: int) -> Table:
    """Measure the analysis of distinct and of repeated formulas."""
    source = varied(1)
    distinct = [next(source) for _ in range(count)]
    drawn = distinct * REPEATS
    random.Random(2).shuffle(drawn)
    tokens = sum(len(tokenize(formula)) for formula in distinct) / count
    settings = configured("task2").settings
    every = FormulaAnalyzer(settings.analysis, settings.fields)
    table = Table("", title=f"Formulas a second, one core; {tokens:.1f} tokens a formula")
    table.add_column("distinct", justify="right")
    table.add_column(f"each {REPEATS} times", justify="right")
    rows: dict[str, Callable[[str], object]] = {
        "tokens": tokenize,
        "1-3-grams": grams,
        "layout tuples": tuples,
        "all fields of Task 2": every.latex,
    }
    for name, analyse in rows.items():
        cached = lru_cache(maxsize=None)(analyse)
        table.add_row(name, rate(analyse, distinct), rate(cached, drawn))
    return table


def write_tsv(path: Path, count: int, repeats: int = 1) -> None:
    """Write so many distinct formulas, each `repeats` times, as rows of the lab's TSV."""
    source = varied(3)
    formulas = [(n, next(source)) for n in range(1, count + 1)] * repeats
    if repeats > 1:
        random.Random(2).shuffle(formulas)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(COLUMNS["v3"])
        for n, (visual, formula) in enumerate(formulas, 1):
            writer.writerow((n, n, n, "answer", "", visual, visual, "", formula))


def read_csv(path: Path) -> None:
    """Read a file with the csv module, keeping nothing."""
    with path.open(encoding="utf-8", newline="") as file:
        deque(csv.reader(file, delimiter="\t"), maxlen=0)


def first_formulas(path: Path, count: int) -> None:
    """Read the ids of all rows, and of each visual id up to `count` the first formula."""
    seen = np.zeros(count + 1, np.bool_)
    for block in read_formula_blocks(path):
        for name in ("id", "post_id", "thread_id"):
            block.numbers(name)
        visual, first = np.unique(block.numbers("visual_id"), return_index=True)
        block.texts("formula", first[~seen[visual]])
        seen[visual] = True


def reading(count: int) -> Table:
    """Measure the ways to read a TSV; the best of three times, since others use the machine."""
    ways: dict[str, Callable[[Path], object]] = {
        "csv module": read_csv,
        "records": lambda path: deque(read_formulas(path), maxlen=0),
        "columns: ids": lambda path: deque(read_formula_ids(path), maxlen=0),
        "columns: ids, first formulas": lambda path: first_formulas(path, count),
    }
    seconds = dict.fromkeys(ways, float("inf"))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "1.tsv"
        write_tsv(path, count, REPEATS)
        for _ in range(3):
            for name, read_file in ways.items():
                began = time.process_time()
                read_file(path)
                seconds[name] = min(seconds[name], time.process_time() - began)
    table = Table("", title="Formula TSVs: rows a second")
    table.add_column("rows a second", justify="right")
    table.add_column("csv module = 1", justify="right")
    for name, second in seconds.items():
        ratio = seconds["csv module"] / second
        table.add_row(name, f"{count * REPEATS / second:,.0f}", f"{ratio:.1f}")
    return table


def indexing(count: int) -> Table:
    """Measure the way from a TSV to an index."""
    with tempfile.TemporaryDirectory() as directory:
        formulas = Path(directory) / "Formulas" / "latex_representation_v3"
        formulas.mkdir(parents=True)
        write_tsv(formulas / "1.tsv", count)
        index = Path(directory) / "indexes"
        began = time.monotonic()
        manifest = build(configured("task2").index_task, Collection(directory, index), Processes(2))
        seconds = time.monotonic() - began
        size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table = Table("", "", title=f"{manifest.counts['documents']:,} distinct formulas to an index")
    table.add_row("formulas a second", f"{count / seconds:,.0f}")
    table.add_row("index", f"{size / count:,.0f} bytes a formula")
    table.add_row("memory, this process with the JVM", f"{megabytes:,.0f} MB")
    return table


def main(count: int) -> None:
    """Print the tables; the index first, so that its memory is its own."""
    console = Console(width=100)
    console.print(indexing(count))
    console.print(reading(100_000))
    console.print(analysis(100_000))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
