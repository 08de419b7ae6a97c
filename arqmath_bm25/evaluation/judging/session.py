"""One assessor judges one batch: every label is on the disk before the page confirms it.

The journal, RESULTS.journal.jsonl, is only appended to: a line for each label, and for each label
that is undone. After each line the results are written from it, a CSV that `judge` reads: one row
per hit, in the order in which they were labelled. Then an empty line says that they are written. A
process that is killed may leave one of these:

* A last line of the journal without its end. It was never confirmed as saved, and is cut off.
* Results that lack the last line of the journal, after which no line is empty. They are written
  again.

Any other difference means that somebody has edited the results: the journal adopts these edits.
"""

import csv
import io
import json
import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.writing import cannot_write, complete, locked
from arqmath_bm25.evaluation.judging.judge import COLUMNS, HitKey, read_annotations, settle

# Labels of hits, in the order in which they were given.
GivenLabels = dict[HitKey, str]


class JournalEntry(NamedTuple):
    """A line of a journal."""

    when: str  # UTC
    who: str  # the name of the results, by which `judge` distinguishes assessors
    topic_id: str
    doc_id: str
    post_id: str
    label: str
    undone: bool = False  # whether the entry undoes the label

    @property
    def hit(self) -> HitKey:
        """The key of the hit with this label."""
        return HitKey(self.topic_id, self.doc_id, self.post_id)

    def apply(self, labels: GivenLabels) -> None:
        """Apply this entry to the labels."""
        labels.pop(self.hit, None)
        if not self.undone:
            labels[self.hit] = self.label


_WRITTEN = b"\n\n"  # at the end of a journal whose results are written
_ENTRY = TypeAdapter(JournalEntry)


def journal_path(results: Path) -> Path:
    """Return the path of the journal of results."""
    return results.with_name(f"{results.name}.journal.jsonl")


def read_journal(journal: Path) -> Iterator[JournalEntry]:
    """Yield the entries of the complete lines of a journal; InputError for any other line."""
    lines = journal.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        if not line:
            continue
        try:
            yield _ENTRY.validate_json(line, strict=True)
        except ValueError:
            raise InputError(
                f"{journal}: row {number}: not a line that the page for judging wrote; rename this "
                "file, and a new one begins with the labels of the results"
            ) from None


class Session:
    """The labels of one assessor; edits of the results are adopted before anything is written."""

    def __init__(
        self, batch: Path, hits: Container[HitKey], results: Path, descriptor: int
    ) -> None:
        """Continue the journal that is open as `descriptor`, which this process has locked."""
        self.labels: GivenLabels = {}
        self.results = results
        self._batch = batch
        self._hits = hits
        self._journal = journal_path(results)
        self._descriptor = descriptor

        # The content of the results that this process has read or written last.
        self._written = b""

        without_last = {}
        for row, entry in enumerate(read_journal(self._journal), 1):
            self._check(entry.hit, self._journal, row)
            without_last = self.labels.copy()
            entry.apply(self.labels)

        journal = self._journal.read_bytes()
        complete_lines = journal.rfind(b"\n") + 1
        os.ftruncate(descriptor, complete_lines)
        self._says_so = journal[:complete_lines].endswith(_WRITTEN)
        if results.exists() and not self._says_so:
            content = results.read_bytes()
            in_results = list(self._read_results().items())
            if in_results == list(without_last.items()):
                self._written = content

        self._adopt_edits()
        self._write_results()

    def label(self, hit: HitKey, label: str) -> None:
        """Save the label of a hit; InputError if the hit has another label."""
        self._adopt_edits()
        old = self.labels.get(hit, label)
        if old != label:
            raise InputError(f"This hit has the label {old} already; to change it, undo that.")

        if hit not in self.labels:
            self._append(hit, label)
        self._write_results()

    def undo(self, hit: HitKey, label: str) -> None:
        """Undo the last label; InputError if it is not this label of `hit`."""
        self._adopt_edits()
        last = next(reversed(self.labels.items()), None)
        if last != (hit, label):
            raise InputError("The last label is another one now.")

        self._append(hit, label, undone=True)
        self._write_results()

    def _adopt_edits(self) -> None:
        """Append the changes that somebody made in the results to the journal."""
        if not self.results.exists():
            return

        content = self.results.read_bytes()
        if content == self._written:
            return

        edited = self._read_results()
        editor = f"an editor of {self.results.name}"
        for hit, label in list(self.labels.items()):
            if hit not in edited:
                self._append(hit, label, editor, undone=True)

        for hit, label in edited.items():
            if self.labels.get(hit) != label:
                self._append(hit, label, editor)

        self._written = content

    def _read_results(self) -> GivenLabels:
        """Read the labels of the results; InputError for other columns and other hits."""
        rows = read_csv(self.results, "file of labels")
        for name in next(iter(rows), {}):
            if name not in COLUMNS:
                raise InputError(
                    f"{self.results}: row 1: the column {name} would be lost; the page for "
                    f"judging writes {', '.join(COLUMNS)}. Name another file for its labels"
                )

        labels = {}
        for hit, hit_annotations in read_annotations([self.results]).items():
            self._check(hit, self.results, hit_annotations[0].row)
            labels[hit] = settle(hit_annotations)
        return labels

    def _check(self, hit: HitKey, path: Path, row: int) -> None:
        """Raise InputError for a hit of another batch."""
        if hit not in self._hits:
            raise InputError(
                f"{path}: row {row}: post {hit.post_id} for topic {hit.topic_id} is not in "
                f"{self._batch}; choose another file with -o"
            )

    def _append(self, hit: HitKey, label: str, who: str = "", undone: bool = False) -> None:
        """Write an entry to the journal, and apply it once it is on the disk."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = JournalEntry(when, who or self.results.name, *hit, label, undone)
        text = json.dumps(entry._asdict(), ensure_ascii=False)
        self._says_so = False
        self._append_line(f"{text}\n".encode())
        entry.apply(self.labels)

    def _append_line(self, line: bytes) -> None:
        """Bring a line to the disk."""
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        try:
            count = os.write(self._descriptor, line)
            if count < len(line):
                raise OSError(f"{len(line)} requested and {count} written")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, end)
            cannot_write(self._journal, error)

    def _write_results(self) -> None:
        """Write the labels as a CSV, unless the file has them already."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerow(COLUMNS)
        writer.writerows([*hit, label] for hit, label in self.labels.items())

        content = text.getvalue().encode()
        is_needed = self.labels or self.results.exists()
        if is_needed and content != self._written:
            with complete(self.results, None) as file:
                file.write(content)
            self._written = content
            if not self._says_so:
                self._append_line(b"\n")
            self._says_so = True


@contextmanager
def judging_session(batch: Path, hits: Container[HitKey], results: Path) -> Iterator[Session]:
    """Yield the session of an assessor who labels the `hits` of a batch in `results`.

    Raises InputError while another process has the session, and for a journal or results that are
    damaged or of another batch.
    """
    busy = f"{results}: another process judges this batch; end it, or name another file with -o"
    journal = journal_path(results)
    if results.exists() and not results.is_file():
        raise InputError(f"{results}: this is no file; name a file of labels with -o")

    with ExitStack() as stack:
        try:
            journal.parent.mkdir(parents=True, exist_ok=True)
            descriptor = stack.enter_context(locked(journal, lambda: busy))
            session = Session(batch, hits, results, descriptor)
        except OSError as error:
            cannot_write(journal, error)
        yield session
