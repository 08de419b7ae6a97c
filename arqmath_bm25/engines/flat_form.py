"""The form of flat postings: terms and postings as files to be mapped into memory.

Of a directory NAME.flat/, numbers little-endian:

* `ids.npy`: the ids of the documents; `groups`: for each the group that shares fields with it, or
  the number of all groups (int32);
* for each field FIELD.terms: the numbers of its terms, ascending (uint64); FIELD.starts: where the
  postings of each begin, and the number of all (int64); FIELD.docs: for each posting the document,
  or of a shared field the group (int32); FIELD.codes: the row of `pairs` (uint16, or uint32 if
  there are too many rows); of a shared field FIELD.counts: how many documents have each term
  (int32);
* `pairs`: every combination that there is of how often a document holds a term, and the length of
  its field as Lucene notes it, in one byte (int32). So k1 and b can be chosen when searching;
* `flat.json`: the version of this form, and the statistics of the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    Integers = npt.NDArray[np.integer]

FORM: Final = 2
META: Final = "flat.json"
FLAT, TABLE = ".flat", ".table"  # endings of the files of a part
_EXACT: Final = 24  # lengths below which Lucene's byte is the length


def lengths_of_bytes() -> Integers:
    """Return the 256 lengths that Lucene can note (SmallFloat.byte4ToInt)."""
    rest = np.arange(256) - _EXACT
    digits, shift = rest & 7, (rest >> 3) - 1
    decoded = np.where(shift < 0, digits, (digits | 8) << np.maximum(shift, 0))
    return np.where(rest < 0, np.arange(256), _EXACT + decoded)


def noted_bytes(lengths: Integers) -> Integers:
    """Return the bytes that Lucene notes lengths in: the longest that are no longer."""
    return np.searchsorted(lengths_of_bytes(), lengths, side="right") - 1


def code_kind(pairs: int) -> str:
    """Return the type of codes for a number of pairs."""
    return "<u2" if pairs <= 1 << 16 else "<u4"


def mapped(file: Path, kind: str) -> npt.NDArray[Any]:
    """Map a file of numbers into memory."""
    if not file.stat().st_size:
        return np.empty(0, kind)
    return np.asarray(np.memmap(file, kind, "r"))
