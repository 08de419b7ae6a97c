"""Where assessors agree, and hits on which they do not, for an adjudicator.

Cohen's kappa, as the labs report it for topics judged twice: a disagreement weighs 1 or, in
quadratic kappa, the square of the distance of the grades; binary kappa knows relevant and not
relevant alone. By scikit-learn. Hits in dispute go into a CSV in which an adjudicator fills the
column `label`.
"""

import csv
import warnings
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete, read_csv
from arqmath_bm25.core.labs import GRADES, RELEVANT
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.evaluation.judging.judge import Annotations, HitKey, read_label


class Agreement(NamedTuple):
    """Agreement of two assessors; kappa is NaN where chance alone makes them agree."""

    assessors: tuple[str, str]
    hits: int  # to which both gave a grade
    equal: float  # share of the same grade
    kappa: float  # of grades
    quadratic: float
    binary: float


def agreements(grades: Mapping[HitKey, Mapping[str, int]]) -> dict[str, list[Agreement]]:
    """Compare every two assessors who share hits: over all topics (under ``), and topic by topic.

    `grades` are hit → assessor → grade.
    """
    pairs: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}
    for hit, by_assessor in grades.items():
        for two in combinations(sorted(by_assessor), 2):
            topics = pairs.setdefault(two, {"": []})
            both = by_assessor[two[0]], by_assessor[two[1]]
            topics[""].append(both)
            topics.setdefault(hit.topic_id, []).append(both)
    by_topic: dict[str, list[Agreement]] = {}
    for two in sorted(pairs):
        for topic, judged in pairs[two].items():
            by_topic.setdefault(topic, []).append(_agreement(two, judged))
    return by_topic


def _agreement(assessors: tuple[str, str], pairs: list[tuple[int, int]]) -> Agreement:
    grades = np.array(pairs)
    equal = float((grades[:, 0] == grades[:, 1]).mean())
    return Agreement(
        assessors, len(pairs), equal, _kappa(grades), _kappa(grades, "quadratic"),
        _kappa((grades >= RELEVANT).astype(int)),
    )  # fmt: skip


def _kappa(pairs: NDArray[np.int64], weights: str | None = None) -> float:
    with needed_by("kappa", "nlps"):
        from sklearn.metrics import cohen_kappa_score  # takes a second to import
    with warnings.catch_warnings(action="ignore"):  # of a division by zero
        return float(cohen_kappa_score(*pairs.T, weights=weights, labels=GRADES))


_KEY: Final = HitKey._fields


def write_disagreements(path: Path, annotations: Annotations) -> int:
    """Write the hits with different labels and return their number.

    A row has the hit, the empty column `label`, and for each assessor the label and the comment.
    Raises InputError for a file that is there and has labels, or is no such file.
    """
    if path.exists() and read_adjudication(path):
        raise InputError(
            f"{path}: somebody has filled in labels; name another file for the disagreements"
        )
    disputed = {
        hit: notes for hit, notes in annotations.items() if len({note.label for note in notes}) > 1
    }
    assessors = sorted({note.assessor for notes in disputed.values() for note in notes})
    columns = [f"{kind} of {name}" for name in assessors for kind in ("label", "comment")]
    with complete(path) as file:
        table = csv.DictWriter(file, [*_KEY, "label", *columns], restval="", quoting=csv.QUOTE_ALL)
        table.writeheader()
        for hit, notes in disputed.items():
            row = hit._asdict()
            for note in notes:
                row[f"label of {note.assessor}"] = note.label
                row[f"comment of {note.assessor}"] = _inert(note.comment)
            table.writerow(row)
    return len(disputed)


def _inert(text: str) -> str:
    """Keep a spreadsheet from computing what an assessor wrote."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def read_adjudication(path: Path) -> dict[HitKey, str]:
    """Read what `write_disagreements` wrote, with its labels filled in; rows without one are not.

    Raises InputError for a missing file, one of other columns, and an unknown label.
    """
    return {
        HitKey(*(row[name] for name in _KEY)): read_label(path, number, row, "label")
        for number, row in enumerate(read_csv(path, "file of adjudicated hits", *_KEY, "label"), 2)
        if row["label"].strip()
    }
