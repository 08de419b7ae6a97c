"""Task 2: judgments by visual id, whichever ids a file of judgments holds.

| official file | ids |
|---|---|
| 2020, qrel_with_formula_ids/ and any `formula_id` | of formula instances: re-keyed here |
| 2020, `visual_id` | 1 … 9,926, which belong to no formula index |
| 2021 | visual ids of v2; 65,681 of 28 million formulas have another one in v3 |
| 2022, and files made anew with `v3` in their names | visual ids of v3 |

Formula ids are nearly consecutive, so on the whole collection every visual id is a formula id as
well, and 39 % of the judged formula ids are visual ids too. So the name of a file decides; without
one that says it, only a wide margin of ids that are there as the one and not as the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.qrels import Doubt, IdKind, Judgments
from arqmath_bm25.runs.formula_ids import id_number

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.runs.formula_ids import FormulaIds

ID_KINDS: Final[tuple[IdKind, ...]] = get_args(IdKind)

_FOLDER: Final = "qrel_with_formula_ids"  # of the official files of 2020
_NAMES: Final[tuple[tuple[str, IdKind], ...]] = (
    (r"formula_?ids?", "formula"),
    (r"[._-]v3\b", "visual"),
    (r"qrel_task2_2021", "visual_v2"),
    (r"visual_?ids?|qrel_task2_2022", "visual"),
)
# The least ratio, either way, of ids that are there as formulas to ids that are there as visual
# ids. On the whole collection it is 1.0 for visual ids and 2.6 for formula ids.
_FORMULAS: Final = 2.0
_FEW: Final = 3  # ids that may be there by chance
_VISUAL: Final = 1.25
# The official 2020 file numbers the formulas that were submitted from 1 to 9,926.
_LAST_OF_2020: Final = 9_926
_NOTE_2020: Final = Doubt(
    "the qrels seem to have the visual ids of 2020 (1 … 9926), which belong to no formula index: "
    "use qrel_with_formula_ids/qrel_task2.tsv"
)


def by_visual_id(
    qrels: Qrels, ids: FormulaIds, file: Path, kind: IdKind | None = None
) -> Judgments:
    """Return judgments by visual id; those by formula id are re-keyed with the maximum grade.

    Without `kind`, the name of the file tells which ids they are, else the ids themselves. Raises
    InputError if these can be either.
    """
    judged = _numbers({doc for grades in qrels.values() for doc in grades})
    kind = kind or kind_of_name(file) or _kind_of_ids(judged, ids, file)
    if kind != "formula":
        of_2020 = len(judged) > _LAST_OF_2020 // 2 and judged.max() <= _LAST_OF_2020
        return Judgments(file, qrels, kind, (_NOTE_2020,) if of_2020 else ())
    rekeyed: Qrels = {}
    for topic, grades in qrels.items():
        at = ids.find(_numbers(grades))
        for place, grade in zip(at.tolist(), grades.values(), strict=True):
            if place >= 0:
                best, key = rekeyed.setdefault(topic, {}), str(ids.visual[place])
                best[key] = max(grade, best.get(key, grade))
    note = (
        f"qrels by formula id, re-keyed to visual ids with the maximum grade: "
        f"{int((ids.find(judged) >= 0).sum()):,} of {len(judged):,} ids are in the formula index, "
        f"{len(rekeyed)} of {len(qrels)} topics have any"
    )
    return Judgments(file, rekeyed, kind, (note,))


def kind_of_name(file: Path) -> IdKind | None:
    """Tell from the name of a file which ids it holds; None if it does not say."""
    if file.parent.name == _FOLDER:
        return "formula"
    name = file.name.lower()
    return next((kind for pattern, kind in _NAMES if re.search(pattern, name)), None)


def _kind_of_ids(judged: NDArray[np.int32], ids: FormulaIds, file: Path) -> IdKind:
    visual, formula = int(ids.is_visual(judged).sum()), int((ids.find(judged) >= 0).sum())
    if formula < _VISUAL * visual + _FEW:
        return "visual"
    if formula >= _FORMULAS * visual + _FEW:
        return "formula"
    raise InputError(
        f"{file}: {formula:,} of its {len(judged):,} ids are formula ids of the collection, "
        f"{visual:,} are visual ids: which of them it judges has to be said (ids: "
        f"{', '.join(ID_KINDS)})"
    )


def _numbers(texts: set[str] | dict[str, int]) -> NDArray[np.int32]:
    return np.fromiter(map(id_number, texts), np.int32)
