"""Documents written as numbered files by several workers at once, in the forms that engines want.

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
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from arqmath_bm25.analysis.terms import Bag
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.engines.engine import Document

Form = Literal["json", "flat"]
JSON: Final[tuple[Form]] = ("json",)
J = TypeVar("J")

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class _Part(NamedTuple):
    """A file to be written, of what, and how."""

    documents: Callable[[object, Counter[str]], Iterator[Document]]
    job: object
    file: Path
    tries: Path  # a directory
    forms: Sequence[Form]


def write_parts(
    documents: Callable[[J, Counter[str]], Iterator[Document]],
    jobs: Iterable[J],
    directory: Path,
    workers: Workers,
    forms: Sequence[Form] = JSON,
) -> Iterator[Counter[str]]:
    """Write the documents of every job to files of its own; yield what was counted, in order.

    `documents` yields the documents of a job, and adds to its counts besides `documents`. `forms`
    are JSON lines (`json`) and postings (`flat`).
    """
    directory = directory.absolute()
    with TemporaryDirectory(
        prefix=f"{directory.name}.", dir=directory.parent, ignore_cleanup_errors=True
    ) as tries:
        parts = (
            _Part(documents, job, directory / f"part-{number:05}.jsonl", Path(tries), forms)  # type: ignore[arg-type]
            for number, job in enumerate(jobs)
        )
        yield from workers.map(_write, parts)


def clear(directory: Path, keep_documents: bool) -> None:
    """Remove a directory of parts that are indexed, or from it all that is no document."""
    for finished in directory.rglob("*.counts"):  # first: by these a next build trusts the rest
        finished.unlink()
    if not keep_documents:
        shutil.rmtree(directory)
        return
    for file in directory.rglob("*"):
        if file.is_file() and file.suffix != ".jsonl":
            file.unlink()


def _write(part: _Part) -> Counter[str]:
    finished = part.file.with_suffix(f".{'.'.join(part.forms)}.counts")
    if finished.exists():
        return Counter(json.loads(finished.read_text(encoding="ascii")))
    counts: Counter[str] = Counter(documents=0)
    writing = part.tries / uuid4().hex
    postings = None
    if "flat" in part.forms:
        from arqmath_bm25.engines.flat_build import FlatPart  # loads pandas and scipy

        postings = FlatPart()
    # Analysis makes millions of objects and hardly a cycle: to look for cycles again and again took
    # a fifth of the time.
    gc.disable()
    try:
        with writing.open("w", encoding="utf-8", newline="\n") as lines:
            spelled: tuple[Mapping[str, Bag], dict[str, str]] = {}, {}
            for document in part.documents(part.job, counts):
                counts["documents"] += 1
                if postings:
                    postings.add(document)
                if "json" in part.forms:
                    if document.shared is not spelled[0]:
                        spelled = document.shared, _text(document.shared)
                    fields = {"id": document.doc_id, **_text(document.own), **spelled[1]}
                    lines.write(_encode(fields) + "\n")
    finally:
        gc.enable()
    if "json" in part.forms:
        writing.rename(part.file)
    if postings:
        for file in postings.save(writing.with_suffix(".flat")):
            file.rename(part.file.with_suffix(file.suffix))
    writing.write_text(json.dumps(counts), encoding="ascii")
    writing.rename(finished)
    return counts


def _text(bags: Mapping[str, Bag]) -> dict[str, str]:
    return {field: bag.terms for field, bag in bags.items()}
