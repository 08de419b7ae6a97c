"""An index on disk: built, found to be up to date or stale, and opened to rank by."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.core.building import BUILDING, DOCUMENTS, building, sweep
from arqmath_bm25.core.errors import InputError, InterruptedWorkError, NoIndexError
from arqmath_bm25.core.known_paths import digest_of, note_path
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.progress import status
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.core.writing import contents, sources
from arqmath_bm25.engines.engine import AUTO, Engine, EngineName, Searcher, flat_place
from arqmath_bm25.engines.flat_build import write_flat
from arqmath_bm25.engines.lucene.indexing import index_parts
from arqmath_bm25.engines.lucene.jvm import prepare
from arqmath_bm25.engines.opening import open_searcher
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    add_replicas,
    check_rights,
    counts_if_loaded,
    is_loaded,
    load_documents,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.runs.run_writing import ir_metadata
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.document_parts import PartForms, clear
from arqmath_bm25.tasks.post_filter import ALL_POSTS, SEARCHED, PostFilter
from arqmath_bm25.tasks.sealed_blocks import Block, Sealing, read_blocks, write_blocks
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.tasks.task import IndexedTask, Ranker, Task

BLOCKS: Final = "blocks.json"  # in the directory of an index: what of it a cluster has
STORE: Final = "lucene"  # in the directory of an index: what engines of this machine search


def directory(task: Task[Any] | type[Task[Any]], collection: Collection) -> Path:
    """Return where the index of a task is kept."""
    return collection.indexes / task.place(collection) / task.name


def recipe(task: IndexedTask[Any], collection: Collection) -> dict[str, Any]:
    """Return what decides the content of the index, beside the files."""
    return task.recipe | ({"chosen": collection.chosen} if collection.chosen else {})


def why_stale(
    task: IndexedTask[Any], collection: Collection, manifest: Manifest, read_all: bool = False,
    engine: EngineName = "auto",
) -> str | None:  # fmt: skip
    """Return why an index does not serve these settings and files; None if it does.

    Files that are there for other engines than `engine` may be missing.
    """
    stale = manifest.why_stale(recipe(task, collection), sources(task.sources(collection)))
    if stale:
        return stale
    place = directory(task, collection)
    damage = next(manifest.damages(place, _read_by(engine, manifest), read_all), None)
    if damage:
        return f"this index is damaged: {damage}"
    files = map(place.joinpath, manifest.files)
    written = {path for file in files for path in (file, *file.parents)}
    for store in sorted(place.glob(f"{STORE}*")):
        for path in (store, *sorted(store.rglob("*"))):
            if path not in written:
                return f"{path.relative_to(place)} is not of this index; remove it"
    return None


def _engines(place: Path) -> list[EngineName]:
    """Return the engines that an index of this machine was built for, damaged or not."""
    names = {path.name for path in place.glob(f"{STORE}*")}
    with suppress(NoIndexError):
        names |= {Path(name).parts[0] for name in getattr(Manifest.read(place), "files", ())}
    stores: dict[EngineName, str] = {"lucene": STORE, "flat": flat_place(Path(STORE)).name}
    return [engine for engine, store in stores.items() if store in names]


def _read_by(engine: EngineName, manifest: Manifest) -> list[str]:
    """Return the files of an index that an engine reads."""
    stores = {
        "auto": (STORE,),
        "lucene": (f"{STORE}/", f"{STORE}.ids"),
        "flat": (f"{STORE}.flat/",),
    }
    own = stores.get(engine, ())
    return [name for name in manifest.files if not name.startswith(STORE) or name.startswith(own)]


def _is_up_to_date(
    task: IndexedTask[Any],
    collection: Collection,
    overwrite: bool,
    as_built: bool,
    engine: EngineName,
) -> bool:
    """Return whether the index of a task serves an engine as it is; False if it is to be built.

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
        task = task.of(existing.settings, place)
    reason = why_stale(task, collection, existing, overwrite, "auto" if overwrite else engine)
    if reason and not overwrite:
        raise InputError(
            f"{place}: {reason}; --overwrite replaces it, another --indexes keeps both"
        )
    return reason is None


def build(
    task: IndexedTask[Any], collection: Collection, workers: Workers, keep_documents: bool = False,
    engines: Sequence[EngineName] = ("lucene",), keep: bool = False,
    cluster: Engine | None = None,
) -> Manifest:  # fmt: skip
    """Build the index of a task for some engines, replacing what is there.

    With `keep_documents`, they stay beside the index as JSON lines, which are all that a cluster
    needs. A `cluster` is given them while they are written. With `keep`, an index of the same
    settings and files is there, for another engine; what that one searches stays. Raises InputError
    if a file cannot be read, an engine cannot be started or did not index every document; the old
    index, if there is one, is then as it was.
    """
    fields = task.fields
    there = directory(task, collection)
    if keep and (old := Manifest.read(there)) and (damage := next(old.damages(there), None)):
        raise InputError(f"{there}: {damage}; --overwrite builds this index anew")
    if "lucene" in engines and fields:
        prepare()  # its absence is told before hours of work, not after
    sealing = None
    if cluster and fields:
        keeps = keep_documents or set(engines) != {"opensearch"}
        sealing = _sealing(task, collection, cluster, workers, keeps)
    forms = PartForms(
        json=set(engines) != {"flat"} or keep_documents,
        flat="flat" in engines,
        sealing=sealing,
    )
    began = time.monotonic()
    made_of, made_by = sources(task.sources(collection)), recipe(task, collection)
    with building(there, __version__, made_by, made_of) as place:
        counts = task.write_documents(collection, place, workers, forms)
        documents, store = place / DOCUMENTS, place / STORE
        with status("Indexing"):
            if fields and "flat" in engines:
                write_flat(documents, flat_place(store), counts["documents"], workers)
            if fields and "lucene" in engines:
                index_parts(documents, store, fields[1:], counts["documents"], workers)
        clear(documents, keep_documents)
        if sealing:
            write_blocks(place / BLOCKS, sealing.blocks)
        if keep:
            for path in there.iterdir():
                if path.name.startswith((DOCUMENTS, STORE)) and not (place / path.name).exists():
                    _link(path, place / path.name)
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


def _link(old: str | Path, new: str | Path) -> None:
    """Give a file, or those of a directory, a second name; copy it where that is not possible."""
    if Path(old).is_dir():
        shutil.copytree(old, new, copy_function=_link)
        return
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def add_engine(
    task: IndexedTask[Any], collection: Collection, engine: Engine, workers: Workers = HERE
) -> Manifest | None:
    """Add to an existing index what another engine needs to search it.

    What Lucene or flat postings lack is built, for `auto` flat postings if there is neither; a
    cluster is given the documents that it has not, which are written beside the index where they
    are missing.
    Returns the manifest if anything was built. Raises InputError where that fails.
    """
    place, built = directory(task, collection), None
    if not task.fields:
        return None
    if engine.name != "opensearch":
        stores = {"lucene": place / STORE, "flat": flat_place(place / STORE)}
        serving = stores if engine.name == "auto" else [engine.name]
        if not any(stores[name].is_dir() for name in serving):
            lacking = _builders(engine.name, place)
            built = build(task, collection, workers, engines=lacking, keep=True)
    elif manifest := Manifest.read(place):
        blocks = _blocks(place, manifest)
        indexes = [_in_cluster(task, place, block) for block in blocks]
        with closing(connect(engine.hosts)) as client:
            missing = [index for index in indexes if not is_loaded(client, index)]
            if missing and not (place / DOCUMENTS).is_dir():
                check_rights(engine.hosts)
                built = build(
                    task, collection, workers, True, [engine.name], keep=True, cluster=engine
                )
                blocks = _blocks(place, built)
                indexes = [_in_cluster(task, place, block) for block in blocks]
                missing = [index for index in indexes if not is_loaded(client, index)]
            for block, index in zip(blocks, indexes, strict=True):
                if index in missing:
                    parts = sorted((place / DOCUMENTS).glob("*.jsonl"))[block.first : block.end]
                    load_documents(engine.hosts, index, parts, engine.shards, workers)
                add_replicas(client, index, engine.replicas)
    return built


def _sealing(
    task: IndexedTask[Any], collection: Collection, engine: Engine, workers: Workers, keeps: bool
) -> Sealing:
    """Return what loads blocks of documents into a cluster while they are written."""
    place = directory(task, collection)

    def counts_of(block: Block) -> dict[str, int] | None:
        with closing(connect(engine.hosts)) as client:
            return counts_if_loaded(client, _in_cluster(task, place, block))

    def load(block: Block, parts: list[Path]) -> None:
        index = _in_cluster(task, place, block)
        try:
            load_documents(engine.hosts, index, parts, engine.shards, workers)
        except InputError as error:  # what is written stays for the next try
            raise InterruptedWorkError(str(error)) from None

    return Sealing(engine.block, counts_of, load, keeps)


def _blocks(place: Path, manifest: Manifest) -> list[Block]:
    """Return the blocks of an index in a cluster: one, unless it was built for a cluster."""
    blocks = read_blocks(place / BLOCKS)
    if blocks:
        return blocks
    counts = manifest.counts
    return [Block(manifest.digest, counts["documents"], 0, sys.maxsize, counts)]


def _in_cluster(task: IndexedTask[Any], place: Path, block: Block) -> ClusterIndex:
    """Describe a block as it is in a cluster, for whatever collection it was made."""
    return ClusterIndex(
        label=task.name,
        content=json.dumps([task.recipe, block.digest], sort_keys=True),
        documents=block.documents,
        fields=tuple(task.fields or ())[1:],
        k1=task.settings.bm25.k1,
        b=task.settings.bm25.b,
        counts=block.counts,
        collection=place.parent.name,
    )


def _builders(engine: EngineName, place: Path) -> Sequence[EngineName]:
    """Return the engines to build an index for: if none is named, those of the one in its place."""
    if engine != "auto":
        return [engine]
    return _engines(place) or ["flat"]


def ensure(
    names: Sequence[str], collection: Collection, workers: Workers, config: Path | None = None,
    overwrite: bool = False, keep_documents: bool = False, engines: Sequence[Engine] = (AUTO,),
) -> Iterator[tuple[Path, IndexedTask[Any], Manifest | None]]:  # fmt: skip
    """Build the indexes of tasks, and those that these need, unless they are up to date.

    They are built for all `engines` at once, or what these need is added to them.

    Yields each with its task, and with its manifest if it was built. Raises InputError as `build`
    does, and for one that is stale without `overwrite`.
    """
    clusters = [engine for engine in engines if engine.name == "opensearch"]
    searched_by = engines[0].name if len(engines) == 1 else "auto"
    done: set[Path] = set()
    for name in names:
        wanted = configured(name, config).index_task.fitted(collection, overwrite)
        for task in (wanted, *wanted.needed(collection)):
            place = directory(task, collection)
            if place in done:
                continue
            done.add(place)
            as_built = task is not wanted
            fresh = _is_up_to_date(task, collection, overwrite, as_built, searched_by)
            if fresh:
                sweep(place)
            built, kept = None, fresh and (place / DOCUMENTS).is_dir()
            if not fresh:
                for engine in clusters:
                    check_rights(engine.hosts)  # what is missing is said before hours of work
                keep = keep_documents or bool(clusters)
                builders = (name for engine in engines for name in _builders(engine.name, place))
                built = build(
                    task, collection, workers, keep, list(dict.fromkeys(builders)),
                    cluster=next(iter(clusters), None),
                )  # fmt: skip
            for engine in engines:
                built = add_engine(task, collection, engine, workers) or built
            if not (kept or keep_documents):  # the cluster has them now
                shutil.rmtree(place / DOCUMENTS, ignore_errors=True)
            yield place, task, built


@dataclass(eq=False)
class Index:
    """An index that is open. Thread-safe; the first ranking by Lucene starts the JVM."""

    task: Task[Any]
    collection: Collection
    directory: Path
    manifest: Manifest
    engine: Engine = AUTO
    _searcher: Searcher | None = field(default=None, init=False)
    _opening: Lock = field(default_factory=Lock, init=False)

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
        manifest = Manifest.read(directory(owner, collection))
        if config is None and manifest is not None and not manifest.default:
            built = owner.of(manifest.settings, directory(owner, collection)).index_task
            task = built if owner is asked else configured(name).on(built)
        else:
            task = configured(name, config)
            task = task.on(task.index_task.fitted(collection))
        return cls.of(task, collection, engine)

    @classmethod
    def of(cls, task: Task[Any], collection: Collection, engine: Engine = AUTO) -> Index:
        """Open the index that a task searches; raises NoIndexError as `open` does."""
        built = task.index_task
        place = directory(built, collection)
        manifest = Manifest.read(place)
        lacking = None if engine.name in ("auto", *_engines(place)) else engine.name
        if manifest is None:
            raise NoIndexError(f"{place}: there is no index", built.name, False, lacking)
        if reason := why_stale(built, collection, manifest, engine=engine.name):
            if Manifest.read(place) != manifest:  # a build has replaced the index
                return cls.of(task, collection, engine)
            raise NoIndexError(f"{place}: {reason}", built.name, True, lacking)
        return cls(task, collection, place, manifest, engine)

    @property
    def variants(self) -> list[str]:
        """The variants for which the index has what they search."""
        variants, _ = self.task.runnable(self.collection)
        return variants

    def searcher(self) -> Searcher:
        """Open the searcher of the index."""
        with self._opening:
            if self._searcher is None:
                with self._as_opened():
                    self._searcher = self._open_searcher()
            return self._searcher

    @property
    def _is_in_cluster(self) -> bool:
        return self.engine.name == "opensearch" and bool(self.task.index_task.fields)

    def _open_searcher(self) -> Searcher:
        task = self.task.index_task
        if not self._is_in_cluster:
            bm25 = task.settings.bm25
            return open_searcher(self.directory / STORE, bm25.k1, bm25.b, self.engine.name)
        blocks = _blocks(self.directory, self.manifest)
        indexes = [_in_cluster(task, self.directory, block) for block in blocks]
        return OpenSearchSearcher(connect(self.engine.hosts), *indexes)

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
        try:
            yield from self._ranker.rank(topics, variant, depth, threads)
        except InputError:
            raise
        except Exception:
            # Whatever a damaged file makes of Lucene or NumPy: the files tell the cause. It may be
            # one of the index that this one searches beside its own.
            for place in {self.directory, *self.directory.parent.glob("*/")}:
                if not (manifest := Manifest.read(place)):
                    continue
                files = _read_by(self.engine.name, manifest)
                if damage := next(manifest.damages(place, files, read_all=True), None):
                    raise NoIndexError(
                        f"{place}: this index is damaged: {damage}", manifest.task, stale=True
                    ) from None
            raise

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
        """Rank given documents of each topic; InputError if the task cannot."""
        return self._ranker.score(topics, variant, candidates)

    def manifest_of(
        self,
        variant: str,
        depth: int,
        command: str,
        topics: Path | None = None,
        queries: Path | None = None,
    ) -> dict[str, Any]:
        """Return the manifest of a run: what it is, and what it was made of."""
        task = self.task
        name = task.manual_tag(variant) if queries else task.tag(variant)
        settings = task.settings.model_dump(mode="json")
        data = {"name": task.place(self.collection), "sha256": digest_of(self.manifest.sources)}
        note_path(data["sha256"], self.collection.layout.data)
        read = {"topics": topics, "queries": queries}
        files = {what: source for what, file in read.items() if file for source in sources([file])}
        if topics:
            of_collection = list[Path]()
            with suppress(InputError):  # own documents need no queries beside them
                of_collection = [path for _, path in task.topic_files(self.collection)]
            data["topics"] = topics.name
            if topics not in of_collection:
                note_path(files["topics"].sha256, topics)
        if queries:
            note_path(files["queries"].sha256, queries)
        return {
            **ir_metadata(task.lab, name, command, settings, variant, data),
            "version": __version__,
            "settings": settings,
            "task": task.lab,
            "variant": variant,
            "depth": min(depth, task.depth),
            **{what: asdict(file) for what, file in files.items()},
            "index": self.manifest.digest,
            "collection": [asdict(source) for source in self.manifest.sources],
            **({"cluster": self.searcher().origin} if self._is_in_cluster else {}),
        }

    def close(self) -> None:
        """Close what is open; what is asked afterwards opens it again."""
        with self._opening:
            if self._searcher is not None:
                self._searcher.close()
                self._searcher = None
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
            (hits,) = self.rank([topic], variant, searched, 1)
            matching = [hit for hit in hits if hit.score > 0]
            passing = list(islice(posts.passing(matching, self.collection), depth))
            if len(passing) == depth or len(hits) < searched:
                break
        return passing
