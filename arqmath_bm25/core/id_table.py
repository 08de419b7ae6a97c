"""Ids of documents as files: the ids of rows, and the rows of ids.

An id takes its own length and at most 24 bytes, however long the longest is. The files, by their
endings, numbers little-endian:

* `.text`: the ids in UTF-8, one after the other; `.starts`: where each begins, and the length of
  all (`smallest_kind` of it);
* `.hashes`: their hashes, ascending (uint64); `.rows`: the row of each hash (`smallest_kind` of
  their number).
"""

from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arqmath_bm25.core.arrays import Ints, smallest_kind
from arqmath_bm25.core.errors import InputError, check_found
from arqmath_bm25.core.tested import read_numbers, write_checksums

ENDINGS = ("text", "starts", "hashes", "rows")
_HASH = 8  # bytes


def write_ids(path: Path, ids: Iterable[bytes]) -> int:
    """Write the table of some ids, in UTF-8, to files beginning with `path`; return their number.

    Raises InputError if two have the same hash: they are the same id.
    """
    starts = array("q", [0])
    hashes = bytearray()
    with _file(path, "text").open("wb") as text:
        for doc_id in ids:
            text.write(doc_id)
            starts.append(starts[-1] + len(doc_id))
            hashes += _hash(doc_id)

    numbers = np.frombuffer(hashes, "<u8")
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    twice = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(twice):
        row = int(order[twice[0] + 1])
        raise InputError(f"{path}: row {row + 1}: its id is that of row {order[twice[0]] + 1}")

    np.asarray(starts, smallest_kind(starts[-1])).tofile(_file(path, "starts"))
    ascending.tofile(_file(path, "hashes"))
    order.astype(smallest_kind(len(numbers))).tofile(_file(path, "rows"))
    write_checksums(*[_file(path, ending) for ending in ENDINGS])
    return len(numbers)


class IdTable:
    """The ids of documents, by row, and their rows, by id. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Read the files that `write_ids` wrote; NoIndexError if they are not as written."""
        self._text = read_numbers(_file(path, "text"), "u1")
        self._starts = read_numbers(_file(path, "starts"), smallest_kind(len(self._text)))
        self._hashes = read_numbers(_file(path, "hashes"), "<u8")
        self._rows = read_numbers(_file(path, "rows"), smallest_kind(len(self._hashes)))

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._rows)

    def of(self, rows: npt.NDArray[np.integer[Any]]) -> list[bytes]:
        """Return the ids of some rows, in UTF-8."""
        begins = self._starts[rows].tolist()
        ends = self._starts[rows + 1].tolist()
        text = self._text.data  # whose slices take a fifth of the time of an array's
        return [text[begin:end].tobytes() for begin, end in zip(begins, ends, strict=True)]

    def rows(self, ids: Sequence[str]) -> Ints:
        """Return the row of each id; InputError that names the ids that are not in the table."""
        rows = self.find(ids)
        missing = np.flatnonzero(rows < 0).tolist()
        check_found([ids[number] for number in missing])
        return rows

    def find(self, ids: Sequence[str]) -> Ints:
        """Return the row of each id, -1 for one that is not in the table."""
        encoded = [doc_id.encode() for doc_id in ids]
        found = np.full(len(ids), -1, np.int64)
        if not encoded or not len(self):
            return found

        hashes = np.frombuffer(b"".join(map(_hash, encoded)), "<u8")
        places = np.searchsorted(self._hashes, hashes) % len(self)
        held = np.flatnonzero(self._hashes[places] == hashes)
        rows = self._rows[places[held]].astype(np.int64)
        for number, row, doc_id in zip(held.tolist(), rows.tolist(), self.of(rows), strict=True):
            if doc_id == encoded[number]:
                found[number] = row
        return found


def _file(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


def _hash(doc_id: bytes) -> bytes:
    return blake2b(doc_id, digest_size=_HASH).digest()
