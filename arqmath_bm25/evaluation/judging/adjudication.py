"""Hits on which assessors disagree, as a CSV in which an adjudicator fills the column `label`."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete, read_csv
from arqmath_bm25.evaluation.judging.judge import HitKey, read_label

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.evaluation.judging.judge import Annotations

_KEY: Final = ("topic_id", "doc_id", "post_id")


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
        hit: given for hit, given in annotations.items() if len({one.label for one in given}) > 1
    }
    assessors = sorted({one.assessor for given in disputed.values() for one in given})
    said = [f"{kind} of {name}" for name in assessors for kind in ("label", "comment")]
    with complete(path) as file:
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
    return {
        HitKey(*(row[name] for name in _KEY)): read_label(path, number, row, "label")
        for number, row in enumerate(read_csv(path, "file of adjudicated hits", *_KEY, "label"), 2)
        if row["label"].strip()
    }
