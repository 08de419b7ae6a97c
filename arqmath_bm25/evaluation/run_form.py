"""A run file read strictly: the rows that can be understood, and all that departs from the form.

`runs.read_run` forgives and stops at the first row that means nothing; here every departure from
the lab's columns (guidelines of the three labs) is a finding, and reading goes on with the next
row. What both understand, both understand in the same way.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Literal

from arqmath_bm25.errors import InputError
from arqmath_bm25.runs import AnswerRow, RunRow, parse_run_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.evaluation.findings import Findings

LabTask = Literal["task1", "task2", "task3"]

COLUMNS: Final[dict[LabTask, tuple[str, ...]]] = {
    "task1": ("topic", "post", "rank", "score", "run id"),
    "task2": ("topic", "formula", "post", "rank", "score", "run id"),
    "task3": ("topic", "rank", "score", "run id", "sources", "answer"),
}
# Column 2 of TREC's form; some submissions write a digit there.
_TREC_MARKS: Final = {"Q0", "0", "1"}
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_RANK: Final = re.compile("-?[0-9]{1,9}")
_FAR: Final = 10**9  # larger ranks all mean the same: nothing
_PRIME_PREFIX: Final = re.compile(r"prime?_")


def task_of(path: Path) -> LabTask:
    """Tell the task of a run from its name, else from the letter of its first topic.

    Raises InputError if neither says it; a Task 3 run is known by its name only.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such run file")
    name = parse_run_name(official_stem(path))
    if name is not None and name.task != "nlps":
        return name.task
    with path.open("rb") as file:
        topic = file.readline(64).removeprefix(b"\xef\xbb\xbf")[:2]
    if topic not in (b"A.", b"B."):
        raise InputError(
            f"{path}: row 1: neither the file name nor the first column (expected a topic such as "
            "A.1 or B.1) tells the task; say it with --task"
        )
    return "task1" if topic == b"A." else "task2"


def official_stem(path: Path) -> str:
    """Return the file name without its ending, without the organisers' prefix `prim_`/`prime_`."""
    return _PRIME_PREFIX.sub("", path.name.rsplit(".", 1)[0], count=1)


def read_strictly(path: Path, task: LabTask, findings: Findings) -> Iterator[RunRow | AnswerRow]:
    """Yield the rows that can be understood: RunRow in Tasks 1 and 2, AnswerRow in Task 3.

    Raises InputError only for a file that is no text at all: missing, empty or binary.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such run file")
    number = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if b"\0" in raw:
                raise InputError(f"{path}: row {number}: a binary file; expected a run file")
            columns = _columns(number, raw, task, findings)
            row = _row(number, columns, task, findings) if columns else None
            if row is not None:
                yield row
    if not number:
        raise InputError(f"{path}: the run file is empty")


def _columns(number: int, raw: bytes, task: LabTask, findings: Findings) -> list[str] | None:
    """Cut one line into columns; None if there are none."""
    if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
        findings.error("byte order mark", 1, "the file begins with a byte order mark")
        raw = raw[3:]
    try:
        line = raw.decode()
    except UnicodeDecodeError as error:
        findings.error("encoding", number, f"not UTF-8 text: byte {error.start + 1} of the row")
        return None
    if line.endswith("\r\n"):
        findings.warn("line end", number, "CRLF; expected LF")
    line = line.rstrip("\r\n")
    if not line.strip():
        findings.warn("empty row", number, "nothing in this row")
        return None
    if task == "task3":  # the answer is free text: whatever follows the fifth TAB
        return line.split("\t", len(COLUMNS[task]) - 1)
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
        if "\t" in answer:
            findings.error("TAB in answer", number, "a TAB inside the answer")
        return AnswerRow(number, topic.strip(), int(rank), score, run_id, sources, answer)
    return RunRow(number, topic, doc, int(rank), score, run_id, post)


def _finite(text: str) -> float | None:
    """Return the number that is written, None if it is none or infinite."""
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
