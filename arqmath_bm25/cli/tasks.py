r"""The commands `index`, `run` and `search`, for whatever task they are asked for."""

from __future__ import annotations

import textwrap
import time
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.options import out, results
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import sources
from arqmath_bm25.core.labs import MAX_DEPTH, SPLITS, YEARS, year_of
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.runs.provenance import ir_metadata, run_manifest
from arqmath_bm25.runs.run_files import Form, file_name, write_run
from arqmath_bm25.tasks import TASKS, task_class
from arqmath_bm25.tasks.index import Index, ensure
from arqmath_bm25.tasks.manual_queries import read_queries, with_queries
from arqmath_bm25.tasks.post_filter import NONE_PASSES, PostFilter
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arqmath_bm25.core.records import Hit, Part
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.tasks.task import Shown, Task, TopicSet

_DECISIVE = (
    "settings",
    "variant",
    "depth",
    "topics",
    "queries",
    "collection",
)  # of a run's manifest

_TERMS: Final = 6  # of a field that explain a score

TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help=f"{', '.join(TASKS)}, or all.",
        autocompletion=lambda: [*TASKS, "all"],
    ),
]


def _chosen(name: str, collection: Collection) -> list[str]:
    if name == "all":
        found = [name for name in TASKS if task_class(name).has_data(collection)]
        return found or list(TASKS)  # the first will say what is missing
    task_class(name)
    return [name]


def index(
    task: TaskName,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    threads: options.Threads = options.THREADS,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of other data or settings.")
    ] = False,
    keep_documents: Annotated[
        bool, typer.Option("--keep-documents", help="Keep the JSON lines that Lucene indexes.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="YEAR",
            help="Leave later posts out; none: leave out none. Default: 2018, as the labs did, for "
            "the labs' data and Mathematics Stack Exchange, else none.",
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Where the posts of a dump are on the web. Default: what its directory is called "
            "or its links say.",
        ),
    ] = None,
    engine: options.EngineOption = "auto",
    hosts: options.Hosts = None,
    shards: Annotated[int, typer.Option(min=1, help="Shards of an OpenSearch index.")] = 1,
    replicas: Annotated[int, typer.Option(min=0, help="Replicas of each OpenSearch shard.")] = 0,
    spark: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Build by a Spark cluster, spark://HOST:7077, that has DATA and INDEXES under the "
            "same paths and this program installed.",
        ),
    ] = None,
) -> None:
    """Build the index of a task; nothing is done if it is up to date.

    An index is complete or absent: a build that is interrupted leaves the old one, and the next
    build goes on where it stopped. What another engine needs is added to it.

    Example: arqmath-bm25 index task1 --data /data/ARQMath
    """
    by = chosen_engine(engine, hosts, shards, replicas)
    with _workers(threads, spark, data, indexes) as workers:
        if workers.remote:  # whose processes have other working directories
            data, indexes = data and data.absolute(), indexes.absolute()
        collection = Collection(data, indexes, site=site, until=until)
        for place, one, manifest in ensure(
            _chosen(task, collection), collection, workers, config, overwrite, keep_documents, by
        ):
            said = "up to date"
            if manifest is not None:
                said = f"{one.account(manifest.counts)}, in {manifest.seconds:,.1f} s"
            out.print(f"{place}: {said}")


@contextmanager
def _workers(
    threads: int, spark: str | None, data: Path | None, indexes: Path
) -> Iterator[Workers]:
    if spark is None:
        yield Processes(threads)
        return
    from arqmath_bm25.core.workers.spark import SparkWorkers

    with closing(SparkWorkers(spark)) as workers:
        workers.check(data, indexes)
        yield workers


def run(
    task: TaskName,
    data: options.Data = None,
    topics: options.Topics = None,
    indexes: options.Indexes = options.INDEXES,
    runs: options.Runs = options.RUNS,
    config: options.Config = None,
    variant: options.Variants = None,
    depth: options.Depth = MAX_DEPTH,
    form: options.Format = "lab",
    threads: options.Threads = options.THREADS,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace runs that were made with other settings.")
    ] = False,
    engine: options.EngineOption = "auto",
    hosts: options.Hosts = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            help="A manual run: search for what this file says in place of its topics. Each row "
            "has a topic, a TAB, and keywords and formulas, these between dollars.",
        ),
    ] = None,
) -> None:
    """Rank the documents of a task for its topics and write the run files.

    The run of a year goes to RUNS/COLLECTION/YEAR/TEAM-TASK-ID-auto-VARIANT-P.tsv (A: not the
    primary one; manual instead of auto with --queries), with a manifest beside it.

    Example: arqmath-bm25 run task1 --data /data/ARQMath --topics 2021 --variant both
    """
    collection, chosen = Collection(data, indexes), chosen_engine(engine, hosts)
    notes: dict[str, None] = {}
    for name in _chosen(task, collection):
        with options.naming_the_build(data, indexes, config):
            opened = Index.open(collection, name, config, chosen)
            ranking = opened.task
            sets = list(_topic_sets(ranking, collection, topics, queries))
            form = ranking.form or form
            runnable, note = (ranking.variants, "") if variant else ranking.runnable(collection)
            if note:
                out.print(note)
            variants = _variants(variant, ranking) if variant else runnable
            for one in sets:
                given = one.folder if one.folder in (*YEARS, *SPLITS) else one.path
                for each in variants:
                    target = runs / ranking.place(collection) / one.folder
                    command = options.command(
                        "run", name, data=data, topics=given, queries=queries, config=config,
                        variant=each, depth=depth, format=form,
                    )  # fmt: skip
                    made = _write_run(
                        opened, one, each, depth, form, threads, target, overwrite, queries, command
                    )
                    for said in made:
                        if said.startswith("note: "):
                            notes[said] = None
                        else:
                            out.print(said)
    for note in notes:
        out.print(note)


def _topic_sets(
    task: Task[Any], collection: Collection, chosen: Sequence[str] | None, queries: Path | None
) -> Sequence[TopicSet]:
    """Read the topic files asked for, each with the name of its folder under runs."""
    by_hand = read_queries(queries) if queries else {}
    if queries:
        task.manual_name(task.primary)  # refused before topics are looked for
        chosen = chosen or [year_of(by_hand)]
    files = task.topic_files(collection, list(dict.fromkeys(chosen or ())))
    sets = [task.read(collection, folder, path) for folder, path in files]
    return with_queries(task, sets, by_hand, queries) if queries else sets


def _variants(chosen: Sequence[str] | None, task: Task[Any]) -> list[str]:
    """Return the variants asked for, all without `chosen`, in the order of the configuration."""
    for variant in chosen or ():
        if variant not in task.variants:
            raise InputError(
                f"--variant {variant}: the configuration has {', '.join(task.variants)}"
            )
    return [variant for variant in task.variants if variant in (chosen or task.variants)]


def _write_run(
    index: Index, topics: TopicSet, variant: str, depth: int, form: Form, threads: int,
    folder: Path, overwrite: bool, queries: Path | None, command: str,
) -> Iterator[str]:  # fmt: skip
    """Write one run with its manifest; yields what is to be said of it."""
    began = time.monotonic()
    task = index.task
    name = task.manual_name(variant) if queries else task.run_name(variant)
    target = folder / file_name(name, task.lab, form)
    (topic_file,) = sources([topics.path])
    settings = task.settings.model_dump(mode="json")
    data = {
        "name": task.place(index.collection),
        "source": str(index.collection.layout.data.resolve()),
        "topics": topic_file.name,
    }
    manifest = {
        **ir_metadata(task.lab, name, command, settings, variant, data),
        "version": __version__,
        "settings": settings,
        "variant": variant,
        "depth": min(depth, task.depth),
        "topics": asdict(topic_file),
        **({"queries": asdict(sources([queries])[0])} if queries else {}),
        "collection": [asdict(source) for source in index.manifest.sources],
    }
    before = run_manifest(target)
    if not overwrite and before and any(before.get(key) != manifest.get(key) for key in _DECISIVE):
        raise InputError(
            f"{target}: this run was made with other settings or data; --overwrite replaces it, "
            "another run.id in the configuration or another --runs keeps both"
        )
    count, unanswered = len(topics.topics), list[str]()
    with progress(f"{topics.folder} {variant}", count, task.topics_are) as advance:

        def noted(ranked: Iterable[list[Hit]]) -> Iterator[tuple[str, list[Hit]]]:
            for topic, hits in zip(topics.topics, ranked, strict=True):
                advance(1)
                if not hits:
                    unanswered.append(topic.topic_id)
                yield topic.topic_id, hits

        ranked = noted(index.rank(topics.topics, variant, depth, threads))
        rows = write_run(target, ranked, name, task.lab, form, manifest)
    note = f"; no {task.hits_are} for {', '.join(unanswered)}" if unanswered else ""
    seconds = time.monotonic() - began
    yield (
        f"{target}: {count:,} {task.topics_are}, {rows:,} {task.rows_are}, in {seconds:.1f} s{note}"
    )
    yield from task.finish(target, topics.folder, count, rows)


def search(
    task: TaskName,
    query: Annotated[str, typer.Argument(help="Words and formulas, these between dollars.")],
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    variant: options.Variant = None,
    depth: Annotated[int, typer.Option(min=1, max=MAX_DEPTH, help="Hits to show.")] = 5,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what every field and term gave to each score.")
    ] = False,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Only posts whose question has this tag, and all if repeated."),
    ] = None,
    year: Annotated[
        list[int] | None,
        typer.Option(help="Only posts whose question is of this year, or one of several."),
    ] = None,
    engine: options.EngineOption = "auto",
    hosts: options.Hosts = None,
) -> None:
    r"""Show the best hits for a query.

    Example: arqmath-bm25 search task1 'Why does $\sum 1/n$ diverge?'
    """
    if not query.strip():
        raise InputError("the query is empty; give words, and formulas between dollars")
    collection, by = Collection(data, indexes), chosen_engine(engine, hosts)
    posts = PostFilter.of(tag or (), year or ())
    names = _chosen(task, collection)
    for name in names:
        if len(names) > 1:
            results.print(Text(name, style="bold underline"))
        with options.naming_the_build(data, indexes, config):
            opened = Index.open(collection, name, config, by)
            ranking = opened.task
            if note := ranking.advice(query):
                tell(note)
            (chosen,) = _variants([variant or ranking.primary], ranking)
            hits = opened.search(query, chosen, depth, posts)
            parts: list[list[Part]] = [[]] * len(hits)
            if explain:
                parts = opened.explain(ranking.topic(query), chosen, hits)
        if not hits:
            results.print(ranking.nothing if posts.is_open else NONE_PASSES)
        for rank, (hit, of_hit) in enumerate(zip(hits, parts, strict=True), 1):
            _show(rank, ranking.shown(hit, collection))
            for part in of_hit:
                _show_part(part)


def _show(rank: int, shown: Shown) -> None:
    if shown.heading:
        aside = [Text(shown.aside, style="dim")] if shown.aside else []
        results.print(Text(f"{rank:>3}  {shown.heading}", style="bold"), *aside)
    margin = "     " if shown.heading else ""
    if shown.note:
        results.print(Text(margin + shown.note, style="dim"))
    text = textwrap.fill(
        shown.text, 90 if margin else 95, break_on_hyphens=bool(margin), break_long_words=False
    )
    results.print(Text(textwrap.indent(text, margin)), *([""] if margin else []))


def _show_part(part: Part) -> None:
    terms = ", ".join(f"{term} {score:.3f}" for term, score in part.best_terms(_TERMS))
    begin = f"{part.score:>12.3f}  {part.name:<20} "
    wrapped = textwrap.fill(begin + terms, 95, subsequent_indent=" " * len(begin),
                            break_long_words=False, break_on_hyphens=False)  # fmt: skip
    results.print(Text(wrapped, style="dim"))
