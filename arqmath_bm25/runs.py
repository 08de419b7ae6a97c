"""Run files: reading, writing, naming. Nothing else in the package knows their columns.

Formats (UTF-8, TAB, no header; guidelines of the three labs):

| task | columns |
|---|---|
| task1 | topic, post, rank, score, run id |
| task2 | topic, formula, post, rank, score, run id |
| task3 | topic, rank, score, run id, sources, answer |
| TREC | topic, Q0, document, rank, score, run id |

Writing is strict. Reading forgives what real submissions hold: CRLF, blanks for TABs, TREC's form
in the place of the lab's, ranks with gaps, scores as integers, a missing last newline. Rows keep
the order of the file, repeated rows included: what they mean is the evaluation's business.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TextIO, get_args

import numpy as np

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Task = Literal["task1", "task2", "task3", "nlps"]
TASKS: Final[tuple[Task, ...]] = get_args(Task)
Variant = Literal["text", "math", "both"]
VARIANTS: Final[tuple[Variant, ...]] = get_args(Variant)
MAX_DEPTH: Final = 1000  # rows per topic that the labs accept


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


@dataclass(frozen=True, slots=True)
class RunName:
    """The parts of an official file name: `[team]-[task]-[id]-[manual|auto]-[fields]-[P|A].tsv`.

    Task 3 has `extract` or `generate` before the last part.
    """

    team: str
    task: Task
    run_id: str
    variant: Variant
    primary: bool
    manual: bool = False
    method: Literal["", "extract", "generate"] = ""

    def __str__(self) -> str:
        parts = [self.team, self.task, self.run_id, "manual" if self.manual else "auto"]
        parts += [self.variant, *([self.method] if self.method else [])]
        return "-".join([*parts, "P" if self.primary else "A"])


_NAME: Final = re.compile(
    r"(?P<team>[^-\s]+)-(?P<task>task[123])-(?P<run_id>.+?)-(?P<how>manual|auto)"
    r"-(?P<variant>text|math|both)(?:-(?P<method>extract|generate))?-(?P<kind>[PA])"
)


def parse_run_name(stem: str) -> RunName | None:
    """Read the parts of a file name (without its ending); None if it is not an official one."""
    match = _NAME.fullmatch(stem)
    if match is None or (match["task"] == "task3") != bool(match["method"]):
        return None
    return RunName(
        team=match["team"],
        task=match["task"],  # type: ignore[arg-type]  # the pattern admits tasks only
        run_id=match["run_id"],
        variant=match["variant"],  # type: ignore[arg-type]
        primary=match["kind"] == "P",
        manual=match["how"] == "manual",
        method=match["method"] or "",  # type: ignore[arg-type]
    )


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
    """Yield the rows of a Task 3 run, in file order. Raises InputError as `read_run` does."""
    for line, columns in read_columns(path, "run", separator="\t"):
        if len(columns) != 6:
            raise InputError(
                f"{path}: row {line}: expected 6 columns between TABs, found {len(columns)}"
            )
        topic, rank, score, run_id, sources, answer = columns
        yield AnswerRow(
            line, topic, _whole(path, line, rank), _number(path, line, "score", score), run_id,
            sources, answer,
        )  # fmt: skip


def read_columns(
    path: Path, kind: str, separator: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of every row that is not blank; strips blanks and CR.

    `kind` names the file in messages. Without `separator`, TABs part the columns of a row that
    has any, else blanks. Raises InputError for a missing, empty or binary file.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such {kind} file")
    empty = True
    with path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8-sig" if line == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(f"{path}: row {line}: not UTF-8 text ({error.reason})") from None
            if "\0" in text:
                raise InputError(f"{path}: row {line}: a binary file; expected a {kind} file")
            if "\t" in text or separator:
                columns = text.split(separator or "\t")
                if " " in text:
                    columns = [column.strip() for column in columns]
            else:
                columns = text.split()
            if any(columns):
                empty = False
                yield line, columns
    if empty:
        raise InputError(f"{path}: the {kind} file is empty")


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


def separated(scores: Sequence[float]) -> list[float]:
    """Lower scores by the least that leaves no tie, so that every tool sees one order.

    `scores` stand in rank order. trec_eval keeps them as 32-bit floats; the results are such
    floats, each below the one before it.
    """
    result: list[float] = []
    below = np.float32(np.inf)
    for score in scores:
        below = min(np.float32(score), np.nextafter(below, np.float32(-np.inf)))
        result.append(float(below))
    return result


def write_run(
    path: Path,
    rankings: Iterable[tuple[str, Sequence[tuple[str, float]]]],
    run_id: str,
    form: Literal["lab", "trec"] = "lab",
) -> int:
    """Write a Task 1 run and return its number of rows; `path` appears only when it is complete.

    `rankings` holds, for each topic, documents and scores in rank order.
    """
    before = "Q0\t" if form == "trec" else ""
    return _write_rows(
        path,
        ((topic, [(before + doc, score) for doc, score in hits]) for topic, hits in rankings),
        run_id,
    )


def write_formula_run(
    path: Path,
    rankings: Iterable[tuple[str, Sequence[tuple[str, str, float]]]],
    run_id: str,
    form: Literal["lab", "trec"] = "lab",
) -> int:
    """Write a Task 2 run as `write_run` does; hits are formula, post and score."""
    return _write_rows(
        path,
        (
            (
                topic,
                [
                    (f"Q0\t{formula}" if form == "trec" else f"{formula}\t{post}", score)
                    for formula, post, score in hits
                ],
            )
            for topic, hits in rankings
        ),
        run_id,
    )


def _write_rows(
    path: Path, rankings: Iterable[tuple[str, Sequence[tuple[str, float]]]], run_id: str
) -> int:
    """Write rows whose columns between topic and rank are given as one text."""
    count = 0
    with _complete(path) as file:
        for topic, hits in rankings:
            scores = separated([score for _, score in hits])
            for rank, ((columns, _), score) in enumerate(zip(hits, scores, strict=True), 1):
                file.write(f"{topic}\t{columns}\t{rank}\t{score:.9g}\t{run_id}\n")
                count += 1
    return count


def write_answers(path: Path, answers: Iterable[tuple[str, float, str, str]], run_id: str) -> int:
    """Write a Task 3 run and return its number of rows; `path` appears only when it is complete.

    `answers` are topic, score (written as a 32-bit float, as in the other tasks), sources and
    answer, the last two without TABs and line ends.
    """
    count = 0
    with _complete(path) as file:
        for topic, score, sources, answer in answers:
            file.write(f"{topic}\t1\t{np.float32(score):.9g}\t{run_id}\t{sources}\t{answer}\n")
            count += 1
    return count


@contextmanager
def _complete(path: Path) -> Iterator[TextIO]:
    """Yield a file to write; it becomes `path` if the block ends without error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
