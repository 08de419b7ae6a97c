"""The postings of a part of all documents: what a worker makes, and `flat_build` puts together.

Words are counted by codes of the part. A formula is coded once; what stands in documents is its
number, and postings are the product of two sparse matrices, documents × formulas and formulas ×
terms. Fields that documents share are those of groups of documents, which count as often as they
have members.

A part is one file of arrays one after the other, with a table of what is where beside it.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from arqmath_bm25.analysis.term_numbers import Texts, Trees, Vocabulary, spelled
from arqmath_bm25.engines.flat_form import TABLE, code_kind, noted_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from arqmath_bm25.analysis.term_numbers import Numbers
    from arqmath_bm25.analysis.terms import Bag, Spelling
    from arqmath_bm25.engines.engine import Document
    from arqmath_bm25.engines.flat_form import Integers


class _Lists:
    """Lists of numbers, one for each document or group."""

    def __init__(self) -> None:
        self._members, self._ends = array("i"), array("q", [0])

    def add(self, row: int, members: Iterable[int]) -> None:
        """Set the list of a row; rows that are passed over have an empty one."""
        self._fill(row)
        self._members.extend(members)
        self._ends.append(len(self._members))

    def _fill(self, rows: int) -> None:
        self._ends.extend([self._ends[-1]] * (rows + 1 - len(self._ends)))

    def counted(self, rows: int, columns: int) -> sparse.csr_array:
        """Return how often each list holds each number."""
        self._fill(rows)
        members = np.frombuffer(self._members, np.int32)
        ones = np.ones(len(members), np.int32)
        ends = np.frombuffer(self._ends, np.int64)
        matrix = sparse.csr_array((ones, members, ends), (rows, columns))
        matrix.sum_duplicates()
        return matrix


class _Field:
    """The bags of a field: codes of words, and numbers of formulas."""

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.words, self.formulas = _Lists(), _Lists()
        self.spelling: Spelling | None = None  # of the formulas


class FlatPart:
    """Collects the documents of a part."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._fields: dict[str, _Field] = {}
        self._trees: defaultdict[Spelling, Trees] = defaultdict(lambda: Trees(self._vocabulary))
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
            field = self._fields.setdefault(name, _Field(shared))
            field.words.add(row, map(self._vocabulary.__getitem__, words))
            if formulas:
                field.spelling = formulas[0].spelling
                field.formulas.add(row, map(self._trees[field.spelling].number, formulas))

    def save(self, file: Path) -> tuple[Path, Path]:
        """Write the postings of all fields, and a table beside them; return both files."""
        texts = Texts.of(self._vocabulary)
        of_trees = {
            spelling: _spelled(trees, spelling, texts) for spelling, trees in self._trees.items()
        }
        groups = np.frombuffer(self._groups, np.int32)
        members = np.bincount(groups[groups >= 0], minlength=self._group + 1)
        arrays, fields = {"ids": np.array(self._ids, np.bytes_), "groups": groups}, {}
        for name, field in self._fields.items():
            weights = members if field.shared else np.ones(len(groups), np.int64)
            words = field.words.counted(len(weights), len(texts.numbers))
            numbers, matrix = texts.numbers, words
            if field.spelling:
                distinct, counts = of_trees[field.spelling]
                formulas = field.formulas.counted(len(weights), counts.shape[0])
                numbers, matrix = _side_by_side(texts.numbers, words, distinct, formulas @ counts)
            postings, statistics = _postings(numbers, matrix, weights)
            arrays |= {f"{name}.{kind}": values for kind, values in postings.items()}
            fields[name] = {"shared": field.shared, **statistics}
        places = {}
        with file.open("wb") as data:
            for name, values in arrays.items():
                places[name] = values.dtype.str, data.tell(), len(values)
                values.tofile(data)
        meta = {"documents": len(groups), "groups": len(members), "fields": fields}
        table = file.with_suffix(TABLE)
        table.write_text(json.dumps({**meta, "arrays": places}), encoding="utf-8")
        return file, table


def _spelled(trees: Trees, spelling: Spelling, texts: Texts) -> tuple[Numbers, sparse.csr_array]:
    """Return the distinct terms of all trees, and how often each tree has each of them."""
    found = [terms for batch in trees.batches() for terms in spelled(spelling, batch, texts)]
    rows = np.concatenate([rows for rows, _ in found])
    codes, numbers = pd.factorize(np.concatenate([numbers for _, numbers in found]))
    matrix = sparse.coo_array(
        (np.ones(len(rows), np.int32), (rows, codes)), (len(trees), len(numbers))
    )
    return numbers, matrix.tocsr()


def _side_by_side(
    numbers: Numbers, matrix: sparse.csr_array, others: Numbers, further: sparse.csr_array
) -> tuple[Numbers, sparse.csr_array]:
    """Put two matrices together, whose columns are terms of some numbers."""
    codes, distinct = pd.factorize(np.concatenate((numbers, others)))
    both = sparse.hstack((matrix, further), "coo")
    shape = both.shape[0], len(distinct)
    return distinct, sparse.coo_array((both.data, (both.row, codes[both.col])), shape).tocsr()


def _postings(
    numbers: Numbers, matrix: sparse.csr_array, weights: Integers
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]:
    """Return the postings of a field, in the order of the numbers of terms, and its statistics."""
    by_term = matrix.tocsc()
    there = np.flatnonzero(np.diff(by_term.indptr))
    there = there[np.argsort(numbers[there])]
    by_term = by_term[:, there]
    docs, freqs = by_term.indices, by_term.data.astype(np.int64)
    lengths = np.bincount(docs, freqs, len(weights)).astype(np.int64)
    codes, pairs = pd.factorize(256 * freqs + noted_bytes(lengths)[docs])
    postings = {
        "terms": numbers[there],
        "starts": by_term.indptr.astype("<i8"),
        "docs": docs.astype("<i4"),
        "codes": codes.astype(code_kind(len(pairs))),
        "pairs": pairs,
    }
    documents, tokens = int(weights[lengths > 0].sum()), int(weights @ lengths)
    return postings, {"documents": documents, "tokens": tokens}
