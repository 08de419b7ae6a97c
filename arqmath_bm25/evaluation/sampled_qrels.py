"""Judgments of a pool of which only a part was drawn to be judged, stratum by stratum.

Five columns between TABs or blanks, those of TREC's script for xinfAP (sample_eval.pl): `topic 0
document stratum grade`, where a grade of -1 means pooled, but not judged. Every pooled document has
a row: estimates need the size of each stratum.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.files import complete
from arqmath_bm25.evaluation.qrels import read_grade
from arqmath_bm25.runs.rows import read_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arqmath_bm25.evaluation.qrels import Qrels

_STRATUM: Final = re.compile("[0-9]{1,4}")


class Pooled(NamedTuple):
    """One document of a pool."""

    stratum: int
    grade: int | None  # None: it was not drawn, or no judgment could be made


SampledQrels = dict[str, dict[str, Pooled]]  # topic -> document


def is_sampled(path: Path) -> bool:
    """Tell these judgments from those with four columns, by the first row."""
    _, columns = next(read_columns(path, "qrels"))
    return len(columns) == 5 and columns[1] in ("0", "Q0")


def read_sampled_qrels(path: Path) -> SampledQrels:
    """Read the pooled documents of every topic.

    Raises InputError naming file and row for a missing, empty or binary file, another number of
    columns, a stratum or a grade that is none, and a document that stands there twice.
    """
    sampled: SampledQrels = {}
    for row, columns in read_columns(path, "sampled qrels"):
        where = f"{path}: row {row}"
        if len(columns) != 5:
            raise InputError(
                f"{where}: expected 5 columns (topic, 0, document, stratum, grade), found "
                f"{len(columns)}"
            )
        topic, _, doc, stratum, grade = columns
        if not _STRATUM.fullmatch(stratum):
            raise InputError(f"{where}: stratum is {shown(stratum)}; expected a small number")
        pooled = Pooled(int(stratum), None if grade == "-1" else read_grade(where, doc, grade))
        if sampled.setdefault(topic, {}).setdefault(doc, pooled) is not pooled:
            raise InputError(f"{where}: {doc} stands in an earlier row of topic {topic}")
    return sampled


def write_sampled_qrels(path: Path, sampled: SampledQrels) -> None:
    """Write pooled documents in the order given; `path` appears only when it is complete."""
    with complete(path) as file:
        for topic, docs in sampled.items():
            for doc, (stratum, grade) in docs.items():
                file.write(f"{topic}\t0\t{doc}\t{stratum}\t{-1 if grade is None else grade}\n")


def with_grades(sampled: SampledQrels, qrels: Mapping[str, Mapping[str, int]]) -> SampledQrels:
    """Return the pooled documents with the grades that they were given since."""
    return {
        topic: {
            doc: pooled._replace(grade=qrels.get(topic, {}).get(doc, pooled.grade))
            for doc, pooled in docs.items()
        }
        for topic, docs in sampled.items()
    }


def judged_part(sampled: SampledQrels) -> Qrels:
    """Return the judgments alone, for measures that know no strata."""
    judged = {
        topic: {doc: one.grade for doc, one in docs.items() if one.grade is not None}
        for topic, docs in sampled.items()
    }
    return {topic: grades for topic, grades in judged.items() if grades}
