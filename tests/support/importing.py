"""Imports of folders, as `index` makes them."""

from pathlib import Path

from arqmath_bm25.collection.imports import importing
from arqmath_bm25.core.workers import HERE, Workers


def imported(data: Path | str, indexes: Path, whole: bool = False, workers: Workers = HERE) -> Path:
    """Return the store with the rows of DATA as it is now."""
    return importing(data, indexes, whole, workers=workers).ensure(indexes)
