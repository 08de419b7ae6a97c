"""Builds a Lucene index from JSON lines by Anserini, here or on other machines, and counts it.

Workers on other machines build shards. Each is built in a local directory by the same Anserini,
copied to where all machines see it and renamed when it is complete. Joining copies the shards'
segments as they are, without merging, so that the statistics of every term, and with them all
scores, are those of an index built at once; the order of documents differs, and decides nothing.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import uuid4

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.lucene.ids import open_directory, open_reader, write_ids
from arqmath_bm25.engines.lucene.jvm import java_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.core.workers import Workers

_BUFFER_MB: Final = 512  # of documents in memory before a segment is written
_SHARD: Final = 1 << 28  # bytes of JSON lines


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
    _finish(index, expected)


def _finish(index: Path, expected: int) -> None:
    """Write the ids of a new index; InputError unless all documents came."""
    documents = count_documents(index)
    if documents != expected:
        raise InputError(
            f"{index}: Lucene indexed {documents:,} of {expected:,} documents. Check that the disk "
            "has room and all machines see the same directory, and build again; please report it "
            "if that does not help."
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


class _Shard(NamedTuple):
    """A directory to be made, and the files of JSON lines whose documents it is to hold."""

    directory: Path
    parts: Sequence[Path]
    fields: Sequence[str]


def index_parts(
    documents: Path, index: Path, fields: Sequence[str], expected: int, workers: Workers
) -> None:
    """Do what `index_documents` does, by workers wherever they are; InputError as there.

    Remote workers need `documents` and the directory of `index` on a disk that they all share.
    """
    if not workers.remote:
        index_documents(documents, index, fields, expected, workers.count)
        return
    parts = sorted(documents.absolute().glob("*.jsonl"))
    # As many as the documents want, whoever is there; each is a segment or more.
    count = min(-(-sum(part.stat().st_size for part in parts) // _SHARD), len(parts))
    with TemporaryDirectory(
        prefix="shards.", dir=index.parent.absolute(), ignore_cleanup_errors=True
    ) as place:
        shards = [
            _Shard(Path(place, f"{number:05}"), parts[number::count], fields)
            for number in range(count)
        ]
        _join(list(filter(None, workers.map(_build, shards))), index)
    _finish(index, expected)


def _build(shard: _Shard) -> Path | None:
    """Build a shard; None if it has no document, as Anserini then writes no index."""
    count = 0
    with TemporaryDirectory() as local:
        documents = Path(local, "documents")
        documents.mkdir()
        for part in shard.parts:
            with part.open("rb") as lines:
                count += sum(1 for _ in lines)
            (documents / part.name).symlink_to(part)
        if not count:
            return None
        # One directory may be written by two tries; only a complete one gets the name.
        index_documents(documents, Path(local, "index"), shard.fields, count, threads=1)
        copy = shard.directory.with_name(uuid4().hex)
        shutil.copytree(Path(local, "index"), copy)
    try:
        copy.rename(shard.directory)
    except OSError:
        if not shard.directory.exists():
            raise
        shutil.rmtree(copy)  # another try was first
    return shard.directory


def _join(shards: Sequence[Path], index: Path) -> None:
    """Copy the segments of all shards into a new index."""
    config = java_class("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(java_class("org.apache.lucene.index.NoMergePolicy").INSTANCE)
    directories = [open_directory(path) for path in (index, *shards)]
    writer = java_class("org.apache.lucene.index.IndexWriter")(directories[0], config)
    try:
        writer.addIndexes(*directories[1:])
    finally:
        writer.close()
        for directory in directories:
            directory.close()
