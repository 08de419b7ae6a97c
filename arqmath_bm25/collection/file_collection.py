"""A folder of files as a collection: its parts are written as the rows of a corpus, once.

The corpus is below the indexes, in `files/NAME`, as BEIR has it; `queries.jsonl`, judgments
and `macros.tex` of the folder are taken over. A folder without queries asks each statement of LaTeX
with a proof that refers to others for these. It is written anew when a file of the folder has
changed, and the index of the old corpus is then out of date. Hidden files and folders and those of
packages are left out; so are links that lead out of the folder.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final
from urllib.parse import quote

from arqmath_bm25.collection.own_documents import QRELS, QUERIES, write_corpus, write_queries
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.collection.source_files import READERS, FilePart, included_files, read_source
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import open_bytes, parse_json, read_text
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.writing import complete, written_json
from arqmath_bm25.version import __version__

_MADE_OF: Final = "made_of.json"
_MACROS: Final = "macros.tex"
_TAKEN_OVER: Final = (QUERIES, *QRELS, _MACROS)
_LEFT_OUT: Final = frozenset(("node_modules", "__pycache__", "site-packages"))
_NAMED: Final = 5  # files that could not be read, or have changed
# Of an id; written as in an address.
_NO_ID: Final = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")
_LONGEST_ANCHOR: Final = 200


@dataclass
class Listing:
    """The files of a folder."""

    root: Path
    files: list[Path] = field(default_factory=list)  # that are read, in order
    watched: list[Path] = field(default_factory=list)  # of which a change is a change of the corpus
    others: Counter[str] = field(default_factory=Counter)  # endings of the other files
    links: int = 0  # that lead out of the folder


def is_file_collection(data: Path) -> bool:
    """Return whether DATA is a source file or a table, or a folder with source files."""
    if data.is_file():
        return _ending(data) in {*READERS, *_TABLES}
    return data.is_dir() and any(_ending(path) in READERS for path in _walk(data))


def written_corpus(data: Path, parent: Path, whole: bool | None = None) -> Path:
    """Return the directory below `parent` with the corpus of a folder or file, written if need be.

    With `whole` each file is one document; None: as the corpus was written before. Raises
    InputError if no file can be read, and for a table with a row that is no document.
    """
    directory = _directory(data, parent)
    before = _made_of(directory)
    if whole is None:
        whole = bool(before.get("whole", False))

    listing = _listed(data)
    state = _state(listing)
    made_of = {
        "folder": str(data.resolve()),
        "whole": whole,
        "version": __version__,
        "state": state,
    }
    if before == made_of:
        return directory

    _tell_of_changes(data, before.get("state"), state)
    if _ending(data) in _TABLES:
        write_corpus(_TABLES[_ending(data)](data), directory, data)
    else:
        _write_parts(listing, directory, whole)

    with complete(directory / _MADE_OF) as file:
        json.dump(made_of, file)
    return directory


def _ending(path: Path) -> str:
    """Return the ending of a name in lower case: .md, .jsonl.gz."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings[-1:] in ([".gz"], [".zst"]):
        return "".join(endings)
    return "".join(endings[-1:])


def _directory(data: Path, parent: Path) -> Path:
    """Return the directory of a corpus; a second folder of the same name gets a longer one."""
    folder = data.resolve()
    name = folder.name
    if data.is_file():
        name = name.partition(".")[0]
    name = re.sub(r"[^\w.-]", "-", name).strip(".-") or "files"
    directory = parent / name
    if _made_of(directory).get("folder") in (None, str(folder)):
        return directory

    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()
    return parent / f"{name}-{digest[:8]}"


def _made_of(directory: Path) -> dict[str, Any]:
    made_of = written_json(directory / _MADE_OF)
    if not isinstance(made_of, dict):
        return {}
    return made_of


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in order, without hidden ones; no folder is a link."""
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(
            inner for inner in folders if not inner.startswith(".") and inner not in _LEFT_OUT
        )
        for file in sorted(files):
            if not file.startswith("."):
                yield Path(name, file)


def _listed(data: Path) -> Listing:
    if data.is_file():
        beside = [data.parent / name for name in _TAKEN_OVER]
        return Listing(data.parent, [data], [data, *sorted(_included(data, data.parent)), *beside])

    listing = Listing(data)
    taken_over = {data / name for name in _TAKEN_OVER}
    root = data.resolve()

    for path in _walk(data):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            listing.links += 1
            continue

        listing.watched.append(path)  # another may take it in by \input
        if _ending(path) in READERS and path not in taken_over:
            listing.files.append(path)
        elif path not in taken_over:
            listing.others[_ending(path) or "without an ending"] += 1

    return listing


def _state(listing: Listing) -> dict[str, list[int]]:
    """Map the name of each file that is watched to its size and time."""
    state = {}
    root = listing.root.resolve()
    for path in listing.watched:
        if path.is_file():
            status = path.stat()
            name = os.path.relpath(path.resolve(), root)
            state[name] = [status.st_size, status.st_mtime_ns]

    return state


def _tell_of_changes(data: Path, before: object, now: Mapping[str, list[int]]) -> None:
    """Say which files differ from those that the corpus was made of."""
    from arqmath_bm25.core.progress import tell

    if not isinstance(before, dict):
        return

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
        file, copy = listing.root / name, directory / name
        if file.is_file():
            with complete(copy) as text:
                text.write(read_text(file))
        else:
            copy.unlink(missing_ok=True)
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
    if _ending(path) not in READERS:
        return set()
    try:
        return included_files(path, root)
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
    row["references"] = part.references
    row["statement"] = part.statement
    return row


def _tell_of(listing: Listing, files: int, unread: Mapping[Path, str]) -> None:
    """Say how many files were read, and what of the folder was not."""
    from arqmath_bm25.core.progress import counted, tell

    left_out = [f"{count:,} {ending}" for ending, count in sorted(listing.others.items())]
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
