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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal
from uuid import uuid4

from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.workers import J, Workers
from arqmath_bm25.engines.flat_build import FlatPart

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Document

PartForm = Literal["json", "flat"]
JSON: Final[tuple[PartForm]] = ("json",)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def write_parts(
    documents: Callable[[J, Counter[str]], Iterator[Document]],
    jobs: Iterable[J],
    directory: Path,
    workers: Workers,
    forms: Sequence[PartForm] = JSON,
) -> Iterator[Counter[str]]:
    """Write the documents of every job to files of its own; yield what was counted, in order.

    `documents` yields the documents of a job, and adds to its counts besides `documents`. `forms`
    are JSON lines (`json`) and postings (`flat`).
    """
    directory = directory.absolute()
    with TemporaryDirectory(
        prefix=f"{directory.name}.", dir=directory.parent, ignore_cleanup_errors=True
    ) as tries:
        write = partial(_write, documents, forms, directory, Path(tries))
        yield from workers.map(write, enumerate(jobs))


def clear(directory: Path, keep_documents: bool) -> None:
    """Remove the directory of indexed parts, or everything in it but documents."""
    for finished in directory.rglob("*.counts"):  # first: by these a next build trusts the rest
        finished.unlink()
    if not keep_documents:
        shutil.rmtree(directory)
        return
    for file in directory.rglob("*"):
        if file.is_file() and file.suffix != ".jsonl":
            file.unlink()


def _write(
    documents: Callable[[J, Counter[str]], Iterator[Document]],
    forms: Sequence[PartForm],
    directory: Path,
    tries: Path,
    numbered: tuple[int, J],
) -> Counter[str]:
    number, job = numbered
    part = directory / f"part-{number:05}.jsonl"
    finished = part.with_suffix(f".{'.'.join(forms)}.counts")
    if finished.exists():
        return Counter(json.loads(finished.read_text(encoding="ascii")))
    counts: Counter[str] = Counter(documents=0)
    writing = tries / uuid4().hex
    postings = FlatPart() if "flat" in forms else None
    # Analysis makes millions of objects and hardly a cycle: to look for cycles again and again took
    # a fifth of the time.
    gc.disable()
    try:
        with writing.open("w", encoding="utf-8", newline="\n") as lines:
            spelled: tuple[Mapping[str, Bag], dict[str, str]] = {}, {}
            for document in documents(job, counts):
                counts["documents"] += 1
                if postings:
                    postings.add(document)
                if "json" in forms:
                    if document.shared is not spelled[0]:
                        spelled = document.shared, _text(document.shared)
                    fields = {"id": document.doc_id, **_text(document.own), **spelled[1]}
                    lines.write(_encode(fields) + "\n")
    finally:
        gc.freeze()  # to look through all that is young once would take as long
        gc.unfreeze()
        gc.enable()
    if "json" in forms:
        writing.rename(part)
    if postings:
        for file in postings.save(writing.with_suffix(".flat")):
            file.rename(part.with_suffix(file.suffix))
    writing.write_text(json.dumps(counts), encoding="ascii")
    writing.rename(finished)
    return counts


def _text(bags: Mapping[str, Bag]) -> dict[str, str]:
    return {field: bag.terms for field, bag in bags.items()}
