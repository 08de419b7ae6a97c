"""What is installed is known beforehand: by its hash, by its commit, without running code of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Published as sources alone: their builds run code.
AS_SOURCES: Final = ("lucene", "spark")


def test_actions_are_pinned_by_commit() -> None:
    used = []
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        used += re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", action)


def test_locked_packages_are_known_by_their_hashes_and_run_no_code() -> None:
    scripts = (ROOT / "Makefile").read_text() + (ROOT / ".ci" / "run").read_text()
    installs = [line for line in scripts.splitlines() if "-r requirements" in line]
    assert len(installs) >= 7
    for line in installs:
        is_source = any(f"-r requirements-{name}.lock" in line for name in AS_SOURCES)
        assert is_source or "--only-binary :all:" in line
    for lock in ROOT.glob(
        "requirements*.lock"
    ):  # With one hash, pip asks for that of each package.
        assert "--hash=sha256:" in lock.read_text()


# The first version without the hole.
@pytest.mark.parametrize(
    ("package", "oldest"),
    [
        ("h11", (0, 16)),  # CVE-2025-43859: chunked bodies are read leniently
        ("jinja2", (3, 1, 6)),  # CVE-2025-27516: the sandbox can be left
        ("starlette", (0, 49, 1)),  # CVE-2025-62727: quadratic time for a header
    ],
)
def test_the_oldest_versions_have_no_known_hole(package: str, oldest: tuple[int, ...]) -> None:
    wanted = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["web"],
    ]
    (bound,) = [found[1] for one in wanted if (found := re.match(rf"{package}>=([\d.]+)", one))]
    assert tuple(map(int, bound.split("."))) >= oldest


def test_releases_are_built_and_tested_by_locked_versions() -> None:
    wheels = PROJECT["tool"]["cibuildwheel"]
    assert wheels["build-frontend"] == {"name": "pip", "args": ["--no-build-isolation"]}
    assert "--require-hashes" in wheels["before-build"]
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for tool in wheels["test-requires"]:
        assert re.search(rf"^{re.escape(tool)} ", locked, re.MULTILINE), tool
