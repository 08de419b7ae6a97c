"""Writes the tables of README.md and docs/ from the books of results, configs/expected/*.yaml.

    python -m experiments.readme_tables

A table stands between `<!-- results:NAME -->` and `<!-- /results -->`, with `NAME main` its main
rows.
"""

from __future__ import annotations

import re
from pathlib import Path

from experiments.results.book import books
from experiments.results.pages import expected_table

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_TABLE = re.compile(r"(<!-- results:(\S+)( main)? -->\n)(.*?)(<!-- /results -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """Return a page with its tables as the books have them."""
    tables = {name: table for book in books() for name, table in book.tables.items()}
    return _TABLE.sub(
        lambda m: f"{m[1]}\n{expected_table(tables[m[2]], main=bool(m[3]))}\n{m[5]}", text
    )


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
