"""The rows of dumps with characters in place of references, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.collection.dump import attributes, written_rows

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.collection.dump import ParsedRows


def parsed_rows(path: Path, root: str, begin: int = 0, end: int | None = None) -> ParsedRows:
    """Yield the rows of a dump, each with its attributes, or None if it is broken."""
    for row, written in written_rows(path, root, begin, end):
        yield row, written and attributes(row.xml)
