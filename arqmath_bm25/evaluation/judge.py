"""Annotations → judgments: the results CSV of Turkle, back into qrels.

The grade of a formula (Task 2) is the highest of its instances. "System failure" and "Do not know"
are no judgments: they are left out and counted, as the labs did in Tasks 1 and 2. Assessors
who disagree about one hit must settle it first: nothing is averaged or guessed here.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.annotation import GRADES
from arqmath_bm25.evaluation.pool import MAX_INSTANCES, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.evaluation.qrels import Qrels

_REQUIRED = ("Input.topic_id", "Input.doc_id", "Input.post_1", "Answer.grade_1")


class Judged(NamedTuple):
    """Judgments, and what became of every annotation."""

    qrels: Qrels  # topics and documents in the order of their numbers
    labels: Counter[str]  # hits by the label that they were given
    without_grade: int  # documents of which no hit was given a grade


class _Annotation(NamedTuple):
    row: int  # of the CSV as a table, the header being row 1
    topic_id: str
    doc_id: str
    post_id: str
    label: str


def judge(path: Path) -> Judged:
    """Read the annotations of a batch.

    Raises InputError for a file that is no results CSV, a hit without label, an unknown label, and
    a hit with two different labels, naming the rows.
    """
    seen: dict[tuple[str, str, str], _Annotation] = {}
    for annotation in _read(path):
        key = annotation.topic_id, annotation.doc_id, annotation.post_id
        first = seen.setdefault(key, annotation)
        if first.label != annotation.label:
            raise InputError(
                f"{path}: row {annotation.row}: post {annotation.post_id} for topic "
                f"{annotation.topic_id} is {annotation.label!r}, in row {first.row} "
                f"{first.label!r}; settle which it is and keep that row"
            )
    best: dict[str, dict[str, int]] = {}
    documents = set()
    for annotation in seen.values():
        documents.add((annotation.topic_id, annotation.doc_id))
        grade = GRADES[annotation.label]
        if grade is not None:
            grades = best.setdefault(annotation.topic_id, {})
            grades[annotation.doc_id] = max(grade, grades.get(annotation.doc_id, grade))
    qrels = {
        topic: {doc: best[topic][doc] for doc in sorted(best[topic], key=in_order)}
        for topic in sorted(best, key=in_order)
    }
    labels = Counter(annotation.label for annotation in seen.values())
    return Judged(qrels, labels, len(documents) - sum(map(len, qrels.values())))


def _read(path: Path) -> Iterator[_Annotation]:
    """Yield every labelled hit of a results CSV."""
    if not path.is_file():
        raise InputError(f"{path}: no such results file")
    csv.field_size_limit(sys.maxsize)  # a cell may hold a long post
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            lacking = [name for name in _REQUIRED if name not in (table.fieldnames or ())]
            if lacking:
                raise InputError(
                    f"{path}: row 1: no column {lacking[0]}; expected the results of a batch as "
                    "Turkle writes them"
                )
            for number, row in enumerate(table, 2):
                yield from _hits(path, number, row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from None


def _hits(path: Path, number: int, row: dict[str, str | None]) -> Iterator[_Annotation]:
    topic, doc = row["Input.topic_id"], row["Input.doc_id"]
    if not topic or not doc:
        raise InputError(f"{path}: row {number}: Input.topic_id or Input.doc_id is empty")
    for hit in range(1, MAX_INSTANCES + 1):
        post = row.get(f"Input.post_{hit}")
        if not post:
            continue
        column = f"Answer.grade_{hit}"
        label = (row.get(column) or "").strip()
        if label not in GRADES:
            raise InputError(
                f"{path}: row {number}: {column} is {label!r}; expected one of {', '.join(GRADES)}"
            )
        yield _Annotation(number, topic, doc, post, label)
