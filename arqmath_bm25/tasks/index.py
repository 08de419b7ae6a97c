"""Building the stores of an index.

A store is a directory INDEXES/COLLECTION/TASK/ENGINE-DIGEST that one engine searches. Its name is a
digest of all that decides its content (core/stores.py), and it is built beside its place and
renamed once (core/building.py): it is there and complete, or it is not there. `index` asks for the
store of the files and settings as they are now.

* If it is there, and its files are as they were written, nothing is built.
* If only stores of other settings or files are there, it is built beside them. They stay until
  `index --prune` removes them.
* If an earlier build of it was interrupted, the documents that this one wrote are used.
* If it is damaged, it is built anew, and replaces the damaged one when it is complete.

Without a configuration, an index is opened with the settings of the store that was asked for last
(open_index.py).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arqmath_bm25.core.building import DOCUMENTS, building
from arqmath_bm25.core.manifest import LOCAL_INDEX, Manifest
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.stores import note_asked, remove_former, why_unusable
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.core.writing import contents
from arqmath_bm25.engines.engine import AUTO, Engine, flat_directory
from arqmath_bm25.engines.flat_build import write_flat
from arqmath_bm25.engines.lucene.indexing import index_parts
from arqmath_bm25.engines.lucene.jvm import prepare
from arqmath_bm25.engines.opensearch.cluster_index import check_rights
from arqmath_bm25.tasks.cluster_blocks import BLOCKS, is_loaded, sealing_for, write_blocks
from arqmath_bm25.tasks.document_parts import PartForms, clear
from arqmath_bm25.tasks.index_content import IndexContent

if TYPE_CHECKING:
    from arqmath_bm25.tasks.task import IndexedTask


class Built(NamedTuple):
    """A store that serves."""

    store: Path
    manifest: Manifest | None  # None if it was there already


def ensure(
    content: IndexContent, workers: Workers = HERE, engines: Iterable[Engine] = (AUTO,),
    keep_documents: bool = False, read_all: bool = False,
) -> list[Built]:  # fmt: skip
    """Build the stores of an index that are missing or damaged, for all `engines` at once.

    The files are read and analysed once. With `keep_documents`, the documents stay in the first
    store as JSON lines. With `read_all`, every byte of the stores that are there is read. Raises
    InputError if a file cannot be read, an engine cannot be had or did not index every document.
    """
    serving = list[Built]()
    lacking: dict[Engine, Path] = {}
    for engine, store in content.stores(engines).items():
        why = why_unusable(store, content.recipe, content.sources, read_all)
        if why or not is_loaded(engine, content.task, store):
            lacking[engine] = store
        else:
            note_asked(store)
            serving.append(Built(store, None))

    if lacking:
        serving += _build(content, lacking, workers, keep_documents)
        if content.collection.of_files:  # a folder changes often: its former stores would pile up
            remove_former(content.folder, content.sources)
    return serving


def _build(
    content: IndexContent, stores: Mapping[Engine, Path], workers: Workers, keep_documents: bool
) -> list[Built]:
    """Build the stores of some engines."""
    task = content.task
    _check_engines(stores, task)
    began = time.monotonic()
    forms = _forms(content, stores, workers, keep_documents)

    with ExitStack() as stack:
        first, *others = stores.values()
        places = [stack.enter_context(building(first, resumes=True))]
        places += [stack.enter_context(building(store)) for store in others]

        documents = places[0] / DOCUMENTS
        counts = task.write_documents(content.collection, places[0], workers, forms)
        count = counts["documents"]
        if forms.sealing:
            parts = sorted(documents.glob("*.jsonl"))
            forms.sealing.finish(content.digest, counts, parts)
        for place in places[1:]:
            tables = shutil.ignore_patterns(DOCUMENTS)
            shutil.copytree(places[0], place, ignore=tables, dirs_exist_ok=True)

        if task.fields:
            for engine, place in zip(stores, places, strict=True):
                with status("Indexing"):
                    searched = place / LOCAL_INDEX
                    if engine.name == "flat":
                        write_flat(documents, flat_directory(searched), count, workers)
                    elif engine.name == "lucene":
                        fields = tuple(task.fields[1:])
                        index_parts(documents, searched, fields, count, workers)
                    elif forms.sealing:  # the cluster has the documents already
                        write_blocks(place / BLOCKS, forms.sealing.blocks)
        clear(documents, keep_documents)

        common = Manifest(
            task=task.name,
            settings=task.settings.model_dump(mode="json"),
            default=task.default,
            recipe=content.recipe,
            sources=content.sources,
            files={},
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
        )
        manifests = [replace(common, files=contents(place, DOCUMENTS)) for place in places]
        for place, manifest in zip(places, manifests, strict=True):
            manifest.write(place)

    for engine, store in stores.items():
        is_loaded(engine, task, store)  # a cluster makes its copies
    return list(map(Built, stores.values(), manifests))


def _check_engines(engines: Iterable[Engine], task: IndexedTask[Any]) -> None:
    """Raise InputError for an engine that cannot be had, before hours of work."""
    for engine in engines:
        if engine.name == "lucene" and task.fields:
            prepare()
        if engine.name == "opensearch":
            check_rights(engine.hosts)


def _forms(
    content: IndexContent, engines: Iterable[Engine], workers: Workers, keep_documents: bool
) -> PartForms:
    """Return the forms in which documents are written for engines."""
    names = {engine.name for engine in engines}
    sealing = None
    for engine in engines:
        if engine.name == "opensearch" and content.task.fields:
            keeps = keep_documents or names != {"opensearch"}
            sealing = sealing_for(engine, content.task, content.folder, workers, keeps)
    json_lines = keep_documents or names != {"flat"}
    return PartForms(json=json_lines, flat="flat" in names, sealing=sealing)
