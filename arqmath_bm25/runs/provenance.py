"""What a run was made of, as the manifest beside it says: NAME.manifest.json (ir_metadata.py).

Manifests of other programs, of older versions and broken ones tell what they can.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arqmath_bm25.collection.layout import TOPICS
from arqmath_bm25.core.files import read_manifest

if TYPE_CHECKING:
    from arqmath_bm25.core.labs import Year

_YEARS: Final = {
    path.rpartition("/")[2]: year for files in TOPICS.values() for year, path in files.items()
}


class Provenance(NamedTuple):
    """What a run was made of, as far as it is known."""

    data: Path | None  # root of the collection, if it is still there
    year: Year | None  # of the topics, if they are the lab's
    settings: dict[str, Any]  # of the task's configuration
    variant: str


def run_manifest(run: Path) -> dict[str, Any] | None:
    """Return the manifest beside a run; None if there is none, or something else in its place."""
    try:
        found = read_manifest(run)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def provenance(run: Path) -> Provenance | None:
    """Tell what a run was made of; None without a manifest."""
    manifest = run_manifest(run)
    if manifest is None:
        return None
    data, topics = manifest.get("data"), manifest.get("topics")
    if isinstance(data, dict) and isinstance(told := data.get("test collection"), dict):
        data = told.get("source")
    settings, variant = manifest.get("settings"), manifest.get("variant")
    # Path.is_dir raises for a name that is too long.
    known = isinstance(data, str) and "\0" not in data and os.path.isdir(data)  # noqa: PTH112
    return Provenance(
        Path(data) if known else None,  # type: ignore[arg-type]
        _YEARS.get(str(topics.get("name"))) if isinstance(topics, dict) else None,
        settings if isinstance(settings, dict) else {},
        variant if isinstance(variant, str) else "",
    )
