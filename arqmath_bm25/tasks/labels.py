"""Labels by which documents are chosen: type, tags and the folders of the file.

The file `documents.labels` of a store has a line for each document, in the order of the rows: its
labels, as `type:theorem`, `tag:algebra` or `in:notes/week1`, separated by TABs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.collection.source_files import READERS
from arqmath_bm25.core.tested import read_bytes, write_checksums

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arqmath_bm25.collection.own_documents import UserDocument
    from arqmath_bm25.core.arrays import Flags, Ints

FILE = "documents.labels"
_TYPED = re.compile(r"(?<!\S)(?:type|tag|in):\S+")
_BLANKS = re.compile(r"\s+")
_TYPES = {".ipynb": "notebook", ".pdf": "PDF"}


def labels_of(document: UserDocument) -> str:
    """Return the labels of a document as a line."""
    labels = [f"tag:{_BLANKS.sub('-', tag.strip())}" for tag in document.tags]
    if document.type:
        labels.append(f"type:{_BLANKS.sub('-', document.type)}")
    name, _, _ = document.doc_id.partition("#")
    if "." in name:  # ids of rows seldom are names of files
        file = PurePosixPath(name)
        ending = file.suffix.lower()
        if ending in _TYPES:
            labels.append(f"type:{_TYPES[ending]}")
        if ending in READERS:
            labels += [f"in:{folder}" for folder in file.parents[:-1]]
    return "\t".join(dict.fromkeys(labels))


def write_labels(lines: Iterable[str], directory: Path) -> None:
    """Write the labels of all documents."""
    path = directory / FILE
    path.write_text("\n".join(lines), encoding="utf-8")
    write_checksums(path)


class Labels:
    """The labels of all documents, by row; there are none if a task writes no such file."""

    def __init__(self, directory: Path) -> None:
        """Read the labels of a store; NoIndexError if they are not as written."""
        lines = []
        if (directory / FILE).exists():
            lines = read_bytes(directory / FILE).tobytes().decode().split("\n")
        by_row = [line.split("\t") if line else [] for line in lines]
        labels = list(chain.from_iterable(by_row))
        self._number_of = dict(zip(dict.fromkeys(labels), count()))
        self._count = len(by_row)
        # The number of each label of each document, and the row of that document.
        self._numbers = np.array(list(map(self._number_of.__getitem__, labels)), np.int64)
        self._rows = np.repeat(np.arange(self._count), list(map(len, by_row)))
        self.known = {label.casefold(): label for label in labels}

    def chosen(self, query: str) -> tuple[str, list[str]]:
        """Return a query without the labels that are typed in it, and these; others are text."""
        chosen = []
        for typed in _TYPED.findall(query):
            label = self.known.get(typed.casefold())
            if label:
                chosen.append(label)
                query = query.replace(typed, "", 1)
        if self.known:
            query = " ".join(query.split())
        return query, chosen

    def passing(self, chosen: Iterable[str]) -> Flags:
        """Return of each document whether it has one of the chosen labels of each kind."""
        kinds = defaultdict(list)
        for label in chosen:
            kinds[label.partition(":")[0]].append(self._number_of[label])
        passing = np.full(self._count, True)
        for numbers in kinds.values():
            rows = self._rows[np.isin(self._numbers, numbers)]
            passing &= np.bincount(rows, minlength=self._count) > 0
        return passing

    def counts(self, rows: Ints) -> Counter[str]:
        """Return how many of some documents have each label."""
        is_counted = np.bincount(rows, minlength=self._count) > 0
        numbers = self._numbers[is_counted[self._rows]]
        counts = np.bincount(numbers, minlength=len(self._number_of))
        return +Counter(dict(zip(self._number_of, counts.tolist(), strict=True)))
