"""The table of documents of an index, and what the next index of a folder takes over from it.

A saved file changes few documents. The others are found in the former index by the digests of
their rows, with their ids, labels and postings. What is counted over all documents is counted again
for those that were removed and those that are new.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from arqmath_bm25.collection.imports import rows_of
from arqmath_bm25.collection.own_documents import CORPUS, read_documents, read_row
from arqmath_bm25.core.arrays import lookup
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.manifest import LOCAL_INDEX, Manifest
from arqmath_bm25.core.stores import keep, stores
from arqmath_bm25.core.tested import read_bytes, read_numbers, write_checksums
from arqmath_bm25.engines.engine import flat_directory
from arqmath_bm25.engines.flat_build import ROWS, write_remaining
from arqmath_bm25.tasks import labels, written_words
from arqmath_bm25.tasks.unreadable import UNREADABLE
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.core.arrays import Flags, Ints
    from arqmath_bm25.tasks.task import IndexedTask

IDS = "documents.ids"  # core/id_table.py
# Of the row of each document: offset, length and a digest (int64).
TABLE = "documents.rows"
_COUNTS = "documents.counts"  # JSON


def row_digest(row: bytes) -> int:
    """Return a number of 64 bits for the content of a row."""
    return int.from_bytes(hashlib.sha256(row).digest()[:8], "little", signed=True)


def write_table(
    corpus: Path, directory: Path, former: FormerIndex | None, kinds: Counter[str]
) -> Ints:
    """Write where the row of each document is; return its offset, length and digest.

    Rows of the former index are not read: it has their ids and labels. The kinds of the others are
    counted.
    """
    rows = array("q")
    ids = []
    lines = []
    if former is None:
        for document, (offset, row) in read_documents(corpus):
            rows.extend((offset, len(row), row_digest(row)))
            ids.append(document.doc_id.encode())
            lines.append(labels.labels_of(document))
            kinds[document.kind_under("auto")] += 1
    else:
        offset = 0
        with corpus.open("rb") as file:
            for row in file:
                digest = row_digest(row)
                rows.extend((offset, len(row), digest))
                offset += len(row)
                known = former.known.get(digest)
                if known is None:
                    document = read_row(corpus, row)
                    known = document.doc_id.encode(), labels.labels_of(document)
                    kinds[document.kind_under("auto")] += 1
                ids.append(known[0])
                lines.append(known[1])

    write_ids(directory / IDS, ids)
    labels.write_labels(lines, directory)
    written = np.array(rows, "<i8")
    written.tofile(directory / TABLE)
    write_checksums(directory / TABLE)
    return written.reshape(-1, 3)


def write_counts(counts: Counter[str], directory: Path) -> None:
    """Write the counts of all documents, for the next index."""
    (directory / _COUNTS).write_text(json.dumps(counts, sort_keys=True), encoding="ascii")


class FormerIndex:
    """An index by the same settings, of rows of which most may be the same."""

    def __init__(self, store: Path, corpus: Path) -> None:
        """Read the tables of a store; NoIndexError if they are not as they were written."""
        keep(store, self)
        self.corpus = corpus
        self.rows = read_numbers(store / TABLE, "<i8").reshape(-1, 3)
        self.counts: Counter[str] = Counter(json.loads((store / _COUNTS).read_bytes()))
        self.words = Counter(written_words.read_counts(store))
        self._index = flat_directory(store / LOCAL_INDEX)
        ids = IdTable(store / IDS)
        named = ids.of(np.arange(len(ids)))
        lines = read_bytes(store / labels.FILE).tobytes().decode().split("\n")
        digests = self.rows[:, 2].tolist()
        self.known = dict(zip(digests, zip(named, lines, strict=True), strict=True))

    @classmethod
    def of(cls, task: IndexedTask, collection: CollectionFiles) -> Self | None:
        """Return a former index of a folder by the settings of a task; None if there is none."""
        recipe = task.recipe
        if collection.chosen:
            recipe = recipe | {"chosen": collection.chosen}
        for store in stores(collection.directory / task.name):
            with suppress(InputError, OSError):  # it is damaged, or of another engine
                manifest = Manifest.read(store)
                corpus = rows_of(manifest.sources, collection.import_folder)
                if corpus is None or corpus / CORPUS == collection.documents_file:
                    continue
                if (manifest.version, manifest.recipe) != (__version__, recipe):
                    continue
                if UNREADABLE in manifest.counts or manifest.damage(store, read_all=True):
                    continue
                return cls(store, corpus / CORPUS)
        return None

    def is_found_among(self, rows: Ints) -> bool:
        """Find its documents among others; False if few are left, or if they have another order."""
        order = np.argsort(rows[:, 2])
        places, is_there = lookup(rows[order, 2], self.rows[:, 2])
        self.places = np.where(is_there, order[places], -1)  # of each, -1 for one that is gone
        left = self.places[is_there]
        return 2 * len(left) >= len(rows) and bool(np.all(np.diff(left) > 0))

    def write_remaining(self, is_new: Flags, directory: Path) -> None:
        """Write the postings of the documents that were found as a part; new ones come after it."""
        is_left = self.places >= 0
        write_remaining(self._index, is_left, directory / "former.flat")
        all_rows = np.concatenate((self.places[is_left], np.flatnonzero(is_new)))
        all_rows.astype(np.int32).tofile(directory / ROWS)
