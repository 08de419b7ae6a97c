"""The stores of a task on disk: which are asked for, and how they are built.

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

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from arqmath_bm25.core.building import DOCUMENTS, building, remove, sweep
from arqmath_bm25.core.errors import InputError, InterruptedWorkError, NoIndexError
from arqmath_bm25.core.manifest import MANIFEST, Manifest, content_digest
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.stores import is_before_stores, note_asked, store_name, stores
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.core.writing import contents, sources
from arqmath_bm25.engines.engine import (
    AUTO,
    Engine,
    EngineName,
    LocalName,
    flat_directory,
)
from arqmath_bm25.engines.flat_build import write_flat
from arqmath_bm25.engines.lucene.indexing import index_parts
from arqmath_bm25.engines.lucene.jvm import prepare
from arqmath_bm25.engines.opening import fits
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    add_replicas,
    check_rights,
    counts_if_loaded,
    is_loaded,
    load_documents,
)
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.document_parts import PartForms, clear
from arqmath_bm25.tasks.sealed_blocks import Block, Sealing, read_blocks, write_blocks

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.tasks.task import IndexedTask, Task

BLOCKS: Final = "blocks.json"  # in a store: what of it a cluster has
STORE: Final = "lucene"  # in a store: what an engine of this machine searches
_TABLES: Final = "tables"  # in place of an engine, where none searches
LOCAL: Final[tuple[LocalName, ...]] = get_args(LocalName)


# Which store is asked for


def folder_of(task: Task[Any] | type[Task[Any]], collection: Collection) -> Path:
    """Return the folder of the stores of a task."""
    return collection.indexes / task.place(collection) / task.name


def recipe(task: IndexedTask[Any], collection: Collection) -> dict[str, Any]:
    """Return what decides the content of an index, besides the files."""
    return task.recipe | ({"chosen": collection.chosen} if collection.chosen else {})


def store_of(task: IndexedTask[Any], collection: Collection, engine: EngineName) -> Path:
    """Return the path of the store that an engine searches, whether it is there or not.

    `auto` takes Lucene's index only where the flat postings do not fit into half of the memory, or
    are not there.
    """
    made_of = recipe(task, collection), sources(task.sources(collection))
    folder = folder_of(task, collection)
    if not task.fields:
        return folder / store_name(_TABLES, *made_of)
    if engine != "auto":
        return folder / store_name(engine, *made_of)

    lucene = folder / store_name("lucene", *made_of)
    flat = folder / store_name("flat", *made_of)
    if lucene.is_dir() and not (flat.is_dir() and fits(flat_directory(flat / STORE))):
        return lucene
    return flat


def of_config(name: str, collection: Collection, config: Path | None = None) -> Task[Any]:
    """Return a task for a collection with the settings of `config`, or else the default ones."""
    task = configured(name, config)
    return task.on(task.index_task.fitted(collection))


def as_built(name: str, collection: Collection) -> Task[Any]:
    """Return a task with the settings of the store of these files that was asked for last.

    If these were the default settings, it has the default ones as they are now.
    """
    asked = task_class(name)
    owner = task_class(asked.index_of or name)
    for store in stores(folder_of(owner, collection)):
        manifest = readable_manifest(store)
        if manifest is None:
            continue

        if manifest.default:
            built = of_config(name, collection).index_task
        else:
            built = owner.of(manifest.settings, store).index_task
        if manifest.sources != sources(built.sources(collection)):
            continue

        if manifest.default:
            break
        if owner is asked:
            return built
        return configured(name).on(built)
    return of_config(name, collection)


def readable_manifest(store: Path) -> Manifest | None:
    """Return the manifest of a store; None if it is missing or damaged."""
    with suppress(NoIndexError):
        return Manifest.read(store)
    return None


def why_unusable(
    task: IndexedTask[Any], collection: Collection, store: Path, read_all: bool = False
) -> str | None:
    """Return why a store does not serve these settings and files; None if it does.

    With `read_all`, every byte is read, also of files whose digests are remembered.
    """
    if not store.exists():
        return _why_absent(task, collection, store)
    try:
        manifest = Manifest.read(store)
    except NoIndexError as error:
        return str(error)
    if manifest is None:
        return f"{store / MANIFEST}: this file is missing"

    why = manifest.stale_reason(recipe(task, collection), sources(task.sources(collection)))
    if why is None:
        why = _damage(store, manifest, read_all)
    if why is None:
        return None
    return f"{store}: {why}"


def _damage(store: Path, manifest: Manifest, read_all: bool = False) -> str | None:
    """Return what is wrong with the files of a store; None if they are as they were written."""
    for damage in manifest.damages(store, read_all):
        return f"this index is damaged: {damage}"

    files = map(store.joinpath, manifest.files)
    written = {path for file in files for path in (file, *file.parents)}
    for found in sorted(store.glob(f"{STORE}*")):
        for path in (found, *sorted(found.rglob("*"))):
            if path not in written:
                return f"{path.relative_to(store)} is not of this index; remove it"
    return None


def _why_absent(task: IndexedTask[Any], collection: Collection, store: Path) -> str:
    """Return what is there in place of a store that is not there."""
    folder = store.parent
    engine, _, digest = store.name.partition("-")
    if any(folder.glob(f"*-{digest}")):
        return f"{folder}: this index was not built for the engine {engine}"

    files = sources(task.sources(collection))
    for other in stores(folder):
        try:
            manifest = Manifest.read(other)
        except NoIndexError as error:
            return str(error)
        if manifest:
            return f"{folder}: {manifest.stale_reason(recipe(task, collection), files)}"
    if is_before_stores(folder):
        return f"{folder}: this index was built by a version before 0.5, whose form is another one"
    return f"{folder}: there is no index"


# How it is built


class Built(NamedTuple):
    """A store that serves."""

    store: Path
    manifest: Manifest | None  # None if it was there already


def with_needed(
    tasks: Iterable[IndexedTask[Any]], collection: Collection
) -> list[IndexedTask[Any]]:
    """Return tasks, and those whose indexes they search too, each once."""
    found = {task.name: task for task in tasks}
    for task in list(found.values()):
        for needed in task.needed(collection):
            if needed.name not in found:
                found[needed.name] = as_built(needed.name, collection).index_task
    return list(found.values())


def ensure(
    task: IndexedTask[Any], collection: Collection, workers: Workers = HERE,
    engines: Sequence[Engine] = (AUTO,), keep_documents: bool = False, read_all: bool = False,
) -> list[Built]:  # fmt: skip
    """Build the stores of a task that are not there, or are damaged, for all `engines` at once.

    With `read_all`, every byte of those that are there is read. Raises InputError as `build` does.
    """
    there = list[Built]()
    lacking = list[Engine]()
    for engine in _engines(engines, task, collection):
        store = store_of(task, collection, engine.name)
        why = why_unusable(task, collection, store, read_all)
        if why or not _is_loaded(task, store, engine):
            lacking.append(engine)
        else:
            sweep(store)
            note_asked(store)
            there.append(Built(store, None))

    if lacking:
        there += build(task, collection, workers, lacking, keep_documents)
        if collection.of_files:
            _remove_former(task, collection)
    return there


def _remove_former(task: IndexedTask[Any], collection: Collection) -> None:
    """Remove the stores of a folder as it was before: it changes often, and they would pile up."""
    made_of = sources(task.sources(collection))
    for store in stores(folder_of(task, collection)):
        manifest = readable_manifest(store)
        if manifest and manifest.sources != made_of:
            remove(store)


def build(
    task: IndexedTask[Any], collection: Collection, workers: Workers = HERE,
    engines: Sequence[Engine] = (Engine("flat"),), keep_documents: bool = False,
) -> list[Built]:  # fmt: skip
    """Build the stores of a task for some engines; its files are read and analysed once.

    With `keep_documents`, they stay in the first store as JSON lines. Raises InputError if a file
    cannot be read, an engine cannot be had or did not index every document.
    """
    for engine in engines:  # what is missing is said before hours of work
        if engine.name == "lucene" and task.fields:
            prepare()
        if engine.name == "opensearch":
            check_rights(engine.hosts)

    began = time.monotonic()
    made_by = recipe(task, collection)
    made_of = sources(task.sources(collection))
    paths = [store_of(task, collection, engine.name) for engine in engines]
    with ExitStack() as stack:
        first = stack.enter_context(building(paths[0], resumes=True))
        places = [first, *(stack.enter_context(building(path)) for path in paths[1:])]
        forms = _forms(task, collection, engines, workers, keep_documents)
        counts = task.write_documents(collection, first, workers, forms)
        if forms.sealing:
            parts = sorted((first / DOCUMENTS).glob("*.jsonl"))
            forms.sealing.finish(content_digest(made_by, made_of), counts, parts)
        for place in places[1:]:
            tables = shutil.ignore_patterns(DOCUMENTS)
            shutil.copytree(first, place, ignore=tables, dirs_exist_ok=True)

        if task.fields:
            for engine, place in zip(engines, places, strict=True):
                with status("Indexing"):
                    _index(task, engine, first / DOCUMENTS, place, counts["documents"], workers)
                if forms.sealing and engine.name == "opensearch":
                    write_blocks(place / BLOCKS, forms.sealing.blocks)
        clear(first / DOCUMENTS, keep_documents)

        common = Manifest(
            task=task.name,
            settings=task.settings.model_dump(mode="json"),
            default=task.default,
            recipe=made_by,
            sources=made_of,
            files={},
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
        )
        manifests = [replace(common, files=contents(place, DOCUMENTS)) for place in places]
        for place, manifest in zip(places, manifests, strict=True):
            manifest.write(place)
    for engine, path in zip(engines, paths, strict=True):
        _is_loaded(task, path, engine)  # it gets its copies
    return list(map(Built, paths, manifests))


def _index(
    task: IndexedTask[Any], engine: Engine, documents: Path, place: Path, count: int,
    workers: Workers,
) -> None:  # fmt: skip
    """Write what an engine of this machine searches; a cluster has the documents already."""
    if engine.name == "flat":
        write_flat(documents, flat_directory(place / STORE), count, workers)
    if engine.name == "lucene":
        index_parts(documents, place / STORE, tuple(task.fields or ())[1:], count, workers)


def _forms(
    task: IndexedTask[Any], collection: Collection, engines: Sequence[Engine], workers: Workers,
    keep_documents: bool,
) -> PartForms:  # fmt: skip
    """Return the forms in which documents are written for engines."""
    names = {engine.name for engine in engines}
    sealing = None
    for engine in engines:
        if engine.name == "opensearch" and task.fields:
            keeps = keep_documents or names != {"opensearch"}
            sealing = _sealing(task, collection, engine, workers, keeps)
    json_lines = keep_documents or names != {"flat"}
    return PartForms(json=json_lines, flat="flat" in names, sealing=sealing)


def _sealing(
    task: IndexedTask[Any], collection: Collection, engine: Engine, workers: Workers, keeps: bool
) -> Sealing:
    """Return what loads blocks of documents into a cluster while they are written."""
    folder = folder_of(task, collection)

    def counts_of(block: Block) -> dict[str, int] | None:
        with closing(connect(engine.hosts)) as client:
            return counts_if_loaded(client, _in_cluster(task, folder, block))

    def load(block: Block, parts: list[Path]) -> None:
        index = _in_cluster(task, folder, block)
        try:
            load_documents(engine.hosts, index, parts, engine.shards, workers)
        except InputError as error:  # what is written stays for the next try
            raise InterruptedWorkError(str(error)) from None

    return Sealing(engine.block, counts_of, load, keeps)


def _engines(
    asked: Sequence[Engine], task: IndexedTask[Any], collection: Collection
) -> list[Engine]:
    """Return the engines to build for, each once.

    `auto` are those that this index is there for, or else the last one, or else flat.
    """
    if not task.fields:
        return [AUTO]
    engines: dict[EngineName, Engine] = {}
    for engine in asked:
        if engine.name != "auto":
            engines[engine.name] = engine
            continue
        wanted = store_of(task, collection, "auto")
        for store in (wanted, *stores(wanted.parent)):
            there = _local_engines(store)
            if there:
                break
        for name in there or ["flat"]:
            engines[name] = Engine(name)
    return list(engines.values())


def _local_engines(store: Path) -> list[LocalName]:
    """Return the engines of this machine that the index of a store is there for."""
    digest = store.name.partition("-")[2]
    return [name for name in LOCAL if store.with_name(f"{name}-{digest}").is_dir()]


def indexes_in_cluster(task: IndexedTask[Any], store: Path) -> list[ClusterIndex]:
    """Return the indexes of a cluster that have the documents of a store."""
    return [_in_cluster(task, store.parent, block) for block in read_blocks(store / BLOCKS)]


def _in_cluster(task: IndexedTask[Any], folder: Path, block: Block) -> ClusterIndex:
    """Describe a block as it is in a cluster, for whatever collection it was made."""
    return ClusterIndex(
        label=task.name,
        content=json.dumps([task.recipe, block.digest], sort_keys=True),
        documents=block.documents,
        fields=tuple(task.fields or ())[1:],
        k1=task.settings.bm25.k1,
        b=task.settings.bm25.b,
        counts=block.counts,
        collection=folder.parent.name,
    )


def _is_loaded(task: IndexedTask[Any], store: Path, engine: Engine) -> bool:
    """Return whether a cluster has the documents of a store; it then gets its copies."""
    if engine.name != "opensearch" or not task.fields:
        return True
    indexes = indexes_in_cluster(task, store)
    with closing(connect(engine.hosts)) as client:
        if not all(is_loaded(client, index) for index in indexes):
            return False
        for index in indexes:
            add_replicas(client, index, engine.replicas)
    return True
