"""Files of an index that are tested when they are read: a disk may lose a bit and say nothing.

Beside such a file NAME stands NAME.crc: the CRC-32 of each block of 4,096 bytes (uint32,
little-endian). What is needed as a whole is read and tested at once. Of a file of which a query
needs little, a block is tested when it is first read. What was tested is in the memory of this
process from then on, whatever becomes of the file.

Lucene tests the checksums of its own files when it merges them, not when it searches. These files
are read whole, for their digests, when an index is first opened (manifest.py).
"""

from array import array
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arqmath_bm25.core.arrays import map_numbers, ranges
from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.manifest import CHECKSUMS, store_of

_BLOCK = 4096  # bytes; numbers of 1, 2, 4 and 8 bytes never lie in two


def write_checksums(*paths: Path) -> None:
    """Write the checksums of files that are complete."""
    for path in paths:
        content = map_numbers(path, "u1")
        _checksums(content).tofile(_beside(path))


def read_bytes(path: Path) -> NDArray[np.uint8]:
    """Read a whole file; NoIndexError if it is not as it was written."""
    try:
        content = np.fromfile(path, "u1")
        written = np.fromfile(_beside(path), "<u4")
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror})")
    if not np.array_equal(_checksums(content), written):
        _refuse(path)
    return content


def read_numbers(path: Path, kind: str) -> NDArray[Any]:
    """Read a whole file of numbers of one kind; NoIndexError if it is not as it was written."""
    content = read_bytes(path)
    whole = len(content) - len(content) % np.dtype(kind).itemsize
    return content[:whole].view(kind)


def read_array(path: Path) -> NDArray[Any]:
    """Read a NumPy file; NoIndexError if it is not as it was written."""
    content = read_bytes(path)
    header = BytesIO(content[:_BLOCK].tobytes())
    np.lib.format.read_magic(header)
    shape, _, kind = np.lib.format.read_array_header_1_0(header)
    return content[header.tell() :].view(kind).reshape(shape)


def write_arrays(path: Path, *arrays: ArrayLike) -> None:
    """Write arrays as NumPy files, one after the other: how a zip looks depends on the Python."""
    with path.open("wb") as file:
        for each in arrays:
            np.save(file, each, allow_pickle=False)
    write_checksums(path)


def read_arrays(path: Path) -> list[NDArray[Any]]:
    """Read what `write_arrays` wrote; NoIndexError if it is not as it was written."""
    content = read_bytes(path)
    file = BytesIO(content.tobytes())
    arrays = []
    while file.tell() < len(content):
        arrays.append(np.load(file, allow_pickle=False))
    return arrays


class TestedNumbers:
    """A mapped file of numbers, to be tested where it is read. Thread-safe."""

    def __init__(self, path: Path, kind: str) -> None:
        """Map a file with its checksums; NoIndexError if one of them is missing."""
        self._path = path
        self._bytes = map_numbers(path, "u1")
        self._checksums = map_numbers(_beside(path), "<u4")
        if len(self._checksums) != -(-len(self._bytes) // _BLOCK):
            _refuse(path)
        self._untested = np.ones(len(self._checksums), np.bool_)
        width = np.dtype(kind).itemsize
        self._together = _BLOCK // width  # numbers in a block
        self.numbers = self._bytes[: len(self._bytes) // width * width].view(kind)

    def test(self, begins: NDArray[np.integer], ends: NDArray[np.integer]) -> None:
        """Test the blocks of ranges of numbers; NoIndexError if one is not as it was written."""
        first = np.asarray(begins // self._together, np.int64)
        last = np.asarray(-(-ends // self._together), np.int64)
        blocks = ranges(first, np.maximum(last - first, 0))
        for block in np.unique(blocks[self._untested[blocks]]).tolist():
            content = self._bytes[block * _BLOCK : (block + 1) * _BLOCK]
            # A page that is written to is a copy of this process.
            content[:] = content.copy()
            if crc32(content.data) != self._checksums[block]:
                _refuse(self._path)
            self._untested[block] = False


def _checksums(content: NDArray[np.uint8]) -> NDArray[np.uint32]:
    checksums = array("I")
    for begin in range(0, len(content), _BLOCK):
        checksums.append(crc32(content.data[begin : begin + _BLOCK]))
    return np.array(checksums, "<u4")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}{CHECKSUMS}")


def _refuse(path: Path, fault: str = "has other content than was written") -> NoReturn:
    """Raise NoIndexError for a file of an index."""
    store = store_of(path)
    raise NoIndexError(f"{store}: this index is damaged: {path.name} {fault}", store.parent.name)
