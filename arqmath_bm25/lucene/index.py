"""Build a Lucene index from JSON lines, and keep it complete or absent.

An index directory holds `lucene/`, the tables its task needs, and `manifest.json`. It is built
under a temporary name beside its final one, counted against what was written, and swapped in by
rename; a build that dies leaves the old index as it was.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from arqmath_bm25 import __version__
from arqmath_bm25.errors import InputError, InterruptedWorkError
from arqmath_bm25.lucene.ids import open_reader, write_ids
from arqmath_bm25.lucene.jvm import java_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MANIFEST = "manifest.json"
DOCUMENTS = "documents"  # the directory of JSON lines, during a build
_BUILDER = "builder.pid"
_MADE_OF = "made_of"
_BUFFER_MB = 512  # of documents in memory before a segment is written


@dataclass(frozen=True)
class InputFile:
    """A file that an index was built from. Size and time of change tell whether it is the same."""

    path: str
    size: int  # bytes
    modified: int  # nanoseconds since 1970

    @classmethod
    def of(cls, path: Path) -> InputFile:
        """Describe a file as it is now."""
        status = path.stat()
        return cls(str(path.resolve()), status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Manifest:
    """What an index is: of which input, with which analysis, holding what."""

    task: str
    analysis: dict[str, Any]  # the settings that decide the terms
    fingerprint: str  # of the analysis
    inputs: list[InputFile]
    counts: dict[str, int]
    seconds: float  # that the build took
    version: str = __version__

    def write(self, directory: Path) -> None:
        """Write manifest.json."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of an index; None if there is no complete index."""
    if not directory.exists() and _previous(directory).exists():
        _previous(directory).rename(directory)  # a build was killed between its two renames
    try:
        found = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        return Manifest(**{**found, "inputs": [InputFile(**file) for file in found["inputs"]]})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{directory / MANIFEST}: not a manifest of this program ({error}); "
            f"remove {directory} and build the index again"
        ) from None


@contextmanager
def building(directory: Path, *made_of: object) -> Iterator[Path]:
    """Yield a directory to build in; it becomes `directory` if the block ends without error.

    `made_of` says by its repr what decides the content. If it is given, the directory has a
    `documents/`, which may hold what an interrupted build of the same wrote; without it, every
    build starts anew. Raises InputError, naming the process, while another one builds the same.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    place = directory.with_name(f".{directory.name}.building")
    with _locked(place, directory):
        keep = False
        try:
            _prepare(place, repr((__version__, *made_of)) if made_of else "")
            _finish_swap(directory)
            yield place
            (place / _BUILDER).unlink()
            (place / _MADE_OF).unlink(missing_ok=True)
            previous = _previous(directory)
            if directory.exists():
                directory.rename(previous)
            place.rename(directory)
            shutil.rmtree(previous, ignore_errors=True)
        except (KeyboardInterrupt, InterruptedWorkError):
            keep = bool(made_of)
            raise
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise InputError(
                f"{directory}: the disk is full; make room and try again. What was there before "
                "is as it was."
            ) from None
        finally:
            if not keep:
                shutil.rmtree(place, ignore_errors=True)


def _prepare(place: Path, made_of: str) -> None:
    """Remove what a build that was killed left, except documents that are still good."""
    state = place / _MADE_OF
    resumed = bool(made_of) and state.exists() and state.read_text(encoding="utf-8") == made_of
    for left in place.iterdir():
        if left.is_dir() and not (resumed and left.name == DOCUMENTS):
            shutil.rmtree(left)
        elif not left.is_dir() and left != state:
            left.unlink()
    (place / _BUILDER).write_text(str(os.getpid()), encoding="ascii")
    if made_of:
        state.write_text(made_of, encoding="utf-8")
        (place / DOCUMENTS).mkdir(exist_ok=True)


@contextmanager
def _locked(place: Path, directory: Path) -> Iterator[None]:
    """Make `place` and keep others out of it; the system lets go when the process ends."""
    while True:
        place.mkdir(exist_ok=True)
        file = os.open(place, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if place.exists() and os.path.samestat(place.stat(), os.fstat(file)):
                yield
                return
            # Another build has ended, and renamed or removed it, since it was opened.
        except BlockingIOError:
            builder = (place / _BUILDER).read_text(encoding="ascii")
            raise InputError(
                f"{directory}: process {builder} is writing this; wait for it or end it"
            ) from None
        finally:
            os.close(file)


def _finish_swap(directory: Path) -> None:
    """Undo or finish the swap of a build that was killed in its midst."""
    previous = _previous(directory)
    if not directory.exists() and previous.exists():
        previous.rename(directory)
    elif previous.exists():
        shutil.rmtree(previous)


def _previous(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.previous")


def index_documents(
    documents: Path, index: Path, fields: Sequence[str], expected: int, threads: int
) -> None:
    """Index every JSON line in the directory `documents` by Anserini, and count the result.

    `fields` come besides `contents`. Anserini drops the rest of a file without a word when a record
    is bad, so InputError is raised if the index does not hold `expected` documents.
    """
    java_class("io.anserini.index.IndexCollection").main(
        [
            *("-collection", "JsonCollection"),
            *("-generator", "DefaultLuceneDocumentGenerator"),
            *("-input", str(documents)),
            *("-index", str(index)),
            *("-threads", str(threads)),
            *("-memoryBuffer", str(_BUFFER_MB)),
            *("-fields", *fields),
            "-pretokenized",
            "-quiet",
        ]
    )
    found = count_documents(index)
    if found != expected:
        raise InputError(
            f"{index}: Lucene indexed {found:,} of {expected:,} documents. Check that the disk has "
            "room and build again; please report it if that does not help."
        )
    write_ids(index)


def count_documents(index: Path) -> int:
    """Return the number of documents in a Lucene index; 0 if there is none."""
    if not any(index.glob("segments_*")):
        return 0
    reader = open_reader(index)
    try:
        return int(reader.numDocs())
    finally:
        reader.close()
