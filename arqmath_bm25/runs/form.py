"""A run file read strictly: the rows that can be understood, and all that departs from the form.

`runs.read_run` forgives and stops at the first row that means nothing; here every departure from
the lab's columns (guidelines of the three labs) is a finding, and reading goes on with the next
row. What both understand, both understand in the same way.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import COLUMNS
from arqmath_bm25.runs.run_files import AnswerRow, RunRow, answer_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.core.labs import LabTask
    from arqmath_bm25.runs.findings import Findings

# Column 2 of TREC's form; some submissions write a digit there.
_TREC_MARKS: Final = {"Q0", "0", "1"}
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_RANK: Final = re.compile("-?[0-9]{1,9}")
_FAR: Final = 10**9  # larger ranks all mean the same: nothing


def read_strictly(path: Path, task: LabTask, findings: Findings) -> Iterator[RunRow | AnswerRow]:
    """Yield the rows that can be understood: RunRow in Tasks 1 and 2, AnswerRow in Task 3.

    Raises InputError only for a file that is no text at all: missing, empty or binary.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such run file")
    lines = _lines(path, findings)
    if task == "task3":
        for number, columns, closed in answer_columns(lines):
            if not closed:
                findings.error(
                    "open quote",
                    number,
                    "a column begins with a quote that is not closed: the lab's scripts would read "
                    "on in the next rows",
                )
            if (row := _row(number, columns, task, findings)) is not None:
                yield row
        return
    for number, line in lines:
        if (row := _row(number, _columns(number, line, findings), task, findings)) is not None:
            yield row


def _lines(path: Path, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield the lines that are text and not blank, without their ends."""
    number = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if b"\0" in raw:
                raise InputError(f"{path}: row {number}: a binary file; expected a run file")
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                findings.error("byte order mark", 1, "the file begins with a byte order mark")
                raw = raw[3:]
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                place = f"byte {error.start + 1} of the row"
                findings.error("encoding", number, f"not UTF-8 text: {place}")
                continue
            if line.endswith("\r\n"):
                findings.warn("line end", number, "CRLF; expected LF")
            if line.strip():
                yield number, line.rstrip("\r\n")
            else:
                findings.warn("empty row", number, "nothing in this row")
    if not number:
        raise InputError(f"{path}: the run file is empty")


def _columns(number: int, line: str, findings: Findings) -> list[str]:
    """Cut one line of Tasks 1 and 2 into columns."""
    if "\t" not in line:
        findings.warn("separator", number, "blanks between the columns; expected TABs")
        return line.split()
    columns = [column.strip() for column in line.split("\t")]
    if sum(map(len, columns)) + len(columns) - 1 != len(line):
        findings.warn("separator", number, "blanks around a column")
    return columns


def _row(
    number: int, columns: list[str], task: LabTask, findings: Findings
) -> RunRow | AnswerRow | None:
    """Understand the columns of one row; None if they are no row of this task."""
    expected = COLUMNS[task]
    post = ""
    if len(columns) == 6 and task != "task3" and columns[1] in _TREC_MARKS and (
        task == "task1" or columns[1] == "Q0"
    ):  # fmt: skip
        if task == "task1":
            findings.warn("TREC form", number, "TREC's six columns; expected the lab's five")
        else:
            findings.error("TREC form", number, "TREC's columns; the lab expects Post_Id as well")
        columns = [columns[0], columns[2], *([""] if task == "task2" else []), *columns[3:]]
    if task == "task3" and len(columns) > len(expected):
        findings.error("TAB in answer", number, "a TAB in an answer that is not in quotes")
        columns = [*columns[:5], "\t".join(columns[5:])]
    if len(columns) != len(expected):
        findings.error(
            "columns",
            number,
            f"{len(columns)} columns; expected {len(expected)}: {', '.join(expected)}",
        )
        return None
    if task == "task3":
        topic, rank_text, score_text, run_id, sources, answer = columns
    elif task == "task2":
        topic, doc, post, rank_text, score_text, run_id = columns
    else:
        topic, doc, rank_text, score_text, run_id = columns
    rank, score = _finite(rank_text), _finite(score_text)
    if number == 1 and rank is None and score is None:
        findings.error("header", 1, f"a header: {' '.join(columns)[:60]!r}; runs have none")
        return None
    if rank is None or not rank.is_integer():
        findings.error("number", number, f"rank is {rank_text!r}; expected a whole number")
        return None
    if score is None:
        findings.error("number", number, f"score is {score_text!r}; expected a finite number")
        return None
    if not _RANK.fullmatch(rank_text):  # understood, but not by the lab's scripts
        findings.error("rank form", number, f"rank is {rank_text!r}; expected a whole number")
        rank = min(max(rank, -_FAR), _FAR)
    if task == "task3":
        return AnswerRow(number, topic.strip(), int(rank), score, run_id, sources, answer)
    return RunRow(number, topic, doc, int(rank), score, run_id, post)


def _finite(text: str) -> float | None:
    """Return the number that is written, None if it is none or infinite."""
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
