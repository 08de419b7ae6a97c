"""The shared task's tf-idf baseline, its own way and ours: time, memory and the same premises.

    python benchmarks/nlps_baseline_speed.py [DATA] [--statements 2800] [--premises 16000]

The official way is rebuilt here from what its script does: the texts are vectorised, all cosine
distances are computed as one dense matrix, every row is sorted in full, and each of the 500 pairs
of a statement is printed by itself, its ids looked up in a data frame. DATA (default: data/nlps
below ARQMATH_SHARED) gives texts; they are repeated and joined to the sizes asked for, the same
each time. Each way runs in a process of its own. Time is from the texts in memory to the closed
file, without imports, which are the same. Memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    Statement,
    read_premises,
    read_statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEPTH = 500


def texts(data: Path, statements: int, premises: int) -> tuple[list[Statement], list[Premise]]:
    """Return as many statements and premises as asked for, made from those of DATA."""
    files = PremiseFiles.at(data)
    asked = [s.text for split in files.splits() for s in read_statements(files.statements(split))]
    known = [p.text for p in read_premises(files.knowledge_base)] + asked
    for n in range(premises - len(known)):
        known.append(f"{known[(n * 7) % 5000]}\n{known[(n * 13 + 5) % 5000]}")
    return (
        [Statement(str(10**38 + n), asked[n % len(asked)], ()) for n in range(statements)],
        [Premise(str(2 * 10**38 + n), text) for n, text in enumerate(known[:premises])],
    )


def official_way(statements: Sequence[Statement], premises: Sequence[Premise], path: Path) -> None:
    """Rank as the script does."""
    import numpy as np
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_distances

    asked = pd.DataFrame([(s.statement_id, s.text) for s in statements], columns=["id", "text"])
    known = pd.DataFrame(premises, columns=["id", "text"])
    vectorizer = TfidfVectorizer().fit(known["text"])
    distances = cosine_distances(
        vectorizer.transform(asked["text"]), vectorizer.transform(known["text"])
    )
    with path.open("w") as file:
        for row, of_statement in enumerate(distances):
            for column in np.argsort(of_statement)[:DEPTH]:
                print(asked.loc[row]["id"], known.loc[column]["id"], sep="\t", file=file)


def our_way(statements: Sequence[Statement], premises: Sequence[Premise], path: Path) -> None:
    """Rank as `run nlps --variant tfidf` does."""
    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.runs.run_writing import write_run
    from arqmath_bm25.tasks.premises.tfidf import Tfidf

    ranked = Tfidf(premises).rank(statements, DEPTH)
    rankings = (
        (statement.statement_id, [Hit(*hit) for hit in hits])
        for statement, hits in zip(statements, ranked, strict=True)
    )
    write_run(path, rankings, "tfidf", "nlps")


WAYS = {"official": official_way, "ours": our_way}


def measure(way: str, data: Path, statements: int, premises: int, path: Path) -> dict[str, float]:
    """Run one way in a process of its own; return seconds and peak memory in MB."""
    command = [sys.executable, __file__, str(data), "--way", way, "--output", str(path)]
    command += ["--statements", str(statements), "--premises", str(premises)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


def work(way: str, data: Path, statements: int, premises: int, path: Path) -> None:
    """Rank in this process and print what `measure` returns."""
    import sklearn.feature_extraction.text
    import sklearn.metrics.pairwise  # noqa: F401

    made = texts(data, statements, premises)
    began = time.perf_counter()
    WAYS[way](*made, path)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


def differences(
    one: Path, other: Path, statements: Sequence[Statement], premises: Sequence[Premise]
) -> tuple[int, int]:
    """Count statements with other sets of premises: by ties at the last place, and otherwise."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    known = vectorizer.fit_transform(p.text for p in premises)
    asked = vectorizer.transform(s.text for s in statements)
    place = {p.premise_id: n for n, p in enumerate(premises)}
    tied = wrong = 0
    for n, (left, right) in enumerate(zip(sets(one), sets(other), strict=True)):
        if apart := [place[p] for p in left ^ right]:
            similarities = (known[apart] @ asked[n].T).toarray()
            ties = float(similarities.max() - similarities.min()) < 1e-9
            tied, wrong = tied + ties, wrong + (not ties)
    return tied, wrong


def sets(path: Path) -> Iterator[set[str]]:
    """Yield the premises of each statement of a file."""
    with path.open() as file:
        pairs = (line.rstrip("\n").split("\t") for line in file)
        for _, of_statement in groupby(pairs, key=itemgetter(0)):
            yield {premise for _, premise in of_statement}


def main() -> None:
    """Measure both ways and print the table, or be one of the ways."""
    shared = os.environ.get("ARQMATH_SHARED", Path(__file__).parents[2] / "shared")
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=Path(shared) / "data" / "nlps")
    parser.add_argument("--statements", type=int, default=2800)
    parser.add_argument("--premises", type=int, default=16000)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = options.data, options.statements, options.premises
    if options.way:
        work(options.way, *size, options.output)
        return
    with tempfile.TemporaryDirectory() as temporary:
        files = {way: Path(temporary) / f"{way}.txt" for way in WAYS}
        found = {way: measure(way, *size, path) for way, path in files.items()}
        tied, wrong = differences(files["official"], files["ours"], *texts(*size))
    table = Table("way", "seconds", "peak memory, MB")
    for way, values in found.items():
        table.add_row(way, f"{values['seconds']:.1f}", f"{values['peak']:.0f}")
    official, ours = found["official"], found["ours"]
    table.add_row(
        "ratio",
        f"{official['seconds'] / ours['seconds']:.0f} x faster",
        f"{ours['peak'] / official['peak']:.2f} x the memory",
    )
    Console().print(table)
    print(
        f"{options.statements:,} statements, {options.premises:,} premises: {wrong} statements "
        f"have other premises in their first {DEPTH} ({tied} more by ties at the last place)"
    )


if __name__ == "__main__":
    main()
