"""Indexes of all tasks of a collection by flat postings, built once for all workers of a test run.

The fixtures `sample_indexes` and `lite_indexes` give their folder, which is only read.
`linked(sample_indexes, tmp_path / "indexes")` makes a copy that a test may add to; its files are
hard links, so a test that changes a file removes it first. Only manifests are its own: who has an
index open locks its manifest.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from program import arqmath

from arqmath_bm25.core.manifest import MANIFEST


def built_once(base: Path, data: Path | None = None) -> Path:
    """Return the folder of the indexes of DATA, or the samples; the first worker builds them."""
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = base / f"indexes of {data.name if data else 'the samples'}"
    options = ("--data", data) if data else ()
    with (base / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            building = base / f"{place.name}.building"
            arqmath("index", "all", *options, "--indexes", building, "--engine", "flat")
            building.rename(place)
    return place


def store(indexes: Path, task: str, engine: str = "*", collection: str = "*") -> Path:
    """Return the only index of a task for an engine."""
    (found,) = indexes.glob(f"{collection}/{task}/{engine}-*")
    return found


def linked(indexes: Path, place: Path) -> Path:
    def link(source: str, target: str) -> None:
        if source.endswith(MANIFEST):
            shutil.copy2(source, target)
        else:
            os.link(source, target)

    return Path(shutil.copytree(indexes, place, copy_function=link))
