"""The lines of runs and judgments as columns (UTF-8, TAB, no header), and their faults.

Real submissions depart from the labs' form: CRLF, blanks for TABs, TREC's form, ranks with gaps or
as floats, a missing last newline, gzip. What a departure leads to is decided by the findings that
it goes to: they record everything, or refuse rows that cannot be understood. The rules of a task
(`task_rules`) say which columns it has and what they mean.

Runs of Task 3 are CSV with TABs, which the official scripts read and write by the csv module: a
column that holds quotes, TABs or line ends is put in quotes, and quotes inside it are doubled.
"""

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import open_bytes

Level = Literal["error", "warning"]

# The kind of a file that may be empty: perhaps no topic had a hit.
RUN = "run"

# A wrong separator is wrong in every row of ten million, of which a few are enough to see it.
EXAMPLES = 5


@dataclass(frozen=True)
class Example:
    """One breach of a rule."""

    row: int | None  # 1-based line of the file; None if no row is to blame
    message: str


@dataclass
class Breaches:
    """The breaches of one rule: all are counted, the first EXAMPLES are kept."""

    level: Level  # error: the lab refuses the run or drops the row; warning: it is tolerated
    rule: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)


class Findings:
    """The breaches of rules in one run, in file order."""

    def __init__(self, refused: Path | None = None) -> None:
        """Rows of the run `refused` raise InputError if they cannot be understood."""
        self._refused = refused
        self._breaches: dict[tuple[Level, str], Breaches] = {}

    def error(self, rule: str, row: int | None, message: str) -> None:
        """Record a breach that the lab refuses, or for which it drops rows."""
        self._add("error", rule, row, message)

    def warn(self, rule: str, row: int | None, message: str) -> None:
        """Record a breach that the lab tolerates."""
        self._add("warning", rule, row, message)

    def unreadable(self, rule: str, row: int, message: str) -> None:
        """Record, or refuse, an unreadable row: the lab drops it, or the whole run."""
        if self._refused is not None:
            raise InputError(f"{self._refused}: row {row}: {message}")
        self.error(rule, row, message)

    def _add(self, level: Level, rule: str, row: int | None, message: str) -> None:
        breaches = self._breaches.setdefault((level, rule), Breaches(level, rule))
        breaches.count += 1
        if breaches.count <= EXAMPLES:
            breaches.examples.append(Example(row, message))

    def count(self, level: Level | None = None, rule: str | None = None) -> int:
        """Count the breaches of a level, of a rule, or all of them."""
        total = 0
        for breaches in self._breaches.values():
            if level in (None, breaches.level) and rule in (None, breaches.rule):
                total += breaches.count
        return total

    def by_rule(self) -> list[Breaches]:
        """Return the breaches of every rule, errors first."""
        return sorted(self._breaches.values(), key=lambda breaches: breaches.level != "error")


_LONGEST_LINE = 1 << 22  # bytes; an answer has 1,200 characters
_READ_AT_ONCE = 1 << 29  # bytes
_ANSWER_ROW = re.compile(r'"?[AB]\.[1-9][0-9]*"?\t')  # how a row of Task 3 begins
_BOM = b"\xef\xbb\xbf"

Numbered = tuple[int, list[str]]  # line of a file, and its columns


class RunRow(NamedTuple):
    """One row of a run."""

    line: int  # 1-based line of the file
    topic_id: str
    doc_id: str  # post (Task 1), formula (Task 2), source of the answer (Task 3), premise (NLPS)
    rank: int
    score: float  # NLPS: 1 / rank
    tag: str
    post_id: str = ""  # Task 2: the post that holds the formula
    sources: str = ""  # Task 3: where the answer comes from, free text
    answer: str = ""  # Task 3

    @property
    def post_and_formula(self) -> tuple[str, str]:
        """The post to show for the row, and the formula in that post; empty for Task 3."""
        # An answer of Task 3 is judged under an id of its own, and is in no post.
        if self.answer:
            return "", ""
        if self.post_id:
            return self.post_id, self.doc_id
        return self.doc_id, ""


def read_columns(
    path: Path, kind: str, findings: Findings | None = None, quoted: bool = False
) -> Iterator[Numbered]:
    """Yield line number and columns of every row that is not blank; strips blanks and CR.

    `kind` names the file in messages. TABs separate the columns of a row that has any, else blanks;
    with `quoted` columns may be in quotes, as in Task 3. Departures from the labs' form go to
    `findings`. Raises InputError for a missing or binary file, and for an empty file that is not a
    run; without `findings` also for a row that cannot be understood.
    """
    findings = findings or Findings(refused=path)
    lines = _lines(path, kind, findings)
    if quoted:
        return _answer_columns(lines, findings)
    return _columns(lines, findings)


def plain_columns(path: Path) -> list[list[str]] | None:
    """Return the columns of a file whose rows are all alike, many times faster than row by row.

    That is UTF-8 with LF or CRLF at the end of each line, and single TABs, or blanks alone, between
    as many columns in every row. Returns None for any other file, and for a large one or a pipe.
    """
    if not path.is_file() or path.stat().st_size > _READ_AT_ONCE:
        return None
    with open_bytes(path) as file:
        raw = file.read(_READ_AT_ONCE)
    if not raw or len(raw) == _READ_AT_ONCE or b"\0" in raw or raw.startswith(_BOM):
        return None

    raw = raw.replace(b"\r\n", b"\n")
    if b"\r" in raw:
        return None
    try:
        text = raw.decode().removesuffix("\n")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    if max(map(len, lines)) > _LONGEST_LINE // 4:
        return None

    if "\t" not in text:
        widths = {len(line.split()) for line in lines}
        fields = text.split()
    elif " " in text:
        return None
    else:
        widths = {line.count("\t") + 1 for line in lines}
        fields = text.replace("\n", "\t").split("\t")

    if len(widths) > 1:
        return None
    (width,) = widths
    return [fields[column::width] for column in range(width)]


def _columns(lines: Iterable[tuple[int, str]], findings: Findings) -> Iterator[Numbered]:
    """Split numbered lines at TABs, or at blanks if there are no TABs; leave out empty rows."""
    for number, line in lines:
        if "\t" not in line:
            columns = line.split()
            if columns:
                findings.warn("separator", number, "blanks between the columns; expected TABs")
        else:
            columns = line.split("\t")
            if " " in line:
                columns = list(map(str.strip, columns))
                if len("\t".join(columns)) < len(line):
                    findings.warn("separator", number, "blanks around a column")

        if any(columns):
            yield number, columns


def _lines(path: Path, kind: str, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line, without its end."""
    empty = True
    with open_bytes(path, f"{kind} file") as file:
        for number, raw in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
            if b"\0" in raw:
                raise InputError(f"{path}: row {number}: a binary file; expected a {kind} file")

            if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                limit = f"{_LONGEST_LINE >> 20} MB"
                raise InputError(
                    f"{path}: row {number}: a line of more than {limit}; expected a {kind} file"
                )

            if number == 1 and raw.startswith(_BOM):
                findings.error("byte order mark", 1, "the file begins with a byte order mark")
                raw = raw.removeprefix(_BOM)

            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                empty = False
                message = f"not UTF-8 text (byte {error.start + 1} of the row); save it as UTF-8"
                findings.unreadable("encoding", number, message)
                continue

            if line.endswith("\r\n"):
                findings.warn("line end", number, "CRLF; expected LF")
            if line.strip():
                empty = False
            else:
                findings.warn("empty row", number, "nothing in this row")

            yield number, line.rstrip("\r\n")

    if empty and kind != RUN:
        raise InputError(f"{path}: the {kind} file is empty")


def _answer_columns(lines: Iterable[tuple[int, str]], findings: Findings) -> Iterator[Numbered]:
    """Cut numbered lines into the rows of a Task 3 run, as the csv module does.

    For that module an open quote includes all lines that follow; here it ends where a line begins
    like a row, and the row is cut at its TABs. Empty rows are left out.
    """
    csv.field_size_limit(sys.maxsize)
    part = list[tuple[int, str]]()
    for number, line in lines:
        if part and _ANSWER_ROW.match(line):
            yield from _cut_answers(part, findings)
            part = []
        part.append((number, line.replace("\r", " ")))

    if part:
        yield from _cut_answers(part, findings)


def _cut_answers(part: Sequence[tuple[int, str]], findings: Findings) -> Iterator[Numbered]:
    """Cut the lines of one row, and of the text after it that does not begin like a row."""
    numbers = [number for number, _ in part]
    texts = [text for _, text in part]

    # A TAB at the end opens an empty column, unless it is in quotes.
    lines = [f"{text}\n" for text in texts[:-1]]
    lines.append(f"{texts[-1]}\t")

    reader = csv.reader(lines, delimiter="\t")
    begin = 0
    for columns in reader:
        number = numbers[begin]
        if reader.line_num == len(part) and columns.pop():
            message = (
                "a column begins with a quote that is not closed, so that the lab's scripts would "
                "read on in the next rows; double the quotes in it and put it in quotes"
            )
            findings.unreadable("open quote", number, message)
            rest = "\n".join(texts[begin:])
            columns = rest.split("\t")

        if any(columns):
            yield number, columns
        begin = reader.line_num
