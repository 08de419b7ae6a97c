"""The ids of documents by the numbers that Lucene gave them: written once, when an index is built.

Lucene keeps ids as doc values. To ask for each hit's would cost as much as the search, so they
stand beside the index as one NumPy file, which is mapped into memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from arqmath_bm25.core.arrays import load_array
from arqmath_bm25.engines.lucene.jvm import java_cast, java_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

_TOGETHER: Final = 200_000  # ids that pass from Java at a time
_END: Final = "\0"  # of an id; no NumPy string ends in it


def open_directory(path: Path) -> Any:
    """Return Lucene's view of a directory; it must be closed."""
    place = java_class("java.nio.file.Paths").get(str(path.resolve()))
    directory = java_class("org.apache.lucene.store.FSDirectory").open(place)
    return java_cast("org.apache.lucene.store.Directory", directory)


def open_reader(index: Path) -> Any:
    """Open a Lucene index; the reader is a Java object and must be closed."""
    return java_class("org.apache.lucene.index.DirectoryReader").open(open_directory(index))


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
    return load_array(_file(index))


def _file(index: Path) -> Path:
    return index.with_name(f"{index.name}.ids.npy")


def _blocks(reader: Any) -> Iterator[npt.NDArray[np.bytes_]]:
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
            yield np.array(ids.encode().split(_END.encode())[:-1])
