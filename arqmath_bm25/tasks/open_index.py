"""An index that is open: it ranks topics, explains scores, and says what a run was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import compress, islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from arqmath_bm25.analysis.html import Content, read_title
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.imports import is_import
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.manifest import LOCAL_INDEX, Manifest, digest_of
from arqmath_bm25.core.records import Hit, HitLists, Json, Topic
from arqmath_bm25.core.stores import is_store, keep, readable_manifest, why_unusable
from arqmath_bm25.core.writing import digest_of_sources, sources
from arqmath_bm25.engines.engine import AUTO, Engine, EngineName, Searcher, flat_directory
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.runs.run_writing import ir_metadata
from arqmath_bm25.tasks import trust
from arqmath_bm25.tasks.cluster_store import index_of
from arqmath_bm25.tasks.index_content import (
    LOCAL,
    IndexContent,
    of_config,
    with_needed,
)
from arqmath_bm25.tasks.labels import Labels
from arqmath_bm25.tasks.post_filter import ALL_POSTS, FIRST_SEARCHED, SEARCHED, PostFilter
from arqmath_bm25.tasks.task import Ranker, Task
from arqmath_bm25.tasks.written_words import FILE, WrittenWords
from arqmath_bm25.version import __version__


def _require(content: IndexContent, store: Path, engine: Engine, read_all: bool = False) -> None:
    """Raise NoIndexError for a store that cannot be used, with the engine to build it for."""
    why = why_unusable(store, content.recipe, content.sources, read_all)
    if not why:
        return
    built_for: EngineName | None = None
    if engine.name != "auto":
        built_for = engine.name
    elif store.exists():
        built_for = next((name for name in LOCAL if store.name.startswith(name)), None)
    raise NoIndexError(why, content.task.name, built_for) from None


@dataclass(eq=False)
class OpenIndex:
    """An index that is open. Thread-safe; the first ranking by Lucene starts the JVM."""

    task: Task
    collection: CollectionFiles
    directory: Path
    manifest: Manifest
    engine: Engine = AUTO
    threads: int = 1  # topics that are ranked at a time
    texts: Any = field(init=False)  # what the texts of hits are read from
    _searcher: Searcher | None = field(default=None, init=False)
    _opening: Lock = field(default_factory=Lock, init=False)

    @classmethod
    def open(
        cls,
        collection: CollectionFiles,
        name: str,
        config: Path | None = None,
        engine: Engine = AUTO,
    ) -> OpenIndex:
        """Open the index of the task `name`, to be searched by `engine`.

        The settings come from `config`, or else are the default ones. Raises NoIndexError if there
        is no index of these settings and files.
        """
        if is_store(name):
            trust([config] if config else [])
            return cls.at(collection, Path(name), engine)
        task = of_config(name, collection, config)
        return cls.of(task, collection, engine)

    @classmethod
    def at(
        cls,
        collection: CollectionFiles,
        store: Path,
        engine: Engine = AUTO,
        task: Task | None = None,
    ) -> OpenIndex:
        """Open a store by its path, with the settings and options that its manifest has.

        Raises NoIndexError if it is damaged or of other files, InputError if its settings name code
        that no configuration has named.
        """
        content = IndexContent.of_store(store, collection, task)
        return cls._opened(content, store, task or content.task, engine)

    @classmethod
    def of(cls, task: Task, collection: CollectionFiles, engine: Engine = AUTO) -> OpenIndex:
        """Open the index that a task searches; raises NoIndexError as `open` does."""
        content = IndexContent.of(task.index_task, collection)
        return cls._opened(content, content.store(engine.name), task, engine)

    @classmethod
    def _opened(cls, content: IndexContent, store: Path, task: Task, engine: Engine) -> OpenIndex:
        _require(content, store, engine)
        return cls(task, content.collection, store, Manifest.read(store), engine)

    def __post_init__(self) -> None:
        # Nobody removes these as long as they are open.
        keep(self.directory, self)
        if is_import(self.collection.layout.data):
            keep(self.collection.layout.data, self)
        self.texts = self.task.texts(self)

    @cached_property
    def words(self) -> WrittenWords | None:
        """The words of its documents as they were written, if it has them."""
        if not (self.directory / FILE).exists():
            return None
        task = self.task.index_task
        text = task.settings.analysis.text
        analyze = WordAnalyzer(text.stemmer, text.stop_words)
        return WrittenWords(self.directory, self.searcher(), task.fields or (), analyze)

    @cached_property
    def labels(self) -> Labels:
        """What its documents can be chosen by."""
        return Labels(self.directory)

    def search_chosen(
        self, topic: Topic, chosen: Sequence[str], variant: str, depth: int, posts: PostFilter
    ) -> tuple[list[Hit], Counter[str]]:
        """Return the best hits that have some labels, and how many of all such hits have each.

        Without a text these are the documents in their order.
        """
        if not self.labels.known:
            return self.best(topic, variant, depth, posts), Counter()

        passing = self.labels.passing(chosen)
        if topic.title or not chosen:
            hits = self.best(topic, variant, max(depth, SEARCHED), posts)
            rows = np.array([self._row_of[hit.doc_id] for hit in hits], np.int64)
            hits = list(compress(hits, passing[rows].tolist()))
            rows = rows[passing[rows]]
        else:
            rows = np.flatnonzero(passing)
            hits = [Hit(doc_id.decode(), 0) for doc_id in self.texts.ids.of(rows[:depth])]
        return hits[:depth], self.labels.counts(rows)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        """The rows of its documents, by id."""
        ids = self.texts.ids.of(np.arange(len(self.texts.ids)))
        return {doc_id.decode(): row for row, doc_id in enumerate(ids)}

    def completed(self, text: str) -> str:
        """Return a query that is being typed, with the words that its last one begins."""
        if self.words is None:
            return text
        return self.words.completed(text, self._read(text))

    def suggested(self, text: str) -> str:
        """Return a query with its unknown words replaced by known ones; "" if nothing changes."""
        if self.words is None:
            return ""
        text, chosen = self.labels.chosen(text)
        better = self.words.suggested(text, self._read(text))
        if better:
            better = " ".join([better, *chosen])
        return better

    def _read(self, text: str) -> Content:
        return read_title(self.task.topic(text).title, self.task.delimiters)

    @property
    def variants(self) -> list[str]:
        """The variants whose fields and files the index has."""
        variants, _ = self.task.runnable(self)
        return variants

    def searcher(self) -> Searcher:
        """Open the searcher of the index."""
        with self._opening:
            if self._searcher is None:
                with self._as_opened():
                    self._searcher = self._new_searcher()
            self._searcher.threads = self.threads
            return self._searcher

    def _new_searcher(self) -> Searcher:
        """Open a searcher; `auto` is the engine that the store was built for.

        Raises NoIndexError if that is another one. Only `lucene` starts a JVM. An engine is
        imported when it searches, as each loads much that others do not need.
        """
        task = self.task.index_task
        if self._is_in_cluster:
            index = index_of(task, self.directory)
            return OpenSearchSearcher(connect(self.engine.hosts), index)

        bm25 = task.settings.bm25.parameters
        local = self.directory / LOCAL_INDEX
        if self.engine.name != "lucene" and flat_directory(local).is_dir():
            from arqmath_bm25.engines.flat import FlatSearcher

            return FlatSearcher(local, bm25)
        if self.engine.name != "flat" and local.is_dir():
            from arqmath_bm25.engines.lucene.search import LuceneSearcher

            return LuceneSearcher(local, bm25)
        raise NoIndexError(
            f"{local}: this index was not built for the engine {self.engine.name}",
            task.name,
            self.engine.name,
        )

    @property
    def _is_in_cluster(self) -> bool:
        return self.engine.name == "opensearch" and bool(self.task.index_task.fields)

    @cached_property
    def ranker(self) -> Ranker:
        """The ranker of the task; `rank` names an index that proves damaged, too."""
        with self._as_opened():
            return self.task.ranker(self)

    @contextmanager
    def _as_opened(self) -> Iterator[None]:
        """Read files of the index; InputError if it is removed meanwhile."""
        try:
            yield
        finally:
            if not self.directory.exists():
                raise InputError(f"{self.directory}: the index was removed meanwhile; try again")

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` best hits of every topic, in the order of the topics.

        Raises InputError if that fails because the index is damaged.
        """
        try:
            yield from self.ranker.rank(topics, variant, depth)
        except InputError:
            raise
        except Exception:
            # Whatever a damaged file makes of Lucene or NumPy: the files tell the cause.
            for content in with_needed([self.task.index_task], self.collection):
                _require(content, content.store(self.engine.name), self.engine, read_all=True)
            raise

    @cached_property
    def built(self) -> list[dict[str, str]]:
        """The stores that it ranks by, each with the digest of its files."""
        built = []
        for content in with_needed([self.task.index_task], self.collection):
            store = content.store(self.engine.name)
            manifest = readable_manifest(store)
            if manifest is not None:
                name = f"{content.task.name}/{store.name}"
                built.append({"name": name, "sha256": digest_of(manifest.files)})
        return built

    def manifest_of(
        self,
        variant: str,
        depth: int,
        command: str,
        topics: Path | None = None,
        queries: Path | None = None,
    ) -> Json:
        """Return the manifest of a run: its description, settings and sources."""
        task = self.task
        name = task.tag(variant)
        if queries:
            name = task.manual_tag(variant)
        settings = task.settings.model_dump(mode="json")
        digest = digest_of_sources(self.manifest.sources)
        data = {"name": task.place(self.collection), "sha256": digest}
        qrels = None
        if topics:
            data["topics"] = topics.name
            qrels = task.judgments(self.collection, topics)
        files = {}
        for key, path in (("topics", topics), ("qrels", qrels), ("queries", queries)):
            if path:
                (source,) = sources([path])
                files[key] = asdict(source)

        cluster = {}
        if self._is_in_cluster:
            cluster["cluster"] = self.searcher().origin
        return {
            **ir_metadata(task.lab, name, command, settings, variant, data),
            "version": __version__,
            "settings": settings,
            "task": task.lab,
            "variant": variant,
            "depth": depth,
            **files,
            "index": self.manifest.digest,
            "built": self.built,
            "collection": [asdict(source) for source in self.manifest.sources],
            **cluster,
        }

    def close(self) -> None:
        """Close the searcher and the ranker; the next use opens them again."""
        with self._opening:
            if self._searcher is not None:
                self._searcher.close()
                self._searcher = None
            vars(self).pop("ranker", None)

    def search(
        self, text: str, variant: str, depth: int, posts: PostFilter = ALL_POSTS
    ) -> list[Hit]:
        """Return the best hits for free text, with `$…$` around its formulas; see `best`."""
        return self.best(self.task.topic(text), variant, depth, posts)

    def best(
        self, topic: Topic, variant: str, depth: int, posts: PostFilter = ALL_POSTS
    ) -> list[Hit]:
        """Return the best hits for one topic that match at all.

        Of these the best that `posts` lets through, which may be far down the ranking. Raises
        InputError if the task finds something without tags.
        """
        depths = [depth]
        if not posts.is_open:
            depths = [FIRST_SEARCHED, max(depth, SEARCHED)]
            if not self.task.finds_posts:
                raise InputError(f"{self.task.name}: only task1 and task2 know tags and years")
        for searched in depths:
            (hits,) = self.rank([topic], variant, searched)
            matching = [hit for hit in hits if hit.score > 0]
            passing = list(islice(posts.passing(matching, self.collection), depth))
            if len(passing) == depth or len(hits) < searched:
                break
        return passing
