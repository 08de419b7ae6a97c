"""The content of an index: a task with its settings, and the files that it reads.

A task comes with the settings of a configuration, or with those that a store was built with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self, get_args

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.imports import rows_of, rows_of_others
from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.manifest import LOCAL_INDEX, Manifest, content_digest
from arqmath_bm25.core.records import Json
from arqmath_bm25.core.stores import store_name
from arqmath_bm25.core.system import memory
from arqmath_bm25.core.writing import Source, sources
from arqmath_bm25.engines.engine import AUTO, Engine, EngineName, LocalName, flat_directory
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.task import IndexedTask, Task

LOCAL: tuple[LocalName, ...] = get_args(LocalName)
_TABLES = "tables"  # in place of an engine, where none searches


@dataclass(frozen=True, eq=False)
class IndexContent:
    """Everything that determines the content of an index, and the folder of its stores."""

    task: IndexedTask
    collection: CollectionFiles
    folder: Path  # of the stores of the task
    chosen: Mapping[str, str]  # options of the collection that decide the content

    @cached_property
    def recipe(self) -> Json:
        """The settings that decide the content, and the version of the analysis."""
        if not self.chosen:
            return self.task.recipe
        return self.task.recipe | {"chosen": self.chosen}

    @cached_property
    def sources(self) -> list[Source]:
        """The files that the task reads, as they are when this is first asked for."""
        return sources(self.task.sources(self.collection))

    @cached_property
    def digest(self) -> str:
        """The digest of recipe and sources; the names of the stores are made from it."""
        return content_digest(self.recipe, self.sources)

    @classmethod
    def of(cls, task: IndexedTask, collection: CollectionFiles) -> IndexContent:
        """Return the content of the index of a task for a collection."""
        collection = collection.configured(task.settings.of_collection)
        folder = collection.indexes / task.place(collection) / task.name
        return cls(task, collection, folder, collection.chosen)

    @classmethod
    def of_store(cls, store: Path, collection: CollectionFiles, task: Task | None = None) -> Self:
        """Return the present content of a store, by the settings and options of its manifest.

        Raises NoIndexError if that is damaged or its rows are gone, InputError if its settings name
        code that no configuration has named.
        """
        manifest = Manifest.read(store)
        chosen = manifest.recipe.get("chosen", {})
        options = {name: chosen[name] for name in ("site", "until", "delimiters") if name in chosen}
        collection = replace(collection, **options)
        if collection.is_imported:
            rows = rows_of(manifest.sources, collection.import_folder)
            if rows is None:
                raise NoIndexError(f"{store}: the rows that it was built from are gone", "docs")
            collection = replace(collection, data=rows)

        task = task or task_class(manifest.task).of(manifest.settings, store)
        return cls(task.index_task, collection, store.parent, chosen)

    @property
    def rows_of_others(self) -> set[str]:
        """The digests of the rows of imports of other folders."""
        if not self.collection.is_imported:
            return set()
        return rows_of_others(self.collection.documents_file.parent)

    def store(self, engine: EngineName) -> Path:
        """Return the path of the store that an engine searches, whether it exists or not.

        For `auto` that is the store of flat postings. If only Lucene's exists, or if the postings
        do not fit into half of the memory, it is Lucene's.
        """
        if not self.task.fields:
            return self._store(_TABLES)
        if engine != "auto":
            return self._store(engine)

        lucene = self._store("lucene")
        flat = self._store("flat")
        if not lucene.is_dir():
            return flat
        if flat.is_dir():
            files = flat_directory(flat / LOCAL_INDEX).glob("*")
            if sum(file.stat().st_size for file in files) <= memory() / 2:
                return flat
        return lucene

    def _store(self, engine: str) -> Path:
        return self.folder / store_name(engine, self.digest)

    def stores(self, engines: Iterable[Engine]) -> dict[Engine, Path]:
        """Return the paths of the stores of engines, whether they exist or not.

        `auto` means every local engine with a store of this content, or else flat postings.
        """
        if not self.task.fields:
            return {AUTO: self.store("auto")}
        chosen = {}
        for engine in engines:
            if engine.name != "auto":
                chosen[engine.name] = engine
                continue
            built = [name for name in LOCAL if self._store(name).is_dir()]
            for built_for in built or ["flat"]:
                chosen[built_for] = Engine(built_for)
        return {engine: self.store(engine.name) for engine in chosen.values()}


def with_needed(tasks: Iterable[IndexedTask], collection: CollectionFiles) -> list[IndexContent]:
    """Return the contents of the indexes that tasks search, each once."""
    found = {task.name: task for task in tasks}
    for task in list(found.values()):
        configured_by = collection.configured(task.settings.of_collection)
        for needed in task.needed(configured_by):
            if needed not in found:
                found[needed] = of_config(needed, configured_by).index_task
    return [IndexContent.of(task, collection) for task in found.values()]


def of_config(name: str, collection: CollectionFiles, config: Path | None = None) -> Task:
    """Return a task for a collection with the settings of `config`, or else the default ones."""
    return fitted(configured(name, config), collection)


def fitted(task: Task, collection: CollectionFiles) -> Task:
    """Return a task that reads the texts of a collection as its options and macros say."""
    return task.fitted(collection.configured(task.index_task.settings.of_collection))
