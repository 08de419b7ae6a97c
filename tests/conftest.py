"""Fixtures: the real data beside the project, where there is any, and a clean environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


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
