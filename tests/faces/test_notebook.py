"""The example notebook runs, and shows what it showed when it was committed.

`jupyter execute --inplace`, on a copy outside of the project, writes its output anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

REASON: Final = "requirements-notebook.lock is not installed"
NOTEBOOK = Path(__file__).parents[2] / "docs" / "example.ipynb"


def shapes(notebook: Any) -> list[list[tuple[str, list[str], int]]]:
    """Return of every output of every cell its type, its forms and the lines of its text."""
    return [
        [
            (one.output_type, sorted(one.data), one.data["text/plain"].count("\n"))
            for one in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.slow
def test_the_example_runs_and_shows_what_it_did(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason=REASON)
    nbclient = pytest.importorskip("nbclient", reason=REASON)
    committed = nbformat.read(NOTEBOOK, as_version=4)
    assert NOTEBOOK.stat().st_size < 50_000
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    for cell in fresh.cells:
        cell.pop("outputs", None)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(fresh, timeout=300, resources=place).execute()
    assert shapes(fresh) == shapes(committed)
    assert "t_test_p" in str(fresh.cells)
    assert len(list(tmp_path.glob("*-task1-bm25-auto-both-P.tsv"))) == 1
