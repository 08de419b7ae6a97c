"""Documents of Task 2: one per visually distinct formula, with the terms of its first instance.

This module decides which formula instances may be returned: the ones in a title, a question or an
answer that are not marked as missing from the posts (issue d, dv). It also decides which instances
are one visually distinct formula: instances with the same visual id. Instances without a visual id
(the files of 2020, and some that LaTeXML failed on) are grouped by their LaTeX without white space,
as the lab did, under negative numbers.

One process reads all rows, once, in blocks of columns. Only new formulas become text, which all
workers analyse. Only ids are kept: 20 bytes an instance, 600 MB for the whole collection. Every row
is accounted for: rows read = rows indexed + rows left out, by reason.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from arqmath_bm25.analysis.analyzer import FormulaAnalyzer
from arqmath_bm25.collection.formulas import (
    DELETED,
    FormulaBlock,
    formula_files,
    read_formula_blocks,
)
from arqmath_bm25.core.arrays import Flags, Floats, Int32s, Ints, Numbering, lookup, new_array
from arqmath_bm25.core.tested import read_array, write_checksums
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.document_fields import NOTHING
from arqmath_bm25.tasks.document_parts import PartForms, write_parts
from arqmath_bm25.tasks.settings import Task2Settings
from arqmath_bm25.tasks.unreadable import read_or_leave_out, settle

TYPES = ("answer", "question", "title")  # what may be returned, preferred ones first
_LARGEST = 2**31 - 1
_PER_PART = 10_000  # documents that one process writes at a time


def write_formula_documents(
    formulas: Path,
    settings: Task2Settings,
    directory: Path,
    instances: Path,
    workers: Workers,
    forms: PartForms,
) -> dict[str, int]:
    """Write the documents of the formula TSVs to `directory`; return the counts.

    The table of instances goes to the file `instances`. What is written does not depend on the
    number of `workers`.
    """
    from arqmath_bm25.core.progress import progress  # loads rich, which workers need not

    groups = Groups()
    documents = partial(_documents, settings)
    size = sum(file.stat().st_size for file in formula_files(formulas))
    with progress("Analysing formulas", size, "B") as advance:
        parts = _distinct(formulas, groups, advance)
        counts = write_parts(documents, parts, directory, workers, forms)
    settle(counts, "formulas")
    groups.save(instances)
    return {**groups.counts, **counts}


def _distinct(
    formulas: Path, groups: Groups, advance: Callable[[float], None]
) -> Iterator[list[tuple[str, str]]]:
    """Yield the distinct formulas with their ids, a part at a time."""
    batch = []
    for file in formula_files(formulas):
        for block in read_formula_blocks(file):
            batch += groups.add(block)
            while len(batch) >= _PER_PART:
                yield batch[:_PER_PART]
                batch = batch[_PER_PART:]

        advance(file.stat().st_size)
    yield batch


# A process does many parts, and the analyzer keeps its settings and stemmer.
_analyzer = lru_cache(maxsize=1)(FormulaAnalyzer)


def _documents(
    settings: Task2Settings, formulas: list[tuple[str, str]], counts: Counter[str]
) -> Iterator[Document]:
    analyzer = _analyzer(settings.analysis, settings.fields)
    for visual_id, formula in formulas:
        bags = read_or_leave_out(analyzer.bags, formula, "", visual_id, counts)
        if bags["contents"].is_empty:
            counts["formulas without a symbol"] += 1
            bags["contents"] = NOTHING
        yield Document(visual_id, bags)


class InstanceTable:
    """The instances of each visually distinct formula: five columns of 32-bit integers, sorted.

    They are visual id, formula id, post, thread, and the number of the type.
    """

    def __init__(self, path: Path) -> None:
        """Read a table that `write_formula_documents` wrote."""
        self._table = read_array(path)

    def best(self, visual_id: str, threads: Int32s, scores: Floats) -> tuple[str, str, float]:
        """Return the ids of the instance whose thread scores best and of its post, and the score.

        `threads` is sorted; other threads score 0. Of equal instances the first one is taken:
        answers before questions before titles, then by id.
        """
        visual = np.int32(visual_id)  # of another type, the whole column would be copied
        visual_ids = self._table[0]
        begin = int(np.searchsorted(visual_ids, visual))
        chosen = begin
        score = 0.0
        if len(threads):
            end = int(np.searchsorted(visual_ids, visual, side="right"))
            its_threads = self._table[3, begin:end]
            rows, is_scored = lookup(threads, its_threads)
            scored = np.where(is_scored, scores[rows], 0.0)
            place = int(scored.argmax())
            chosen = begin + place
            score = float(scored[place])

        formula_id, post_id = self._table[1:3, chosen].tolist()
        return str(formula_id), str(post_id), score

    def find(self, formula_id: int) -> tuple[str, str] | None:
        """Return the visual id and the post of an instance, None if there is none."""
        visual_ids, formula_ids, posts, *_ = self._table
        (rows,) = np.nonzero(formula_ids == formula_id)
        if not len(rows):
            return None
        row = rows[0]
        return str(visual_ids[row]), str(posts[row])


class Groups:
    """Decides what becomes of each row, and collects the instances."""

    def __init__(self) -> None:
        self.counts = Counter(rows=0, instances=0)
        self._formulas = _IdSet()
        self._visual = _IdSet()
        self._unnumbered = Numbering()
        self._columns = [array("i") for _ in range(5)]  # these grow without a second copy

    def add(self, block: FormulaBlock) -> list[tuple[str, str]]:
        """Count rows; return id and formula of the documents that begin with one of them."""
        self.counts["rows"] += len(block)
        rows, *columns = self._instances(block)
        self.counts["instances"] += len(rows)

        visual = _ids(block, "visual_id")[rows]
        without = visual == 0
        formulas = block.texts("formula")
        first = np.empty(len(rows), np.bool_)
        first[~without] = self._visual.add(visual[~without])
        if without.any():
            self.counts["instances without a visual id"] += int(without.sum())
            texts = [formulas[row] for row in rows[without].tolist()]
            hashes = b"".join(map(_hash, texts))
            numbers, first[without] = self._unnumbered.add(np.frombuffer(hashes, np.uint64))
            visual[without] = -1 - numbers

        for column, values in zip(self._columns, (visual, *columns), strict=True):
            column.frombytes(values.astype(np.int32).tobytes())

        ids = map(str, visual[first].tolist())
        texts = [formulas[row] for row in rows[first].tolist()]
        return list(zip(ids, texts, strict=True))

    def _instances(self, block: FormulaBlock) -> list[Ints]:
        """Select the rows that a run may return, with their formula, post, thread and type."""
        kinds = block.codes("type", (*TYPES, "comment"))
        ids = [_ids(block, name) for name in ("id", "post_id", "thread_id")]
        columns = [*ids, kinds.astype(np.int64)]
        reasons = (
            ("formulas of comments", kinds == len(TYPES)),
            ("rows of other types", kinds < 0),
            ("formulas not found in the posts (issue d)", block.codes("issue", DELETED) >= 0),
            ("blank formulas", block.blank("formula")),
            ("rows with an id that is no number", np.minimum.reduce(ids) == 0),
        )
        rows = np.arange(len(block))
        for reason, left_out in reasons:
            kept = ~left_out[rows]
            rows = self._keep(reason, rows, kept)

        formula_ids = columns[0][rows]
        new = self._formulas.add(formula_ids)
        rows = self._keep("rows with a formula id seen before", rows, new)
        return [rows, *(column[rows] for column in columns)]

    def _keep(self, reason: str, rows: Ints, kept: Flags) -> Ints:
        left_out = len(rows) - int(np.count_nonzero(kept))
        if left_out:
            self.counts[reason] += left_out
        return rows[kept]

    def save(self, path: Path) -> None:
        """Write the instances, sorted by visual id, type and formula id."""
        columns = [np.frombuffer(column, np.int32) for column in self._columns]
        visual, formula, _, _, kind = columns
        order = np.lexsort((formula, kind, visual))

        shape = len(columns), len(order)
        table = new_array(path, np.int32, shape)
        for number, column in enumerate(columns):
            table[number] = column[order]
        write_checksums(path)


def _ids(block: FormulaBlock, name: str) -> Ints:
    """Return a column of ids, 0 where an id is missing or does not fit into 32 bits."""
    numbers = block.numbers(name)
    numbers[(numbers < 0) | (numbers > _LARGEST)] = 0
    return numbers


class _IdSet:
    """Numbers from 1 to 2**31 - 1, one bit for each."""

    def __init__(self) -> None:
        # 256 MB of address space; the system gives memory for the pages that are written to.
        self._bits = np.zeros(1 << 28, np.uint8)

    def add(self, numbers: Ints) -> Flags:
        """Add numbers; return for each whether it is the first occurrence of a new number."""
        places = numbers >> 3
        bits = np.left_shift(1, numbers & 7).astype(np.uint8)
        new: Flags = self._bits[places] & bits == 0
        candidates = np.flatnonzero(new)
        _, first_of_each = np.unique(numbers[candidates], return_index=True)
        first = candidates[first_of_each]
        new[candidates] = False
        new[first] = True
        np.bitwise_or.at(self._bits, places[first], bits[first])
        return new


def _hash(formula: str) -> bytes:
    without_spaces = "".join(formula.split())
    return hashlib.blake2b(without_spaces.encode(), digest_size=8).digest()
