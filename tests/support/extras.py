"""Tests that need more than `make setup` brings: other programs, packages, the package index.

`make test` leaves them out whatever is installed, so that it runs the same tests in every clone;
`make everything` runs them too.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

ROOT: Final = Path(__file__).parents[2]
FILES: Final = (
    "collection/test_pdf_files.py",
    "core/test_spark.py",
    "engines/test_opensearch*.py",
    "faces/test_ecosystem.py",  # the peers
    "faces/test_notebook.py",
    "pages/test_browser*.py",
    "pages/test_reverse_proxy.py",  # nginx
    "project/test_install.py",  # the package index
)
FIXTURES: Final = {"opensearch", "browser"}


def is_extra(item: pytest.Item) -> bool:
    """Return whether a test needs more than `make setup` brings."""
    if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    name = item.path.relative_to(ROOT / "tests").as_posix()
    return any(fnmatch(name, pattern) for pattern in FILES)
