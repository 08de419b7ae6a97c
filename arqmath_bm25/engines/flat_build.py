"""Writes flat postings: the terms and postings of a finished Lucene index as files to be mapped.

Below `NAME.flat/`, beside the index NAME, numbers little-endian; all terms of all fields have one
numbering, in which those of a field follow each other in the order of their bytes:

* `terms`: an empty line, then a line for each term; `blocks`: for every 64th term of a field, the
  place of the line's end before it, and that of the last one (int64);
* `starts`: the first posting of each term, and the number of all (int64);
* `docs`: for each posting Lucene's number of the document (int32), as in `NAME.ids.npy`;
* `codes`: for each posting the row of `pairs` (uint16, or uint32 if there are too many rows);
* `pairs`: every combination that there is of how often a document holds a term, and the length of
  its field as Lucene notes it, in one byte (int32). So k1 and b can be chosen when searching;
* `flat.json`: the version of this form, and the statistics of the fields.
"""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.engines.engine import flat_place
from arqmath_bm25.engines.lucene.ids import read_ids
from arqmath_bm25.engines.lucene.postings import write_postings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from arqmath_bm25.engines.lucene.postings import FieldPostings

    Integers = npt.NDArray[np.integer]

FORM: Final = 1
META: Final = "flat.json"
BLOCK: Final = 64  # terms
_TOGETHER: Final = 1 << 20  # postings in memory
_EXACT: Final = 24  # lengths below which Lucene's byte is the length


def write_flat(index: Path) -> None:
    """Write the flat postings of a Lucene index beside it, replacing those that are there.

    They are complete or absent. Raises InputError if Java cannot write them.
    """
    place = flat_place(index)
    building = place.with_name(f".{place.name}.building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    try:
        fields = write_postings(index, building)
        _write_places(building, fields)
        _write_codes(building, fields, len(read_ids(index)))
        meta = {"form": FORM, "fields": [field._asdict() for field in fields]}
        (building / META).write_text(json.dumps(meta), encoding="utf-8")
        for left in ("lengths", "freqs"):
            (building / left).unlink()
        shutil.rmtree(place, ignore_errors=True)
        building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def mapped(file: Path, kind: str) -> Integers:
    """Map a file of integers into memory."""
    if not file.stat().st_size:
        return np.empty(0, kind)
    return np.asarray(np.memmap(file, kind, "r"))


def code_kind(pairs: int) -> str:
    """Return the type of codes for a number of pairs."""
    return "<u2" if pairs <= 1 << 16 else "<u4"


def lengths_of_bytes() -> Integers:
    """Return the 256 lengths that Lucene can note (SmallFloat.byte4ToInt)."""
    rest = np.arange(256) - _EXACT
    digits, shift = rest & 7, (rest >> 3) - 1
    decoded = np.where(shift < 0, digits, (digits | 8) << np.maximum(shift, 0))
    return np.where(rest < 0, np.arange(256), _EXACT + decoded)


def _noted_bytes(lengths: Integers) -> Integers:
    """Return the bytes that Lucene notes lengths in: the longest that are no longer."""
    return (np.searchsorted(lengths_of_bytes(), lengths, side="right") - 1).astype(np.uint8)


def _write_places(place: Path, fields: Sequence[FieldPostings]) -> None:
    """Write where postings and blocks of terms begin."""
    starts = np.concatenate([[0], np.cumsum(mapped(place / "lengths", "<i4"), dtype="<i8")])
    starts.astype("<i8").tofile(place / "starts")
    ends = np.flatnonzero(mapped(place / "terms", "u1") == ord("\n"))
    begins = [0, *(field.terms for field in fields)]
    heads = [np.arange(a, b, BLOCK) for a, b in pairwise(begins)]
    ends[np.concatenate([*heads, [begins[-1]]])].astype("<i8").tofile(place / "blocks")


def _write_codes(place: Path, fields: Sequence[FieldPostings], documents: int) -> None:
    """Write `codes` and `pairs`."""
    freqs = mapped(place / "freqs", "<i4")
    seen = np.zeros(int(freqs.max(initial=0)) + 1, np.bool_)
    for start in range(0, len(freqs), _TOGETHER):
        seen[freqs[start : start + _TOGETHER]] = True
    rank = np.cumsum(seen) - 1  # of a frequency among those that there are
    norms = _norms(place, fields, documents)
    found = np.zeros(256 * int(rank[-1] + 1), np.bool_)
    for key in _keys(place, fields, rank, norms):
        found[key] = True
    keys = np.flatnonzero(found)
    number = (np.cumsum(found) - 1).astype(code_kind(len(keys)))
    with (place / "codes").open("wb") as file:
        for key in _keys(place, fields, rank, norms):
            number[key].tofile(file)
    pairs = np.stack([np.flatnonzero(seen)[keys >> 8], keys & 255], axis=1)
    pairs.astype("<i4").tofile(place / "pairs")


def _norms(place: Path, fields: Sequence[FieldPostings], documents: int) -> list[Integers]:
    """Return, for each field, the noted length of every document."""
    docs, freqs = mapped(place / "docs", "<i4"), mapped(place / "freqs", "<i4")
    norms = []
    for pieces in _pieces(place, fields):
        lengths = np.zeros(documents, np.int64)
        for piece in pieces:
            np.add.at(lengths, docs[piece], freqs[piece])
        norms.append(_noted_bytes(lengths))
    return norms


def _keys(
    place: Path, fields: Sequence[FieldPostings], rank: Integers, norms: Sequence[Integers]
) -> Iterator[Integers]:
    """Yield, for some postings at a time, 256 · rank of the frequency + noted length."""
    docs, freqs = mapped(place / "docs", "<i4"), mapped(place / "freqs", "<i4")
    for pieces, norm in zip(_pieces(place, fields), norms, strict=True):
        for piece in pieces:
            yield 256 * rank[freqs[piece]] + norm[docs[piece]]


def _pieces(place: Path, fields: Sequence[FieldPostings]) -> Iterator[list[slice]]:
    """Yield, for each field, its postings in pieces that fit into memory."""
    starts = mapped(place / "starts", "<i8")
    begin = 0
    for end in (int(starts[field.terms]) for field in fields):
        cuts = range(begin, end, _TOGETHER)
        yield [slice(cut, min(cut + _TOGETHER, end)) for cut in cuts]
        begin = end
