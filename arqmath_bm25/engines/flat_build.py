"""Builds flat postings (flat.py): workers write the postings of parts, then all parts are merged.

In a part, words are codes, and each distinct formula is coded once: a document holds its number,
and the terms of the formula replace it when terms are counted. Fields that several documents share
belong to a group of documents, and count once for each member. A part is one file of arrays, one
after the other, with a table of their offsets.

Fields are merged one at a time, in ranges of term numbers. These are hashes, so equal ranges have
about equally many terms, and memory stays flat.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from arqmath_bm25.analysis.formula_numbers import spelled
from arqmath_bm25.analysis.term_numbers import Trees, Vocabulary, term_numbers
from arqmath_bm25.analysis.terms import Bag, Spelling
from arqmath_bm25.core.arrays import distinct, ranges, smallest_kind
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import write_ids
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.engines.engine import Document

if TYPE_CHECKING:
    from arqmath_bm25.analysis.term_numbers import Numbers, Places
    from arqmath_bm25.core.workers import Workers

    Integers = npt.NDArray[np.integer]

FORM: Final = 4
META: Final = "flat.json"
_DATA, _TABLE = ".flat", ".table"  # endings of the files of a part
_TOGETHER: Final = 1 << 21  # postings in memory
_NUMBERS: Final = 1 << 64
_EXACT: Final = 24  # lengths below which Lucene's byte is the length


class _FieldBags:
    """The bags of a field: where the words and formulas of each row are in those of the part."""

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.words = array("q")  # row, begin, end for each bag
        self.formulas = array("q")  # likewise
        self.spelling: Spelling | None = None  # of the formulas
        self.trees: Trees | None = None  # of all formulas of the part that have this spelling


def _held(bags: array[int]) -> tuple[Places, Places]:
    """Return the row and the place of each word, or formula, of the bags of a field."""
    rows, begins, ends = np.frombuffer(bags, np.int64).reshape(-1, 3).T
    return np.repeat(rows, ends - begins), ranges(begins, ends - begins)


class FlatPart:
    """Collects the documents of a part."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._words = array("i")  # of all bags, as codes
        self._fields: dict[str, _FieldBags] = {}
        self._trees: defaultdict[Spelling, Trees] = defaultdict(Trees)
        self._ids: list[bytes] = []
        self._groups = array("i")  # of each document; -1 of none
        self._shared: Mapping[str, Bag] = {}
        self._group = -1

    def add(self, document: Document) -> None:
        """Add the next document."""
        if document.shared and document.shared is not self._shared:
            self._shared = document.shared
            self._group += 1
            self._add(document.shared, self._group, shared=True)
        self._add(document.own, len(self._ids), shared=False)
        self._ids.append(document.doc_id.encode())
        self._groups.append(self._group if document.shared else -1)

    def _add(self, bags: Mapping[str, Bag], row: int, shared: bool) -> None:
        for name, (words, formulas) in bags.items():
            if (field := self._fields.get(name)) is None:
                field = self._fields[name] = _FieldBags(shared)
            if words:
                begin = len(self._words)
                self._words.extend(map(self._vocabulary.__getitem__, words))
                field.words.extend((row, begin, len(self._words)))
            if formulas:
                if (trees := field.trees) is None:
                    field.spelling = formulas[0].spelling
                    trees = field.trees = self._trees[field.spelling]
                begin = trees.added
                trees.add(formulas)
                field.formulas.extend((row, begin, trees.added))

    def save(self, file: Path) -> tuple[Path, Path]:
        """Write the postings of all fields, and a table beside them; return both files."""
        groups = np.frombuffer(self._groups, np.int32)
        sizes = np.bincount(groups[groups >= 0], minlength=self._group + 1)
        single = np.ones(len(groups), np.int64)
        words = term_numbers(list(self._vocabulary))[np.frombuffer(self._words, np.int32)]
        of_trees = {spelling: _spelled(trees, spelling) for spelling, trees in self._trees.items()}

        arrays = {"ids": np.array(self._ids, np.bytes_), "groups": groups}
        fields = {}
        for name, field in self._fields.items():
            rows, chosen = _held(field.words)
            terms = words[chosen]
            if field.spelling:
                rows_of_formulas, chosen = _held(field.formulas)
                trees = self._trees[field.spelling].members[chosen]
                starts, of_formulas = of_trees[field.spelling]
                lengths = starts[trees + 1] - starts[trees]
                rows = np.concatenate((rows, np.repeat(rows_of_formulas, lengths)))
                terms = np.concatenate((terms, of_formulas[ranges(starts[trees], lengths)]))
            weights = sizes if field.shared else single
            postings, statistics = _postings(terms, rows, weights)
            for kind, values in postings.items():
                arrays[f"{name}.{kind}"] = values
            fields[name] = {"shared": field.shared, **statistics}

        places = {}
        with file.open("wb") as data:
            for name, values in arrays.items():
                places[name] = values.dtype.str, data.tell(), len(values)
                values.tofile(data)

        meta = {"documents": len(groups), "groups": len(sizes), "fields": fields}
        table = file.with_suffix(_TABLE)
        table.write_text(json.dumps({**meta, "arrays": places}), encoding="utf-8")
        return file, table


def _spelled(trees: Trees, spelling: Spelling) -> tuple[Places, Numbers]:
    """Return where the terms of each tree begin, and the end; and the terms of all trees."""
    terms = [pair for batch in trees.batches for pair in spelled(spelling, batch)]
    of_trees = np.concatenate([of_trees for of_trees, _ in terms])
    order = np.argsort(of_trees, kind="stable")
    starts = np.searchsorted(of_trees[order], np.arange(len(trees) + 1))
    return starts, np.concatenate([numbers for _, numbers in terms])[order]


def _postings(
    terms: Numbers, rows: Integers, weights: Integers
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]:
    """Return the postings of a field, in the order of the numbers of terms, and its statistics.

    `terms` are all that the field has, with their rows.
    """
    numbers, codes = distinct(terms)
    order = np.argsort(numbers)
    places = np.empty(len(numbers), np.int64)
    places[order] = np.arange(len(numbers))
    keys = places[codes] << 32 | rows
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    freqs = np.diff(first, append=len(keys))
    of_terms, docs = keys[first] >> 32, keys[first].astype("<i4")
    lengths = np.bincount(docs, freqs, len(weights)).astype(np.int64)
    codes_of_pairs = 256 * freqs + noted_bytes(lengths)[docs]
    pairs, codes = distinct(codes_of_pairs.astype(np.uint64))
    postings = {
        "terms": numbers[order],
        "starts": np.flatnonzero(np.diff(of_terms, prepend=-1, append=-2)).astype("<i8"),
        "docs": docs,
        "codes": codes.astype(smallest_kind(len(pairs))),
        "pairs": pairs.astype("<i8"),
    }
    documents, tokens = int(weights[lengths > 0].sum()), int(weights @ lengths)
    return postings, {"documents": documents, "tokens": tokens}


class _SavedPart:
    """A file that `FlatPart.save` wrote."""

    def __init__(self, table: Path) -> None:
        self._file = table.with_suffix(_DATA)
        self.meta = json.loads(table.read_text(encoding="utf-8"))

    def read(self, name: str, begin: int = 0, end: int | None = None) -> npt.NDArray[Any]:
        """Return an array, or some of it."""
        kind, offset, length = self.meta["arrays"][name]
        count = (length if end is None else end) - begin
        return np.fromfile(self._file, kind, count, offset=offset + begin * np.dtype(kind).itemsize)


def write_flat(parts: Path, place: Path, expected: int, workers: Workers = HERE) -> None:
    """Write the postings of all parts in a directory to a new directory, a field by each worker.

    Raises InputError unless they hold the `expected` number of documents.
    """
    files = list(map(_SavedPart, sorted(parts.glob(f"*{_TABLE}"))))
    documents = [0, *accumulate(part.meta["documents"] for part in files)]
    groups = [0, *accumulate(part.meta["groups"] for part in files)]
    if documents[-1] != expected:
        raise InputError(
            f"{parts}: {documents[-1]:,} of {expected:,} documents; build the index again"
        )
    place.mkdir()
    write_ids(place / "ids", chain.from_iterable(part.read("ids").tolist() for part in files))
    members = _write_groups(files, place, groups)

    fields: dict[str, dict[str, Any]] = {}
    for part in files:
        for name, of_part in part.meta["fields"].items():
            field = fields.setdefault(name, {**of_part, "documents": 0, "tokens": 0})
            for count in ("documents", "tokens"):
                field[count] += of_part[count]

    jobs = []
    for name, field in fields.items():
        if field["shared"]:
            jobs.append(_Merge(place / name, files, groups, field["documents"], members))
        else:
            jobs.append(_Merge(place / name, files, documents, field["documents"], None))
    several = workers if len(files) > 1 else HERE  # processes take longer to start than one part
    for _ in several.map(_write_field, jobs):
        pass
    meta = {"form": FORM, "groups": groups[-1], "fields": fields}
    (place / META).write_text(json.dumps(meta), encoding="utf-8")


def _write_groups(files: Sequence[_SavedPart], place: Path, firsts: Sequence[int]) -> Integers:
    """Write the groups of documents; return how many members each has."""
    members = np.zeros(firsts[-1] + 1, np.int64)
    kind = smallest_kind(firsts[-1])
    with (place / "groups").open("wb") as out:
        for part, first in zip(files, firsts, strict=False):
            groups = part.read("groups")
            groups = np.where(groups < 0, firsts[-1], groups + first).astype(kind)
            members += np.bincount(groups, minlength=len(members))
            groups.tofile(out)
    return members


class _FieldPart:
    """The postings of a field in a part."""

    def __init__(self, part: _SavedPart, name: str, first: int, pairs: Integers) -> None:
        self._part, self._name, self._first = part, name, first
        code = np.searchsorted(pairs, part.read(f"{name}.pairs"))
        self._code = code.astype(smallest_kind(len(pairs)))
        self.postings = int(self._read("starts")[-1])

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


class _Merge(NamedTuple):
    """A field to merge."""

    file: Path  # without the ending
    parts: Sequence[_SavedPart]  # of all fields
    firsts: Sequence[int]  # the number of the first row of each part, and of all rows
    documents: int  # with this field
    members: Integers | None  # of groups, where its rows are groups


def _write_field(field: _Merge) -> None:
    """Merge the postings of a field."""
    file, members = field.file, field.members
    with_field = [
        (part, first)
        for part, first in zip(field.parts, field.firsts, strict=False)
        if file.name in part.meta["fields"]
    ]
    pairs_of_parts = [part.read(f"{file.name}.pairs") for part, _ in with_field]
    pairs = np.unique(np.concatenate(pairs_of_parts))
    np.stack([pairs >> 8, pairs & 255], axis=1).astype("<i4").tofile(f"{file}.pairs")

    parts = [_FieldPart(part, file.name, first, pairs) for part, first in with_field]
    postings = sum(part.postings for part in parts)
    kind_of_starts = smallest_kind(postings)
    kind_of_docs = smallest_kind(field.firsts[-1])
    kind_of_counts = smallest_kind(field.documents)
    count = postings // _TOGETHER + 1
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
            numbers = numbers[order]
            lengths = lengths[order]
            in_docs = in_docs[chosen]
            first = np.flatnonzero(np.diff(numbers, prepend=~numbers[:1]))
            begins = (np.cumsum(lengths) - lengths)[first]

            numbers[first].tofile(terms)
            (done + begins).astype(kind_of_starts).tofile(starts)
            in_docs.astype(kind_of_docs).tofile(docs)
            in_codes[chosen].tofile(codes)
            if members is not None and len(begins):
                np.add.reduceat(members[in_docs], begins).astype(kind_of_counts).tofile(counts)
            done += len(in_docs)
        np.array([done], kind_of_starts).tofile(starts)


def lengths_of_bytes() -> Integers:
    """Return the 256 lengths that Lucene can store (SmallFloat.byte4ToInt)."""
    rest = np.arange(256) - _EXACT
    digits, shift = rest & 7, (rest >> 3) - 1
    decoded = np.where(shift < 0, digits, (digits | 8) << np.maximum(shift, 0))
    return np.where(rest < 0, np.arange(256), _EXACT + decoded)


def noted_bytes(lengths: Integers) -> Integers:
    """Return the bytes in which Lucene stores lengths, which it rounds down."""
    return np.searchsorted(lengths_of_bytes(), lengths, side="right") - 1
