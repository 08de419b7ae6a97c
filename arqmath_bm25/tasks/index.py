"""Builds the index of a task where it is missing or damaged.

An index is stored once for each engine. A *store* is the directory that one engine searches,
INDEXES/COLLECTION/TASK/ENGINE-DIGEST. DIGEST stands for everything that determines the content of
the index: the settings, the input files, the version of the analysis, and the major and minor
version of this program (index_content.py, core/stores.py). A store is built under a temporary name
and renamed when it is complete (core/building.py), so a directory with the name of a store is a
complete store.

For the command `index`, `ensure` looks for the store of the current settings and input files:

* The store exists, and its files are as they were written: nothing is built. (The store of a
  cluster is built again if the cluster has lost its documents.)
* Only stores of other settings or files exist: the store is built next to them. They remain until
  pruning removes them. There are two exceptions. What is imported, as a folder of files, changes
  often, so the indexes of former imports of the same path are removed (imports.py). And in
  a cluster the index of other files is changed into the new one (cluster_store.py).
* An earlier build was interrupted, was killed, or lost a worker or the cluster: its directory still
  has the temporary name. The new build reads and analyses only the documents that the earlier one
  had not written. A build that fails for another reason removes its directory.
* The store is damaged: it is built anew under the temporary name. Then the two directories exchange
  their names, and the damaged one is removed.

While one process builds a store, another one that would build it gets an InputError. Opening a
store for a search builds nothing; it checks the sizes of the files, whose content is tested when
it is read (core/tested.py).
"""

import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from arqmath_bm25.collection.imports import remove_former
from arqmath_bm25.core.building import DOCUMENTS, building, sweep
from arqmath_bm25.core.manifest import LOCAL_INDEX, Manifest
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.stores import why_unusable
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.core.writing import contents
from arqmath_bm25.engines.engine import AUTO, Engine, flat_directory
from arqmath_bm25.engines.flat_build import write_flat
from arqmath_bm25.engines.lucene.indexing import index_parts
from arqmath_bm25.engines.lucene.jvm import prepare
from arqmath_bm25.engines.opensearch.cluster_index import check_rights
from arqmath_bm25.tasks.cluster_store import ClusterBuild, is_loaded
from arqmath_bm25.tasks.document_parts import PartForms, clear
from arqmath_bm25.tasks.index_content import IndexContent


class ReadyStore(NamedTuple):
    """A store that can be searched."""

    store: Path
    manifest: Manifest | None  # None if it was not built now


def ensure(
    content: IndexContent,
    workers: Workers = HERE,
    engines: Iterable[Engine] = (AUTO,),
    keep_documents: bool = False,
) -> list[ReadyStore]:
    """Build the stores of an index that are missing or damaged; return the stores of all engines.

    The input files are read and analysed once for all engines. With `keep_documents`, the documents
    stay in the first new store as JSON lines. Every byte of existing stores is read and checked.
    Raises InputError if a file cannot be read, or if an engine is not available or did not index
    every document.
    """
    ready = []
    to_build = {}
    for engine, store in content.stores(engines).items():
        fault = why_unusable(store, content.recipe, content.sources, read_all=True)
        if fault or not is_loaded(engine, content.task, store):
            to_build[engine] = store
        else:
            sweep(store)
            ready.append(ReadyStore(store, None))

    # An engine that is not available is found out before hours of work.
    for engine in to_build:
        if engine.name == "lucene" and content.task.fields:
            prepare()
        if engine.name == "opensearch":
            check_rights(engine.hosts, engine.replicas)
    if to_build:
        ready += _build(content, to_build, workers, keep_documents)
    for engine, store in to_build.items():
        # This also asks the cluster for replicas, and to remove what was replaced.
        is_loaded(engine, content.task, store)
    if content.collection.is_imported:
        remove_former(content.collection.import_folder)
    return ready


def _build(
    content: IndexContent, stores: Mapping[Engine, Path], workers: Workers, keep_documents: bool
) -> list[ReadyStore]:
    """Build the stores of an index for some engines; all get their names at the end."""
    began = time.monotonic()
    task = content.task
    names = {engine.name for engine in stores}
    forms = PartForms(json=keep_documents or names != {"flat"}, flat="flat" in names)
    cluster = None
    for engine in stores:
        if engine.name == "opensearch":
            # Documents that the cluster has are written as well if something else needs them.
            cluster = ClusterBuild(engine, content, whole=keep_documents or len(stores) > 1)
            forms = forms._replace(cluster=cluster)

    with ExitStack() as stack:
        # The documents are written below the first store, where an interrupted build left them.
        directories = list[Path]()
        for store in stores.values():
            directories.append(stack.enter_context(building(store, resumes=not directories)))

        documents = directories[0] / DOCUMENTS
        if cluster:
            cluster.begin(documents)
        counts = task.write_documents(content.collection, directories[0], workers, forms)

        # Besides the documents, a task may have written tables, which each store needs.
        without_documents = shutil.ignore_patterns(DOCUMENTS)
        for directory in directories[1:]:
            shutil.copytree(directories[0], directory, ignore=without_documents, dirs_exist_ok=True)

        if task.fields:
            for engine, directory in zip(stores, directories, strict=True):
                if cluster and engine.name == "opensearch":
                    cluster.finish(documents, forms.ending, directory, counts["documents"], workers)
                    continue
                index = directory / LOCAL_INDEX
                with status("Indexing"):
                    if engine.name == "flat":
                        write_flat(documents, flat_directory(index), counts["documents"], workers)
                    else:
                        index_parts(documents, index, task.fields[1:], counts["documents"], workers)
        clear(documents, keep_documents)

        common = Manifest(
            task=task.name,
            settings=task.settings.model_dump(mode="json"),
            data=content.collection.origin_of_index,
            recipe=content.recipe,
            sources=content.sources,
            files={},
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
            decisions=task.decisions(counts),
        )
        manifests = [replace(common, files=contents(made, DOCUMENTS)) for made in directories]
        for directory, manifest in zip(directories, manifests, strict=True):
            manifest.write(directory)

    return list(map(ReadyStore, stores.values(), manifests))
