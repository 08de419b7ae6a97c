"""Labels by which documents are chosen: type, tags and the folders of the file.

The file `documents.labels` of a store has a line for each document, in the order of the rows: its
labels, as `type:theorem`, `tag:algebra` or `in:notes/week1`, separated by TABs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from arqmath_bm25.collection.source_files import READERS
from arqmath_bm25.core.tested import read_bytes, write_checksums

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from arqmath_bm25.collection.own_documents import UserDocument

FILE: Final = "documents.labels"
_TYPED: Final = re.compile(r"(?<!\S)(?:type|tag|in):\S+")
_BLANKS: Final = re.compile(r"\s+")
_TYPES: Final = {".ipynb": "notebook", ".pdf": "PDF"}


def labels_of(document: UserDocument) -> str:
    """Return the labels of a document as a line."""
    labels = [f"tag:{_BLANKS.sub('-', tag.strip())}" for tag in document.tags]
    if document.type:
        labels.append(f"type:{_BLANKS.sub('-', document.type)}")
    file = PurePosixPath(document.doc_id.partition("#")[0])
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
        lines = list[str]()
        if (directory / FILE).exists():
            lines = read_bytes(directory / FILE).tobytes().decode().split("\n")
        self._of = [line.split("\t") if line else [] for line in lines]
        self.known = {label.casefold(): label for labels in self._of for label in labels}

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

    def passing(self, rows: Iterable[int], chosen: Iterable[str]) -> list[bool]:
        """Return of each row whether it has one of the chosen labels of each kind."""
        kinds = defaultdict(set)
        for label in chosen:
            kinds[label.partition(":")[0]].add(label)
        return [all(kinds[kind].intersection(self._of[row]) for kind in kinds) for row in rows]

    def counts(self, rows: Iterable[int]) -> Counter[str]:
        """Return how many of some rows have each label."""
        return Counter(label for row in rows for label in self._of[row])
