"""Builds a Lucene index from JSON lines by Anserini, here or on other machines, and counts it.

Workers on other machines build shards. Each shard is built in a local directory by the same
Anserini, then copied to a shared disk. Joining copies the segments of the shards without merging
them, so the statistics of every term, and all scores, equal those of an index built at once; the
order of documents differs, which changes nothing.

Lucene keeps ids as doc values. Reading the id of each hit there would cost as much as the search,
so the ids of all documents are written beside the index when it is built, in the order of Lucene's
numbers (core/id_table.py).
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.lucene.jvm import java_cast, java_class

_BUFFER_MB = 128  # of documents in memory before a segment is written
_SHARD = 1 << 28  # bytes of JSON lines
_TOGETHER = 200_000  # ids that pass from Java at a time
_END = "\0"  # of an id; no id holds it


def index_documents(
    documents: Path, index: Path, fields: Sequence[str], expected: int, threads: int
) -> None:
    """Index every JSON line in the directory `documents` by Anserini, and count the result.

    `fields` are indexed in addition to `contents`. Anserini silently drops the rest of a file
    after a bad record, so InputError is raised if the index does not hold `expected` documents.
    """
    # The paths are absolute, since Java keeps the working directory of its start.
    options = [
        "-collection", "JsonCollection",
        "-generator", "DefaultLuceneDocumentGenerator",
        "-input", str(documents.resolve()),
        "-index", str(index.resolve()),
        "-threads", str(threads),
        "-memoryBuffer", str(_BUFFER_MB),
        "-fields", *fields,
        "-pretokenized",
        "-quiet",
    ]  # fmt: skip
    java_class("io.anserini.index.IndexCollection").main(options)
    _finish(index, expected)


def _finish(index: Path, expected: int) -> None:
    """Write the table of ids of a new index; InputError unless it has all documents."""
    documents = count_documents(index)
    if documents != expected:
        raise InputError(
            f"{index}: Lucene indexed {documents:,} of {expected:,} documents. Check that the disk "
            "has room and all machines see the same directory, and build again; please report it "
            "if that does not help."
        )
    with closing(open_reader(index)) as reader:
        write_ids(_ids(index), chain.from_iterable(_blocks(reader)))


def count_documents(index: Path) -> int:
    """Return the number of documents in a Lucene index; 0 if there is none."""
    if not any(index.glob("segments_*")):
        return 0
    with closing(open_reader(index)) as reader:
        return int(reader.numDocs())


def index_parts(
    documents: Path, index: Path, fields: Sequence[str], expected: int, workers: Workers
) -> None:
    """Index every JSON line in `documents` by local or remote workers; see `index_documents`.

    Remote workers need `documents` and the directory of `index` on a shared disk. Raises
    InputError as `index_documents` does.
    """
    if not workers.remote:
        # The workers' caches of the analysis take as much memory as Lucene.
        workers.close()
        index_documents(documents, index, fields, expected, workers.count)
        return

    # Anserini writes no index of an empty file.
    parts = [part for part in documents.absolute().glob("*.jsonl") if part.stat().st_size]
    parts.sort()
    size = sum(part.stat().st_size for part in parts)

    # The number of shards depends on the documents only, not on the number of workers.
    count = min(-(-size // _SHARD), len(parts))
    parts_of_shards = [parts[number::count] for number in range(count)]
    temporary = TemporaryDirectory(
        prefix="shards.",
        dir=index.parent.absolute(),
        ignore_cleanup_errors=True,
    )
    with temporary as directory:
        build = partial(_build_shard, Path(directory), fields)
        shards = list(workers.map(build, parts_of_shards))
        _join(shards, index)
    _finish(index, expected)


def _build_shard(directory: Path, fields: Sequence[str], parts: Sequence[Path]) -> Path:
    """Build a shard of some files of JSON lines, and copy it into a new directory."""
    count = 0
    with TemporaryDirectory() as local:
        documents = Path(local, "documents")
        index = Path(local, "index")
        documents.mkdir()
        for part in parts:
            with part.open("rb") as lines:
                count += sum(1 for _ in lines)
            link = documents / part.name
            link.symlink_to(part)

        index_documents(documents, index, fields, count, threads=1)
        # Each of two tries at one job has its own copy; the one that is returned is used.
        copy = directory / uuid4().hex
        return Path(shutil.copytree(index, copy))


def _join(shards: Sequence[Path], index: Path) -> None:
    """Copy the segments of all shards into a new index."""
    config = java_class("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(java_class("org.apache.lucene.index.NoMergePolicy").INSTANCE)
    writer_class = java_class("org.apache.lucene.index.IndexWriter")
    with ExitStack() as stack:
        directories = []
        for path in (index, *shards):
            directory = closing(open_directory(path))
            directories.append(stack.enter_context(directory))

        target, *sources = directories
        with closing(writer_class(target, config)) as writer:
            writer.addIndexes(*sources)


def open_directory(path: Path) -> Any:
    """Return Lucene's view of a directory; it must be closed."""
    java_path = java_class("java.nio.file.Paths").get(str(path.resolve()))
    directory = java_class("org.apache.lucene.store.FSDirectory").open(java_path)
    return java_cast("org.apache.lucene.store.Directory", directory)


def open_reader(index: Path) -> Any:
    """Open a Lucene index; the reader is a Java object and must be closed."""
    reader_class = java_class("org.apache.lucene.index.DirectoryReader")
    return reader_class.open(open_directory(index))


def read_ids(index: Path) -> IdTable:
    """Return the ids in the order of Lucene's numbers."""
    return IdTable(_ids(index))


def _ids(index: Path) -> Path:
    return index.with_name(f"{index.name}.ids")


def _blocks(reader: Any) -> Iterator[list[bytes]]:
    """Yield the ids of all documents, in blocks.

    A call for each of millions of documents would take a minute. So Java loops over them itself:
    method handles are combined to a loop that appends every id, and a separator, to one text.
    """
    class_of = java_class("java.lang.Class").forName
    text = class_of("java.lang.String")
    builder = class_of("java.lang.StringBuilder")
    number = java_class("java.lang.Integer").TYPE
    values = class_of("org.apache.lucene.queries.function.FunctionValues")

    handles = java_class("java.lang.invoke.MethodHandles")
    signature = java_class("java.lang.invoke.MethodType").methodType
    find = handles.publicLookup().findVirtual
    read = find(values, "strVal", signature(text, number))
    append = find(builder, "append", signature(builder, text))
    append_end = handles.insertArguments(append, 1, _END)

    new_list = java_class("java.util.ArrayList")
    new_builder = java_class("java.lang.StringBuilder")
    source_class = java_class("org.apache.lucene.queries.function.valuesource.BytesRefFieldSource")
    source = source_class("id")
    for segment in reader.leaves().toArray():
        id_of = read.bindTo(source.getValues(None, segment))
        append_id = handles.filterArguments(append, 1, id_of)
        step = handles.filterReturnValue(append_id, append_end)

        # Nothing is ever deleted from an index, so all numbers below maxDoc are documents.
        count = segment.reader().maxDoc()
        for begin in range(0, count, _TOGETHER):
            loop = handles.countedLoop(
                handles.constant(number, begin),
                handles.constant(number, min(begin + _TOGETHER, count)),
                handles.constant(builder, new_builder()),
                step,
            )
            joined = loop.invokeWithArguments(new_list()).toString()
            ids = joined.encode().split(_END.encode())
            yield ids[:-1]
