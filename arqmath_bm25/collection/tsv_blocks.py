"""TSV files as blocks of rows, whose columns are NumPy arrays: read fast.

What a block holds is what the csv module reads, row by row and field by field. NumPy finds the
TABs, line feeds and quotes in half a megabyte. Quotes open and close by turns; one that opens
right behind one that closes is a doubled quote inside a field. If all others stand where a field
begins or ends, TABs and line feeds between an opening and a closing quote belong to the field, and
the rest of them separate fields. A block with anything else in it (a quote within an unquoted
field, a carriage return that ends a line alone, an empty line, a row with more or fewer columns, a
file that ends within quotes) is read by the csv module and rewritten in the regular form.

Of numbers and short words eight bytes are read at once, as one integer, so that all columns of ids
cost no more than the search for separators. Text is decoded only where it is asked for.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.arrays import ranges
from arqmath_bm25.core.reading import open_bytes

Offsets = NDArray[np.int64]
Words = NDArray[np.uint64]
Marks = NDArray[np.bool_]
_SIZE: Final = 1 << 19  # bytes read at a time; with less, the calls would cost more than the work
_TAB, _LF, _CR, _QUOTE = b'\t\n\r"'
_WORD: Final = 8  # bytes read as one integer
_PAD: Final = b"\n" * _WORD  # around a block: what stands there ends a line, as the outside does
_DIGITS: Final = 2 * _WORD  # of the longest number
# A row of ids within a field: its quote is not closed, and what was read is not what was written.
_SWALLOWED: Final = r"\n(?:q_)?[0-9]+\t(?:[AB]\.)?[0-9]+\t[0-9]*\t"
SWALLOWED: Final = re.compile(_SWALLOWED)
_SWALLOWED_BYTES: Final = re.compile(_SWALLOWED.encode())


class BrokenRowError(Exception):
    """Some row has another number of columns than the header, holds others, or is not UTF-8."""


def read_blocks(path: Path, names: Sequence[str], size: int = _SIZE) -> Iterator[Block]:
    """Yield the rows below the header of a TSV with the columns `names`, some at a time.

    Memory is several times `size`, or the longest row. Raises BrokenRowError; `read_rows` of
    `collection.formulas` says what is wrong.
    """
    rest = b""
    with open_bytes(path) as file:
        file.readline()
        last = False
        while not last:
            wanted = max(size, len(rest))  # twice as much if there was no row in it
            chunk = file.read(wanted)
            last = len(chunk) < wanted
            block, rest = _find(names, rest, chunk, last) or _rewrite(names, rest + chunk, last)
            if len(block):
                yield block


def _find(
    names: Sequence[str], rest: bytes, chunk: bytes, last: bool
) -> tuple[Block, bytes] | None:
    """Split `rest + chunk` into whole rows and a rest; None if they are not regular.

    They begin with a row and, if this is not the `last` chunk of the file, may end anywhere.
    """
    end = b"\n" if last and (chunk or rest)[-1:] not in (b"", b"\n") else b""
    data = b"".join((_PAD, rest, chunk, end, _PAD))
    every = np.frombuffer(data, np.uint8)
    text = every[_WORD:-_WORD]
    ends_line = text == _LF
    separators, line_feeds = np.flatnonzero(ends_line | (text == _TAB)), np.count_nonzero(ends_line)
    quotes = np.flatnonzero(text == _QUOTE)
    if len(quotes) % 2 and last:
        return None
    opens, closes = _outer(quotes, len(text))
    before, after = every[opens + (_WORD - 1)], every[closes + (_WORD + 1)]
    if not (np.isin(before, (_TAB, _LF)).all() and np.isin(after, (_TAB, _LF, _CR)).all()):
        return None
    quoted, behind = np.searchsorted(separators, opens), np.searchsorted(separators, closes)
    if len(inside := ranges(quoted, behind - quoted)):
        for field in np.flatnonzero(behind > quoted).tolist():
            if _SWALLOWED_BYTES.search(data, opens[field] + _WORD, closes[field] + _WORD):
                raise BrokenRowError
        line_feeds -= np.count_nonzero(text[separators[inside]] == _LF)
        separators = np.delete(separators, inside)
        quoted = np.searchsorted(separators, opens)
    fields = line_feeds * len(names)
    if fields > len(separators):
        return None
    ends = separators[:fields].reshape(-1, len(names))
    if (text[ends[:, -1]] != _LF).any():  # else there is no line feed anywhere else
        return None
    used = int(ends[-1, -1]) + 1 if fields else 0
    if _has_lone_return(text[:used], ends[:, -1], opens, closes):
        return None
    _check_text(memoryview(data)[_WORD : used + _WORD])
    return Block(names, data, ends, quoted[quoted < fields]), data[used + _WORD : -_WORD]


def _has_lone_return(
    text: NDArray[np.uint8], line_ends: Offsets, opens: Offsets, closes: Offsets
) -> bool:
    """Return whether a carriage return stands outside quotes and not before the line feed."""
    returns = text == _CR
    if np.count_nonzero(returns) == np.count_nonzero(returns[line_ends - 1]):
        return False
    lone = np.flatnonzero(returns)
    lone = lone[text[lone + 1] != _LF]  # the last byte of the text is a line feed
    return bool((np.searchsorted(opens, lone) == np.searchsorted(closes, lone)).any())


def _rewrite(names: Sequence[str], data: bytes, last: bool) -> tuple[Block, bytes]:
    """Return what `_find` does, from what the csv module reads in `data`."""
    csv.field_size_limit(sys.maxsize)
    whole = data if last else data[: data.rfind(b"\n") + 1]
    _check_text(whole)
    lines = list(io.StringIO(whole.decode(), newline=""))
    reader = csv.reader(lines, delimiter="\t")
    rows, ends = [], [0]  # of each row: how many lines were read at its end
    for row in reader:
        rows.append(row)
        ends.append(reader.line_num)
    if rows and not last:  # perhaps this row goes on
        rows.pop()
        ends.pop()
    rows = [row for row in rows if row]  # an empty line has no field
    if any(len(row) != len(names) or any(map(SWALLOWED.search, row)) for row in rows):
        raise BrokenRowError
    written = io.StringIO(newline="")
    csv.writer(written, delimiter="\t", quoting=csv.QUOTE_ALL).writerows(rows)
    regular = _find(names, b"", written.getvalue().encode(), last=True)
    if regular is None:
        raise AssertionError(rows)
    return regular[0], data[len("".join(lines[: ends[-1]]).encode()) :]


def _outer(quotes: Offsets, end: int) -> tuple[Offsets, Offsets]:
    """Tell opening from closing quotes of fields; the last field may extend to the `end`."""
    opens, closes = quotes[0::2], quotes[1::2]
    if len(opens) > len(closes):
        closes = np.append(closes, end)
    outer = np.ones(len(opens) + 1, np.bool_)
    outer[1:-1] = closes[:-1] + 1 != opens[1:]
    return opens[outer[:-1]], closes[outer[1:]]


def _check_text(data: bytes | memoryview) -> None:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        raise BrokenRowError from None


class Block:
    """Some rows of a TSV. Columns that it lacks are empty in every row."""

    def __init__(self, names: Sequence[str], data: bytes, ends: Offsets, quoted: Offsets) -> None:
        """`data` has rows of the columns `names`, and a pad at both ends.

        `ends` are the places of the separators, counted from the first byte behind the pad, in a
        row for each of the TSV. `quoted` are the fields in quotes, as indexes of the flat `ends`.
        """
        self._names, self._data, self._ends, self._quoted = names, data, ends, quoted
        self._bytes = np.frombuffer(self._data, np.uint8)[_WORD:]
        # The word at place p ends there (because of the pad); the next bytes are at p + 8.
        count = len(self._data) - _WORD + 1
        self._words: Words = np.ndarray((count,), "<u8", self._data, strides=(1,))

    def __len__(self) -> int:
        return len(self._ends)

    def numbers(self, name: str) -> NDArray[np.int64]:
        """Return a column of whole numbers; -1 where it is empty, or no number of 1-16 digits."""
        starts, ends = self._fields(name)
        lengths = ends - starts
        values, good = _number(self._words[ends], lengths)
        if len(rows := np.flatnonzero(lengths > _WORD)):
            high, fine = _number(self._words[ends[rows] - _WORD], lengths[rows] - _WORD)
            values[rows] += high * 10**_WORD
            good[rows] &= fine
        good &= (lengths > 0) & (lengths <= _DIGITS)
        values[~good] = -1
        return values

    def codes(self, name: str, words: Sequence[str]) -> NDArray[np.int8]:
        """Return for each field of a column which one of `words` it is, -1 if none.

        Words have at most 8 bytes.
        """
        starts, ends = self._fields(name)
        codes, lengths = np.full(len(self), -1, np.int8), ends - starts
        for code, word in enumerate(words):
            sought = int.from_bytes(word.encode(), "little")
            rows = np.flatnonzero(lengths == len(word.encode()))
            read = self._words[starts[rows] + _WORD] & np.uint64(256 ** len(word.encode()) - 1)
            codes[rows[read == np.uint64(sought)]] = code
        return codes

    def blank(self, name: str) -> Marks:
        """Return which fields of a column are empty or white space."""
        starts, ends = self._fields(name)
        blank: Marks = starts == ends
        # A field that begins or ends with a visible character of ASCII is not; few begin otherwise.
        first, last = self._bytes[starts], self._bytes[ends - 1]
        rows = np.flatnonzero(~(blank | _is_visible(first) | _is_visible(last)))
        blank[rows] = [not text.strip() for text in self.texts(name, rows)]
        return blank

    def texts(self, name: str, rows: Offsets) -> list[str]:
        """Return the fields of a column in some rows."""
        starts, ends = (places[rows] + _WORD for places in self._fields(name))
        data = self._data
        return [
            data[start:end].decode().replace('""', '"')
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _fields(self, name: str) -> tuple[Offsets, Offsets]:
        """Return where the fields of a column begin and end, without quotes around them."""
        if name not in self._names:
            return np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        columns, column = len(self._names), self._names.index(name)
        ends = self._ends[:, column].copy()
        if column:
            starts = self._ends[:, column - 1] + 1
        else:
            starts = np.zeros_like(ends)
            starts[1:] = self._ends[:-1, -1] + 1
        if column == columns - 1:
            ends -= self._bytes[ends - 1] == _CR
        quoted = self._quoted[self._quoted % columns == column] // columns
        starts[quoted] += 1
        ends[quoted] -= 1
        return starts, ends


def _is_visible(characters: NDArray[np.uint8]) -> Marks:
    visible: Marks = (characters > ord(" ")) & (characters <= ord("~"))
    return visible


def _number(words: Words, lengths: Offsets) -> tuple[NDArray[np.int64], Marks]:
    """Return the numbers in the last `lengths` (or all) characters of words, and whether it is one.

    The first character is the lowest byte. Adjacent digits are joined to numbers below 100, these
    to numbers below 10,000, and these to one.
    """
    unused = (8 * (_WORD - np.minimum(lengths, _WORD))).astype(np.uint64)
    digits = (words ^ np.uint64(0x30303030_30303030)) >> unused << unused
    # The highest bit of each byte that is above 9.
    above = (digits + np.uint64(0x76767676_76767676)) | digits
    above &= np.uint64(0x80808080_80808080)
    pairs = digits * np.uint64(10 << 8 | 1) >> np.uint64(8)
    pairs &= np.uint64(0x00FF00FF_00FF00FF)
    fours = pairs * np.uint64(100 << 16 | 1) >> np.uint64(16)
    fours &= np.uint64(0x0000FFFF_0000FFFF)
    numbers = fours * np.uint64(10_000 << 32 | 1) >> np.uint64(32)
    return numbers.astype(np.int64), np.equal(above, 0)
