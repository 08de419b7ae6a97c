"""`predict.txt`, the form of submissions to TextGraphs-16: `statement TAB premise`, best first.

There is no header; statements come in the order of their file. CodaLab takes a zip file with
`predict.txt` in it, and the shared task's evaluation refuses statements with fewer than 500
premises.
"""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from arqmath_bm25.retrieval.nlps_ranking import Ranking


def write_predictions(path: Path, rankings: Iterable[tuple[str, Ranking]]) -> int:
    """Write a run and return its number of rows; `path` appears only when it is complete.

    `rankings` holds, for each statement, premises in rank order.
    """
    rows = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as file:
            for statement_id, ranking in rankings:
                lines = [f"{statement_id}\t{premise_id}\n" for premise_id, _ in ranking]
                file.write("".join(lines))
                rows += len(lines)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return rows


def write_submission(path: Path, predictions: Path) -> None:
    """Write the zip file for CodaLab; the same predictions always give the same bytes."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            entry = zipfile.ZipInfo("predict.txt")  # dated 1980, whenever it is written
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w") as target, predictions.open("rb") as source:
                shutil.copyfileobj(source, target)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
