"""Learning from references: how long `index` and `run` take, and how much memory.

    python benchmarks/references.py [--statements 20000,200000] [--queries 100]

The statements are generated: 15 to 45 words, half of them of one of many subjects, and one to four
references to earlier statements on the same subject. Queries are further statements.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from comparison.children import cpu, watch
from rich.console import Console
from rich.table import Table

PROGRAM: Final = (sys.executable, "-m", "arqmath_bm25", "--quiet")
WORDS: Final = 20_000  # of the vocabulary, the frequent ones first
OF_SUBJECT: Final = 100  # statements
_SYLLABLES: Final = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]


def main() -> None:
    """Write the statements, time each step, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--statements", default="20000,200000")
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args()

    table = Table("statements", "", "CPU, s", "of that one, ms", "seconds", "memory, MB")
    for number in map(int, options.statements.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            data = Path(directory) / "statements"
            write_data(data, number, options.queries)
            where = ["--data", data, "--indexes", Path(directory) / "indexes"]
            runs = ["--runs", Path(directory) / "runs", "--variant", "cited"]
            steps: dict[str, tuple[int, list[object]]] = {
                "index docs": (number, ["index", "docs", *where, "--engine", "flat"]),
                "run docs, cited": (options.queries, ["run", "docs", *where, *runs]),
            }
            for name, (parts, step) in steps.items():
                before = cpu()
                seconds, peaks = watch([*PROGRAM, *step])
                used = cpu() - before
                one = f"{1000 * used / parts:,.1f}"
                memory = f"{peaks.together / 1e6:,.0f}"
                table.add_row(f"{number:,}", name, f"{used:.1f}", one, f"{seconds:.1f}", memory)
    Console().print(table)


def write_data(data: Path, number: int, queries: int) -> None:
    """Write statements as documents with references, and queries."""
    data.mkdir()
    rows = statements(number + queries)
    for name, count in (("corpus.jsonl", number), ("queries.jsonl", queries)):
        with (data / name).open("w", encoding="utf-8") as file:
            for _ in range(count):
                row = next(rows)
                if name == "queries.jsonl":
                    del row["references"]
                file.write(json.dumps(row) + "\n")


def statements(number: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Yield generated statements; the first of a subject refer to nothing."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(WORDS)]
    subjects = number // OF_SUBJECT + 1
    words_of = [chance.sample(vocabulary, 30) for _ in range(subjects)]
    earlier: list[list[str]] = [[] for _ in range(subjects)]
    for place in range(number):
        subject = chance.randrange(subjects)
        length = chance.randint(15, 45)
        words = chance.choices(words_of[subject], k=length // 2)
        while len(words) < length:
            rank = int(WORDS ** chance.random())  # as often as 1/rank
            words.append(vocabulary[rank - 1])
        chance.shuffle(words)

        known = earlier[subject]
        references = chance.sample(known, min(len(known), chance.randint(1, 4)))
        known.append(f"s{place}")
        yield {"id": f"s{place}", "text": " ".join(words), "references": references}


if __name__ == "__main__":
    main()
