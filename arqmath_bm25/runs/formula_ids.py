"""Task 2: from formula instances to visually distinct formulas, as the lab ranks and judges them.

Runs hold formula ids. The official scripts (`de_duplicate_2022.py`, `task2_get_results.py`) walk
down the instances by score and keep the first of each visual id; from then on the visual id is
the document. The ids of the full collection (28 million rows) are read once and kept in one file
of 24 bytes a row, which is mapped into memory: a later call touches only the pages it needs.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from arqmath_bm25.collection.formulas import formula_files, read_formula_ids
from arqmath_bm25.core.arrays import Flags, Int32s, Ints, load_array, lookup
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import complete, digest_of_sources, is_as_written, sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arqmath_bm25.collection.collection import CollectionFiles


_LARGEST = np.iinfo(np.int32).max

# Longer texts are rejected before int() reads them, which is slow for a very long text.
_ID = re.compile("0|[1-9][0-9]{0,9}")

# Flags of instances that must not be returned.
COMMENT = 1
DELETED = 2


class FormulaIds:
    """Formula id → visual id, post and flags, for every formula instance of a collection."""

    def __init__(self, table: Int32s) -> None:
        """`table` has six rows: formula (ascending), visual, visual of v2, post, flags, and visual
        once more, ascending.
        """
        self._table = table
        self.formula, self.visual, self._old_visual, self.post, self.flags = table[:5]
        self._all_visual = table[5]

    @classmethod
    def read(cls, formulas: Path) -> Self:
        """Read formula TSVs with visual ids.

        Of an id that occurs twice the last row counts, as in the official script. Raises
        InputError as `collection.formulas.read_formula_ids` does.
        """
        from arqmath_bm25.core.progress import status  # loads rich, which scoring need not wait for

        blocks = []
        rows = 0
        with status("Reading visual ids, once") as say:
            for ids in read_formula_ids(formulas):
                for column in ids[:4]:
                    if (column > _LARGEST).any():
                        raise InputError(f"{formulas}: an id is larger than {_LARGEST}")

                flags = ids.comment * COMMENT + ids.deleted * DELETED
                columns = ids.formula, ids.visual, ids.old_visual, ids.post, flags, ids.visual
                blocks.append(np.array(columns, np.int32))
                rows += len(ids.formula)
                say(f"Reading visual ids, once: {rows:,} formulas")

        if not rows:
            raise InputError(f"{formulas}: the files hold no formulas")

        table = np.concatenate(blocks, axis=1)
        blocks.clear()
        formula = table[0]
        is_ascending = (formula[1:] > formula[:-1]).all()
        if not is_ascending:
            order = np.argsort(formula, kind="stable")
            table = table[:, order]
            formula = table[0]
            is_last = np.append(formula[1:] != formula[:-1], True)
            table = table[:, is_last]

        table[5].sort()
        return cls(table)

    @classmethod
    def load(cls, formulas: Path, directory: Path) -> Self:
        """Map the table that an earlier call stored in `directory`, or read and store it.

        The name of the file has a digest of the TSVs, so changed TSVs get another table. A damaged
        table is written again.
        """
        digest = digest_of_sources(sources(formula_files(formulas)))
        path = directory / f"visual-ids-{digest[:16]}.npy"
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
    def from_rows(cls, rows: Iterable[tuple[object, object, object]]) -> Self:
        """Make a table from rows of formula id, visual id and post."""
        numbers = sorted(tuple(map(id_number, map(str, row))) for row in rows)
        formula, visual, post = np.array(numbers, np.int32).reshape(-1, 3).T
        flags = np.zeros_like(formula)
        all_visual = np.sort(visual)
        return cls(np.array([formula, visual, visual, post, flags, all_visual]))

    @classmethod
    def from_collection(cls, collection: CollectionFiles) -> Self:
        """Return the table of a collection, kept with its indexes."""
        formulas = collection.layout.formulas()
        return cls.load(formulas, collection.directory)

    def count_pairs(self, pairs: Sequence[tuple[str, str]]) -> int:
        """Count the pairs of a formula and the post that holds it."""
        formulas, posts = zip(*pairs, strict=True)
        rows = self.find(id_numbers(formulas))
        return int(((rows >= 0) & (self.post[rows] == id_numbers(posts))).sum())

    def instances(self, visual: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the first formula of each of the given visual ids, and its post."""
        numbers = id_numbers(visual)
        rows = np.flatnonzero(np.isin(self.visual, numbers[numbers >= 0]))
        _, first = np.unique(self.visual[rows], return_index=True)
        instances = {}
        for row in rows[first].tolist():
            instances[str(self.visual[row])] = str(self.formula[row]), str(self.post[row])
        return instances

    def find(self, formulas: Int32s) -> Ints:
        """Return the rows of formula ids in the columns, -1 for ids without a visual id."""
        rows = _rows(self.formula, formulas)
        return np.where(self.visual[rows] >= 0, rows, -1)

    def has(self, formulas: Int32s) -> Flags:
        """Return which formula ids have a visual id."""
        return self.find(formulas) >= 0

    def is_visual(self, ids: Int32s) -> Flags:
        """Return which of `ids` are visual ids."""
        return _rows(self._all_visual, ids) >= 0


def _rows(ascending: Int32s, ids: Int32s) -> Ints:
    """Return the rows of ids in an ascending column, -1 for ids that it lacks."""
    rows, is_present = lookup(ascending, ids)
    return np.where(is_present & (ids >= 0), rows, -1)


def id_numbers(texts: Iterable[str]) -> Int32s:
    """Return ids as numbers of the table; -1 for anything else."""
    return np.fromiter(map(id_number, texts), np.int32)


def id_number(text: str) -> int:
    """Return an id as a number of the table, -1 for any other text."""
    if not _ID.fullmatch(text):
        return -1
    number = int(text)
    if number > _LARGEST:
        return -1
    return number
