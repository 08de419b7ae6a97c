"""Build a Lucene index from JSON lines by Anserini, and count the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.lucene.ids import open_reader, write_ids
from arqmath_bm25.engines.lucene.jvm import java_class

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BUFFER_MB: Final = 512  # of documents in memory before a segment is written


def index_documents(
    documents: Path, index: Path, fields: Sequence[str], expected: int, threads: int
) -> None:
    """Index every JSON line in the directory `documents` by Anserini, and count the result.

    `fields` come besides `contents`. Anserini drops the rest of a file without a word when a record
    is bad, so InputError is raised if the index does not hold `expected` documents.
    """
    java_class("io.anserini.index.IndexCollection").main([
        "-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator",
        "-input", str(documents.resolve()),  # Java keeps the directory that it was started in
        "-index", str(index.resolve()), "-threads", str(threads), "-memoryBuffer", str(_BUFFER_MB),
        "-fields", *fields, "-pretokenized", "-quiet",
    ])  # fmt: skip
    finish(index, expected, "the disk has room")


def finish(index: Path, expected: int, check: str) -> None:
    """Write the ids of a new index; InputError, with what to `check`, unless all documents came."""
    found = count_documents(index)
    if found != expected:
        raise InputError(
            f"{index}: Lucene indexed {found:,} of {expected:,} documents. Check that {check} and "
            "build again; please report it if that does not help."
        )
    write_ids(index)


def count_documents(index: Path) -> int:
    """Return the number of documents in a Lucene index; 0 if there is none."""
    if not any(index.glob("segments_*")):
        return 0
    reader = open_reader(index)
    try:
        return int(reader.numDocs())
    finally:
        reader.close()
