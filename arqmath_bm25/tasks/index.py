"""An index on disk: built, found to be up to date or stale, and opened to rank by."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing, contextmanager
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.files import BUILDING, DOCUMENTS, building, contents, sources
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.progress import status, tell
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.engines.engine import AUTO, Engine, flat_place
from arqmath_bm25.engines.flat_build import write_flat
from arqmath_bm25.engines.lucene.jvm import prepare
from arqmath_bm25.engines.lucene.shards import index_parts
from arqmath_bm25.engines.opening import open_searcher
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.document_parts import JSON, clear
from arqmath_bm25.tasks.post_filter import ALL_POSTS, SEARCHED, PostFilter
from arqmath_bm25.tasks.task import CandidateRanker
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.records import Hit, Part, Topic
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.engines.engine import EngineName, LocalName, Searcher
    from arqmath_bm25.engines.opensearch import ClusterIndex
    from arqmath_bm25.tasks.document_parts import Form
    from arqmath_bm25.tasks.task import Ranker, Task


def directory(task: Task[Any], collection: Collection) -> Path:
    """Return where the index of a task is kept."""
    return collection.indexes / task.place(collection) / task.name


def recipe(task: Task[Any], collection: Collection) -> dict[str, Any]:
    """Return what decides the content of the index, beside the files."""
    sites = collection.site_names
    chosen = collection.chosen
    return {
        **task.recipe,
        **({"sites": sites} if sites else {}),
        **({"chosen": chosen} if chosen else {}),
    }


def why_stale(
    task: Task[Any], collection: Collection, manifest: Manifest, read_all: bool = False
) -> str | None:
    """Tell why an index does not serve these settings and files; None if it does."""
    stale = manifest.why_stale(recipe(task, collection), sources(task.sources(collection)))
    damage = next(manifest.damages(directory(task, collection), read_all=read_all), None)
    return stale or (f"this index is damaged: {damage}" if damage else None)


def is_up_to_date(
    task: Task[Any], collection: Collection, overwrite: bool, as_built: bool = False
) -> bool:
    """Tell whether the index of a task serves as it is; False if it is to be built.

    With `as_built`, it may have settings of its own; before it is overwritten, every byte is read.
    Raises InputError if it is stale and must not be overwritten.
    """
    place = directory(task, collection)
    try:
        existing = Manifest.read(place)
    except NoIndexError as error:
        if overwrite:
            return False
        raise InputError(f"{error}; --overwrite replaces it") from None
    if existing is None:
        return False
    if as_built and not existing.default:
        task = task.of(existing.settings)
    reason = why_stale(task, collection, existing, read_all=overwrite)
    if reason and not overwrite:
        raise InputError(
            f"{place}: {reason}; --overwrite replaces it, another --indexes keeps both"
        )
    return reason is None


def build(
    task: Task[Any], collection: Collection, workers: Workers, keep_documents: bool = False,
    engine: LocalName = "lucene", keep: bool = False,
) -> Manifest:  # fmt: skip
    """Build the index of a task for an engine, replacing what is there.

    With `keep_documents`, they stay beside the index as JSON lines. With `keep`, an index of the
    same settings and files is there, for another engine; what that one searches stays. Raises
    InputError if a file cannot be read, the engine cannot be started or did not index every
    document; the old index, if there is one, is then as it was.
    """
    if engine == "lucene" and task.stores:
        prepare()  # its absence is told before hours of work, not after
    forms: list[Form] = ["json"] if engine == "lucene" or keep_documents else []
    if engine == "flat":
        forms.append("flat")
    began = time.monotonic()
    made_of = sources(task.sources(collection))
    made_by = recipe(task, collection)
    with building(directory(task, collection), __version__, made_by, made_of) as place:
        counts = task.write_documents(collection, place, workers, forms)
        with status("Indexing"):
            for name, (fields, counted) in task.stores.items():
                parts, store = _documents(task, place, name), place / name
                if engine == "flat":
                    write_flat(parts, flat_place(store), counts[counted])
                else:
                    index_parts(parts, store, fields, counts[counted], workers)
        clear(place / DOCUMENTS, keep_documents)
        if keep:
            names = (DOCUMENTS, *task.stores)
            for old in directory(task, collection).iterdir():
                if old.name.startswith(names) and not (place / old.name).exists():
                    _link(old, place / old.name)
        manifest = Manifest(
            task=task.name,
            settings=task.settings.model_dump(mode="json"),
            default=task.default,
            recipe=made_by,
            sources=made_of,
            files=contents(place, DOCUMENTS, *BUILDING),
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
        )
        manifest.write(place)
    return manifest


def _documents(task: Task[Any], place: Path, store: str) -> Path:
    """Return where the JSON lines of a store are, in an index or one that is being built."""
    return place / DOCUMENTS / store if len(task.stores) > 1 else place / DOCUMENTS


def _link(old: str | Path, new: str | Path) -> None:
    """Give a file, or those of a directory, a second name; copy it where that is not possible."""
    if Path(old).is_dir():
        shutil.copytree(old, new, copy_function=_link)
        return
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def has_engine(task: Task[Any], collection: Collection, engine: EngineName) -> bool:
    """Tell whether there is what an engine of this machine searches; `auto` takes either."""
    stores = [directory(task, collection) / name for name in task.stores]
    flat, lucene = ([*map(Path.is_dir, each)] for each in (map(flat_place, stores), stores))
    return (engine != "lucene" and all(flat)) or (engine != "flat" and all(lucene))


def add_engine(
    task: Task[Any], collection: Collection, engine: Engine, workers: Workers = HERE
) -> None:
    """Let another engine search an index that is there.

    What Lucene or flat postings lack is built; a cluster is given the documents that it has not,
    which are written beside the index where they are missing. Raises InputError where that fails.
    """
    place = directory(task, collection)
    if engine.name in ("lucene", "flat"):
        if not has_engine(task, collection, engine.name):
            build(task, collection, workers, engine=engine.name, keep=True)
    elif engine.name == "opensearch" and (manifest := Manifest.read(place)):
        from arqmath_bm25.engines.opensearch import add_replicas, connect, is_loaded, load_documents

        with closing(connect(engine.hosts)) as client:
            for store in task.stores:
                index = _in_cluster(task, place, manifest, store)
                if not is_loaded(client, index):
                    if not (place / DOCUMENTS).is_dir():
                        _write_documents(task, collection, workers)
                    load_documents(client, index, _documents(task, place, store), engine.shards)
                add_replicas(client, index, engine.replicas)


@cache  # so that it is said once
def _builder(engine: EngineName) -> LocalName:
    """Return the engine to build for; `auto` is Lucene wherever that can be had."""
    if engine in ("lucene", "flat"):
        return engine
    try:
        prepare()
    except InputError as error:
        tell(f"indexes are built for the engine flat, which needs no Java ({error})")
        return "flat"
    return "lucene"


def _write_documents(task: Task[Any], collection: Collection, workers: Workers) -> None:
    """Write the JSON lines of an index that is there; its engine has nothing to do."""
    index = directory(task, collection)
    place = index.with_name(f"{index.name}.{DOCUMENTS}")
    made_of = sources(task.sources(collection))
    with building(place, __version__, recipe(task, collection), made_of) as written:
        task.write_documents(collection, written, workers, JSON)
        clear(written / DOCUMENTS, keep_documents=True)
    (place / DOCUMENTS).rename(index / DOCUMENTS)
    shutil.rmtree(place)


def _in_cluster(task: Task[Any], place: Path, manifest: Manifest, store: str) -> ClusterIndex:
    """Describe a store of an index as it is in a cluster."""
    from arqmath_bm25.engines.opensearch import ClusterIndex

    fields, counted = task.stores[store]
    label = "-".join([*place.parts[-2:], *([store] if store != "lucene" else [])])
    content = f"{manifest.task} {store} {manifest.digest}"
    bm25, count = task.settings.bm25, manifest.counts[counted]
    return ClusterIndex(label, content, count, tuple(fields), bm25.k1, bm25.b)


def ensure(
    names: Sequence[str], collection: Collection, workers: Workers, config: Path | None = None,
    overwrite: bool = False, keep_documents: bool = False, engine: Engine = AUTO,
) -> Iterator[tuple[Path, Task[Any], Manifest | None]]:  # fmt: skip
    """Build the indexes of tasks, and those that these need, unless they are up to date.

    They are built for `engine`, or what it needs is added to them.

    Yields each with its task, and with its manifest if it was built. Raises InputError as `build`
    does, and for one that is stale without `overwrite`.
    """
    if in_cluster := engine.name == "opensearch":
        from arqmath_bm25.engines.opensearch import connect

        connect(engine.hosts).close()  # what keeps it away is said before hours of work
    done: set[Path] = set()
    for name in names:
        wanted = configured(name, config).index_task
        for one in (wanted, *wanted.needed(collection)):
            place = directory(one, collection)
            if place in done:
                continue
            done.add(place)
            fresh = is_up_to_date(one, collection, overwrite, as_built=one is not wanted)
            built, kept = None, fresh and (place / DOCUMENTS).is_dir()
            if not fresh:
                keep = keep_documents or in_cluster
                built = build(one, collection, workers, keep, _builder(engine.name))
            add_engine(one, collection, engine, workers)
            if not (kept or keep_documents):  # the cluster has them now
                shutil.rmtree(place / DOCUMENTS, ignore_errors=True)
            yield place, one, built


class Index:
    """An index that is open. Thread-safe; the first ranking by Lucene starts the JVM."""

    def __init__(
        self,
        task: Task[Any],
        collection: Collection,
        directory: Path,
        manifest: Manifest,
        engine: Engine = AUTO,
    ) -> None:
        self.task = task
        self.collection = collection
        self.directory = directory
        self.manifest = manifest
        self.engine = engine
        self._searchers: dict[str, Searcher] = {}
        self._opening = Lock()

    @classmethod
    def open(
        cls, collection: Collection, name: str, config: Path | None = None, engine: Engine = AUTO
    ) -> Index:
        """Open the index of the task `name`, to be searched by `engine`.

        Without `config` it is used with the settings that it was built with; if these were the
        default ones, with the default ones as they are now. Raises NoIndexError if there is no
        index, or it is not of these settings and files.
        """
        asked = task_class(name)
        owner = task_class(asked.index_of or name)
        place = collection.indexes / owner.place(collection) / owner.name
        manifest = Manifest.read(place)
        if config is None and manifest is not None and not manifest.default:
            built = owner.of(manifest.settings)
            return cls.of(
                built if owner is asked else configured(name).on(built), collection, engine
            )
        return cls.of(configured(name, config), collection, engine)

    @classmethod
    def of(cls, task: Task[Any], collection: Collection, engine: Engine = AUTO) -> Index:
        """Open the index that a task searches; raises NoIndexError as `open` does."""
        built = task.index_task
        place = directory(built, collection)
        manifest = Manifest.read(place)
        if manifest is None:
            raise NoIndexError(f"{place}: there is no index", built.name, stale=False)
        if reason := why_stale(built, collection, manifest):
            if Manifest.read(place) != manifest:  # a build has replaced the index
                return cls.of(task, collection, engine)
            raise NoIndexError(f"{place}: {reason}", built.name, stale=True)
        return cls(task, collection, place, manifest, engine)

    def searcher(self, store: str = "lucene") -> Searcher:
        """Open one of the stores of the index."""
        with self._opening:
            if store not in self._searchers:
                with self._as_opened():
                    self._searchers[store] = self._open(store)
            return self._searchers[store]

    def _open(self, store: str) -> Searcher:
        bm25 = self.task.index_task.settings.bm25
        if self.engine.name != "opensearch":
            return open_searcher(self.directory / store, bm25.k1, bm25.b, self.engine.name)
        from arqmath_bm25.engines.opensearch import OpenSearchSearcher, connect

        index = _in_cluster(self.task.index_task, self.directory, self.manifest, store)
        return OpenSearchSearcher(connect(self.engine.hosts), index)

    @cached_property
    def _ranker(self) -> Ranker:
        with self._as_opened():
            return self.task.ranker(self)

    @contextmanager
    def _as_opened(self) -> Iterator[None]:
        """Read files of the index; InputError if a build replaces it meanwhile."""
        try:
            yield
        finally:
            now = Manifest.read(self.directory)  # it may have more files, of another engine
            if now is None or not self.manifest.files.items() <= now.files.items():
                raise InputError(f"{self.directory}: the index was replaced meanwhile; try again")

    def rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int
    ) -> Iterator[list[Hit]]:
        """Yield the `depth` best hits of every topic, in the order of the topics.

        Raises InputError if that fails because the index is damaged.
        """
        return self._rank(topics, variant, min(depth, self.task.depth), threads)

    def _rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int
    ) -> Iterator[list[Hit]]:
        try:
            yield from self._ranker.rank(topics, variant, depth, threads)
        except InputError:
            raise
        except Exception:
            # Whatever a damaged file makes of Lucene or NumPy: the files tell the cause. It may be
            # one of the index that this one searches beside its own.
            for place in {self.directory, *self.directory.parent.glob("*/")}:
                manifest = Manifest.read(place)
                if damage := manifest and next(manifest.damages(place, read_all=True), None):
                    raise NoIndexError(
                        f"{place}: this index is damaged: {damage}", manifest.task, stale=True
                    ) from None
            raise

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
        """Rank given documents of each topic; InputError if the task cannot."""
        if not isinstance(self._ranker, CandidateRanker):
            raise InputError(f"{self.task.name}: only the answers of Task 1 can be given to score")
        return self._ranker.score(topics, variant, candidates)

    def close(self) -> None:
        """Close what is open; what is asked afterwards opens it again."""
        with self._opening:
            for searcher in self._searchers.values():
                searcher.close()
            self._searchers.clear()
            vars(self).pop("_ranker", None)

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return what each kind of evidence gave to the scores of hits that `rank` found.

        Raises InputError for a variant whose scores are no sums.
        """
        return self._ranker.explain(topic, variant, hits)

    def search(
        self, text: str, variant: str, depth: int, posts: PostFilter = ALL_POSTS
    ) -> list[Hit]:
        """Return the best hits for free text that match at all, with `$…$` around its formulas.

        Of these the best that `posts` lets through, which may be far down the ranking. Raises
        InputError if the task finds something without tags.
        """
        topic = self.task.topic(text)
        if posts.is_open:
            (hits,) = self.rank([topic], variant, depth, 1)
            return [hit for hit in hits if hit.score > 0]
        if not self.task.finds_posts:
            raise InputError(f"{self.task.name}: only task1 and task2 know tags and years")
        for searched in (MAX_DEPTH, SEARCHED):
            (hits,) = self._rank([topic], variant, searched, 1)
            matching = [hit for hit in hits if hit.score > 0]
            passing = list(islice(posts.passing(matching, self.collection), depth))
            if len(passing) == depth or len(hits) < searched:
                break
        return passing
