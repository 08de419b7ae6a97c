"""Proves that a run is what its manifest says: it is ranked, or fused, again.

First the SHA-256 digests in the manifest are compared with the run, the index and the data. Then
the ranking is made again from what the manifest says, and must give the same bytes. Whoever can
write to an index can forge it, and the run with it; so the index may be built again from the data.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import RankingTask, RunTask
from arqmath_bm25.core.manifest import minor
from arqmath_bm25.core.progress import tell
from arqmath_bm25.core.records import Json, Topic
from arqmath_bm25.core.stores import why_unusable
from arqmath_bm25.core.system import processors
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import (
    has_digest,
    is_as_written,
    manifest_path,
    sources,
    stored_manifest,
)
from arqmath_bm25.engines.engine import AUTO, Engine
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import RunForm, write_run
from arqmath_bm25.tasks import task_class
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, with_needed
from arqmath_bm25.tasks.manual_queries import read_queries, with_queries
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.task import Task, TopicFile
from arqmath_bm25.version import __version__

_THREADS = 2
_SPACE = 3  # most that a build takes, in sizes of what it reads
_LONGEST_NAME = 255  # bytes, of a file
# Keys of a manifest whose values another machine, or another place of the same files, may change.
_CLAIMS = (
    "version", "platform", "implementation", "data", "topics", "queries", "qrels", "collection",
    "built", "cluster", "runs",
)  # fmt: skip

Depth = Annotated[int, Field(ge=1)]


class _Content(BaseModel):
    """Part of a manifest; the rest of it is for readers."""

    model_config = ConfigDict(strict=True)


class _File(_Content):
    name: str
    sha256: str


class _Fused(_Content):
    """The manifest of a run that `fuse` made."""

    tag: str
    task: RankingTask
    method: Method
    k: Annotated[int, Field(ge=0)] | None
    weights: list[float]
    depth: Depth
    form: RunForm
    runs: Annotated[list[_File], Field(min_length=2)]


class _Ranked(_Content):
    """The manifest of a run that was ranked by an index."""

    task: RunTask
    settings: Json
    variant: str
    depth: Depth
    form: RunForm
    index: str
    collection: list[_File]
    built: list[_File] = []
    topics: _File | None = None
    queries: _File | None = None


M = TypeVar("M", bound=_Content)


class Proof(NamedTuple):
    """What is proved of a run."""

    made: str  # by which index and of which data, or of which runs
    claims: list[str]  # keys of its manifest whose values are not proved


def verify_from_data(run: Path, collection: CollectionFiles, quick: bool = False) -> Proof:
    """Prove a run by an index that is built for this purpose and removed afterwards."""
    collection.indexes.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".verify-", dir=collection.indexes) as place:
        again = replace(collection, indexes=Path(place)).imported()
        return verify_run(run, again, quick, build=True)


def verify_run(
    run: Path,
    collection: CollectionFiles,
    quick: bool = False,
    build: bool = False,
    _above: tuple[Path, ...] = (),
) -> Proof:
    """Return which index and data a run was made from, after it was made again.

    With `quick` digests are compared, and nothing is ranked. With `build` the index is built first,
    unless an earlier call did it. Raises InputError that names the first thing that is not as the
    manifest says.
    """
    manifest = stored_manifest(run)
    if not manifest:
        raise InputError(f"{run}: no manifest is beside it, so nothing says how it was made")
    if not is_as_written(run):
        raise InputError(f"{run}: not the file that its manifest describes (another SHA-256)")

    if "runs" in manifest:
        return _verify_fused(run, manifest, collection, quick, build, _above)
    return _verify_ranked(run, manifest, collection, quick, build)


def first_ranked(run: Path) -> Path:
    """Return the first run that a run was fused from; of any other run, itself."""
    with suppress(InputError):  # it is not fused, or `verify_run` says what is wrong
        for _ in range(5):
            fused = _parsed(_Fused, stored_manifest(run), run)
            run = _beside(run, fused.runs[0].name)
    return run


def _parsed(form: type[M], manifest: Json, run: Path) -> M:
    try:
        return form.model_validate(manifest)
    except ValidationError as error:
        keys = dict.fromkeys(".".join(map(str, fault["loc"])) for fault in error.errors())
        message = (
            f"{manifest_path(run)}: not a manifest of this version: wrong or missing: "
            f"{', '.join(keys)}"
        )
        version = manifest.get("version")
        if isinstance(version, str) and version != __version__:
            message += f"; version {version} wrote it, and can verify the run"
        raise InputError(message) from None


# Fused runs


def _verify_fused(
    run: Path,
    manifest: Json,
    collection: CollectionFiles,
    quick: bool,
    build: bool,
    above: tuple[Path, ...],
) -> Proof:
    made = _parsed(_Fused, manifest, run)
    weights = check_weights(f"{manifest_path(run)}: weights", made.weights, len(made.runs))
    members = []
    for member in made.runs:
        path = _beside(run, member.name)
        if path in (run, *above):
            raise InputError(f"{manifest_path(run)}: the run is fused from {path.name}, itself")
        if not has_digest(path, member.sha256):
            raise InputError(f"{path}: not the run of which {run.name} was fused")
        members.append(path)

    expected = {
        **made.model_dump(),
        "version": __version__,
        "runs": list(map(asdict, sources(members))),
    }
    if made.method != "rrf":
        expected["k"] = None
    claims = _claims(run, manifest, expected)
    for path in members:
        proof = verify_run(path, collection, quick, build, (run, *above))
        claims += [f"{claim} of {path.name}" for claim in proof.claims]

    if not quick:
        ids = cache(partial(FormulaIds.from_collection, collection))
        read = [Run.read(path, made.task, ids) for path in members]
        posts = made.form == "lab"
        fused = fuse_runs(read, weights, made.method, made.k or RRF_K, made.depth, posts)
        _compare(run, fused.items(), made.tag, made.task, made.form, "fused")

    return Proof(f"fused from {', '.join(path.name for path in members)}", claims)


def _beside(run: Path, name: str) -> Path:
    """Return the path of a file in the folder of a run; InputError for any other path."""
    is_path = name in ("", ".", "..") or bool(set(name) & {"/", os.sep, "\0"})
    if is_path or len(os.fsencode(name)) > _LONGEST_NAME:
        raise InputError(
            f"{manifest_path(run)}: expected the name of a file beside the run, got "
            f"{shown(name[:60])}"
        )
    return run.with_name(name)


# Runs of an index


def _verify_ranked(
    run: Path, manifest: Json, collection: CollectionFiles, quick: bool, build: bool
) -> Proof:
    version = manifest.get("version")
    if isinstance(version, str) and minor(version) != minor(__version__):
        raise InputError(
            f"{manifest_path(run)}: version {version} wrote it, and can verify the run; this is "
            f"{__version__}"
        )
    made = _parsed(_Ranked, manifest, run)
    task = task_class(made.task).of(made.settings, run)
    variant = task.chosen(made.variant)
    index = _index(run, made, task, collection, build)
    queries = None
    if made.queries is not None:
        queries = _beside(run, made.queries.name)
        if not has_digest(queries, made.queries.sha256):
            raise InputError(
                f"{run}: the file of its queries, {shown(made.queries.name)}, is not beside it; "
                "put it there"
            )

    topic_file = None
    if made.topics is not None:
        topic_file = _topic_file(run, made.topics, task, collection)
    expected = index.manifest_of(variant, made.depth, "", topic_file, queries)
    claims = _claims(run, manifest, expected)

    if not quick:
        if topic_file is None:
            raise InputError(
                f"{run}: its topics were no file, so it cannot be ranked again", quick=True
            )
        topics: Sequence[Topic] = task.read(collection, topic_file)
        if queries is not None:
            topic_set = TopicFile("", topic_file, topics)
            ((*_, topics),) = with_queries(task, [topic_set], read_queries(queries), queries)
        ranked = index.rank(topics, made.variant, made.depth)
        names = [topic.topic_id for topic in topics]
        hits = zip(names, ranked, strict=True)
        _compare(run, hits, expected["tag"], task.lab, made.form, "ranked")
        rows = Counter(row.split(maxsplit=1)[0] for row in _rows(run))
        if made.depth > max(rows.values(), default=0):
            claims.append("depth")  # of any depth from here on it would have the same bytes

    by = str(index.directory)
    if build:
        by = "an index that was built again"
    return Proof(f"by {by}, of {collection.given}", claims)


def _index(
    run: Path, made: _Ranked, task: Task, collection: CollectionFiles, build: bool
) -> OpenIndex:
    """Open the index of a run, built again where that is wanted; InputError if it is damaged."""
    engine = AUTO
    if build:
        engine = Engine("flat")  # in place of a cluster, too: they rank alike
        if any("/lucene-" in store.name for store in made.built):
            engine = Engine("lucene")
        with closing(Processes(processors())) as workers:
            for content in with_needed([task.index_task], collection):
                size = sum(source.size for source in content.sources)
                tell(
                    f"{collection.indexes}: building the index of {content.task.name} again; that "
                    f"may take {_SPACE * size // 1_000_000 + 1:,} MB of disk for a while"
                )
                ensure(content, workers, [engine])

    index = OpenIndex.of(task, collection, engine)
    index.threads = _THREADS
    content = IndexContent.of(task.index_task, collection)
    why = why_unusable(index.directory, content.recipe, content.sources, read_all=True)
    if why:
        raise InputError(why)

    of_run = [file.sha256 for file in made.collection]
    of_index = [source.sha256 for source in index.manifest.sources]
    if of_run != of_index:
        raise InputError(
            f"{index.directory}: built from other data than {run} was made of; the index was "
            "changed since"
        )
    return index


def _topic_file(run: Path, source: _File, task: Task, collection: CollectionFiles) -> Path:
    """Return the topic file of a run, the collection's or the user's own."""
    files = []
    with suppress(InputError):  # own documents need no queries beside them
        files = task.topic_files(collection)
    for _, path in files:
        if has_digest(path, source.sha256):
            return path

    own = _beside(run, source.name)
    if not has_digest(own, source.sha256):
        raise InputError(
            f"{collection.layout.data}: no topic file is the one of {run}; put its "
            f"{shown(source.name)} beside it"
        )
    return own


def _claims(run: Path, manifest: Json, expected: Json) -> list[str]:
    """Return the keys of a manifest whose values differ from a new run on this machine.

    Raises InputError for a key whose value is the same on every machine.
    """
    claims = []
    for key in {**expected, **manifest}:
        if key in ("form", "sha256"):  # the bytes of the run prove them
            continue

        # As text: True equals 1, and NaN does not equal itself.
        found = json.dumps(manifest.get(key), sort_keys=True)
        written = json.dumps(expected.get(key), sort_keys=True)
        if key in manifest and found != written and (key in _CLAIMS or key not in expected):
            claims.append(key)
        elif found != written and key not in _CLAIMS:
            raise InputError(
                f"{manifest_path(run)}: {key} is {shown(manifest.get(key))}; such a run has "
                f"{shown(expected.get(key))}"
            )
    return claims


def _compare(
    run: Path, hits: Iterable[Any], tag: str, task: RunTask, form: RunForm, how: str
) -> None:
    """Write the hits of topics as a run; InputError that names the first row that differs."""
    with TemporaryDirectory() as place:
        again = Path(place) / run.name
        write_run(again, hits, tag, task, form)
        rows = zip_longest(_rows(run), _rows(again))
        for number, (row, other) in enumerate(rows, 1):
            if row != other:
                raise InputError(f"{run}: row {number}: {how} again, this row is another one")


def _rows(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file
