"""Tests that need a node, a browser or a bare environment run where they guard a change.

`make test` leaves them out while nothing that they guard differs from what was published: the
branch that is followed, or else the commit before. CI (.ci/run) and `make exhaustive` run them all.
"""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chances import exhaustive

if TYPE_CHECKING:
    import pytest

ROOT: Final = Path(__file__).parents[2]
# File of tests → what they guard, besides themselves; a directory ends in a slash.
GUARDED: Final = {
    "tests/benchmarks/test_bench.py": ("arqmath_bm25/analysis/", "benchmarks/"),
    "tests/benchmarks/test_documents.py": ("benchmarks/",),
    "tests/core/test_spark.py": (
        "arqmath_bm25/core/workers/",
        "arqmath_bm25/engines/lucene/indexing.py",
        "arqmath_bm25/tasks/document_parts.py",
    ),
    "tests/engines/test_opensearch*.py": ("arqmath_bm25/engines/opensearch/",),
    "tests/faces/test_ecosystem.py": (
        "arqmath_bm25/api.py",
        "arqmath_bm25/frames.py",
        "arqmath_bm25/irdatasets.py",
        "arqmath_bm25/pyterrier.py",
    ),
    "tests/faces/test_notebook.py": (
        "arqmath_bm25/api.py",
        "arqmath_bm25/frames.py",
        "docs/example.ipynb",
    ),
    "tests/pages/test_browser*.py": ("arqmath_bm25/pages/",),
    "tests/pages/test_reverse_proxy.py": ("arqmath_bm25/pages/web/",),
    "tests/project/test_disk_full.py": ("arqmath_bm25/core/", "arqmath_bm25/tasks/index.py"),
    "tests/project/test_install.py": (
        "Makefile",
        "arqmath_bm25/analysis/",
        "arqmath_bm25/engines/lucene/",
        "pyproject.toml",
        "requirements.lock",
    ),
    "tests/project/test_killed_calls.py": ("arqmath_bm25/core/", "arqmath_bm25/tasks/index.py"),
    "tests/project/test_portability.py": ("arqmath_bm25/core/",),
}


def left_out() -> list[str]:
    """Return the files of GUARDED whose slow tests need not run: they guard no change."""
    if exhaustive() or os.environ.get("ARQMATH_ALL_TESTS"):
        return []
    changed = _changed()
    if changed is None:
        return []

    patterns = []
    for pattern, guarded in GUARDED.items():
        if not any(_is_of(path, (pattern, *guarded)) for path in changed):
            patterns.append(pattern)
    return patterns


def is_left_out(item: pytest.Item, patterns: list[str]) -> bool:
    """Return whether a test is one of those that `left_out` names."""
    takes_long = item.get_closest_marker("slow") or "opensearch" in item.fixturenames
    if not takes_long:
        return False
    name = item.path.relative_to(ROOT).as_posix()
    return any(fnmatch(name, pattern) for pattern in patterns)


def _is_of(path: str, guarded: tuple[str, ...]) -> bool:
    for name in guarded:
        if path.startswith(name) if name.endswith("/") else fnmatch(path, name):
            return True
    return False


def _changed() -> list[str] | None:
    """Return the files that differ from what was published, None where there is no git to ask."""
    for published in ("@{upstream}", "origin/HEAD", "HEAD~1"):
        base = _git("merge-base", "HEAD", published)
        if base:
            break
    else:
        return None

    new = _git("ls-files", "--others", "--exclude-standard") or ""
    return [*(_git("diff", "--name-only", base) or "").splitlines(), *new.splitlines()]


def _git(*arguments: str) -> str | None:
    """Return what git answers, None if it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
