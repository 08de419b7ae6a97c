"""The files of a folder as rows: one text is one document, and parts refer to each other.

`queries.jsonl`, judgments and `macros.tex` of the folder are taken over. A folder without queries
asks each statement of LaTeX with a proof that refers to others for these. A file that cannot be
read ends nothing: it is named with the reason.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from io import BufferedReader
from itertools import accumulate, chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from arqmath_bm25.analysis.sources import with_lost_escapes
from arqmath_bm25.collection.folder_texts import inside
from arqmath_bm25.collection.kept_rows import ROWS, KeptFile, KeptRow
from arqmath_bm25.collection.listing import (
    COPIED,
    Listing,
    ending_of,
    is_source,
    listed,
    part_id,
)
from arqmath_bm25.collection.own_documents import (
    CORPUS,
    QUERIES,
    UserDocument,
    corpus_line,
    encode,
    write_corpus,
    write_queries,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.collection.source_files import FilePart, SourceFile, is_in_book, read_source
from arqmath_bm25.collection.taken_in import names_taken
from arqmath_bm25.core.errors import InputError, some
from arqmath_bm25.core.reading import decoded, open_bytes, parse_json, read_text
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.writing import complete

_PER_JOB = 1 << 20  # bytes
_LISTED = 100  # files that are left out for one reason
_CONVERTED = {
    ".docx": " (`pandoc a.docx -t markdown -o a.md` keeps its formulas)",
    ".pdf": " (read by words after pip install 'arqmath-bm25[pdf]')",
}
_LONGEST_LINE = 1 << 27  # bytes
_BLOCK = 1 << 20


def is_file_collection(data: Path, indexes: Path, everything: bool = False) -> bool:
    """Return whether DATA is a source file or a table, or a folder with source files."""
    if data.is_file():
        return ending_of(data.name) in _TABLES or is_source(data)
    names = Listing(data, indexes, everything).walk()
    return data.is_dir() and any(is_source(data / name) for name in names)


def plan_lines(data: Path, indexes: Path, everything: bool = False) -> Iterator[str]:
    """Yield a line for each main file, with the files that it takes in, and for each other file."""
    listing = listed(data, indexes, everything)
    plan = listing.plan
    for name, inputs in plan.inputs.items():
        line = f"{name}: {ending_of(name)}"
        taken = sorted(names_taken([inputs]))
        if taken:
            line += f", takes in {', '.join(taken)}"
        yield line

    for name, reason in (listing.left_out | plan.left_out).items():
        yield f"{name}: left out, {reason}"
    for name in listing.others:
        yield f"{name}: left out, {ending_of(name) or 'a name without an ending'} is not read"


def folder_name(data: Path) -> str:
    """Return the name of a folder or file as that of a directory."""
    path = data.resolve()
    name = path.name
    if path.is_file():
        name = name.partition(".")[0]
    return re.sub(r"[^\w.-]", "-", name).strip(".-") or "files"


def write_files(listing: Listing, directory: Path, whole: bool, workers: Workers) -> None:
    """Write the parts of files, or the rows of a table, as the corpus of a directory.

    With `whole` each file is one document. Raises InputError if no file can be read, and for a
    table with a row that is no document.
    """
    first = listing.root / listing.names[0]
    table = _TABLES.get(ending_of(first.name))
    if table:
        write_corpus(table(first), directory, first)
    else:
        _write_parts(listing, directory, whole, workers)


def _write_parts(listing: Listing, directory: Path, whole: bool, workers: Workers) -> None:
    """Write the parts of all files, and report the files that were left out."""
    from arqmath_bm25.core.progress import progress  # loads rich, which scoring need not

    plan = listing.plan
    with TemporaryFile() as waiting:
        rows = _Rows(listing, waiting)
        with progress("Reading files", len(plan.inputs), "files") as advance:
            for _ in rows.read(whole, workers):
                advance(1)

        unread = rows.unread
        if not rows.ids:
            for name, reason in unread.items():
                raise InputError(f"{listing.root / name}: {reason}")
            names = some([str(listing.root / name) for name in listing.names])
            raise InputError(f"{names}: there are no words; expected a text")
        asked = rows.write(directory)

    taken_over = set()
    for name in COPIED:
        path = listing.real_root / name
        if os.path.lexists(path):
            try:
                file = inside(path, listing.real_root)
                if file is None:
                    raise InputError("no regular file of this folder")
                content = read_text(file)
                with complete(directory / name) as text:
                    text.write(content)
                taken_over.add(name)
            except (InputError, OSError) as error:
                unread[name] = _reason(error, path)
    if asked and QUERIES not in taken_over:
        write_queries(asked, directory)

    reasons = listing.left_out | plan.left_out | unread
    read = {*listing.names, *taken_over}.difference(reasons)
    _tell_of(listing, rows, len(read), reasons)


def _reason(error: Exception, path: Path) -> str:
    """Return why a file cannot be read, without its path."""
    said = " ".join(str(error).split())[:300]
    if isinstance(error, InputError):
        return said.removeprefix(f"{path}: ")
    if isinstance(error, OSError):
        return str(error.strerror)
    return f"{type(error).__name__} {said}; please report it"


def _jobs(names: Iterable[str], listing: Listing) -> Iterator[list[tuple[Path, str]]]:
    """Yield files with the macros of their books, as many as one process reads at a time."""
    job = []
    size = 0
    for name in names:
        path = listing.real_root / name
        job.append((path, listing.macros_of(name)))
        with suppress(OSError):  # which its reader says
            size += path.stat().st_size
        if size > _PER_JOB:
            yield job
            job = []
            size = 0
    if job:
        yield job


def _read(root: Path, whole: bool, job: list[tuple[Path, str]]) -> list[SourceFile | str]:
    """Read files; one that cannot be read is replaced by the reason."""
    sources: list[SourceFile | str] = []
    for path, macros in job:
        try:
            sources.append(read_source(path, root, whole, macros))
        except Exception as error:  # no file ends a folder
            sources.append(_reason(error, path))
    return sources


def _is_pdf(name: str) -> bool:
    return name.lower().endswith(".pdf")


def _letters(title: str) -> str:
    """Return the letters and digits of a title, in lower case."""
    return "".join(filter(str.isalnum, title.casefold()))


class _Rows:
    """The parts of files as rows, each text once and each id once.

    Until all labels are known, rows of the former import stay there; others wait in a file.
    """

    def __init__(self, listing: Listing, waiting: IO[bytes]) -> None:
        self.unread = dict[str, str]()  # names of files, with the reason
        self.latin = set[str]()  # names of files whose encoding nothing declares
        self.ids = set[str]()
        self.copies = Counter[str]()  # by the first file that has the text
        self._listing = listing
        self._waiting = waiting
        self._files = dict[str, KeptFile]()
        root = listing.real_root
        self._in_book = cache(lambda folder: is_in_book(root / folder, root))
        self._places = dict[str, str]()  # label → id of the first part that has it
        self._taken_over = set[str]()  # names of files
        self._titles = dict[str, str]()  # letters of the title of LaTeX → name of the file
        self._first = dict[str, str]()  # digest of title and text → id of the first part

    def read(self, whole: bool, workers: Workers) -> Iterator[None]:
        """Write the rows of all files, from the former import or as `workers` read them.

        Yields after each file.
        """
        listing = self._listing
        names = sorted(listing.plan.inputs, key=_is_pdf)  # LaTeX with its title comes first
        formers = {name: self._former(name) for name in names}
        read = partial(_read, listing.real_root, whole)
        new = (name for name in names if formers[name] is None)
        sources = chain.from_iterable(workers.map(read, _jobs(new, listing)))
        for name, former in formers.items():
            if former is None:
                self._write(name, next(sources))
            elif not self._take_over(name, former):
                (job,) = _jobs([name], listing)
                self._write(name, *read(job))
            yield
        next(sources, None)  # all is done: the workers stay for other work

    def _new(self, name: str) -> KeptFile:
        """Return what the rows of a file depend on, without rows."""
        digest = self._listing.digests.get(name, "")
        in_book = self._in_book(name.rpartition("/")[0])
        return KeptFile(digest, self._listing.plan.inputs[name].source, in_book, "", [], [])

    def _former(self, name: str) -> KeptFile | None:
        """Return the rows of a file in the former import, if they would be the same."""
        former = self._listing.former.files.get(name)
        if former and former[:3] == self._new(name)[:3]:
            return former
        return None

    def _write(self, name: str, source: SourceFile | str) -> None:
        """Write the rows of a file, or note why it cannot be read."""
        if isinstance(source, str):
            self.unread[name] = source
            return
        file = self._new(name)._replace(title=source.title)
        if self._is_repeated(name, source.title):
            self._files[name] = file
            return
        rows, are_own = self._rows_of(name, source.parts)
        if not (are_own and (source.is_alone or file.source)):
            file = file._replace(digest="")
        root = self._listing.real_root
        latin = [path.relative_to(root).as_posix() for path in source.latin]
        self._keep(name, file._replace(latin=latin, rows=rows))

    def _take_over(self, name: str, former: KeptFile) -> bool:
        """Take over rows of the former import, unless an id or a text is of another file now."""
        if self._is_repeated(name, former.title):
            self._files[name] = former._replace(rows=[])
            return True
        is_taken = any(row.doc_id in self.ids or row.digest in self._first for row in former.rows)
        if is_taken or not former.rows:
            return False
        for row in former.rows:
            self._note(row)
        self._taken_over.add(name)
        self._keep(name, former)
        return True

    def _is_repeated(self, name: str, title: str) -> bool:
        """Return whether a PDF begins with the title of a LaTeX file, and note that."""
        if not _is_pdf(name):
            return False
        for beginning in accumulate(map(_letters, title.splitlines())):
            if beginning in self._titles:
                self.unread[name] = f"{self._titles[beginning]} has its title"
                return True
        return False

    def _keep(self, name: str, file: KeptFile) -> None:
        self.latin.update(file.latin)
        self._files[name] = file
        if _letters(file.title) and not _is_pdf(name):
            self._titles.setdefault(_letters(file.title), name)

    def _note(self, row: KeptRow) -> None:
        self.ids.add(row.doc_id)
        self._first.setdefault(row.digest, row.doc_id)
        for label in row.labels:
            self._places.setdefault(label, row.doc_id)

    def _rows_of(self, name: str, parts: Iterable[FilePart]) -> tuple[list[KeptRow], bool]:
        """Write parts as rows; return these, and whether other files had no part in them."""
        rows = []
        are_own = True
        for part in parts:
            row_id = base = part_id(name, part.anchor)
            number = 1
            while row_id in self.ids:
                number += 1
                row_id = part_id(f"{base}~{number}", "")

            said = f"{part.title}\0{part.text}".encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(said, digest_size=16).hexdigest()
            first = self._first.get(digest, base)
            are_own = are_own and first == row_id
            if first != row_id and row_id not in self._listing.asked and digest in self._first:
                self.copies[first.partition("#")[0]] += 1
                for label in part.labels:
                    self._places.setdefault(label, first)
                continue
            row = KeptRow(row_id, digest, part.labels, part.references, part.statement)
            self._note(row)
            rows.append(row)
            line = corpus_line(_document(row_id, part.file or name, part))
            self._waiting.write(f"{line}\n".encode("utf-8", "replace"))
        return rows, are_own

    def write(self, directory: Path) -> list[Statement]:
        """Write the corpus, with the ids of documents in place of labels.

        Returns the statements whose proofs refer to documents.
        """
        asked = []
        self._waiting.seek(0)
        with complete(directory / CORPUS, None) as corpus:
            for name, file in self._files.items():
                lines: Iterable[bytes] = self._waiting
                if name in self._taken_over:
                    lines = self._listing.former.lines(name)
                for number, (row, line) in enumerate(zip(file.rows, lines, strict=False)):
                    if row.references:
                        known = filter(self._places.get, row.references)
                        ids = {label: self._places[label] for label in known}
                        others = [
                            name for name in dict.fromkeys(ids.values()) if name != row.doc_id
                        ]
                        resolved = {"references": others, "label_ids": ids}
                        line = f"{encode({**json.loads(line), **resolved})}\n".encode()
                        if others and row.statement:
                            asked.append(Statement(row.doc_id, row.statement, tuple(others)))
                    corpus.write(line)
                    if row.length != len(line):
                        file.rows[number] = row._replace(length=len(line))
        with complete(directory / ROWS) as text:
            text.write(json.dumps(self._files))
        return asked


def _document(doc_id: str, name: str, part: FilePart) -> UserDocument:
    """Return a part as a document, without references."""
    text, repaired = with_lost_escapes(part.text)
    html = ""
    if part.kind in ("latex", "markdown"):
        html = part.html
    return UserDocument(
        doc_id,
        text,
        part.title,
        part.tags,
        kind=part.kind,
        as_post=html,
        type=part.type,
        file=name,
        line=part.line,
        repaired=repaired,
    )


def _tell_of(listing: Listing, rows: _Rows, read: int, left_out: Mapping[str, str]) -> None:
    """Say how many files were read, and what of the folder was not, with the reasons.

    Texts are named that were there twice, or decoded without a declaration, or without formulas.
    """
    from arqmath_bm25.core.progress import counted, tell

    root = listing.root
    endings = Counter(ending_of(name) or "without an ending" for name in listing.others)
    said = []
    for ending, count in sorted(endings.items()):
        said.append(f"{count:,} {ending}{_CONVERTED.get(ending, '')}")
    names = dict[str, list[str]]()
    for name, reason in left_out.items():
        names.setdefault(reason, []).append(name)
    if names:
        said.append(f"{len(left_out):,} named below")
    line = f"{root}: {counted(read, 'files')} read"
    if said:
        line += f"; left out: {', '.join(said)}"
    tell(line)
    for reason, files in names.items():
        tell(f"{root}: left out, {reason}: {some(files, _LISTED)}")
    if rows.copies:
        parts = counted(rows.copies.total(), "parts")
        first = some(list(rows.copies))
        tell(f"{root}: {parts} left out, with title and text of others ({first})")
    if any(name.lower().endswith((".typ", ".pdf")) for name in listing.names):
        tell(f"{root}: formulas of Typst and PDF are read as words")
    if rows.latin:
        latin = some(sorted(rows.latin))
        tell(f"{root}: read as Latin-1, as nothing else is declared: {latin}")


# Tables


def _csv_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV file, whose header shows what separates its columns."""
    csv.field_size_limit(sys.maxsize)  # a cell may hold a long text
    with open_bytes(path) as file:
        lines = (decoded(line, str(path), number) for number, line in enumerate(file, 1))
        header = next(lines, "")
        separator = max(",;\t|", key=header.count)
        table = csv.reader(chain([header], lines), delimiter=separator, strict=True)
        try:
            columns = next(table, [])
            for name in columns:
                if columns.count(name) > 1:
                    raise InputError(f"{path}: row 1: two columns {name}; rename one of them")
            for cells in filter(None, table):
                if len(cells) > len(columns):
                    raise InputError(
                        f"{path}: line {table.line_num}: {len(cells)} cells, for {len(columns)} "
                        "columns; put quotes around a text with commas"
                    )
                yield {name: text for name, text in zip(columns, cells, strict=False) if text}
        except csv.Error as error:
            raise InputError(f"{path}: line {table.line_num}: not CSV: {error}") from None


def _json_rows(file: IO[bytes], path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1):
        if len(line) == _LONGEST_LINE:
            raise InputError(f"{path}: line {number}: longer than {_LONGEST_LINE:,} bytes")
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError:
            raise InputError(f"{path}: line {number}: expected a JSON object") from None

        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number}: expected a JSON object")
        yield row


def _gzip_rows(path: Path) -> Iterator[dict[str, Any]]:
    with open_bytes(path) as file:
        yield from _json_rows(file, path)


def _zst_rows(path: Path) -> Iterator[dict[str, Any]]:
    with needed_by(str(path), "parquet"):
        import pyarrow as pa
    try:
        stream = pa.input_stream(str(path), compression="zstd")
        with BufferedReader(stream, _BLOCK) as file:
            yield from _json_rows(file, path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: damaged zst data: {error}") from None


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    with needed_by(str(path), "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(path).iter_batches(1_000):
            for row in batch.to_pylist():
                yield {name: content for name, content in row.items() if content is not None}
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a Parquet file: {error}") from None


_TABLES: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    ".csv": _csv_rows,
    ".jsonl.gz": _gzip_rows,
    ".jsonl.zst": _zst_rows,
    ".parquet": _parquet_rows,
}
