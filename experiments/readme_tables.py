"""Writes the tables of README.md and docs/ from the books of results, configs/expected/*.yaml.

    python -m experiments.readme_tables

A table stands between `<!-- results:NAME -->` and `<!-- /results -->`, with `NAME main` its main
rows. `NAME+OTHER` are two tables with the same rows, side by side.
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

    def renewed(found: re.Match[str]) -> str:
        chosen = [tables[name] for name in found[2].split("+")]
        shown = expected_table(*chosen, main=bool(found[3]))
        return f"{found[1]}\n{shown}\n{found[5]}"

    return _TABLE.sub(renewed, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
