"""Formula TSVs of the labs: every formula instance of the collection, with its visual id.

A distribution holds `latex_representation_vN/1.tsv` … `101.tsv` (and the same rows as SLT and
OPT). Each file has a header, by which the columns of the three versions are told apart:

| version | columns |
|---|---|
| v1 (2020) | id, post_id, thread_id, type, formula |
| v2 (2021) | id, post_id, thread_id, type, visual_id, formula |
| v3 (2022) | id, post_id, thread_id, type, comment_id, old_visual_id, visual_id, issue, formula |

Fields with quotes, TABs or newlines are in double quotes: a reader of lines loses rows. The csv
module reads thousands of rows at a time; they are checked together, and one by one only if some of
them is irregular, so that 28 million rows take a minute.

The formulas of the topics of a year are in one more file: ids (q_1, q_2, …) begin anew each year;
topics are those of Task 1 (A.n), of which the topics of Task 2 (B.n) are copies.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.arrays import Flags, Ints
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.reading import decoded, open_bytes

DELETED = ("d", "dv")  # issues of formulas that were not found in the posts
_IDS = ("id", "post_id", "visual_id")
_COMMON = ("id", "post_id", "thread_id", "type")
COLUMNS: dict[str, tuple[str, ...]] = {
    "v1": (*_COMMON, "formula"),
    "v2": (*_COMMON, "visual_id", "formula"),
    "v3": (*_COMMON, "comment_id", "old_visual_id", "visual_id", "issue", "formula"),
}

# A row of ids within a field: its quote is not closed, so that it swallowed the rows after it.
_SWALLOWED = re.compile(r"\n(?:q_)?[0-9]+\t(?:[AB]\.)?[0-9]+\t[0-9]*\t")
_NUMBER = re.compile("[0-9]{1,18}")
_TOGETHER = 500  # rows; more are read no faster

_TOPIC_IDS = ("id", "topic_id", "thread_id", "type")
_RECORD = (*_COMMON, "comment_id", "visual_id", "old_visual_id", "issue", "formula")


@dataclass
class FormulaBlock:
    """Some rows of a formula TSV by columns. Columns that its version lacks are empty."""

    _names: Sequence[str]
    _rows: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self._rows)

    def texts(self, name: str) -> list[str]:
        """Return a column."""
        if name not in self._names:
            return [""] * len(self)
        column = self._names.index(name)
        return [row[column] for row in self._rows]

    def numbers(self, name: str) -> Ints:
        """Return a column of whole numbers; -1 where it is empty, or no number of 1-18 digits."""
        texts = self.texts(name)
        all_digits = "".join(texts).encode().isdigit()
        longest = max(map(len, texts), default=0)
        if not all_digits or longest > 18:
            for row, text in enumerate(texts):
                if not _NUMBER.fullmatch(text):
                    texts[row] = "-1"
        elif not all(texts):
            texts = [text or "-1" for text in texts]

        # This is ten times as fast as `int` of each text.
        return np.fromstring(" ".join(texts), np.int64, sep=" ")

    def codes(self, name: str, words: Sequence[str]) -> NDArray[np.int8]:
        """Return the index in `words` of each field of a column, -1 for any other text."""
        code_of = {word: code for code, word in enumerate(words)}
        codes = [code_of.get(text, -1) for text in self.texts(name)]
        return np.array(codes, np.int8)

    def blank(self, name: str) -> Flags:
        """Return which fields of a column are empty or white space."""
        return np.array([not text or text.isspace() for text in self.texts(name)], np.bool_)


class FormulaRow(NamedTuple):
    """One formula instance; columns that its version lacks are empty."""

    formula_id: str
    post_id: str  # the post that holds it; of a comment: the post commented on
    thread_id: str  # the question
    type: str  # title, question, answer, comment; body in the topics of 2022
    comment_id: str  # empty unless type is comment, and even then now and then
    visual_id: str  # one id for all formulas that look alike; now and then there is none
    old_visual_id: str  # the visual id of v2
    issue: str  # d: not found in the posts; v: visual id corrected; dv: both; else empty
    latex: str  # without dollars; MathML in SLT and OPT files


def formula_files(path: Path) -> tuple[Path, ...]:
    """Return `path` if it is a file, else the files N.tsv (or N.tsv.gz) in it, in their order.

    Raises InputError if there is none, or if a number is left out: a part that was not unpacked.
    """
    if path.is_file():
        return (path,)
    numbered: dict[int, Path] = {}

    for file in sorted((*path.glob("*.tsv"), *path.glob("*.tsv.gz"))):
        stem = file.name.partition(".")[0]
        if stem.isdecimal() and numbered.setdefault(int(stem), file) is not file:
            raise InputError(
                f"{file}: {numbered[int(stem)].name} has the same number; remove one of the two"
            )

    if not numbered:
        raise InputError(f"{path}: no formula files here; expected 1.tsv, 2.tsv, … or one TSV file")
    numbers = sorted(numbered)

    for before, number in pairwise([0, *numbers]):
        if number != before + 1:
            raise InputError(
                f"{path}: {before + 1}.tsv is missing, though {numbers[-1]}.tsv is there; "
                "unpack the formula archive again"
            )

    return tuple(numbered[number] for number in numbers)


def read_header(path: Path) -> tuple[str, ...]:
    """Return the column names of a formula TSV; InputError if they are of no known version."""
    names = header(path, "formula TSV")
    if names not in COLUMNS.values():
        raise InputError(
            f"{path}: row 1: not the header of a formula TSV: found {' '.join(names)[:80]!r}, "
            f"expected {', '.join(COLUMNS['v3'])} (or those of v2, v1), separated by TABs"
        )

    return names


def header(path: Path, kind: str) -> tuple[str, ...]:
    """Return the column names in the first row of a TSV; `kind` names the form in errors."""
    with open_bytes(path, kind) as file:
        line = file.readline(1000)

    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    return tuple(text.split("\t"))


def read_formulas(path: Path) -> Iterator[FormulaRow]:
    """Yield every formula of one TSV file or of a directory of them, in their order.

    Raises InputError for missing files, an unknown header, bytes that are not UTF-8, and a row
    with another number of columns than the header.
    """
    for file in formula_files(path):
        for block in read_formula_blocks(file):
            yield from map(FormulaRow, *map(block.texts, _RECORD))


def read_rows(path: Path, columns: int) -> Iterator[list[list[str]]]:
    """Yield the rows below the header of a TSV, thousands at a time.

    Raises InputError for bytes that are not UTF-8, for a row without that many columns, and for one
    that holds other rows, because a quote in it is not closed.
    """
    csv.field_size_limit(sys.maxsize)
    with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter="\t")
        try:
            next(reader)
            lines = reader.line_num
            while True:
                rows = list(islice(reader, _TOGETHER))
                if not rows:
                    break

                read = reader.line_num - lines
                lines += read
                # With one line for each row, no row holds a line end, so none swallowed another.
                if read > len(rows) or set(map(len, rows)) != {columns}:
                    rows = list(filter(None, rows))  # An empty line has no field.
                    if any(_is_broken(row, columns) for row in rows):
                        raise _fault(path, columns)
                if rows:
                    yield rows

        except UnicodeDecodeError as error:
            with open_bytes(path) as raw:
                for number, line in enumerate(raw, 1):
                    decoded(line, str(path), number)
            raise AssertionError(path) from error
        except csv.Error as error:
            raise InputError(f"{path}: after line {reader.line_num}: {error}") from None


def _is_broken(row: list[str], columns: int) -> bool:
    """Return whether a row has another number of columns, or swallowed other rows."""
    return len(row) != columns or _SWALLOWED.search("\t".join(row)) is not None


def _fault(path: Path, columns: int) -> InputError:
    """Return the error for the first broken row of a TSV, which has one."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter="\t")
        next(reader)
        broken = next(row for row in reader if row and _is_broken(row, columns))
        line = reader.line_num
        is_last = next(reader, None) is None

    if len(broken) == columns:
        return InputError(
            f'{path}: the row that ends at line {line} holds other rows: a quote (") in it is not '
            "closed; close it, or copy the file again"
        )
    message = f"{path}: line {line}: expected {columns} columns, found {len(broken)}"
    if is_last and len(broken) < columns:
        message += ": the file is cut off"
    return InputError(message)


class IdColumns(NamedTuple):
    """The ids of some formula instances, as columns of equal length."""

    formula: Ints
    post: Ints
    visual: Ints  # -1: none; some hundred rows have no visual id
    old_visual: Ints  # the visual id of v2, in v2 itself as in v3
    comment: Flags  # of a comment
    deleted: Flags  # issue d or dv: not found in the posts


def read_formula_blocks(file: Path) -> Iterator[FormulaBlock]:
    """Yield the rows of one file in blocks; raises as `read_formulas` does."""
    names = read_header(file)
    for rows in read_rows(file, len(names)):
        yield FormulaBlock(names, rows)


def read_formula_ids(path: Path) -> Iterator[IdColumns]:
    """Yield the ids of the formulas that `read_formulas` yields, in blocks.

    Raises InputError as `read_formulas` does, for files without visual ids (v1), and for an id that
    is no whole number.
    """
    for file in formula_files(path):
        names = read_header(file)
        if "visual_id" not in names:
            raise InputError(
                f"{file}: these are the formulas of 2020 (v1), which have no visual ids; "
                "use latex_representation_v3"
            )

        before = 0

        for block in read_formula_blocks(file):
            columns = [block.numbers(name) for name in _IDS]
            _check_ids(file, before, block, columns)
            formula, post, visual = columns
            before += len(block)
            old_visual = visual
            if "old_visual_id" in names:
                old_visual = block.numbers("old_visual_id")
            comment = block.codes("type", ["comment"]) >= 0
            deleted = block.codes("issue", DELETED) >= 0

            yield IdColumns(formula, post, visual, old_visual, comment, deleted)


def _check_ids(file: Path, before: int, block: FormulaBlock, columns: list[Ints]) -> None:
    """Raise InputError for the first row with an id that is no number; a visual id may be empty."""
    wrong = np.minimum.reduce(columns) < 0
    if not wrong.any():
        return

    formula, post, _ = columns
    wrong &= (np.minimum(formula, post) < 0) | ~block.blank("visual_id")
    for row in np.flatnonzero(wrong).tolist():
        for name, ids in zip(_IDS, columns, strict=True):
            if ids[row] < 0:
                found = shown(block.texts(name)[row])
                raise InputError(
                    f"{file}: formula {before + row + 1}: {name} is {found}; expected a whole "
                    "number"
                )


def read_topic_formulas(path: Path) -> Iterator[dict[str, str]]:
    """Yield the formulas of the topics of a year by the columns of their file, in its order.

    Raises InputError for a missing file, an unknown header, bytes that are not UTF-8, and a row
    with another number of columns than the header.
    """
    names = header(path, "file of topic formulas")
    if not set(names).issuperset(_TOPIC_IDS):
        raise InputError(
            f"{path}: row 1: not the header of topic formulas: found {' '.join(names)[:80]!r}, "
            f"expected {', '.join(_TOPIC_IDS)}, formula, separated by TABs"
        )

    for row in chain.from_iterable(read_rows(path, len(names))):
        yield dict(zip(names, map(str.strip, row), strict=True))
