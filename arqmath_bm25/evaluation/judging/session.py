"""One assessor judges one batch: every label is on the disk before the assessor hears of it.

The journal, RESULTS.journal.jsonl, is only appended to: a line for each label, and for each that is
taken back. After each line the results are made of it, a CSV that `judge` reads: one row per hit,
in the order in which they were labelled. What ends the process may leave one of these:

* A last line of the journal that does not end. Nobody was told that it was saved; it is cut off.
* Results that lack the last line of the journal, and are not newer. They are made anew.

Whatever else the results say differently, somebody has edited them: the journal takes that over.
"""

import csv
import io
import json
import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.writing import cannot_write, complete, locked
from arqmath_bm25.evaluation.judging.judge import COLUMNS, HitKey, read_annotations, settle

Labels = dict[HitKey, str]  # in the order in which they were given


class JournalEntry(NamedTuple):
    """A line of a journal."""

    when: str  # UTC
    who: str  # the name of the results, by which `judge` tells assessors
    topic_id: str
    doc_id: str
    post_id: str
    label: str
    undone: bool = False  # whether the label is taken back

    @property
    def hit(self) -> HitKey:
        """What is labelled."""
        return HitKey(self.topic_id, self.doc_id, self.post_id)

    def apply(self, labels: Labels) -> None:
        """Make of the labels before this line those after it."""
        labels.pop(self.hit, None)
        if not self.undone:
            labels[self.hit] = self.label


_ENTRY: Final = TypeAdapter(JournalEntry)


def journal_path(results: Path) -> Path:
    """Return the path of the journal of results."""
    return results.with_name(f"{results.name}.journal.jsonl")


def read_journal(journal: Path) -> Iterator[JournalEntry]:
    """Yield the complete lines of a journal; InputError for one that is none."""
    for number, line in enumerate(journal.read_bytes().split(b"\n")[:-1], 1):
        try:
            yield _ENTRY.validate_json(line, strict=True)
        except ValueError:
            raise InputError(
                f"{journal}: row {number}: not a line that `judge --serve` wrote; rename this "
                "file, and a new one begins with the labels of the results"
            ) from None


class Session:
    """The labels of one assessor; changes by others are taken over before anything is written."""

    def __init__(
        self, batch: Path, hits: Container[HitKey], results: Path, descriptor: int
    ) -> None:
        """Go on with the journal that is open as `descriptor`, which this process has locked."""
        self.labels: Labels = {}
        self.results = results
        self._batch, self._hits = batch, hits
        self._journal, self._descriptor = journal_path(results), descriptor
        self._written = b""  # the results as this process knows them
        without_last: Labels = {}
        for row, entry in enumerate(read_journal(self._journal), 1):
            self._check(entry.hit, self._journal, row)
            without_last = self.labels.copy()
            entry.apply(self.labels)

        if results.exists() and results.stat().st_mtime_ns <= self._journal.stat().st_mtime_ns:
            content = results.read_bytes()
            if list(self._read_results().items()) == list(without_last.items()):
                self._written = content

        os.ftruncate(descriptor, self._journal.read_bytes().rfind(b"\n") + 1)
        self._take_over()
        self._write_results()

    def label(self, hit: HitKey, label: str) -> None:
        """Save the label of a hit; InputError for a hit that has another one."""
        self._take_over()
        old = self.labels.get(hit, label)
        if old != label:
            raise InputError(f"This hit has the label {old} already; to change it, undo that.")

        if hit not in self.labels:
            self._append(hit, label)
        self._write_results()

    def undo(self, hit: HitKey) -> None:
        """Take the last label back; InputError if that is not the one of `hit`."""
        self._take_over()
        if hit != next(reversed(self.labels), None):
            raise InputError("The last label is another one now.")
        self._append(hit, self.labels[hit], undone=True)
        self._write_results()

    def _take_over(self) -> None:
        """Append the changes that somebody made in the results to the journal."""
        content = self.results.read_bytes() if self.results.exists() else self._written
        if content == self._written:
            return

        theirs, editor = self._read_results(), f"an editor of {self.results.name}"
        for hit, label in list(self.labels.items()):
            if hit not in theirs:
                self._append(hit, label, editor, undone=True)

        for hit, label in theirs.items():
            if self.labels.get(hit) != label:
                self._append(hit, label, editor)

        self._written = content

    def _read_results(self) -> Labels:
        for name in (read_csv(self.results, "file of labels") or [{}])[0]:
            if name not in COLUMNS:
                raise InputError(
                    f"{self.results}: row 1: the column {name} would be lost; `judge --serve` "
                    f"writes {', '.join(COLUMNS)}. Name another file with -o"
                )

        annotations = read_annotations([self.results])
        for hit, notes in annotations.items():
            self._check(hit, self.results, notes[0].row)
        return {hit: settle(notes) for hit, notes in annotations.items()}

    def _check(self, hit: HitKey, path: Path, row: int) -> None:
        if hit not in self._hits:
            raise InputError(
                f"{path}: row {row}: post {hit.post_id} for topic {hit.topic_id} is not in "
                f"{self._batch}; choose another file with -o"
            )

    def _append(self, hit: HitKey, label: str, who: str = "", undone: bool = False) -> None:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = JournalEntry(when, who or self.results.name, *hit, label, undone)
        line = json.dumps(entry._asdict(), ensure_ascii=False).encode() + b"\n"
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            count = os.write(self._descriptor, line)
            if count < len(line):
                raise OSError(f"{len(line)} requested and {count} written")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, end)
            cannot_write(self._journal, error)

        entry.apply(self.labels)

    def _write_results(self) -> None:
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        writer.writerows([*hit, label] for hit, label in self.labels.items())
        content = text.getvalue().encode()
        if content != self._written and (self.labels or self.results.exists()):
            with complete(self.results, None) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            self._written = content


@contextmanager
def judging_session(batch: Path, hits: Container[HitKey], results: Path) -> Iterator[Session]:
    """Yield the session of who labels the `hits` of a batch in `results`.

    Raises InputError while another process has it, and for a journal or results that are damaged
    or of another batch.
    """
    busy = f"{results}: another process judges this batch; end it, or name another file with -o"
    journal = journal_path(results)
    with ExitStack() as stack:
        try:
            journal.parent.mkdir(parents=True, exist_ok=True)
            descriptor = stack.enter_context(locked(journal, lambda: busy))
            session = Session(batch, hits, results, descriptor)
        except OSError as error:
            cannot_write(journal, error)
        yield session
