"""Builds a Lucene index from JSON lines by Anserini, here or on other machines, and counts it.

Workers on other machines build shards. Each is built in a local directory by the same Anserini,
copied to where all machines see it. Joining copies the shards' segments as they are, without
merging, so that the statistics of every term, and with them all scores, are those of an index
built at once; the order of documents differs, and decides nothing.

Lucene keeps ids as doc values. To ask for each hit's would cost as much as the search, so those of
all documents are written beside the index when it is built, in the order of Lucene's numbers
(core/id_table.py).
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.lucene.jvm import java_cast, java_class

_BUFFER_MB: Final = 128  # of documents in memory before a segment is written
_SHARD: Final = 1 << 28  # bytes of JSON lines
_TOGETHER: Final = 200_000  # ids that pass from Java at a time
_END: Final = "\0"  # of an id; no id holds it


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
    """Write the ids of a new index beside it; InputError unless it has all documents."""
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
    """Do what `index_documents` does, by workers wherever they are; InputError as there.

    Remote workers need `documents` and the directory of `index` on a disk that they all share.
    """
    if not workers.remote:
        workers.close()  # what they remember of the analysis takes as much memory as Lucene
        index_documents(documents, index, fields, expected, workers.count)
        return
    # Anserini writes no index of no document.
    parts = [part for part in sorted(documents.absolute().glob("*.jsonl")) if part.stat().st_size]
    # As many as the documents want, whoever is there; each is a segment or more.
    count = min(-(-sum(part.stat().st_size for part in parts) // _SHARD), len(parts))
    with TemporaryDirectory(
        prefix="shards.", dir=index.parent.absolute(), ignore_cleanup_errors=True
    ) as place:
        build = partial(_build, Path(place), fields)
        _join(list(workers.map(build, [parts[number::count] for number in range(count)])), index)
    _finish(index, expected)


def _build(place: Path, fields: Sequence[str], parts: Sequence[Path]) -> Path:
    """Build a shard of some files of JSON lines, and copy it into a directory in `place`."""
    count = 0
    with TemporaryDirectory() as local:
        documents = Path(local, "documents")
        documents.mkdir()
        for part in parts:
            with part.open("rb") as lines:
                count += sum(1 for _ in lines)
            (documents / part.name).symlink_to(part)
        index_documents(documents, Path(local, "index"), fields, count, threads=1)
        # Of two tries at one job each has a copy of its own; the one that is returned counts.
        return Path(shutil.copytree(Path(local, "index"), place / uuid4().hex))


def _join(shards: Sequence[Path], index: Path) -> None:
    """Copy the segments of all shards into a new index."""
    config = java_class("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(java_class("org.apache.lucene.index.NoMergePolicy").INSTANCE)
    with ExitStack() as stack:
        directories = [
            stack.enter_context(closing(open_directory(path))) for path in (index, *shards)
        ]
        writer = java_class("org.apache.lucene.index.IndexWriter")(directories[0], config)
        with closing(writer):
            writer.addIndexes(*directories[1:])


def open_directory(path: Path) -> Any:
    """Return Lucene's view of a directory; it must be closed."""
    place = java_class("java.nio.file.Paths").get(str(path.resolve()))
    directory = java_class("org.apache.lucene.store.FSDirectory").open(place)
    return java_cast("org.apache.lucene.store.Directory", directory)


def open_reader(index: Path) -> Any:
    """Open a Lucene index; the reader is a Java object and must be closed."""
    return java_class("org.apache.lucene.index.DirectoryReader").open(open_directory(index))


def read_ids(index: Path) -> IdTable:
    """Return the ids in the order of Lucene's numbers."""
    return IdTable(_ids(index))


def _ids(index: Path) -> Path:
    return index.with_name(f"{index.name}.ids")


def _blocks(reader: Any) -> Iterator[list[bytes]]:
    # A call for each of millions of documents would take a minute, so Java goes through them by
    # itself: method handles are put together to a loop that appends every id to one text.
    class_of = java_class("java.lang.Class").forName
    text, builder = class_of("java.lang.String"), class_of("java.lang.StringBuilder")
    number = java_class("java.lang.Integer").TYPE
    handles = java_class("java.lang.invoke.MethodHandles")
    method = java_class("java.lang.invoke.MethodType").methodType
    find = handles.publicLookup().findVirtual
    values = class_of("org.apache.lucene.queries.function.FunctionValues")
    read = find(values, "strVal", method(text, number))
    append = find(builder, "append", method(builder, text))
    end = handles.insertArguments(append, 1, _END)
    sources = java_class("org.apache.lucene.queries.function.valuesource.BytesRefFieldSource")("id")
    for segment in reader.leaves().toArray():
        id_of = read.bindTo(sources.getValues(None, segment))
        step = handles.filterReturnValue(handles.filterArguments(append, 1, id_of), end)
        count = segment.reader().maxDoc()  # nothing is ever deleted from an index
        for begin in range(0, count, _TOGETHER):
            loop = handles.countedLoop(
                handles.constant(number, begin),
                handles.constant(number, min(begin + _TOGETHER, count)),
                handles.constant(builder, java_class("java.lang.StringBuilder")()),
                step,
            )
            ids = loop.invokeWithArguments(java_class("java.util.ArrayList")()).toString()
            yield ids.encode().split(_END.encode())[:-1]
