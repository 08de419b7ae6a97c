"""Hits on which assessors disagree, as a CSV in which an adjudicator fills the column `label`."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from arqmath_bm25.errors import InputError
from arqmath_bm25.judging.annotation import GRADES
from arqmath_bm25.judging.judge import HitKey

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.judging.judge import Annotations

_KEY: Final = ("topic_id", "doc_id", "post_id")


def write_disagreements(path: Path, annotations: Annotations) -> int:
    """Write the hits with different labels and return their number.

    A row has the hit, the empty column `label`, and for each assessor the label and the comment.
    """
    disputed = {
        hit: given for hit, given in annotations.items() if len({one.label for one in given}) > 1
    }
    assessors = sorted({one.assessor for given in disputed.values() for one in given})
    said = [f"{kind} of {name}" for name in assessors for kind in ("label", "comment")]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*_KEY, "label", *said], restval="", quoting=csv.QUOTE_ALL)
        table.writeheader()
        for hit, given in disputed.items():
            row = dict(zip(_KEY, hit, strict=True))
            for one in given:
                row[f"label of {one.assessor}"] = one.label
                row[f"comment of {one.assessor}"] = _inert(one.comment)
            table.writerow(row)
    return len(disputed)


def _inert(text: str) -> str:
    """Keep a spreadsheet from computing what an assessor wrote."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def read_adjudication(path: Path) -> dict[HitKey, str]:
    """Read what `write_disagreements` wrote, with its labels filled in; rows without one are not.

    Raises InputError for a missing file, one of other columns, and an unknown label.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file of adjudicated hits")
    labels: dict[HitKey, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            lacking = [name for name in (*_KEY, "label") if name not in (table.fieldnames or ())]
            if lacking:
                raise InputError(f"{path}: row 1: no column {lacking[0]}")
            for number, row in enumerate(table, 2):
                label = (row["label"] or "").strip()
                if label and label not in GRADES:
                    raise InputError(
                        f"{path}: row {number}: label is {label!r}; expected one of "
                        f"{', '.join(GRADES)}"
                    )
                if label:
                    labels[HitKey(*(row[name] or "" for name in _KEY))] = label
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from None
    return labels
