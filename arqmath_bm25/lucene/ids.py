"""The ids of documents by the numbers that Lucene gave them: written once, when an index is built.

Lucene keeps ids as doc values. To ask for each hit's would cost as much as the search, so they
stand beside the index as one NumPy file, which is mapped into memory.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arqmath_bm25.lucene.jvm import java_cast, java_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

_TOGETHER: Final = 200_000  # ids that pass from Java at a time


def open_reader(index: Path) -> Any:
    """Open a Lucene index; the reader is a Java object and must be closed."""
    directory = java_class("org.apache.lucene.store.FSDirectory").open(
        java_class("java.nio.file.Paths").get(str(index))
    )
    reader_class = java_class("org.apache.lucene.index.DirectoryReader")
    return reader_class.open(java_cast("org.apache.lucene.store.Directory", directory))


def write_ids(index: Path) -> None:
    """Write the ids of all documents of a Lucene index beside it."""
    reader = open_reader(index)
    try:
        blocks = list(_blocks(reader))
    finally:
        reader.close()
    np.save(_file(index), np.concatenate([np.array([], np.bytes_), *blocks]))


def read_ids(index: Path) -> npt.NDArray[np.bytes_]:
    """Map the ids, in UTF-8, in the order of Lucene's numbers."""
    return np.asarray(np.load(_file(index), mmap_mode="r", allow_pickle=False))


def _file(index: Path) -> Path:
    return index.with_name(f"{index.name}.ids.npy")


def _blocks(reader: Any) -> Iterator[npt.NDArray[np.bytes_]]:
    # A call for each of millions of documents would take a minute, so Java goes through them by
    # itself: the method that reads an id becomes, as a method handle, the function that a stream
    # of numbers is mapped by.
    class_of = java_class("java.lang.Class").forName
    read = java_class("java.lang.invoke.MethodHandles").publicLookup().findVirtual(
        class_of("org.apache.lucene.queries.function.FunctionValues"),
        "strVal",
        java_class("java.lang.invoke.MethodType").methodType(
            class_of("java.lang.String"), java_class("java.lang.Integer").TYPE
        ),
    )  # fmt: skip
    function = "java.util.function.IntFunction"
    as_function = java_class("java.lang.invoke.MethodHandleProxies").asInterfaceInstance
    sources = java_class("org.apache.lucene.queries.function.valuesource.BytesRefFieldSource")("id")
    numbers = java_class("java.util.stream.IntStream")
    to_json = java_class("com.fasterxml.jackson.databind.ObjectMapper")().writeValueAsString
    for segment in reader.leaves().toArray():
        id_of = as_function(class_of(function), read.bindTo(sources.getValues(None, segment)))
        count = segment.reader().maxDoc()  # nothing is ever deleted from an index
        for begin in range(0, count, _TOGETHER):
            some = numbers.range(begin, min(begin + _TOGETHER, count))
            found = some.mapToObj(java_cast(function, id_of)).toList()
            yield np.array([doc_id.encode() for doc_id in json.loads(to_json(found))])
