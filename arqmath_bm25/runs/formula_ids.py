"""Task 2: from formula instances to visually distinct formulas, as the lab ranks and judges them.

Runs hold formula ids. The official scripts (`de_duplicate_2022.py`, `task2_get_results.py`) walk
down the instances by score and keep the first of each visual id; from then on the visual id is
the document. The ids of the full collection (28 million rows) are read once and kept in one file
of 24 bytes a row, which is mapped into memory: a later call touches only the pages it needs.
"""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from arqmath_bm25.collection.formulas import formula_files, read_formula_ids
from arqmath_bm25.core.arrays import load_array
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import complete, is_as_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.collection.collection import Collection

    Ids = NDArray[np.int32]

_LARGEST: Final = np.iinfo(np.int32).max
COMMENT: Final = 1  # flags of instances that must not be returned
DELETED: Final = 2


class FormulaIds:
    """Formula id → visual id, post and flags, for every formula instance of a collection."""

    def __init__(self, table: Ids) -> None:
        """`table` has six rows: formula (ascending), visual, visual of v2, post, flags, and visual
        once more, ascending.
        """
        self.formula, self.visual, self._old_visual, self.post, self.flags, self._all_visual = table
        self._table = table

    @classmethod
    def read(cls, formulas: Path) -> Self:
        """Read formula TSVs with visual ids.

        Of an id that occurs twice the last row counts, as in the official script. Raises
        InputError as `collection.formulas.read_formula_ids` does.
        """
        from arqmath_bm25.core.progress import status  # loads rich, which scoring need not wait for

        blocks: list[Ids] = []
        rows = 0
        with status("Reading visual ids, once") as say:
            for ids in read_formula_ids(formulas):
                if any((column > _LARGEST).any() for column in ids[:4]):
                    raise InputError(f"{formulas}: an id is larger than {_LARGEST}")
                flags = ids.comment * COMMENT + ids.deleted * DELETED
                columns = (ids.formula, ids.visual, ids.old_visual, ids.post, flags, ids.visual)
                blocks.append(np.array(columns, np.int32))
                rows += len(ids.formula)
                say(f"Reading visual ids, once: {rows:,} formulas")

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
    def cached(cls, formulas: Path, directory: Path) -> Self:
        """Map the table that an earlier call left in `directory`, or read it and leave it there.

        The name of the file depends on names, sizes and times of the TSVs: other TSVs,
        another table. A damaged one is written again.
        """
        stats = [(file.name, file.stat()) for file in formula_files(formulas)]
        lines = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats]
        key = "\n".join(["with old ids", *lines])
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        path = directory / f"visual-ids-{digest}.npy"
        if not is_as_written(path):
            table = cls.read(formulas)._table
            with complete(path, encoding=None, manifest={}) as file:
                np.save(file, table)

        return cls(load_array(path))

    def of_v2(self) -> Self:
        """Return the same formulas with the visual ids of v2, as in the judgments of 2021."""
        older = copy.copy(self)
        older.visual = self._old_visual
        return older

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[object, object, object]]) -> Self:
        """Make a table of the given formulas, each with its visual id and its post."""
        numbers = [[id_number(str(number)) for number in row] for row in rows]
        formula, visual, post = np.array(sorted(numbers), np.int32).reshape(-1, 3).T
        flags = np.zeros_like(formula)
        return cls(np.array([formula, visual, visual, post, flags, np.sort(visual)]))

    @classmethod
    def of(cls, collection: Collection) -> Self:
        """Return the table of a collection, kept with its indexes."""
        return cls.cached(collection.layout.formulas(), collection.directory)

    def agree(self, pairs: Sequence[tuple[str, str]]) -> int:
        """Count the pairs of a formula and the post that holds it."""
        places = self.find(id_numbers(formula for formula, _ in pairs))
        posts = id_numbers(post for _, post in pairs)
        return int(((places >= 0) & (self.post[places] == posts)).sum())

    def instances(self, visual: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the first formula of each of the given visual ids, and its post."""
        wanted = id_numbers(visual)
        places = np.flatnonzero(np.isin(self.visual, wanted[wanted >= 0]))
        ids, first = np.unique(self.visual[places], return_index=True)
        found = {}
        for number, place in zip(ids.tolist(), places[first].tolist(), strict=True):
            found[str(number)] = str(self.formula[place]), str(self.post[place])
        return found

    def find(self, formulas: Ids) -> NDArray[np.int64]:
        """Return the places of formula ids in the columns, -1 for those without a visual id."""
        places = _places(self.formula, formulas)
        return np.where(self.visual[places] >= 0, places, -1)

    def has(self, formulas: Ids) -> NDArray[np.bool_]:
        """Return which formula ids have a visual id."""
        return self.find(formulas) >= 0

    def is_visual(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which of `ids` are visual ids."""
        return _places(self._all_visual, ids) >= 0


def _places(ascending: Ids, ids: Ids) -> NDArray[np.int64]:
    places = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.where((ascending[places] == ids) & (ids >= 0), places, -1)


def id_numbers(texts: Iterable[str]) -> Ids:
    """Return ids as numbers of the table; -1 for anything else."""
    return np.fromiter(map(id_number, texts), np.int32)


def id_number(text: str) -> int:
    """Return an id as a number of the table, -1 if it is none."""
    is_plain = text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0")
    if not is_plain or len(text) > len(str(_LARGEST)):  # int() of a very long text is slow
        return -1

    number = int(text)
    if number > _LARGEST:
        return -1
    return number
