"""Arrays, and files of arrays, as several rooms use them."""

import errno
import os
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.errors import InputError, cause

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# How file systems answer that cannot make room: musl, some of FUSE.
_NO_ROOM_IN_ADVANCE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_BUCKETS = 18  # bits of their number
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd and without a pattern


def ranges(begins: Ints, lengths: Ints) -> Ints:
    """Return the numbers of each range, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(lengths.sum())


def lookup(ascending: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[np.intp], Flags]:
    """Return the place of each value in an array that is not empty, and whether it is there."""
    rows = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return rows, ascending[rows] == values


def rows_of(column: NDArray[Any], value: int) -> slice:
    """Return the rows of an ascending column that hold a value."""
    begin = bisect_left(column, value)  # NumPy would copy the column of a table.
    return slice(begin, bisect_right(column, value, begin))


def distinct(numbers: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Int32s]:
    """Return the distinct numbers, unsorted, and the place of each number among them.

    Where most numbers are repeated, this takes a third of the time of `np.unique`, which sorts them
    all: each of many buckets represents one number, and only numbers without a bucket are sorted.
    """
    buckets = (numbers * _MIX >> np.uint64(64 - _BUCKETS)).astype(np.int32)
    table = np.full(1 << _BUCKETS, -1, np.int32)
    table[buckets] = np.arange(len(numbers), dtype=np.int32)
    others = np.flatnonzero(numbers[table[buckets]] != numbers)
    filled = np.flatnonzero(table >= 0)
    in_buckets = numbers[table[filled]]
    table[filled] = np.arange(len(filled))
    places = table[buckets]
    further, places_of_others = np.unique(numbers[others], return_inverse=True)
    places[others] = len(in_buckets) + places_of_others
    return np.concatenate((in_buckets, further)), places


def smallest_kind(largest: int) -> str:
    """Return the type with the fewest bytes for numbers from 0, little-endian."""
    for kind in ("<u1", "<u2", "<i4"):
        if largest <= np.iinfo(kind).max:
            return kind
    return "<i8"


class Numbering:
    """Numbers hashes of 64 bits in the order in which they come.

    A hash and its number take 12 bytes, since a collection has some nine million formulas. They are
    kept in runs that are sorted by hash. Each run has at least twice the length of the next: a run
    that would be longer is merged with the one before it. So there are few runs to search, and a
    hash moves only as often as runs double. (A hash table would need 12 bytes for each of its
    places, a third of them empty, and a second table to grow.)
    """

    def __init__(self) -> None:
        self._count = 0
        self._runs: list[tuple[NDArray[np.uint64], Int32s]] = []

    def add(self, hashes: NDArray[np.uint64]) -> tuple[Int32s, Flags]:
        """Return the number of each hash, from 0, and whether this is its first occurrence."""
        values, places, which = np.unique(hashes, return_index=True, return_inverse=True)
        numbers = np.full(len(values), -1, np.int32)
        for run, of_run in self._runs:
            rows, held = lookup(run, values)
            numbers[held] = of_run[rows[held]]
        new = np.flatnonzero(numbers < 0)
        numbers[new[np.argsort(places[new])]] = np.arange(self._count, self._count + len(new))
        self._count += len(new)
        if len(new):
            self._append(values[new], numbers[new])
        first = np.zeros(len(hashes), np.bool_)
        first[places[new]] = True
        return numbers[which], first

    def _append(self, hashes: NDArray[np.uint64], numbers: Int32s) -> None:
        while self._runs and len(self._runs[-1][0]) < 2 * len(hashes):
            run, of_run = self._runs.pop()
            hashes, numbers = np.concatenate((run, hashes)), np.concatenate((of_run, numbers))
            order = np.argsort(hashes, kind="stable")  # merges what is sorted
            hashes, numbers = hashes[order], numbers[order]
        self._runs.append((hashes, numbers))


def load_array(path: Path) -> NDArray[Any]:
    """Map a NumPy file into memory; InputError if it is missing or damaged."""
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        _refuse(path, error)


def map_numbers(path: Path, kind: str) -> NDArray[Any]:
    """Map a file of numbers of one kind into memory; InputError if it is missing.

    What is written to the array is not written to the file.
    """
    try:
        if not path.stat().st_size:
            return np.empty(0, kind)
        return np.asarray(np.memmap(path, kind, "c"))
    except (OSError, ValueError) as error:
        _refuse(path, error)


def _refuse(path: Path, error: Exception) -> NoReturn:
    """Raise InputError for a file that cannot be mapped."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise InputError(f"{path}: {cause(error)}") from None
    raise InputError(
        f"{path}: a damaged file of an index ({' '.join(str(error).split())[:80]}); build the "
        "index again",
        overwrite=True,
    ) from None


def new_array(path: Path, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new file as an array to write to. Raises OSError if the disk has no room for it.

    Room is made before, where the system can do that: a disk that fills up under a map ends the
    process.
    """
    table = np.lib.format.open_memmap(path, "w+", kind, shape)
    if sys.platform == "darwin":
        return table

    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno not in _NO_ROOM_IN_ADVANCE:
                raise
    return table
