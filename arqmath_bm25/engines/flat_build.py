"""Writes flat postings (flat_form.py): puts those of all parts together.

Fields are put together one at a time, and by ranges of the numbers of terms: as these are hashes,
equal ranges have about as many terms, and memory stays flat.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arqmath_bm25.core.arrays import ranges
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import new_array
from arqmath_bm25.engines.flat_form import FLAT, FORM, META, TABLE, code_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from arqmath_bm25.analysis.term_numbers import Numbers

    Integers = npt.NDArray[np.integer]

_TOGETHER: Final = 1 << 21  # postings in memory
_NUMBERS: Final = 1 << 64


class _Part:
    """A file that `flat_parts` wrote."""

    def __init__(self, table: Path) -> None:
        self._file = table.with_suffix(FLAT)
        self.meta = json.loads(table.read_text(encoding="utf-8"))

    def kind(self, name: str) -> np.dtype[Any]:
        """Return the type of an array."""
        kind: np.dtype[Any] = np.dtype(self.meta["arrays"][name][0])
        return kind

    def size(self, name: str) -> int:
        """Return the length of an array."""
        return int(self.meta["arrays"][name][2])

    def read(self, name: str, begin: int = 0, end: int | None = None) -> npt.NDArray[Any]:
        """Return an array, or some of it."""
        kind, offset, length = self.meta["arrays"][name]
        count = (length if end is None else end) - begin
        return np.fromfile(self._file, kind, count, offset=offset + begin * np.dtype(kind).itemsize)


def write_flat(parts: Path, place: Path, expected: int) -> None:
    """Write the postings of all parts in a directory to a new directory.

    Raises InputError unless they hold the `expected` number of documents.
    """
    files = list(map(_Part, sorted(parts.glob(f"*{TABLE}"))))
    documents = [0, *accumulate(part.meta["documents"] for part in files)]
    groups = [0, *accumulate(part.meta["groups"] for part in files)]
    if documents[-1] != expected:
        raise InputError(
            f"{parts}: {documents[-1]:,} of {expected:,} documents; build the index again"
        )
    place.mkdir()
    _write_ids(files, place, documents[-1])
    members = _write_groups(files, place, groups)
    fields: dict[str, dict[str, Any]] = {}
    for part in files:
        for name, of_part in part.meta["fields"].items():
            field = fields.setdefault(name, {**of_part, "documents": 0, "tokens": 0})
            for count in ("documents", "tokens"):
                field[count] += of_part[count]
    of_parts = [part.read(f"{name}.pairs") for part in files for name in part.meta["fields"]]
    pairs = np.unique(np.concatenate([np.empty(0, np.int64), *of_parts]))
    np.stack([pairs >> 8, pairs & 255], axis=1).astype("<i4").tofile(place / "pairs")
    for name, field in fields.items():
        firsts = groups if field["shared"] else documents
        having = [
            _FieldPart(part, name, first, pairs)
            for part, first in zip(files, firsts, strict=False)
            if name in part.meta["fields"]
        ]
        _write_field(place / name, having, members if field["shared"] else None)
    (place / META).write_text(json.dumps({"form": FORM, "fields": fields}), encoding="utf-8")


def _write_ids(files: Sequence[_Part], place: Path, count: int) -> None:
    size = max((part.kind("ids").itemsize for part in files), default=1)
    ids = new_array(place / "ids.npy", f"S{size}", (count,))
    done = 0
    for part in files:
        of_part = part.read("ids")
        ids[done : done + len(of_part)] = of_part
        done += len(of_part)


def _write_groups(files: Sequence[_Part], place: Path, firsts: Sequence[int]) -> Integers:
    """Write the groups of documents; return how many members each has."""
    members = np.zeros(firsts[-1] + 1, np.int64)
    with (place / "groups").open("wb") as out:
        for part, first in zip(files, firsts, strict=False):
            groups = part.read("groups")
            groups = np.where(groups < 0, firsts[-1], groups + first).astype("<i4")
            members += np.bincount(groups, minlength=len(members))
            groups.tofile(out)
    return members


class _FieldPart:
    """The postings of a field in a part."""

    def __init__(self, part: _Part, name: str, first: int, pairs: Integers) -> None:
        self._part, self._name, self._first = part, name, first
        code = np.searchsorted(pairs, part.read(f"{name}.pairs"))
        self._code = code.astype(code_kind(len(pairs)))
        self.postings = part.size(f"{name}.docs")

    def cut(self, numbers: Numbers) -> list[int]:
        """Return where ranges of numbers begin among the terms, and the end."""
        terms = self._read("terms")
        return [0, *np.searchsorted(terms, numbers).tolist(), len(terms)]

    def read(self, begin: int, end: int) -> tuple[Numbers, Integers, Integers, Integers]:
        """Return some terms and the numbers of their postings; of these documents and codes."""
        starts = self._read("starts", begin, end + 1)
        docs, codes = (self._read(kind, starts[0], starts[-1]) for kind in ("docs", "codes"))
        terms = self._read("terms", begin, end)
        return terms, np.diff(starts), docs + np.int32(self._first), self._code[codes]

    def _read(self, kind: str, begin: int = 0, end: int | None = None) -> npt.NDArray[Any]:
        return self._part.read(f"{self._name}.{kind}", begin, end)


def _write_field(file: Path, parts: Sequence[_FieldPart], members: Integers | None) -> None:
    """Put the postings of a field together; with `members`, of groups that have so many."""
    count = sum(part.postings for part in parts) // _TOGETHER + 1
    cuts = np.array([number * (_NUMBERS // count) for number in range(1, count)], np.uint64)
    places = [pairwise(part.cut(cuts)) for part in parts]
    with ExitStack() as stack:
        terms, starts, docs, codes = (
            stack.enter_context(Path(f"{file}.{kind}").open("wb"))
            for kind in ("terms", "starts", "docs", "codes")
        )
        if members is not None:
            counts = stack.enter_context(Path(f"{file}.counts").open("wb"))
        done = 0
        for ends in zip(*places, strict=True):
            pieces = [part.read(*end) for part, end in zip(parts, ends, strict=True)]
            numbers, lengths, in_docs, in_codes = map(np.concatenate, zip(*pieces, strict=True))
            order = np.argsort(numbers, kind="stable")  # so that documents ascend
            chosen = ranges((np.cumsum(lengths) - lengths)[order], lengths[order])
            numbers, lengths, in_docs = numbers[order], lengths[order], in_docs[chosen]
            first = np.flatnonzero(np.diff(numbers, prepend=~numbers[:1]))
            begins = (np.cumsum(lengths) - lengths)[first]
            numbers[first].tofile(terms)
            (done + begins).astype("<i8").tofile(starts)
            in_docs.tofile(docs)
            in_codes[chosen].tofile(codes)
            if members is not None and len(begins):
                np.add.reduceat(members[in_docs], begins).astype("<i4").tofile(counts)
            done += len(in_docs)
        np.array([done], "<i8").tofile(starts)
