"""Documents written as numbered files of JSON lines by several workers at once.

What a part holds depends on its number alone, so that the files are the same for any number of
workers. A part is finished when its counts stand beside it: after an interruption, the next build
of the same index writes only the parts that are not.

A worker on another machine that was given up for dead may still write while another one does its
part, or after the build has ended. So each try has a file of its own, in a directory that ends with
the build, and is renamed when it is complete; two that are completed hold the same.
"""

from __future__ import annotations

import gc
import json
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arqmath_bm25.core.workers import Workers

J = TypeVar("J")

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class _Part(NamedTuple):
    """A file to be written, of what, and how."""

    documents: Callable[[object, Counter[str]], Iterator[dict[str, str]]]
    job: object
    file: Path
    tries: Path  # a directory


def write_parts(
    documents: Callable[[J, Counter[str]], Iterator[dict[str, str]]],
    jobs: Iterable[J],
    directory: Path,
    workers: Workers,
) -> Iterator[Counter[str]]:
    """Write the documents of every job to a file of its own; yield what was counted, in order.

    `documents` yields the documents of a job, field → terms, and adds to its counts besides
    `documents`.
    """
    directory = directory.absolute()
    with TemporaryDirectory(
        prefix=f"{directory.name}.", dir=directory.parent, ignore_cleanup_errors=True
    ) as tries:
        parts = (
            _Part(documents, job, directory / f"part-{number:05}.jsonl", Path(tries))  # type: ignore[arg-type]
            for number, job in enumerate(jobs)
        )
        yield from workers.map(_write, parts)


def clear(directory: Path, keep_documents: bool) -> None:
    """Remove a directory of parts that are indexed, or from it all that is no document."""
    if keep_documents:
        for pattern in ("*.counts", "*.npz"):
            for file in directory.glob(pattern):
                file.unlink()
    else:
        shutil.rmtree(directory)


def _write(part: _Part) -> Counter[str]:
    finished = part.file.with_suffix(".counts")
    if finished.exists():
        return Counter(json.loads(finished.read_text(encoding="ascii")))
    counts: Counter[str] = Counter(documents=0)
    writing = part.tries / uuid4().hex
    # Analysis makes millions of objects and hardly a cycle: to look for cycles again and again took
    # a fifth of the time.
    gc.disable()
    try:
        with writing.open("w", encoding="utf-8", newline="\n") as file:
            for document in part.documents(part.job, counts):
                counts["documents"] += 1
                file.write(_encode(document) + "\n")
    finally:
        gc.enable()
    gc.collect()
    writing.rename(part.file)
    writing.write_text(json.dumps(counts), encoding="ascii")
    writing.rename(finished)
    return counts
