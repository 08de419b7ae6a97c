"""A folder of source files: how long `index` takes, and how much memory.

    python benchmarks/folder.py COLLECTION [--files 10000]

The files are LaTeX, Markdown, HTML and notebooks by turns, each of two sections that are answers of
the collection (`benchmarks/generate.py` makes one of any size; of a small one answers are repeated,
with a number of their own). `index` is timed anew, when nothing has changed, and when one file has.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

from comparison.children import cpu, watch
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.collection import CollectionFiles

PROGRAM: Final = (sys.executable, "-m", "arqmath_bm25", "--quiet")


def main() -> None:
    """Write the files, time each build, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path, metavar="COLLECTION")
    parser.add_argument("--files", type=int, default=10_000)
    options = parser.parse_args()

    table = Table("", "CPU, s", "seconds", "memory, MB", "shared pages once, MB")
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "notes"
        size = write_files(CollectionFiles(options.collection), folder, options.files)
        indexes = Path(directory) / "indexes"
        index = [*PROGRAM, "index", "docs", "--data", folder, "--indexes", indexes]
        for step in ("the first time", "nothing has changed", "one file has changed"):
            if step == "one file has changed":
                with next(folder.glob("*.md")).open("a", encoding="utf-8") as file:
                    file.write("\n# Later\n\nOne more section.\n")
            before = cpu()
            seconds, peaks = watch(index)
            memory = f"{peaks.together / 1e6:,.0f}"
            once = f"{peaks.shared_once / 1e6:,.0f}"
            table.add_row(step, f"{cpu() - before:.1f}", f"{seconds:.1f}", memory, once)
    Console().print(f"{options.files:,} files, {size / 1e6:.1f} MB")
    Console().print(table)


def write_files(collection: CollectionFiles, folder: Path, files: int) -> int:
    """Write files of four kinds; return their size in bytes."""
    folder.mkdir()
    size = 0
    texts = answers(collection)
    kinds = cycle(["tex", "md", "html", "ipynb"])
    for number in range(files):
        kind = next(kinds)
        sections = [(f"Note {number}, part {part}", next(texts)) for part in (1, 2)]
        text = written(kind, sections)
        (folder / f"note-{number:05}.{kind}").write_text(text, "utf-8")
        size += len(text.encode())
    return size


def answers(collection: CollectionFiles) -> Iterator[str]:
    """Yield the texts of answers with dollars around formulas, again and again."""
    texts = [
        read_body(answer.body).marked()
        for thread in collection.posts.threads()
        for answer in thread.answers
    ]
    return cycle(texts)


def written(kind: str, sections: list[tuple[str, str]]) -> str:
    """Return sections as a file of a kind."""
    if kind == "tex":
        parts = [f"\\section{{{title}}}\n{text}\n" for title, text in sections]
        return f"\\begin{{document}}\n{''.join(parts)}\\end{{document}}\n"
    if kind == "html":
        parts = [f"<h2>{title}</h2><p>{text}</p>" for title, text in sections]
        return f"<!DOCTYPE html><title>{sections[0][0]}</title><body>{''.join(parts)}</body>"

    markdown = [f"# {title}\n\n{text}\n" for title, text in sections]
    if kind == "md":
        return "\n".join(markdown)
    cells = [{"cell_type": "markdown", "source": [text]} for text in markdown]
    return json.dumps({"cells": cells, "nbformat": 4})


if __name__ == "__main__":
    main()
