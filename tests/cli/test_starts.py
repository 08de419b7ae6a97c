"""What a command imports before it can do anything: everybody waits for that at each call."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.program import arqmath

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Packages of others by what they are for.
COMMAND_LINE: Final = {"annotated_doc", "click", "rich", "shellingham", "typer"}
SETTINGS: Final = {
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
    "yaml",
}
TEXTS: Final = {"Stemmer", "lxml", "selectolax"}
MARKDOWN: Final = {"markdown_it", "mdit_py_plugins", "mdurl"}
SEARCH: Final = {*COMMAND_LINE, *SETTINGS, *TEXTS, "numpy"}
SCORES: Final = {"cwl", "ir_measures", "pytrec_eval", "pytrec_eval_ext", "scipy"}
NETWORK: Final = {"http", "ssl"}  # of Python itself, for downloads and clusters alone

SCRIPT: Final = """
import sys
from arqmath_bm25.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def loaded_by(directory: Path, *arguments: object) -> set[str]:
    """Call the program; return the modules that stand for waiting: of others, and of the network.

    A module of a package is named by the package.
    """
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    names = done.stderr.rpartition("\n")[0].rpartition("\n")[2].split()
    packages = {name.partition(".")[0] for name in names}
    packages -= {"arqmath_bm25", "cython_runtime", "sitecustomize", "usercustomize"}
    known = sys.stdlib_module_names - NETWORK
    # Those of compiled modules have no name of their own.
    return {name for name in packages - known if not name.startswith("_") and "__" not in name}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a note, its index, and a run of the sample."""
    directory = tmp_path_factory.mktemp("starts")
    (directory / "notes").mkdir()
    (directory / "notes" / "limit.md").write_text("# Limits\n\nThe limit of $x_n$ is unique.\n")
    (directory / "queries.tsv").write_text("q1\tunique limit\n")
    arqmath("index", "docs", "--data", directory / "notes", "--indexes", directory / "indexes")
    sample = ("--indexes", directory / "indexes", "--engine", "flat")
    arqmath("index", "task1", *sample)
    arqmath("run", "task1", *sample, "--runs", directory / "runs", "--topics", "2021")
    return directory


STARTS: Final[Mapping[str, tuple[str, set[str]]]] = {
    "--help": ("--help", COMMAND_LINE),
    "index --help": ("index --help", SEARCH),
    "search docs": ("search docs limit --data notes --indexes indexes", SEARCH),
    "run docs": ("run docs --data notes --indexes indexes --topics queries.tsv", SEARCH),
    "index docs": ("index docs --data notes --indexes others", SEARCH | MARKDOWN),
    "run task1": ("run task1 --indexes indexes --runs others --engine flat", SEARCH),
    "eval": ("eval --runs runs", SEARCH | SCORES),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_start_imports_what_it_uses_and_nothing_else(start: str, place: Path) -> None:
    arguments, allowed = STARTS[start]
    assert loaded_by(place, *arguments.split()) <= allowed
