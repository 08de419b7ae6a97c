"""Judgments (qrels): TREC's four columns `topic 0 document grade`, read and written.

Official files differ: LF or CRLF, TAB or blanks, no newline at the end (2021 Task 2), grades as
`2.0` (2020 Task 2). Grades are 0-3 in Tasks 1 and 2; Task 3 has 5 (system failure) and 6 (do not
know) as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from arqmath_bm25.errors import InputError
from arqmath_bm25.runs import read_columns

if TYPE_CHECKING:
    from pathlib import Path

Qrels = dict[str, dict[str, int]]  # topic -> document -> grade


def read_qrels(path: Path) -> Qrels:
    """Read every judgment of a file.

    Raises InputError naming file and row for a missing, empty or binary file, a wrong number of
    columns, a grade that is no whole number, and a document with two different grades.
    """
    qrels: Qrels = {}
    for row, columns in read_columns(path, "qrels"):
        where = f"{path}: row {row}"
        if len(columns) != 4:
            hint = "; this looks like a run" if len(columns) in (5, 6) else ""
            raise InputError(
                f"{where}: expected the 4 columns of qrels (topic, 0, document, grade), "
                f"found {len(columns)}{hint}"
            )
        topic, _, doc, text = columns
        try:
            grade = int(text)
        except ValueError:
            grade = _whole(where, text)
        if qrels.setdefault(topic, {}).setdefault(doc, grade) != grade:
            raise InputError(
                f"{where}: {doc} has grade {grade} for topic {topic} here and "
                f"{qrels[topic][doc]} in an earlier row; remove one of them"
            )
    return qrels


def _whole(where: str, text: str) -> int:
    """Read a grade such as `2.0`."""
    try:
        grade = float(text)
    except ValueError:
        _no_grade(where, text)
    return int(grade) if grade.is_integer() else _no_grade(where, text)


def _no_grade(where: str, text: str) -> NoReturn:
    raise InputError(f"{where}: grade is {text!r}; expected a whole number")


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgments in the order given; `path` appears only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            for topic, grades in qrels.items():
                file.writelines(f"{topic}\t0\t{doc}\t{grade}\n" for doc, grade in grades.items())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
