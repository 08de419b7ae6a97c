"""Judgments (qrels): TREC's four columns `topic 0 document grade`, read and written.

BEIR's three columns, `query-id corpus-id score`, are read as well, by that header.

Official files differ: LF or CRLF, TAB or blanks, no newline at the end (2021 Task 2), grades as
`2.0` (2020 Task 2). Grades are 0-3 in Tasks 1 and 2; Task 3 has 5 (system failure) and 6 (do not
know) as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.files import complete
from arqmath_bm25.runs.formula_ids import id_number
from arqmath_bm25.runs.rows import read_columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


Qrels = dict[str, dict[str, int]]  # topic -> document -> grade

# trec_eval takes the time of the square of the largest grade, and crashes in the end.
_GRADE: Final = re.compile(r"([0-9])(?:\.0*)?")
_BEIR: Final = ("query-id", "corpus-id", "score")
_ITERATION: Final = re.compile("Q?[0-9]")  # TREC's second column, which means nothing


def read_qrels(path: Path) -> Qrels:
    """Read every judgment of a file.

    Raises InputError naming file and row for a missing, empty or binary file, a wrong number of
    columns, columns in another order, a grade that is none of 0 … 9, and a document with two
    different grades.
    """
    qrels: Qrels = {}
    beir = False
    for row, columns in read_columns(path, "qrels"):
        where = f"{path}: row {row}"
        if not qrels and not beir and tuple(columns) == _BEIR:
            beir = True
            continue
        if beir and len(columns) == 3:
            columns = [columns[0], "0", *columns[1:]]
        elif beir:
            raise InputError(f"{where}: expected the 3 columns of the header, found {len(columns)}")
        if len(columns) != 4:
            hint = "; this looks like a run" if len(columns) in (5, 6) else ""
            raise InputError(
                f"{where}: expected the 4 columns of qrels (topic, 0, document, grade), "
                f"found {len(columns)}{hint}"
            )
        topic, iteration, doc, text = columns
        if not _ITERATION.fullmatch(iteration):
            raise InputError(
                f"{where}: column 2 is {shown(iteration)}; expected 0: the columns of qrels are "
                "topic, 0, document, grade"
            )
        grade = read_grade(where, doc, text)
        if qrels.setdefault(topic, {}).setdefault(doc, grade) != grade:
            raise InputError(
                f"{where}: {doc} has grade {grade} for topic {topic} here and "
                f"{qrels[topic][doc]} in an earlier row; remove one of them"
            )
    return qrels


def read_grade(where: str, doc: str, text: str) -> int:
    """Read the grade of a document, as 2 or 2.0; `where` begins the message if it is none."""
    match = _GRADE.fullmatch(text)
    if match is None:
        exchanged = _GRADE.fullmatch(doc) and text.isdecimal()
        hint = "; columns 3 and 4 seem to have changed places" if exchanged else ""
        raise InputError(f"{where}: grade is {shown(text)}; expected 0, 1, 2 or 3{hint}")
    return int(match[1])


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgments in the order given; `path` appears only when it is complete."""
    with complete(path) as file:
        for topic, grades in qrels.items():
            file.writelines(f"{topic}\t0\t{doc}\t{grade}\n" for doc, grade in grades.items())


_MOST: Final = 0.5  # a larger share of the judgments needs no note


class Doubt(str):
    """A warning under which scores say nothing of which run is better."""

    __slots__ = ()


def coverage_note(qrels: Qrels, holds: Callable[[NDArray[np.int32]], int]) -> Doubt | None:
    """Say that a collection lacks most of what was judged; None if it does not.

    `holds` tells how many of some ids the collection has.
    """
    judged = [doc for grades in qrels.values() for doc in grades]
    ids, counts = np.unique(
        [number for number in map(id_number, judged) if number >= 0], return_counts=True
    )
    held = sum(
        int(count) * holds(ids[counts == count].astype(np.int32)) for count in np.unique(counts)
    )
    if held >= _MOST * len(judged):
        return None
    return Doubt(
        f"of {len(judged):,} judged documents the collection has {held:,}: these scores cannot be "
        "compared with published ones"
    )
