"""Formula TSVs of the labs: every formula instance of the collection, with its visual id.

A distribution holds `latex_representation_vN/1.tsv` … `101.tsv` (and the same rows as SLT and
OPT). Each file has a header, by which the columns of the three versions are told apart:

| version | columns |
|---|---|
| v1 (2020) | id, post_id, thread_id, type, formula |
| v2 (2021) | id, post_id, thread_id, type, visual_id, formula |
| v3 (2022) | id, post_id, thread_id, type, comment_id, old_visual_id, visual_id, issue, formula |

Fields with quotes, TABs or newlines stand in double quotes: a reader of lines loses rows.
"""

from __future__ import annotations

import csv
import io
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_BLOCK: Final = 1 << 18  # rows of ids read at a time
_LONGEST: Final = 1 << 20  # bytes in which the last row fits
_COMMON: Final = ("id", "post_id", "thread_id", "type")
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "v1": (*_COMMON, "formula"),
    "v2": (*_COMMON, "visual_id", "formula"),
    "v3": (*_COMMON, "comment_id", "old_visual_id", "visual_id", "issue", "formula"),
}


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
    """Return `path` if it is a file, else the files N.tsv in it, in the order of their numbers.

    Raises InputError if there is none, or if a number is left out: a part that was not unpacked.
    """
    if path.is_file():
        return (path,)
    numbered = {int(file.stem): file for file in path.glob("*.tsv") if file.stem.isdecimal()}
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
    with path.open("rb") as file:
        line = file.readline(1000)
    names = tuple(line.decode("utf-8-sig", "replace").strip("\r\n").split("\t"))
    if names not in COLUMNS.values():
        raise InputError(
            f"{path}: row 1: not the header of a formula TSV: found {' '.join(names)[:80]!r}, "
            f"expected {', '.join(COLUMNS['v3'])} (or those of v2, v1) between TABs"
        )
    return names


def read_formulas(path: Path) -> Iterator[FormulaRow]:
    """Yield every formula of one TSV file or of a directory of them, in their order.

    Raises InputError for missing files, an unknown header, bytes that are not UTF-8, and a row
    with another number of columns than the header.
    """
    for file in formula_files(path):
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[FormulaRow]:
    names = read_header(path)
    csv.field_size_limit(sys.maxsize)
    with path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        try:
            next(rows)
            for row in rows:
                if len(row) != len(names):
                    if not row:
                        continue
                    raise InputError(
                        f"{path}: line {rows.line_num}: expected {len(names)} columns, found "
                        f"{len(row)}"
                    )
                yield _record(row)
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}: after line {rows.line_num}: {error}") from None


def _record(row: list[str]) -> FormulaRow:
    match row:
        case [formula, post, thread, kind, latex]:
            return FormulaRow(formula, post, thread, kind, "", "", "", "", latex)
        case [formula, post, thread, kind, visual, latex]:
            return FormulaRow(formula, post, thread, kind, "", visual, "", "", latex)
        case [formula, post, thread, kind, comment, old_visual, visual, issue, latex]:
            return FormulaRow(
                formula, post, thread, kind, comment, visual, old_visual, issue, latex
            )
    raise AssertionError(row)


class FormulaIds(NamedTuple):
    """The ids of some formula instances, as columns of equal length."""

    formula: NDArray[np.int64]
    post: NDArray[np.int64]
    visual: NDArray[np.int64]  # -1: none; some hundred rows have no visual id
    comment: NDArray[np.bool_]  # stands in a comment
    deleted: NDArray[np.bool_]  # issue d or dv: not found in the posts


def read_formula_ids(path: Path) -> Iterator[FormulaIds]:
    """Yield the ids alone of what `read_formulas` yields, in blocks, several times as fast.

    Raises InputError as that does, for files without visual ids (v1), and naming the row where
    an id is no whole number.
    """
    for file in formula_files(path):
        names = read_header(file)
        if "visual_id" not in names:
            raise InputError(
                f"{file}: these are the formulas of 2020 (v1), which have no visual ids; "
                "use latex_representation_v3"
            )
        _check_end(file, names)
        try:
            yield from _read_id_columns(file, "issue" in names)
        except ValueError as error:  # what pandas raises for rows and numbers alike
            raise InputError(_fault(file) or f"{file}: {error}") from None


def _read_id_columns(file: Path, has_issue: bool) -> Iterator[FormulaIds]:
    import pandas as pd  # takes a second, which an evaluation with a cached id map does not have

    kinds = {"type": "category"} | ({"issue": "category"} if has_issue else {})
    # Read as floats, which are exact far beyond any id, since some visual ids are missing.
    ids = {"id": "int64", "post_id": "int64", "visual_id": "float64"}
    with pd.read_csv(
        file, sep="\t", usecols=[*ids, *kinds], dtype=ids | kinds,
        keep_default_na=False, na_values={"visual_id": [""]}, encoding="utf-8-sig",
        chunksize=_BLOCK,
    ) as blocks:  # fmt: skip
        for block in blocks:
            nothing = np.zeros(len(block), np.bool_)
            yield FormulaIds(
                block["id"].to_numpy(),
                block["post_id"].to_numpy(),
                block["visual_id"].fillna(-1).to_numpy().astype(np.int64),
                (block["type"] == "comment").to_numpy(),
                block["issue"].isin(["d", "dv"]).to_numpy() if has_issue else nothing,
            )


def _check_end(file: Path, names: tuple[str, ...]) -> None:
    """Raise InputError if the last row is too short: pandas would fill it up without a word."""
    with file.open("rb") as raw:
        raw.seek(max(0, file.stat().st_size - _LONGEST))
        last = raw.read().rstrip(b"\r\n").rpartition(b"\n")[2]
    found = last.count(b"\t") + 1
    if found < len(names) and b'"' not in last:  # a quote: the end of a formula with newlines
        raise InputError(
            f"{file}: last row: expected {len(names)} columns, found {found}: the file is cut off"
        )


def _fault(file: Path) -> str:
    """Say which row of a file has an id that is no number; raises InputError for a broken row."""
    for number, row in enumerate(_read_file(file), 1):
        ids = {"id": row.formula_id, "post_id": row.post_id, "visual_id": row.visual_id or "0"}
        for name, value in ids.items():
            if not value.isdecimal():
                return f"{file}: formula {number}: {name} is {value!r}; expected a whole number"
    return ""
