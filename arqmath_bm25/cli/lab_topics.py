"""Which topic files are meant: `--topics` with a year or a file, for the commands about runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arqmath_bm25.collection.layout import YEARS
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.evaluation.run_form import LabTask


def topic_files(topics: str | None, task: LabTask, where: Layout | None) -> list[Path]:
    """Return the file that `topics` names, or those of its year in DATA, without it of all years.

    Raises InputError for a year without DATA, or one whose file is not there.
    """
    if topics is not None and topics not in YEARS:
        return [Path(topics)]
    if where is None:
        if topics is not None:
            raise InputError(f"--topics {topics}: the topics of a year are in DATA; give --data")
        return []
    of_year = where.task2_topics if task == "task2" else where.task1_topics
    years = where.task2_years() if task == "task2" else where.task1_years()
    return [of_year(year) for year in YEARS if year == topics or (topics is None and year in years)]
