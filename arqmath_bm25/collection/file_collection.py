"""The files of a folder as rows: which are read, and how their parts refer to each other.

`queries.jsonl`, judgments and `macros.tex` of the folder are taken over. A folder without queries
asks each statement of LaTeX with a proof that refers to others for these. Hidden files and folders
and those of packages are left out; so are the indexes and links that lead out of the folder.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final
from urllib.parse import quote

from arqmath_bm25.collection.own_documents import QRELS, QUERIES, write_corpus, write_queries
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.collection.source_files import READERS, FilePart, read_source
from arqmath_bm25.collection.taken_in import taken_in
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import open_bytes, parse_json, read_text
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.writing import complete

_MACROS: Final = "macros.tex"
_TAKEN_OVER: Final = (QUERIES, *QRELS, _MACROS)
_LEFT_OUT: Final = frozenset(("node_modules", "__pycache__", "site-packages", "build"))
_NAMED: Final = 5  # files that could not be read, or have changed
# Of an id; written as in an address.
_NO_ID: Final = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")
_LONGEST_ANCHOR: Final = 200


@dataclass
class Listing:
    """The files of a folder."""

    root: Path
    names: list[str] = field(default_factory=list)  # of those that are read, in order
    others: list[str] = field(default_factory=list)  # the names of the other files
    links: int = 0  # that lead out of the folder

    @cached_property
    def files(self) -> list[Path]:
        """The files that are read."""
        return [self.root / name for name in self.names]

    @property
    def watched(self) -> list[str]:
        """The names of files of which a change is a change of the corpus."""
        return [*self.names, *_TAKEN_OVER]

    def taken_in(self) -> list[str]:
        """Return the names of further files, which LaTeX takes in."""
        found: set[Path] = set()
        for path in self.files:
            found |= _included(path, self.root)
        root = self.root.resolve()
        return sorted({os.path.relpath(path, root) for path in found}.difference(self.names))


def is_file_collection(data: Path, indexes: Path) -> bool:
    """Return whether DATA is a source file or a table, or a folder with source files."""
    if data.is_file():
        return _ending(data.name) in {*READERS, *_TABLES}
    return data.is_dir() and any(_ending(entry.name) in READERS for entry in _walk(data, indexes))


def folder_name(data: Path) -> str:
    """Return the name of a folder or file as that of a directory."""
    path = data.resolve()
    name = path.name
    if path.is_file():
        name = name.partition(".")[0]
    return re.sub(r"[^\w.-]", "-", name).strip(".-") or "files"


def write_files(listing: Listing, directory: Path, whole: bool) -> None:
    """Write the parts of files, or the rows of a table, as the corpus of a directory.

    With `whole` each file is one document. Raises InputError if no file can be read, and for a
    table with a row that is no document.
    """
    first = listing.files[0]
    table = _TABLES.get(_ending(first.name))
    if table:
        write_corpus(table(first), directory, first)
    else:
        _write_parts(listing, directory, whole)


def _ending(name: str) -> str:
    """Return the ending of a name in lower case: .md, .jsonl.gz."""
    _, *endings = name.lower().strip(".").split(".")
    if endings[-1:] in (["gz"], ["zst"]):
        endings = endings[-2:]
    else:
        endings = endings[-1:]
    return "".join(f".{ending}" for ending in endings)


def _walk(folder: Path, indexes: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a folder in order, without hidden ones; no folder is a link."""
    left_out = os.path.realpath(indexes)
    folders = [str(folder)]
    while folders:
        inner = []
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folders.pop()) as found:
            entries = sorted(found, key=attrgetter("name"))
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _LEFT_OUT and os.path.realpath(entry.path) != left_out:
                    inner.append(entry.path)
            elif not entry.is_dir():
                yield entry
        folders += reversed(inner)


def listed(data: Path, indexes: Path) -> Listing:
    """List the files of a folder, without its indexes, or a file with those beside it."""
    if data.is_file():
        return Listing(data.parent, [data.name])

    listing = Listing(data)
    root = data.resolve()
    begin = len(os.path.join(data, ""))  # noqa: PTH118
    for entry in _walk(data, indexes):
        if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root):
            listing.links += 1
            continue

        name = entry.path[begin:]
        ending = _ending(entry.name)
        if name in _TAKEN_OVER:
            continue
        if ending in READERS:
            listing.names.append(name)
        else:
            listing.others.append(name)

    return listing


def tell_of_changes(data: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Say which files differ from those that a corpus was made of."""
    from arqmath_bm25.core.progress import tell

    names = {
        "changed": [name for name in now if before.get(name, now[name]) != now[name]],
        "added": [name for name in now if name not in before],
        "removed": [name for name in before if name not in now],
    }
    said = []
    for change, changed in names.items():
        if changed:
            said.append(f"{len(changed):,} {change} ({_first(changed)})")
    if said:
        tell(f"{data}: files since the last time: {', '.join(said)}")


def _first(names: Sequence[str]) -> str:
    """Join names; after the first ones there is an ellipsis."""
    shown = list(names[:_NAMED])
    if len(names) > _NAMED:
        shown.append("…")
    return ", ".join(shown)


def _write_parts(listing: Listing, directory: Path, whole: bool) -> None:
    """Write the parts of all files, and report the files that were left out.

    Each file is read once. Its rows wait in a temporary file until all labels are known, and all
    files that others take in.
    """
    from arqmath_bm25.core.progress import progress  # loads rich, which scoring need not

    included: set[Path] = set()
    unread: dict[Path, str] = {}
    labels: dict[Path, dict[str, str]] = {}
    with TemporaryFile("w+", encoding="utf-8") as waiting:
        with progress("Reading files", len(listing.files), "files") as advance:
            for number, path in enumerate(listing.files):
                advance(1)
                try:
                    source = read_source(path, listing.root, whole)
                except InputError as error:
                    unread[path] = str(error)
                    continue

                included |= source.included
                labels[path] = {}
                for part in source.parts:
                    row = _row(path, listing.root, part)
                    labels[path].update(dict.fromkeys(part.labels, row["id"]))
                    waiting.write(f"{json.dumps([number, row])}\n")

        files = [path for path in listing.files if path.resolve() not in included]
        places: dict[str, str] = {}
        for path in reversed(files):  # the first file that has a label keeps it
            places.update(labels.get(path, {}))

        if not (waiting.tell() or unread):
            names = _first([str(path) for path in listing.files])
            raise InputError(f"{names}: there are no words; expected a text")

        waiting.seek(0)
        asked: list[Statement] = []
        rows = _resolved(waiting, listing.files, set(files), places, asked)
        try:
            write_corpus(rows, directory, listing.root)
        except InputError:
            if unread:
                raise InputError(next(iter(unread.values()))) from None
            raise

    for name in _TAKEN_OVER:
        file = listing.root / name
        if file.is_file():
            with complete(directory / name) as text:
                text.write(read_text(file))
    if asked and not (listing.root / QUERIES).is_file():
        write_queries(asked, directory)

    unread = {path: message for path, message in unread.items() if path in files}
    _tell_of(listing, len(files), unread)


def _resolved(
    lines: Iterable[str],
    files: Sequence[Path],
    kept: set[Path],
    places: Mapping[str, str],
    asked: list[Statement],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of some files, with the ids of documents in place of labels.

    Statements whose proofs refer to documents are added to `asked`.
    """
    for line in lines:
        number, row = json.loads(line)
        if files[number] not in kept:
            continue
        ids = [places[label] for label in row.pop("references") if label in places]
        others = [name for name in dict.fromkeys(ids) if name != row["id"]]
        statement = row.pop("statement")
        if others:
            row["references"] = others
            if statement:
                asked.append(Statement(row["id"], statement, tuple(others)))
        yield row


def _included(path: Path, root: Path) -> set[Path]:
    if _ending(path.name) not in READERS:
        return set()
    try:
        return taken_in(path, root)
    except InputError:  # it is counted where its parts are read
        return set()


def _id(path: Path, root: Path, anchor: str) -> str:
    name = path.relative_to(root).as_posix()
    if anchor:
        name += f"#{anchor[:_LONGEST_ANCHOR]}"
    return _NO_ID.sub(lambda found: quote(found[0], errors="replace"), name)


def _row(path: Path, root: Path, part: FilePart) -> dict[str, Any]:
    """Return a part as a row of the corpus, whose references are labels."""
    row: dict[str, Any] = {"id": _id(path, root, part.anchor), "title": part.title}
    row["text"] = part.text
    if part.kind is not None:
        row["kind"] = part.kind
    if part.type:
        row["type"] = part.type
    if part.tags:
        row["tags"] = part.tags
    if part.kind in ("latex", "markdown"):
        row["as_post"] = part.html
    row["references"] = part.references
    row["statement"] = part.statement
    return row


def _tell_of(listing: Listing, files: int, unread: Mapping[Path, str]) -> None:
    """Say how many files were read, and what of the folder was not."""
    from arqmath_bm25.core.progress import counted, tell

    endings = Counter(_ending(name) or "without an ending" for name in listing.others)
    left_out = [f"{count:,} {ending}" for ending, count in sorted(endings.items())]
    if listing.links:
        left_out.append(f"{counted(listing.links, 'links')} out of the folder")
    if unread:
        names = [str(path.relative_to(listing.root)) for path in unread]
        left_out.append(f"{len(unread):,} that cannot be read ({_first(names)})")

    said = f"{listing.root}: {counted(files - len(unread), 'files')} read"
    if left_out:
        said += f"; left out: {', '.join(left_out)}"
    tell(said)
    for message in list(unread.values())[:_NAMED]:
        tell(message)


# Tables


def _csv_rows(path: Path) -> Iterator[dict[str, Any]]:
    with open_bytes(path) as file:
        lines = (line.decode("utf-8-sig") for line in file)
        try:
            for row in csv.DictReader(lines):
                yield {name: text for name, text in row.items() if name and text}
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}; expected a CSV file in UTF-8") from None


def _json_rows(lines: Iterable[bytes], path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
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
    with open_bytes(path) as lines:
        yield from _json_rows(lines, path)


def _zst_rows(path: Path) -> Iterator[dict[str, Any]]:
    with needed_by(str(path), "parquet"):
        import pyarrow as pa
    try:
        with pa.input_stream(str(path), compression="zstd") as stream:
            yield from _json_rows(_lines(stream), path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: damaged zst data: {error}") from None


def _lines(stream: Any) -> Iterator[bytes]:
    rest = b""
    for block in iter(partial(stream.read, 1 << 20), b""):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines

    yield rest


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


_TABLES: Final[dict[str, Callable[[Path], Iterator[dict[str, Any]]]]] = {
    ".csv": _csv_rows,
    ".jsonl.gz": _gzip_rows,
    ".jsonl.zst": _zst_rows,
    ".parquet": _parquet_rows,
}
