"""The zip file that CodaLab takes for TextGraphs-16: `predict.txt`, a run, in it.

The shared task's evaluation refuses statements with fewer than 500 premises.
"""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING

from arqmath_bm25.core.files import complete

if TYPE_CHECKING:
    from pathlib import Path


def write_submission(path: Path, predictions: Path) -> None:
    """Write the zip file for CodaLab; the same predictions always give the same bytes."""
    with complete(path, encoding=None) as file, zipfile.ZipFile(file, "w") as archive:
        entry = zipfile.ZipInfo("predict.txt")  # dated 1980, whenever it is written
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        with archive.open(entry, "w") as target, predictions.open("rb") as source:
            shutil.copyfileobj(source, target)
