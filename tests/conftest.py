"""Fixtures: the real data beside the project, where there is any, and a clean environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from opensearch_nodes import Nodes, started

from arqmath_bm25.core import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

# No test depends on how busy the machine is.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

ROOT = Path(__file__).parent.parent
progress._PAUSE = 3600  # no lines of what takes long, on a busy machine either
os.environ.pop("ARQMATH_DATA", None)  # the sample is meant where no test says another


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data that is not part of the project; ARQMATH_SHARED says where it is."""
    path = Path(os.environ.get("ARQMATH_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no real data at {path}; set ARQMATH_SHARED")
    return path


@pytest.fixture(scope="session")
def lite(shared: Path) -> Path:
    """Return the root of a real subset of the collection in the official layout."""
    return shared / "data" / "arqmath-lite"


@pytest.fixture(scope="session")
def opensearch() -> Iterator[Nodes]:
    """Return a real OpenSearch node, alone."""
    with started(1) as nodes:
        yield nodes
