"""Task 2 documents: one per visually distinct formula, and a table of its instances.

An instance may be returned if it stands in a title, a question or an answer and is not marked as
missing from the posts (issue d, dv). Instances with one visual id are one document; its terms are
those of the instance that comes first. Instances without a visual id (the files of 2020, and some
of which LaTeXML made nothing) are grouped by their LaTeX without white space, as the lab did, under
negative numbers.

Rows are read once, in one process, and only ids are kept (20 bytes an instance, 600 MB for the
whole collection); the first formula of each group is analysed and written at once, by as many
processes as there are. Every row is accounted for: read = indexed + each kind of left out.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from arqmath_bm25.analysis.formula import FormulaAnalyzer
from arqmath_bm25.collection.formulas import formula_files, read_formulas
from arqmath_bm25.documents.answers import NOTHING
from arqmath_bm25.workers import in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.collection.formulas import FormulaRow
    from arqmath_bm25.config import Task2Settings

TYPES: Final = ("answer", "question", "title")  # what may be returned, preferred ones first
_LARGEST: Final = 2**31 - 1
_PER_PART: Final = 20_000  # documents that one process writes at a time
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Instance(NamedTuple):
    """A formula where it stands."""

    formula_id: str
    post_id: str
    thread_id: str
    type: str  # one of TYPES


class InstanceTable:
    """Which instances a visually distinct formula has: five columns of 32-bit integers, sorted.

    The rows of the table are visual id, formula id, post, thread, and the number of the type.
    """

    def __init__(self, table: NDArray[np.int32]) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.shape[1])

    @classmethod
    def load(cls, path: Path) -> Self:
        """Map a table that `write_formula_documents` wrote."""
        # Slices of a memmap object cost ten times those of the array that it is.
        return cls(np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)))

    def best(
        self, visual_id: str, threads: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> tuple[Instance, float]:
        """Return the instance of a formula whose thread scores best, and that score.

        `threads` is sorted; other threads score 0. Of equal instances the first one is taken:
        answers before questions before titles, then by id.
        """
        visual = np.int32(visual_id)  # of another type, the whole column would be copied
        begin = int(np.searchsorted(self._table[0], visual))
        chosen, score = begin, 0.0
        if len(threads):
            end = int(np.searchsorted(self._table[0], visual, side="right"))
            found = self._table[3, begin:end]
            at = np.minimum(np.searchsorted(threads, found), len(threads) - 1)
            scored = np.where(threads[at] == found, scores[at], 0.0)
            place = int(scored.argmax())
            chosen, score = chosen + place, float(scored[place])
        formula, post, thread, kind = self._table[1:, chosen].tolist()
        return Instance(str(formula), str(post), str(thread), TYPES[kind]), score


class _Groups:
    """Decides what becomes of each row, and collects the instances."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._columns = array("i")
        self._formulas, self._visual = _IdSet(), _IdSet()
        self._unnumbered: dict[bytes, int] = {}

    def add(self, row: FormulaRow) -> str | None:
        """Count a row; return the id of its document if it is the first one of that."""
        left_out, instance = _place(row)
        if left_out:
            self.counts[left_out] += 1
            return None
        if not self._formulas.add(instance[0]):
            self.counts["rows with a formula id seen before"] += 1
            return None
        self.counts["instances"] += 1
        if visual := _number(row.visual_id):
            first = self._visual.add(visual)
        else:
            self.counts["instances without a visual id"] += 1
            key = hashlib.blake2b("".join(row.latex.split()).encode(), digest_size=8).digest()
            known = len(self._unnumbered)
            visual = -1 - self._unnumbered.setdefault(key, known)
            first = len(self._unnumbered) > known
        self._columns.extend((visual, *instance))
        return str(visual) if first else None

    def save(self, path: Path) -> None:
        """Write the instances, sorted by visual id, type and formula id."""
        columns = np.frombuffer(self._columns, np.int32).reshape(-1, 5)
        order = np.lexsort((columns[:, 1], columns[:, 4], columns[:, 0]))
        shape = (5, len(order))
        table = np.lib.format.open_memmap(path, "w+", np.int32, shape)
        for number in range(5):
            table[number] = columns[order, number]
        table.flush()


class _IdSet:
    """Numbers up to 2**31, one bit for each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> bool:
        """Add a number; tell whether it is new."""
        place, bit = number >> 3, 1 << (number & 7)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + (1 << 16) - len(self._bits)))
        if self._bits[place] & bit:
            return False
        self._bits[place] |= bit
        return True


def _place(row: FormulaRow) -> tuple[str, tuple[int, int, int, int]]:
    """Return why a row is left out (or nothing), and formula, post, thread, type."""
    if row.type == "comment":
        return "formulas of comments", _NOWHERE
    if row.type not in TYPES:
        return "rows of other types", _NOWHERE
    if row.issue in ("d", "dv"):
        return "formulas not found in the posts (issue d)", _NOWHERE
    if not row.latex.strip():
        return "blank formulas", _NOWHERE
    formula, post, thread = map(_number, (row.formula_id, row.post_id, row.thread_id))
    if not (formula and post and thread):
        return "rows with an id that is no number", _NOWHERE
    return "", (formula, post, thread, TYPES.index(row.type))


_NOWHERE: Final = (0, 0, 0, 0)


def _number(text: str) -> int:
    """Return an id as a number, 0 if it is none."""
    number = int(text) if text.isdecimal() and len(text) < 11 else 0
    return number if number <= _LARGEST else 0


def write_formula_documents(
    formulas: Path,
    settings: Task2Settings,
    directory: Path,
    instances: Path,
    processes: int,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, int]:
    """Write the documents of the formula TSVs as JSON lines to `directory`; return the counts.

    The table of instances goes to the file `instances`. What is written does not depend on the
    number of `processes`. `progress` is told how many bytes each step read.
    """
    groups = _Groups()
    counts: Counter[str] = Counter()
    jobs = _jobs(formulas, groups, settings, directory, progress)
    for part in in_processes(_write_part, jobs, processes):
        counts += part
    groups.save(instances)
    return {**groups.counts, **counts}


_Job = tuple["Task2Settings", "Path", list[tuple[str, str]]]


def _jobs(
    formulas: Path,
    groups: _Groups,
    settings: Task2Settings,
    directory: Path,
    progress: Callable[[int], None],
) -> Iterator[_Job]:
    batch: list[tuple[str, str]] = []
    number = 0
    for file in formula_files(formulas):
        for row in read_formulas(file):
            groups.counts["rows"] += 1
            if document := groups.add(row):
                batch.append((document, row.latex))
                if len(batch) == _PER_PART:
                    yield settings, directory / f"part-{number:05}.jsonl", batch
                    batch, number = [], number + 1
        progress(file.stat().st_size)
    yield settings, directory / f"part-{number:05}.jsonl", batch


def _write_part(job: _Job) -> Counter[str]:
    settings, path, formulas = job
    analyzer = FormulaAnalyzer(settings.analysis, settings.fields)
    analyse = analyzer.latex if settings.analysis.source == "latex" else analyzer.mathml
    counts: Counter[str] = Counter()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for visual_id, formula in formulas:
            terms = analyse(formula)
            document = {"id": visual_id, **{field: " ".join(terms[field]) for field in terms}}
            counts["documents"] += 1
            if not document["contents"]:
                counts["formulas without a symbol"] += 1
                document["contents"] = NOTHING
            file.write(_encode(document) + "\n")
    return counts
