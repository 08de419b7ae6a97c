"""Shared by several commands: groups of options, and their use."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

import typer

from arqmath_bm25.analysis.html import ChosenDelimiters
from arqmath_bm25.collection.collection import INDEXES, CollectionFiles
from arqmath_bm25.core.building import patiently
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.labs import RankingTask
from arqmath_bm25.core.progress import PlainConsole
from arqmath_bm25.core.stores import is_store, readable_manifest
from arqmath_bm25.core.system import processors
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import digest_of_sources, sources, together
from arqmath_bm25.engines.engine import EngineName, chosen_engine
from arqmath_bm25.runs.run_writing import Provenance, provenance
from arqmath_bm25.runs.task_rules import RULES, detect_task
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, of_config
from arqmath_bm25.tasks.open_index import OpenIndex

RUNS = Path("runs")
THREADS = processors()
_OF_CONTENT = ("until", "site", "delimiters", "whole", "everything", "train")
_DEFAULTS = {"indexes": INDEXES, "runs": RUNS}

# Messages about the work, which --quiet suppresses.
out = PlainConsole(soft_wrap=True)

# The results that a command is called for.
results = PlainConsole(soft_wrap=True)


@dataclass
class Place:
    """Where a collection is, and where its indexes are."""

    data: Path | None = None
    indexes: Path = INDEXES
    until: str | None = None
    site: str | None = None
    delimiters: ChosenDelimiters | None = None
    whole: bool = False
    everything: bool = False
    train: Path | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide the content of an index."""
        return {name: getattr(self, name) for name in _OF_CONTENT}

    @cached_property
    def collection(self) -> CollectionFiles:
        """The collection of these options."""
        return CollectionFiles(self.data, self.indexes, **self.options)

    def collection_of(self, name: str) -> CollectionFiles:
        """Return the collection of a task, or of a store by its path; see `Collection.of_store`."""
        if is_store(name) and self.data is None:
            return CollectionFiles.of_store(Path(name))
        return self.collection

    def provenance(self, runs: Sequence[Path]) -> list[Provenance]:
        """Return how runs were made.

        Raises InputError if DATA is to be given, as the first one was not made of the sample.
        """
        made_of = list(map(provenance, runs))
        first = made_of[0]
        if self.data is not None or not first.sha256:
            return made_of
        of_sample = []
        with suppress(InputError):  # it has no documents of one's own
            of_sample = configured(detect_task(runs[0])).index_task.sources(self.collection)
        if first.sha256 == digest_of_sources(sources(of_sample)):
            return made_of

        qrels = f", judged by {first.qrels}" if first.qrels else ""
        raise InputError(
            f"{runs[0]}: made of {first.collection} (SHA-256 {first.sha256[:16]}…){qrels}; give "
            "these data with --data"
        )

    @contextmanager
    def naming_the_build(self, config: Path | None = None, name: str = "") -> Iterator[None]:
        """Add to the error of a missing index, or of a store `name`, the command that builds it."""
        try:
            yield
        except NoIndexError as error:
            if readable_manifest(Path(name)):
                build_it = command_line("index", shlex.quote(name), data=self.data)
                raise InputError(f"{error}; `{build_it}` builds it") from None
            hosts = None
            if error.engine == "opensearch":
                hosts = getattr(self, "hosts", None)
            build_it = command_line(
                "index", error.task, data=self.data, indexes=self.indexes, config=config,
                engine=error.engine, hosts=hosts, **self.options,
            )  # fmt: skip
            raise InputError(f"{error}; `{build_it}` builds it") from None


@dataclass
class SearchPlace(Place):
    """Where a collection is, and the engine that searches it."""

    engine: EngineName = "auto"
    hosts: str | None = None

    def opened(self, name: str, config: Path | None = None, builds: bool = False) -> OpenIndex:
        """Open the index of a task, or a store by its path.

        What is imported is imported and indexed first, and with `builds` anything is; waits while
        another process does that.
        """
        engine = chosen_engine(self.engine, self.hosts)
        collection = self.collection_of(name)
        if is_store(name) or not (builds or collection.is_imported):
            return OpenIndex.open(collection, name, config, engine)

        settings = configured(name, config).index_task.settings
        with closing(Processes(THREADS)) as workers:
            collection = collection.configured(settings.of_collection).imported(workers=workers)
            content = IndexContent.of(of_config(name, collection, config).index_task, collection)
            if not content.store(engine.name).exists():
                for built in patiently(partial(ensure, content, workers, [engine])):
                    if built.manifest:
                        out.print(f"{built.store}: {content.task.account(built.manifest.counts)}")
        return OpenIndex.open(collection, name, config, engine)


def command_line(*words: str, **options: object) -> str:
    """Return a command line of this program to be pasted; default options are left out."""
    line = ["arqmath-bm25", *words]
    for name, value in options.items():
        if value in (None, False) or value == _DEFAULTS.get(name):
            continue
        if value is True:
            line.append(f"--{name}")
        else:
            line.append(f"--{name} {shlex.quote(str(value))}")

    return " ".join(line)


def years_apart(topics: Sequence[str] | None) -> list[str]:
    """Return the values of --topics, which takes years with commas between them too."""
    names = []
    for value in topics or ():
        if re.fullmatch(r"[0-9]{4}(?:,[0-9]{4})+", value):
            names += value.split(",")
        else:
            names.append(value)
    return names


def published(path: Path | None) -> Path | None:
    """Return a path for a published file: without the folders of this machine."""
    if path is None or (not path.is_absolute() and ".." not in path.parts):
        return path
    return Path(path.name)


def task_of_runs(runs: Sequence[Path], verb: Literal["fuse", "pool"]) -> RankingTask:
    """Return the task of runs to `verb` (fuse, pool) together; InputError unless it is one.

    Task 3 has one answer a topic, so its runs cannot be combined.
    """
    first = detect_task(runs[0])
    RULES[first].require(verb, runs[0])
    for run in runs[1:]:
        other = detect_task(run)
        if other != first:
            raise InputError(
                f"{run}: a run of {other}, {runs[0]} of {first}; {verb} runs of one task only"
            )

    return cast("RankingTask", first)


def refuse_repeated(runs: Sequence[Path]) -> None:
    """Raise InputError for a run that is given twice, as overlapping patterns of a shell do."""
    paths = set()
    for run in runs:
        path = run.resolve()
        if path in paths:
            raise InputError(f"{run}: this run is given twice; name each run once")
        paths.add(path)


def keep_runs(output: Path, runs: Sequence[Path]) -> None:
    """Raise InputError if writing `output` would overwrite a run, or is impossible."""
    if output.is_dir():
        raise InputError(f"{output}: this is a directory; --output names the file to write")
    if not output.exists():
        return

    for run in runs:
        if output.samefile(run):
            raise InputError(f"{output}: this would overwrite a run; name another file")


def write(texts: Mapping[Path, str]) -> None:
    """Write files, which appear together; `-` is standard output."""
    with together() as outputs:
        for path, text in texts.items():
            if str(path) == "-":
                typer.echo(text, nl=False)
            else:
                outputs.open(path, by_user=True).write(text)
