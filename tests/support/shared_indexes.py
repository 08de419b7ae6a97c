"""Indexes of all tasks of a collection by flat postings, built once for all workers of a test run.

The fixtures `sample_indexes` and `lite_indexes` give their folder, which is only read.
`linked(sample_indexes, tmp_path / "indexes")` makes a copy that a test may add to; its files are
hard links, so a test that changes a file removes it first.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from program import arqmath


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
    return Path(shutil.copytree(indexes, place, copy_function=os.link))
