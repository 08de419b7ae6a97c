"""Builds flat postings (flat.py): workers write the postings of parts, then all parts are merged.

In a part, words are codes, and each distinct formula is coded once: a document holds the number of
a formula, which the terms of the formula replace when terms are counted. Fields that several
documents share belong to a group of documents, and are weighted by the size of the group. A part is
one file: a line of JSON with a table of offsets, then the arrays, one after the other.

When few documents have changed, a part has what the former index has of the others, and the file
`rows` the row of each document, in the order of the parts.

A field is merged in ranges of term numbers. These numbers are hashes, so ranges of the same width
have about equally many terms, and memory stays flat.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arqmath_bm25.analysis.formula_numbers import spelled
from arqmath_bm25.analysis.term_numbers import Numbers, Places, Trees, Vocabulary, term_numbers
from arqmath_bm25.analysis.terms import Bag, Spelling
from arqmath_bm25.core.arrays import Flags, distinct, ranges, smallest_kind
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.tested import write_checksums
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.engines.engine import Document

Integers = npt.NDArray[np.integer]

FORM = 5
META = "flat.json"
ROWS = "rows"  # beside parts: the row of each of their documents (int32)
PART = ".flat"  # ending of the file of a part
_TOGETHER = 1 << 21  # postings in memory
_SMALL = 1 << 26  # bytes of parts that are merged before other processes would have started
_NUMBERS = 1 << 64
_EXACT = 24  # Lucene's byte of a length below this is the length itself.


class _FieldBags:
    """The bags of a field, as ranges of the words and of the formulas of the part."""

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.words = array("q")  # row, begin, end for each bag
        self.formulas = array("q")  # likewise
        self.spelling: Spelling | None = None  # of the formulas


def _rows_and_positions(bags: array[int]) -> tuple[Places, Places]:
    """Return the row of each word, or formula, of the bags, and its position in the part."""
    rows, begins, ends = np.frombuffer(bags, np.int64).reshape(-1, 3).T
    lengths = ends - begins
    return np.repeat(rows, lengths), ranges(begins, lengths)


class FlatPart:
    """Collects the documents of a part."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._words = array("i")  # of all bags, as codes
        self._fields: dict[str, _FieldBags] = {}
        self._trees: defaultdict[Spelling, Trees] = defaultdict(Trees)
        self._ids = list[bytes]()
        self._groups = array("i")  # of each document; -1 of none
        self._shared: Mapping[str, Bag] = {}
        self._group = -1

    def add(self, document: Document) -> None:
        """Add the next document."""
        group = -1
        if document.shared:
            if document.shared is not self._shared:
                self._shared = document.shared
                self._group += 1
                self._add(document.shared, self._group, shared=True)
            group = self._group
        self._add(document.own, len(self._ids), shared=False)
        self._ids.append(document.doc_id.encode())
        self._groups.append(group)

    def _add(self, bags: Mapping[str, Bag], row: int, shared: bool) -> None:
        for name, (words, formulas) in bags.items():
            field = self._fields.get(name)
            if field is None:
                field = _FieldBags(shared)
                self._fields[name] = field
            if words:
                begin = len(self._words)
                self._words.extend(map(self._vocabulary.__getitem__, words))
                field.words.extend((row, begin, len(self._words)))
            if formulas:
                field.spelling = formulas[0].spelling
                trees = self._trees[field.spelling]
                begin = trees.added
                trees.add(formulas)
                field.formulas.extend((row, begin, trees.added))

    def save(self, file: Path) -> None:
        """Write the postings of all fields."""
        groups = np.frombuffer(self._groups, np.int32)
        in_group = groups[groups >= 0]
        group_sizes = np.bincount(in_group, minlength=self._group + 1)
        single = np.ones(len(groups), np.int64)

        vocabulary = term_numbers(list(self._vocabulary))
        words = vocabulary[np.frombuffer(self._words, np.int32)]
        terms_of_trees = {}
        for spelling, trees in self._trees.items():
            spelled_trees = list[tuple[Places, Numbers]]()
            for batch in trees.batches:
                spelled_trees += spelled(spelling, batch)
            trees_of_terms, terms = map(np.concatenate, zip(*spelled_trees, strict=True))
            order = np.argsort(trees_of_terms, kind="stable")
            starts = np.searchsorted(trees_of_terms[order], np.arange(len(trees) + 1))
            terms_of_trees[spelling] = starts, terms[order]

        fields = {}
        statistics = {}
        for name, field in self._fields.items():
            weights = single
            if field.shared:
                weights = group_sizes
            terms, rows = self._terms_and_rows(field, words, terms_of_trees)
            fields[name], counts = _postings(terms, rows, weights)
            statistics[name] = {"shared": field.shared, **counts}

        _save(file, self._ids, groups, fields, statistics)

    def _terms_and_rows(
        self,
        field: _FieldBags,
        words: Numbers,
        terms_of_trees: Mapping[Spelling, tuple[Places, Numbers]],
    ) -> tuple[Numbers, Places]:
        """Return the numbers of all terms of a field, and the row of each."""
        rows, positions = _rows_and_positions(field.words)
        terms = words[positions]
        if not field.spelling:
            return terms, rows

        formula_rows, positions = _rows_and_positions(field.formulas)
        trees = self._trees[field.spelling].members[positions]
        starts, tree_terms = terms_of_trees[field.spelling]
        begins = starts[trees]
        lengths = starts[trees + 1] - begins

        formula_terms = tree_terms[ranges(begins, lengths)]
        all_terms = np.concatenate((terms, formula_terms))
        all_rows = np.concatenate((rows, np.repeat(formula_rows, lengths)))
        return all_terms, all_rows


def _save(
    file: Path,
    ids: Sequence[bytes],
    groups: Integers,
    fields: Mapping[str, Mapping[str, npt.NDArray[Any]]],
    statistics: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write the arrays of a part after a table of their places."""
    arrays: dict[str, npt.NDArray[Any]] = {"ids": np.array(ids, np.bytes_), "groups": groups}
    for name, postings in fields.items():
        for kind, values in postings.items():
            arrays[f"{name}.{kind}"] = values
    places = {}  # type, offset and length of each array; one comes after the other
    offset = 0
    for name, values in arrays.items():
        places[name] = values.dtype.str, offset, len(values)
        offset += values.nbytes
    table = {
        "documents": len(ids),
        "groups": int(groups.max(initial=-1)) + 1,
        "fields": statistics,
        "arrays": places,
    }
    with file.open("wb") as part:
        part.write(json.dumps(table).encode() + b"\n")
        for values in arrays.values():
            values.tofile(part)


def write_remaining(index: Path, is_left: Flags, part: Path) -> None:
    """Write the postings of the documents that are left in an index, as a part.

    The index was written by this version, and its documents are in no groups.
    """
    meta = json.loads((index / META).read_text(encoding="utf-8"))
    rows = np.cumsum(is_left) - 1
    ids = IdTable(index / "ids").of(np.flatnonzero(is_left))
    fields = {}
    statistics = {}
    for name in meta["fields"]:
        pairs = np.fromfile(index / f"{name}.pairs", "<i4").reshape(-1, 2).astype("<i8")
        docs = np.fromfile(index / f"{name}.docs", smallest_kind(len(rows)))
        codes = np.fromfile(index / f"{name}.codes", smallest_kind(len(pairs)))
        starts = np.fromfile(index / f"{name}.starts", smallest_kind(len(docs)))
        terms = np.fromfile(index / f"{name}.terms", "<u8")

        of_left = is_left[docs]
        docs = docs[of_left]
        codes = codes[of_left]
        starts = np.append(0, np.cumsum(of_left))[starts]
        lengths = np.diff(starts)
        is_used = np.bincount(codes, minlength=len(pairs)) > 0
        used = np.flatnonzero(is_used)
        codes = (np.cumsum(is_used) - 1)[codes]
        fields[name] = {
            "terms": terms[lengths > 0],
            "starts": np.append(0, np.cumsum(lengths[lengths > 0])).astype("<i8"),
            "docs": rows[docs].astype("<i4"),
            "codes": codes.astype(smallest_kind(len(used))),
            "pairs": (pairs[:, 0] << 8 | pairs[:, 1])[used],
        }
        documents = int(np.count_nonzero(np.bincount(docs)))
        tokens = int(pairs[used, 0][codes].sum())
        statistics[name] = {"shared": False, "documents": documents, "tokens": tokens}
    _save(part, ids, np.full(len(ids), -1, np.int32), fields, statistics)


def _postings(
    terms: Numbers, rows: Integers, weights: Integers
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]:
    """Return the postings of a field, in the order of the numbers of terms, and its statistics.

    `terms` and `rows` have an element for each occurrence of a term in the field; `weights` has
    the number of documents of each row.
    """
    numbers, codes = distinct(terms)
    order = np.argsort(numbers)
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.arange(len(numbers))

    # A key holds a term and a row, so equal keys are the occurrences of one posting.
    keys = ranks[codes] << 32 | rows
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    freqs = np.diff(first, append=len(keys))
    ranks_of_postings = keys[first] >> 32
    docs = keys[first].astype("<i4")
    starts = np.flatnonzero(np.diff(ranks_of_postings, prepend=-1, append=-2))

    lengths = np.bincount(docs, freqs, len(weights)).astype(np.int64)
    # Lucene rounds lengths down to those that it can store.
    bytes_of_lengths = np.searchsorted(lengths_of_bytes(), lengths, side="right") - 1
    freqs_and_lengths = 256 * freqs + bytes_of_lengths[docs]
    pairs, codes = distinct(freqs_and_lengths.astype(np.uint64))

    postings = {
        "terms": numbers[order],
        "starts": starts.astype("<i8"),
        "docs": docs,
        "codes": codes.astype(smallest_kind(len(pairs))),
        "pairs": pairs.astype("<i8"),
    }
    statistics = {
        "documents": int(weights[lengths > 0].sum()),
        "tokens": int(weights @ lengths),
    }
    return postings, statistics


class _SavedPart:
    """A file that `FlatPart.save` wrote."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with file.open("rb") as part:
            self.meta = json.loads(part.readline())
            self._start = part.tell()  # of the arrays

    def read(self, name: str, begin: int = 0, end: int | None = None) -> npt.NDArray[Any]:
        """Return an array, or a range of its elements."""
        kind, offset, length = self.meta["arrays"][name]
        if end is None:
            end = length
        offset += self._start + begin * np.dtype(kind).itemsize
        return np.fromfile(self._file, kind, end - begin, offset=offset)


def write_flat(parts: Path, directory: Path, expected: int, workers: Workers = HERE) -> None:
    """Merge the postings of all parts into a new directory, a field by each worker.

    Raises InputError unless the parts hold the `expected` number of documents.
    """
    files = [_SavedPart(file) for file in sorted(parts.glob(f"*{PART}"))]
    count = sum(part.meta["documents"] for part in files)
    if count != expected:
        raise InputError(f"{parts}: {count:,} of {expected:,} documents; build the index again")

    directory.mkdir()
    ids: Iterable[bytes] = chain.from_iterable(part.read("ids").tolist() for part in files)
    rows = np.arange(count, dtype=np.int32)
    is_changed = (parts / ROWS).exists()
    if is_changed:
        rows = np.fromfile(parts / ROWS, np.int32)
        in_parts = list(ids)
        ids = map(in_parts.__getitem__, np.argsort(rows).tolist())
    write_ids(directory / "ids", ids)
    members = _write_groups(files, directory)
    groups = len(members) - 1

    fields = dict[str, dict[str, Any]]()
    for part in files:
        for name, statistics in part.meta["fields"].items():
            totals = fields.setdefault(name, {**statistics, "documents": 0, "tokens": 0})
            totals["documents"] += statistics["documents"]
            totals["tokens"] += statistics["tokens"]
    documents_of_parts = _split(rows, files, "documents")
    groups_of_parts = _split(np.arange(groups, dtype=np.int32), files, "groups")
    merges = []
    for name, statistics in fields.items():
        total = statistics["documents"]
        merge = _Merge(directory / name, files, documents_of_parts, total, is_changed, None)
        if statistics["shared"]:
            merge = merge._replace(rows=groups_of_parts, members=members)
        merges.append(merge)

    if is_changed or sum(file.stat().st_size for file in parts.iterdir()) < _SMALL:
        workers = HERE
    for _ in workers.map(_write_field, merges):
        pass

    meta = {"form": FORM, "groups": groups, "fields": fields}
    (directory / META).write_text(json.dumps(meta), encoding="utf-8")


def _split(rows: Integers, files: Sequence[_SavedPart], kind: str) -> list[Integers]:
    """Return the rows of the documents, or groups, of each part."""
    ends = np.cumsum([part.meta[kind] for part in files], dtype=np.int64)
    return np.split(rows, ends[:-1])


def _write_groups(files: Sequence[_SavedPart], directory: Path) -> Integers:
    """Write the group of each document; return how many members each group has, and none."""
    none = sum(part.meta["groups"] for part in files)
    first = 0
    of_parts = [np.empty(0, np.int32)]
    for part in files:
        groups = part.read("groups")
        of_parts.append(np.where(groups < 0, none, groups + first))
        first += part.meta["groups"]
    of_documents = np.concatenate(of_parts)
    of_documents.astype(smallest_kind(none)).tofile(directory / "groups")
    write_checksums(directory / "groups")
    return np.bincount(of_documents, minlength=none + 1)


class _FieldPart:
    """The postings of a field in a part."""

    def __init__(self, part: _SavedPart, name: str, rows: Integers, pairs: Integers) -> None:
        self._part = part
        self._name = name
        self._rows = rows
        code = np.searchsorted(pairs, part.read(f"{name}.pairs"))
        self._code = code.astype(smallest_kind(len(pairs)))
        _, _, self.postings = part.meta["arrays"][f"{name}.docs"]

    def cut(self, numbers: Numbers) -> list[int]:
        """Return where ranges of numbers begin among the terms, and the end."""
        terms = self._part.read(f"{self._name}.terms")
        begins = np.searchsorted(terms, numbers).tolist()
        return [0, *begins, len(terms)]

    def read(self, begin: int, end: int) -> tuple[Numbers, Integers, Integers, Integers]:
        """Return a range of terms, how many postings each has, and their documents and codes."""
        read = self._part.read
        name = self._name
        terms = read(f"{name}.terms", begin, end)
        starts = read(f"{name}.starts", begin, end + 1)
        docs = read(f"{name}.docs", starts[0], starts[-1])
        codes = read(f"{name}.codes", starts[0], starts[-1])
        return terms, np.diff(starts), self._rows[docs], self._code[codes]


class _Merge(NamedTuple):
    """A field to merge."""

    file: Path  # without the ending
    parts: Sequence[_SavedPart]  # of all fields
    rows: Sequence[Integers]  # of the documents, or groups, of each part
    documents: int  # with this field
    is_changed: bool  # whether the rows of a part lie among those of others
    members: Integers | None  # how many documents each group has, if the rows are groups


def _write_field(field: _Merge) -> None:
    """Merge the postings of a field."""
    name = field.file.name
    files = []
    for file, rows in zip(field.parts, field.rows, strict=True):
        if name in file.meta["fields"]:
            files.append((file, rows))
    pairs = np.unique(np.concatenate([file.read(f"{name}.pairs") for file, _ in files]))
    columns = np.stack([pairs >> 8, pairs & 255], axis=1)
    columns.astype("<i4").tofile(f"{field.file}.pairs")

    # Each range of term numbers has about as many postings as fit into memory.
    parts = [_FieldPart(file, name, rows, pairs) for file, rows in files]
    postings = sum(part.postings for part in parts)
    count = postings // _TOGETHER + 1
    width = _NUMBERS // count
    cuts = np.array([number * width for number in range(1, count)], np.uint64)
    ranges_of_parts = [pairwise(part.cut(cuts)) for part in parts]

    kinds = {
        "terms": "<u8",
        "starts": smallest_kind(postings),
        "docs": smallest_kind(sum(map(len, field.rows))),
        "codes": smallest_kind(len(pairs)),
        "counts": smallest_kind(field.documents),
    }
    written = 0
    for ranges_of_terms in zip(*ranges_of_parts, strict=True):
        pieces = []
        for part, (begin, end) in zip(parts, ranges_of_terms, strict=True):
            pieces.append(part.read(begin, end))
        merged = _merged(field.is_changed, *map(np.concatenate, zip(*pieces, strict=True)))
        if field.members is not None:
            counts = np.add.reduceat(field.members[merged["docs"]], merged["starts"])
            merged["counts"] = counts
        merged["starts"] += written
        written += len(merged["docs"])
        for ending, numbers in merged.items():
            with Path(f"{field.file}.{ending}").open("ab") as out:
                numbers.astype(kinds[ending]).tofile(out)

    with Path(f"{field.file}.starts").open("ab") as out:
        np.array([written], kinds["starts"]).tofile(out)  # the end of the last term
    write_checksums(*field.file.parent.glob(f"{name}.*"))


def _merged(
    is_changed: bool, terms: Numbers, lengths: Places, docs: Integers, codes: Integers
) -> dict[str, npt.NDArray[Any]]:
    """Return the terms of a range, each as often as parts have it, once, with their postings."""
    order = np.argsort(terms, kind="stable")  # Documents ascend only in a stable order.
    begins = np.cumsum(lengths) - lengths
    terms = terms[order]
    lengths = lengths[order]
    postings = ranges(begins[order], lengths)
    docs = docs[postings]
    codes = codes[postings]

    first = np.flatnonzero(np.diff(terms, prepend=~terms[:1]))
    begins = np.cumsum(lengths) - lengths
    starts = begins[first]
    if is_changed:
        counts = np.diff(starts, append=len(docs))
        order = np.argsort(np.repeat(np.arange(len(starts)), counts) << 32 | docs, kind="stable")
        docs = docs[order]
        codes = codes[order]
    return {"terms": terms[first], "starts": starts, "docs": docs, "codes": codes}


def lengths_of_bytes() -> Integers:
    """Return the 256 lengths that Lucene can store (SmallFloat.byte4ToInt)."""
    values = np.arange(256)
    rest = values - _EXACT
    digits = rest & 7
    shift = (rest >> 3) - 1
    shifted = (digits | 8) << np.maximum(shift, 0)
    decoded = np.where(shift < 0, digits, shifted)
    return np.where(rest < 0, values, _EXACT + decoded)
