"""Task 2: from formula instances to visually distinct formulas, as the lab ranks and judges them.

Runs hold formula ids. The official scripts (`de_duplicate_2022.py`, `task2_get_results.py`) walk
down the instances by score and keep the first of each visual id; from then on the visual id is
the document. The ids of the full collection (28 million rows) are read once and kept in one file
of 24 bytes a row, which is mapped into memory: a later call touches only the pages it needs.
"""

from __future__ import annotations

import copy
import hashlib
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self

import numpy as np

from arqmath_bm25.collection.formulas import formula_files, read_formula_ids
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete, is_as_written, load_array
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.runs.run_files import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.runs.rankings import Ranking
    from arqmath_bm25.runs.run_files import RunRow

    Ids = NDArray[np.int32]

_LARGEST: Final = np.iinfo(np.int32).max
COMMENT: Final = 1  # flags of instances that must not be returned
DELETED: Final = 2


class VisualIds:
    """Formula id → visual id, post and flags, for every formula instance of a collection."""

    def __init__(self, table: Ids) -> None:
        """`table` has six rows: formula (ascending), visual, visual of v2, post, flags, and visual
        once more, ascending.
        """
        self.formula, self.visual, self._old_visual, self.post, self.flags, self._all_visual = table
        self._table = table

    @classmethod
    def read(cls, formulas: Path, progress: Callable[[int], None] = lambda _: None) -> Self:
        """Read formula TSVs with visual ids; `progress` is told the number of rows so far.

        Of an id that occurs twice the last row counts, as in the official script. Raises
        InputError as `collection.formulas.read_formula_ids` does.
        """
        blocks: list[Ids] = []
        rows = 0
        for ids in read_formula_ids(formulas):
            if any((column > _LARGEST).any() for column in ids[:4]):
                raise InputError(f"{formulas}: an id is larger than {_LARGEST}")
            flags = ids.comment * COMMENT + ids.deleted * DELETED
            columns = (ids.formula, ids.visual, ids.old_visual, ids.post, flags, ids.visual)
            blocks.append(np.array(columns, np.int32))
            rows += len(ids.formula)
            progress(rows)
        if not rows:
            raise InputError(f"{formulas}: the files hold no formulas")
        table = np.concatenate(blocks, axis=1)
        blocks.clear()
        if (table[0, 1:] <= table[0, :-1]).any():
            table = table[:, np.argsort(table[0], kind="stable")]
            table = table[:, np.r_[table[0, 1:] != table[0, :-1], True]]
        table[5].sort()
        return cls(table)

    @classmethod
    def cached(
        cls, formulas: Path, directory: Path, progress: Callable[[int], None] = lambda _: None
    ) -> Self:
        """Map the table that an earlier call left in `directory`, or read it and leave it there.

        The file's name tells names, sizes and times of the TSVs: other TSVs, another table. One
        that is damaged is written again.
        """
        stats = [(file.name, file.stat()) for file in formula_files(formulas)]
        key = "with old ids\n" + "\n".join(
            f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats
        )
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        path = directory / f"visual-ids-{digest}.npy"
        if not is_as_written(path):
            table = cls.read(formulas, progress)._table
            with complete(path, encoding=None, manifest={}) as file:
                np.save(file, table)
        return cls(load_array(path))

    def of_v2(self) -> Self:
        """Return the same formulas with the visual ids of v2, those of the judgments of 2021."""
        older = copy.copy(self)
        older.visual = self._old_visual
        return older

    def find(self, formulas: Ids) -> NDArray[np.int64]:
        """Return the places of formula ids in the columns, -1 of those without a visual id."""
        at = _places(self.formula, formulas)
        return np.where(self.visual[at] >= 0, at, -1)

    def is_visual(self, ids: Ids) -> NDArray[np.bool_]:
        """Tell which of `ids` are visual ids."""
        return _places(self._all_visual, ids) >= 0


def _places(ascending: Ids, ids: Ids) -> NDArray[np.int64]:
    at = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.where((ascending[at] == ids) & (ids >= 0), at, -1)


def id_number(text: str) -> int:
    """Return an id as it stands in the table, -1 if it cannot stand there."""
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        number = int(text) if len(text) < 11 else _LARGEST + 1
        return number if number <= _LARGEST else -1
    return -1


class FormulaRankings(NamedTuple):
    """A Task 2 run as rankings of visual ids, with what was found on the way."""

    topics: dict[str, Ranking]  # topic -> visual id -> score of its first instance
    rows: int  # of the file
    repeated: int  # rows whose formula stood in an earlier row of the topic
    cut: int  # instances below the best 1,000 of their topic
    unknown: int  # instances for which the formula index has no visual id: skipped
    comments: int  # instances in comments, which the guidelines forbid: kept, as officially
    deleted: int  # instances of issue d or dv: forbidden and kept as well
    swapped: bool  # columns 2 and 3 had changed places

    def notes(self) -> list[str]:
        """Say in sentences what is wrong with the run."""
        found = (
            ("instances skipped, since the formula index has no visual id for them", self.unknown),
            ("instances in comments, which must not be returned", self.comments),
            ("instances with issue d, which must not be returned", self.deleted),
            ("rows that repeat a formula", self.repeated),
            ("instances left out below the best 1,000 of their topic", self.cut),
        )
        notes = [f"{what}: {count:,}" for what, count in found if count]
        return [*notes, *(["columns 2 and 3 (formula, post) are swapped"] if self.swapped else [])]


def read_formula_rankings(
    path: Path, ids: VisualIds, depth: int | None = MAX_DEPTH
) -> FormulaRankings:
    """Read the rankings of a Task 2 run. Raises InputError as `runs.read_run` does."""
    return take_formula_rankings(read_run(path, "task2"), ids, depth)


def take_formula_rankings(
    run: Iterable[RunRow], ids: VisualIds, depth: int | None = MAX_DEPTH
) -> FormulaRankings:
    """Take of each visual id the first instance by score, of `depth` instances.

    The paper of 2021 says that 1,000 instances count; the official script cuts none, nor does
    None here. Instances with equal scores keep the order of the rows; of a repeated formula the
    last score counts, at the first position.
    """
    columns: dict[str, tuple[array[int], array[int], array[float]]] = {}
    for row in run:
        topic = columns.get(row.topic_id)
        if topic is None:
            topic = columns[row.topic_id] = array("i"), array("i"), array("d")
        topic[0].append(id_number(row.doc_id))
        topic[1].append(id_number(row.post_id))
        topic[2].append(row.score)
    topics = {
        name: (np.array(second), np.array(third), np.array(scores))
        for name, (second, third, scores) in columns.items()
    }
    form = _form([(second, third) for second, third, _ in topics.values()], ids)
    rankings: dict[str, Ranking] = {}
    counts: Counter[str] = Counter()
    for name, (second, third, scores) in topics.items():
        rankings[name], found = _collapse(second if form == "lab" else third, scores, ids, depth)
        counts.update(found)
    return FormulaRankings(rankings, **counts, swapped=form == "swapped")


def _form(topics: list[tuple[Ids, Ids]], ids: VisualIds) -> Literal["lab", "swapped", "trec"]:
    """Tell columns `formula, post` from `post, formula` and from TREC's `1, formula`."""
    second = np.concatenate([column for column, _ in topics])
    third = np.concatenate([column for _, column in topics])
    if second[0] in (0, 1) and (second == second[0]).all() and (third >= 0).all():
        return "trec"

    def agree(formulas: Ids, posts: Ids) -> int:
        at = ids.find(formulas)
        return int(((at >= 0) & (ids.post[at] == posts)).sum())

    return "swapped" if agree(third, second) > agree(second, third) else "lab"


def _collapse(
    formulas: Ids, scores: NDArray[np.float64], ids: VisualIds, depth: int | None
) -> tuple[Ranking, dict[str, int]]:
    """Return one topic's ranking and the counts of `FormulaRankings`."""
    rows, numbers = len(formulas), formulas >= 0
    formulas, scores = formulas[numbers], scores[numbers]
    distinct, first, which = np.unique(formulas, return_index=True, return_inverse=True)
    last = np.empty(len(distinct))
    last[which] = scores  # later rows overwrite earlier ones
    order = np.lexsort((first, -last))[:depth]
    kept = len(order)
    at = ids.find(distinct[order])
    order, at = order[at >= 0], at[at >= 0]
    visual, flags = ids.visual[at], ids.flags[at]
    leading = np.sort(np.unique(visual, return_index=True)[1])
    ranking = dict(
        zip(map(str, visual[leading].tolist()), last[order[leading]].tolist(), strict=True)
    )
    cut = len(distinct) - kept
    return ranking, {
        "rows": rows,
        "repeated": len(formulas) - len(distinct),
        "cut": cut,
        "unknown": rows - len(formulas) + len(distinct) - cut - len(order),
        "comments": int((flags & COMMENT > 0).sum()),
        "deleted": int((flags & DELETED > 0).sum()),
    }
