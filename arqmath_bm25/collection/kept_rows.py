"""The rows that each file of a folder was read into, taken over from the former import.

Beside the corpus of an import, `rows.json` has for each file what its rows depend on and which
lines of the corpus they are. A file whose rows would be the same is not read again.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from arqmath_bm25.collection.own_documents import CORPUS
from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.writing import written_json

ROWS = "rows.json"


class KeptRow(NamedTuple):
    """A line of a corpus, and the labels that are resolved when all files are read."""

    doc_id: str
    digest: str  # of title and text
    labels: Sequence[str]  # that others may refer to
    references: Sequence[str]  # labels that it refers to
    statement: str
    length: int = 0  # of the line, in bytes


class KeptFile(NamedTuple):
    """The rows of a file, with digests of its content and of the files that it takes in."""

    digest: str  # of its bytes; "" if its rows depend on those of other files
    source: str  # a digest of it with the files that it takes in; "" if it names none
    in_book: bool
    title: str  # of LaTeX; of a PDF the lines with which it begins
    latin: list[str]  # names of it and what it takes in, where nothing declares the encoding
    rows: list[KeptRow]


class FormerRows:
    """The rows of the files of an import, by the name of the file."""

    def __init__(self, store: Path | None = None, recipe: Mapping[str, Any] | None = None) -> None:
        """Read the rows of a store; of one that is damaged or read otherwise there are none."""
        self.files: dict[str, KeptFile] = {}
        self._spans: dict[str, slice] = {}  # in the corpus
        if store is None or recipe is None:
            return
        with suppress(NoIndexError, OSError):
            manifest = Manifest.read(store)
            if recipe.items() <= manifest.recipe.items() and not manifest.damage(store):
                with (store / CORPUS).open("rb") as corpus:
                    self._corpus = mmap.mmap(corpus.fileno(), 0, access=mmap.ACCESS_READ)
                self._note(written_json(store / ROWS) or {})

    def _note(self, files: Mapping[str, Any]) -> None:
        begin = 0
        for name, written in files.items():
            file = KeptFile(*written)
            rows = [KeptRow(*row) for row in file.rows]
            self.files[name] = file._replace(rows=rows)
            end = begin + sum(row.length for row in rows)
            self._spans[name] = slice(begin, end)
            begin = end

    def lines(self, name: str) -> list[bytes]:
        """Return the lines of a file, with the references of that import."""
        return self._corpus[self._spans[name]].splitlines(keepends=True)
