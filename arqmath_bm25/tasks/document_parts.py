"""Documents written as numbered files by several workers at once, in the forms that engines want.

What a part holds depends on its number alone, so that the files are the same for any number of
workers. A part is finished when its counts stand beside it: after an interruption, the next build
of the same index writes only the parts that are not.

A worker on another machine that was given up for dead may still write while another one does its
part, or after the build has ended. So each try has a file of its own, in a directory that ends with
the build, and is renamed when it is complete; two that are completed hold the same.
"""

import gc
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol
from uuid import uuid4

from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.arrays import Flags, Ints
from arqmath_bm25.core.system import give_back_memory
from arqmath_bm25.core.workers import J, Workers
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.engines.flat_build import PART, FlatPart

IdsIn = Callable[[Path, Ints], list[str]]  # store, rows → ids of the documents


class KnownDocuments(Protocol):
    """The documents that an index in a cluster has already; see tasks/cluster_store.py."""

    def lacking(self, digests: Ints, ids_in: IdsIn) -> Flags:
        """Take the digests of all documents, in order; return which documents to write."""

    def counts_of_others(self) -> Counter[str]:
        """Return the counts of all other documents, from when they were written."""


class PartForms(NamedTuple):
    """The forms in which engines want documents."""

    json: bool = True  # JSON lines
    flat: bool = False  # postings
    cluster: KnownDocuments | None = None  # whose index may have some of the documents

    @property
    def ending(self) -> str:
        """The ending of the counts of a part in these forms."""
        chosen = {".json": self.json, ".flat": self.flat}
        return "".join(name for name, wanted in chosen.items() if wanted) + ".counts"


FLAT = PartForms(json=False, flat=True)
WORDS = ".words"  # a file beside a part: in how many of its documents each word is

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def write_parts(
    documents: Callable[[J, Counter[str]], Iterator[Document]],
    jobs: Iterable[J],
    directory: Path,
    workers: Workers,
    forms: PartForms,
) -> Counter[str]:
    """Write a part for every job; return the counts of all parts, and of documents in a cluster.

    `documents` yields the documents of a job and counts them in the counter.
    """
    counts = Counter(documents=0)
    if forms.cluster:
        counts.update(forms.cluster.counts_of_others())
    directory = directory.absolute()
    with TemporaryDirectory(
        prefix=f"{directory.name}.", dir=directory.parent, ignore_cleanup_errors=True
    ) as tries:
        forms = forms._replace(cluster=None)
        write = partial(_write, documents, forms, Path(tries))
        for of_part in workers.map(partial(_do, write, forms, directory), enumerate(jobs)):
            counts.update(of_part)
    return counts


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


def _do(
    write: Callable[[J, Path], None],
    forms: PartForms,
    directory: Path,
    numbered: tuple[int, J],
) -> Counter[str]:
    """Write the part of a job, unless it is finished; return its counts."""
    number, job = numbered
    part = directory / f"part-{number:05}.jsonl"
    finished = part.with_suffix(forms.ending)
    if not finished.exists():
        write(job, part)
        give_back_memory()  # The C library would keep a third of it until the process ends.
    return Counter(json.loads(finished.read_bytes())["counts"])


def _write(
    documents: Callable[[J, Counter[str]], Iterator[Document]],
    forms: PartForms,
    tries: Path,
    job: J,
    part: Path,
) -> None:
    total: Counter[str] = Counter(documents=0)
    counts = Counter[str]()  # of one document
    kinds = dict[tuple[tuple[str, int], ...], int]()  # such counts → their number
    of_each = []
    writing = tries / uuid4().hex
    words = Counter[str]()
    postings = None
    if forms.flat:
        postings = FlatPart()
    with _without_collection(), writing.open("w", encoding="utf-8", newline="\n") as lines:
        spelled: tuple[Mapping[str, Bag], dict[str, str]] = {}, {}
        for document in documents(job, counts):
            counts["documents"] += 1
            if document.words:
                words.update(document.words)
            of_each.append(kinds.setdefault(tuple(counts.items()), len(kinds)))
            counts.clear()
            if postings:
                postings.add(document)
            if forms.json:
                if document.shared is not spelled[0]:
                    spelled = document.shared, _text(document.shared)
                fields = {"id": document.doc_id, **_text(document.own), **spelled[1]}
                lines.write(_encode(fields) + "\n")

    if forms.json:
        writing.rename(part)
    if postings:
        flat = writing.with_suffix(PART)
        postings.save(flat)
        flat.rename(part.with_suffix(PART))
    if words:
        writing.write_text(json.dumps(words), encoding="ascii")
        writing.rename(part.with_suffix(WORDS))
    times = Counter(of_each)
    for kind, number in kinds.items():
        for name, count in kind:
            total[name] += count * times[number]
    total.update(counts)
    said = {"counts": total, "kinds": [_encode(dict(kind)) for kind in kinds], "of_each": of_each}
    writing.write_text(json.dumps(said), encoding="ascii")
    writing.rename(part.with_suffix(forms.ending))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the collector of cycles from running, which took a fifth of the time.

    Analysis makes millions of objects and hardly a cycle.
    """
    was_enabled, has_frozen = gc.isenabled(), _has_frozen()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # to look through all that is young once would take as long
            gc.enable()
        if was_enabled and not has_frozen:
            gc.unfreeze()


@cache
def _has_frozen() -> bool:
    """Return whether the program that calls keeps objects from the collector."""
    return gc.get_freeze_count() > 0  # which looks at each of them


def _text(bags: Mapping[str, Bag]) -> dict[str, str]:
    return {field: bag.terms for field, bag in bags.items()}
