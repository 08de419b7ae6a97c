"""The store of an index in a cluster, and how it is made of the one of other files.

A store keeps the name of its index and, of each document, a digest of all that the document is made
of, and what was counted when it was made. So a build analyses and sends only documents that another
store of the same settings lacks, and still counts all of them. The new index is made of a copy of
that store's index, which goes when the new store is complete.
"""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np

from arqmath_bm25.core.arrays import Flags, Ints, smallest_kind
from arqmath_bm25.core.building import delete
from arqmath_bm25.core.errors import InputError, InterruptedWorkError, NoIndexError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.progress import tell
from arqmath_bm25.core.stores import readable_manifest, remove_unless_open, stores
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.writing import complete
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.engines.opensearch import cluster_index
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    add_replicas,
    former_blocks,
    load_documents,
    new_name,
)
from arqmath_bm25.engines.opensearch.connection import connect, patiently
from arqmath_bm25.tasks.document_parts import IdsIn
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.task import IndexedTask

_ENGINE: Final = "opensearch"
_INDEX = "cluster.json"  # the name of the index, of those it replaces, kinds of counts
_DIGESTS = "digests.npy"  # of the documents, in order (int64)
_COUNTS = "counts.npy"  # of each document: the number of its kind of counts


class ClusterBuild:
    """Builds a store and its index, from all documents or from a former store and new documents."""

    def __init__(self, engine: Engine, content: IndexContent, whole: bool) -> None:
        """Look for a store to begin with, unless the `whole` is to be loaded."""
        self._engine = engine
        self._content = content
        self._former: Path | None = None
        if not whole:
            self._former = _former_store(engine, content)
        self._digests: Ints | None = None  # of all documents
        self._is_there = np.empty(0, np.bool_)  # of each, whether it is not written
        self._gone = list[str]()  # ids of the former store
        self._counts = np.empty(0, np.int64)  # of each that is there: the number of its kind
        self._kinds = list[str]()

    def begin(self, documents: Path) -> None:
        """Name the index; go on with the documents of an interrupted build that began as this."""
        note = documents / _INDEX
        former = self._former and self._former.name
        begun = {}
        if note.is_file():
            begun = json.loads(note.read_bytes())
        if not begun or begun["former"] != former:
            delete(documents)
            documents.mkdir()
            begun = {"name": new_name(self._content.task.name), "former": former}
            with complete(note) as file:
                json.dump(begun, file)
        self._name: str = begun["name"]

    def lacking(self, digests: Ints, ids_in: IdsIn) -> Flags:
        """Take the digests of all documents, in order; return which documents to write.

        If the former store has less than half of them, these are all, and its index stays as it is.
        """
        self._digests = digests
        self._is_there = np.zeros(len(digests), np.bool_)
        if self._former is None:
            return ~self._is_there

        before = np.load(self._former / _DIGESTS)
        is_there = np.isin(digests, before)
        if 2 * is_there.sum() < len(digests):
            self._former = None
            return ~self._is_there

        order = np.argsort(before)
        rows = order[np.searchsorted(before, digests[is_there], sorter=order)]
        self._is_there = is_there
        self._gone = ids_in(self._former, np.flatnonzero(~np.isin(before, digests)))
        self._counts = np.load(self._former / _COUNTS)[rows]
        self._kinds = _read(self._former)["kinds"]
        return ~is_there

    def counts_of_others(self) -> Counter[str]:
        """Return the counts of all other documents, from when they were written."""
        counts = Counter[str]()
        numbers, times = np.unique(self._counts, return_counts=True)
        for number, often in zip(numbers.tolist(), times.tolist(), strict=True):
            for name, count in json.loads(self._kinds[number]).items():
                counts[name] += count * often
        return counts

    def finish(
        self, documents: Path, ending: str, place: Path, count: int, workers: Workers
    ) -> None:
        """Load the written documents; write the digests and counts of all `count` to `place`.

        The files of `documents` with this `ending` have the counts of its parts.
        """
        content = self._content
        index = _described(content.task, self._name, content.digest, count, content.folder)
        copied = None
        if self._former and self._digests is not None:
            copied = _read(self._former)["name"]
        parts = sorted(documents.glob("*.jsonl"))
        engine = self._engine
        try:
            load_documents(engine.hosts, index, parts, engine.shards, workers, copied, self._gone)
        except InputError as error:
            # After this error the next build resumes with the documents that were written.
            raise InterruptedWorkError(str(error)) from None

        replaced = []
        for store in (content.store(_ENGINE), self._former):
            if store and (store / _INDEX).is_file():
                replaced.append(_read(store)["name"])
        if self._digests is not None:
            np.save(place / _DIGESTS, self._digests)
            numbers = {kind: number for number, kind in enumerate(self._kinds)}
            written = []  # of each new document: the number of its kind
            for part in sorted(documents.glob(f"*{ending}")):
                of_part = json.loads(part.read_bytes())
                for number in of_part["of_each"]:
                    kind = of_part["kinds"][number]
                    written.append(numbers.setdefault(kind, len(numbers)))

            counts = np.empty(len(self._is_there), smallest_kind(len(numbers)))
            counts[self._is_there] = self._counts
            counts[~self._is_there] = written
            np.save(place / _COUNTS, counts)
            self._kinds = list(numbers)
        with complete(place / _INDEX) as file:
            json.dump({"name": self._name, "replaces": replaced, "kinds": self._kinds}, file)


def _former_store(engine: Engine, content: IndexContent) -> Path | None:
    """Return a store of the same settings whose index the cluster has; None if there is none.

    Names the blocks of an index as it was before: nothing reads them.
    """
    with closing(connect(engine.hosts)) as client:
        if any(content.folder.glob("opensearch-*/blocks.json")):
            blocks = former_blocks(client, content.folder.parent.name)
            tell(
                f"{content.folder}: its index in the cluster was in blocks; it is loaded once "
                f"anew, and `arqmath-bm25 cluster` removes these: {', '.join(blocks)}"
            )
        for store in stores(content.folder):
            manifest = readable_manifest(store)
            if manifest is None or not (store / _INDEX).is_file():
                continue
            if manifest.stale_reason(content.recipe, manifest.sources) or manifest.damage(store):
                continue
            if content.rows_of_others.intersection(file.sha256 for file in manifest.sources):
                continue
            if cluster_index.is_loaded(client, index_of(content.task, store)):
                return store
    return None


def is_loaded(engine: Engine, task: IndexedTask, store: Path) -> bool:
    """Return whether the cluster has the documents of a store; True for other engines.

    If it has them, this also makes the replicas that the engine asks for, and removes the indexes
    that this one replaces, with their stores.
    """
    if engine.name != _ENGINE or not task.fields:
        return True
    if not (store / _INDEX).is_file():
        return False

    index = index_of(task, store)
    replaced = _read(store)["replaces"]
    with closing(connect(engine.hosts)) as client:
        if not cluster_index.is_loaded(client, index):
            return False
        add_replicas(client, index, engine.replicas)
        for name in replaced:
            patiently(client.indices.delete, index=name, ignore=404)
    for other in stores(store.parent):
        if (other / _INDEX).is_file() and _read(other)["name"] in replaced:
            remove_unless_open(other)
    return True


def index_of(task: IndexedTask, store: Path) -> ClusterIndex:
    """Return the index of a cluster that has the documents of a store.

    Raises NoIndexError for the store of an index in blocks.
    """
    manifest = Manifest.read(store)
    if not (store / _INDEX).is_file():
        raise NoIndexError(f"{store}: its index in the cluster was in blocks", task.name, _ENGINE)
    documents = manifest.counts["documents"]
    return _described(task, _read(store)["name"], manifest.digest, documents, store.parent)


def _read(store: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((store / _INDEX).read_bytes())
    return content


def _described(
    task: IndexedTask, name: str, digest: str, documents: int, folder: Path
) -> ClusterIndex:
    return ClusterIndex(
        name=name,
        content=digest,
        documents=documents,
        fields=tuple(task.fields or ())[1:],
        bm25=task.settings.bm25.parameters,
        collection=folder.parent.name,
    )
