"""Run files: reading, writing, naming. Nothing else in the package knows their columns.

Formats (UTF-8, TAB, no header; guidelines of the three labs):

| task | columns |
|---|---|
| task1 | topic, post, rank, score, run id |
| task2 | topic, formula, post, rank, score, run id |
| task3 | topic, rank, score, run id, sources, answer |
| nlps | statement, premise |
| TREC | topic, Q0, document, rank, score, run id |

Writing is strict. Reading forgives what real submissions hold: CRLF, blanks for TABs, TREC's form
in the place of the lab's, ranks with gaps, scores as integers, a missing last newline. Rows keep
the order of the file, repeated rows included: what they mean is the evaluation's business.

Runs of Task 3 are CSV with TABs, which the official scripts read and write by the csv module: a
column that holds quotes, TABs or line ends stands in quotes, quotes inside it are doubled.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from typing import IO, TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete, decoded, open_bytes
from arqmath_bm25.core.labs import official_stem, parse_run_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.core.labs import LabTask, Task
    from arqmath_bm25.core.records import Hit

Form = Literal["lab", "trec"]  # columns of the guidelines, or of TREC
_RANKED: Final = "\t{rank}\t{score:.9g}\t{run_id}\n"
_ROWS: Final[dict[Task | Literal["trec"], str]] = {
    "task1": "{topic}\t{hit.doc_id}" + _RANKED,
    "task2": "{topic}\t{hit.doc_id}\t{hit.post_id}" + _RANKED,
    "nlps": "{topic}\t{hit.doc_id}\n",
    "trec": "{topic}\tQ0\t{hit.doc_id}" + _RANKED,
}


class RunRow(NamedTuple):
    """One row of a Task 1, Task 2 or TREC run."""

    line: int  # 1-based line of the file
    topic_id: str
    doc_id: str  # post (Task 1), formula (Task 2)
    rank: int
    score: float
    run_id: str
    post_id: str = ""  # Task 2: the post that holds the formula


class AnswerRow(NamedTuple):
    """One row of a Task 3 run: the one answer to a topic."""

    line: int
    topic_id: str
    rank: int  # always 1
    score: float
    run_id: str
    sources: str  # free text: where the answer comes from
    answer: str  # at most 1,200 characters


def task_of(path: Path) -> LabTask:
    """Tell the task of a run from its name, else from the letter of its first topic.

    Raises InputError if neither says it; a Task 3 run is known by its name only.
    """
    name = parse_run_name(official_stem(path))
    if name is not None and name.task != "nlps":
        return name.task
    with open_bytes(path, "run file") as file:
        topic = file.readline(64).removeprefix(b"\xef\xbb\xbf")[:2]
    if topic not in (b"A.", b"B."):
        raise InputError(
            f"{path}: row 1: neither the file name nor the first column (expected a topic such as "
            "A.1 or B.1) tells the task; say it with --task"
        )
    return "task1" if topic == b"A." else "task2"


_ANSWER_ROW: Final = re.compile(r'"?[AB]\.[1-9][0-9]*"?\t')  # how a row of Task 3 begins


def read_run(path: Path, task: Task = "task1") -> Iterator[RunRow]:
    """Yield the rows of a Task 1 or Task 2 run, in the lab's form or TREC's, in file order.

    Raises InputError naming file and row for a missing or binary file, a wrong number of columns,
    and a rank or score that is no finite number.
    """
    for line, columns in read_columns(path, "run"):
        post = ""
        if len(columns) == 5 and task == "task1":
            topic, doc, rank, score, run_id = columns
        elif len(columns) == 6:
            topic, doc, post, rank, score, run_id = columns
            if task == "task1" or doc == "Q0":  # TREC: the document is column 3
                doc, post = post, ""
        else:
            expected = "5 (or 6 in TREC form)" if task == "task1" else "6"
            raise InputError(
                f"{path}: row {line}: expected {expected} columns for {task}, found {len(columns)}"
            )
        yield RunRow(
            line, topic, doc, _whole(path, line, rank), _number(path, line, "score", score),
            run_id, post,
        )  # fmt: skip


def read_answers(path: Path) -> Iterator[AnswerRow]:
    """Yield the rows of a Task 3 run, in file order.

    Raises InputError as `read_run` does, and for a quote that is not closed.
    """
    for line, columns, closed in answer_columns(_lines(path, "run")):
        if not closed:
            raise InputError(
                f"{path}: row {line}: a column begins with a quote that is not closed, so that the "
                "lab's scripts would read on in the next rows; `arqmath-bm25 validate --fix` "
                "writes a copy with its quotes doubled"
            )
        if len(columns) != 6:
            raise InputError(
                f"{path}: row {line}: expected 6 columns between TABs, found {len(columns)}"
            )
        topic, rank, score, run_id, sources, answer = columns
        yield AnswerRow(
            line, topic, _whole(path, line, rank), _number(path, line, "score", score), run_id,
            sources, answer,
        )  # fmt: skip


class AnswerColumns(NamedTuple):
    """One row of a Task 3 run, cut into columns."""

    line: int  # its first
    columns: list[str]
    closed: bool  # False: a quote is left open, so the row was cut at its TABs


def answer_columns(lines: Iterable[tuple[int, str]]) -> Iterator[AnswerColumns]:
    """Cut numbered lines into the rows of a Task 3 run, as the csv module does.

    To that module an open quote takes all that follows; here it ends where a line begins like a
    row. Rows without anything in them are left out.
    """
    csv.field_size_limit(sys.maxsize)
    part: list[tuple[int, str]] = []
    for number, line in lines:
        if part and _ANSWER_ROW.match(line):
            yield from _cut_answers(part)
            part = []
        part.append((number, line.replace("\r", " ")))
    if part:
        yield from _cut_answers(part)


def _cut_answers(part: Sequence[tuple[int, str]]) -> Iterator[AnswerColumns]:
    """Cut the lines of one row, and of what follows it without being a row."""
    texts = [f"{text}\n" for _, text in part[:-1]]
    # A TAB at the end opens an empty column, unless it stands in quotes.
    reader = csv.reader([*texts, f"{part[-1][1]}\t"], delimiter="\t")
    begin, closed = 0, True
    for columns in reader:
        if reader.line_num == len(part):
            closed = not columns.pop()
            if not closed:
                columns = "\n".join(text for _, text in part[begin:]).split("\t")
        if any(columns):
            yield AnswerColumns(part[begin][0], columns, closed)
        begin = reader.line_num


def _lines(path: Path, kind: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line, without its end; raises as `read_columns` does."""
    empty = True
    with open_bytes(path, f"{kind} file") as file:
        for line, raw in enumerate(file, 1):
            text = decoded(raw, str(path), line).rstrip("\r\n")
            if "\0" in text:
                raise InputError(f"{path}: row {line}: a binary file; expected a {kind} file")
            empty = empty and not text.strip()
            yield line, text
    if empty:
        raise InputError(f"{path}: the {kind} file is empty")


def read_columns(path: Path, kind: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of every row that is not blank; strips blanks and CR.

    `kind` names the file in messages. TABs part the columns of a row that has any, else blanks.
    Raises InputError for a missing, empty or binary file.
    """
    for line, text in _lines(path, kind):
        if "\t" in text:
            columns = text.split("\t")
            if " " in text:
                columns = [column.strip() for column in columns]
        else:
            columns = text.split()
        if any(columns):
            yield line, columns


def _whole(path: Path, line: int, rank: str) -> int:
    try:
        return int(rank)
    except ValueError:
        return int(_number(path, line, "rank", rank))


def _number(path: Path, line: int, name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{path}: row {line}: {name} is {value!r}; expected a number (runs have no header)"
        )
    return number


_LARGEST_BITS: Final = 0x7FFF_FFFF  # all bits of a 32-bit float but its sign
_INFINITE: Final = 0x7F80_0000  # the bits of infinity


def separated(scores: Sequence[float]) -> list[float]:
    """Lower scores by the least that leaves no tie, so that every tool sees one order.

    `scores` stand in rank order. trec_eval keeps them as 32-bit floats; the results are such
    floats, each below the one before it.
    """
    with np.errstate(over="ignore"):
        single = np.asarray(scores, np.float32)
    # Bits of floats, taken as whole numbers, stand in the order of the floats. Each result is the
    # score or, if that is less, the number before the last result.
    bits = single.view(np.int32).astype(np.int64)
    numbers = np.where(bits >= 0, bits, -(bits & _LARGEST_BITS))
    places = np.arange(len(numbers))
    below = np.minimum.accumulate(np.minimum(numbers, _INFINITE - 1) + places) - places
    below = np.maximum(below, -_INFINITE)
    lower = np.where(below >= 0, below, -below | ~_LARGEST_BITS).astype(np.int32).view(np.float32)
    result: list[float] = np.where(below == numbers, single, lower).tolist()
    return result


def file_name(run: str, task: Task, form: Form) -> str:
    """Return the name of the file of a run; Task 3 and NLPS have no TREC form."""
    if task == "nlps":
        return f"{run}.txt"
    return f"{run}.{'trec' if form == 'trec' and task != 'task3' else 'tsv'}"


def write_run(
    path: Path,
    rankings: Iterable[tuple[str, Sequence[Hit]]],
    run_id: str,
    task: Task,
    form: Form = "lab",
    manifest: Mapping[str, Any] | None = None,
) -> int:
    """Write a run and return its number of rows; `path` appears only when it is complete.

    `rankings` holds the hits of each topic in rank order, `manifest` what stands beside the run.
    """
    row = _ROWS.get("trec" if form == "trec" and task in ("task1", "task2") else task, "")
    count = 0
    with complete(path, manifest=manifest) as file:
        for topic, hits in rankings:
            scores = separated([hit.score for hit in hits])
            for rank, (hit, score) in enumerate(zip(hits, scores, strict=True), 1):
                if task == "task3":
                    sources = f"post {hit.doc_id}"
                    answer_writer(file)((topic, 1, f"{score:.9g}", run_id, sources, hit.text))
                else:
                    file.write(
                        row.format(topic=topic, hit=hit, rank=rank, score=score, run_id=run_id)
                    )
                count += 1
    return count


def answer_writer(file: IO[str]) -> Callable[[Iterable[object]], object]:
    """Return what writes one row of a Task 3 run, with quotes where they are needed."""
    return csv.writer(file, delimiter="\t", lineterminator="\n").writerow
