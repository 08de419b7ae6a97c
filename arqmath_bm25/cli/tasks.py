"""The commands `index`, `run` and `search` for every task, and `cluster`."""

import json
import shlex
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

from rich.text import Text

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import (
    RUNS,
    THREADS,
    Place,
    SearchPlace,
    command_line,
    out,
    published,
    results,
    years_apart,
)
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.imports import is_of_rows
from arqmath_bm25.core.building import patiently
from arqmath_bm25.core.errors import InputError, some
from arqmath_bm25.core.labs import MAX_DEPTH, SPLITS, YEARS, year_of
from arqmath_bm25.core.progress import counted, progress, tell
from arqmath_bm25.core.records import Hit, Json, Part
from arqmath_bm25.core.stores import is_store, is_there, outdated, remove_unless_open, size_of
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import stored_manifest
from arqmath_bm25.engines.engine import EngineName, chosen_engine
from arqmath_bm25.engines.opensearch.cluster_index import remove_index, stored_indexes
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.runs.run_writing import RunForm, file_name, write_run
from arqmath_bm25.tasks import TASKS, configured, task_class
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, of_config, with_needed
from arqmath_bm25.tasks.manual_queries import read_queries, with_queries
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.post_filter import NONE_PASSES, PostFilter
from arqmath_bm25.tasks.task import Found, TopicFile

# The parts of a run's manifest that decide its ranking.
_DECISIVE = ("settings", "variant", "depth", "topics", "queries", "collection")


def _task_names(name: str, collection: CollectionFiles) -> list[str]:
    """Return the task of this name, or for `all` the tasks that the collection has data for."""
    if is_store(name):
        return [name]
    if name != "all":
        # This raises InputError for an unknown name.
        task_class(name)
        return [name]
    if collection.is_imported:
        return ["docs"]

    # Without any data the first task says what is missing.
    return [name for name in TASKS if task_class(name).has_data(collection)] or list(TASKS)


@command
def index(
    task: str,
    place: Place,
    engine: list[str] | None = None,
    hosts: str | None = None,
    config: Path | None = None,
    threads: int = THREADS,
    overwrite: bool = False,
    prune: bool = False,
    keep_documents: bool = False,
    shards: int = 1,
    replicas: int = 0,
    spark: str | None = None,
) -> None:
    """Build the index of a task, unless it is up to date.

    An index is there when it is complete: an interrupted build resumes when you rerun the command.
    Indexes of other settings or files stay, except for former states of a folder; `--prune` removes
    them. For several engines (--engine lucene --engine flat) the data are read once.

    Example: arqmath-bm25 index task1 --data /data/ARQMath
    """
    engines = []
    of_store = Path(task).name.partition("-")[0]
    if is_store(task) and not engine and of_store in get_args(EngineName):
        engine = [of_store]
    for name in engine or ["auto"]:
        # If one of several engines is a cluster, the hosts are its own.
        is_other = "opensearch" in (engine or ()) and name != "opensearch"
        engines.append(chosen_engine(name, None if is_other else hosts, shards, replicas))
    with _workers(threads, spark, place) as workers:
        if workers.remote and place.data:  # whose processes have other working directories
            place = replace(place, data=place.data.absolute())
        if workers.remote:
            place = replace(place, indexes=place.indexes.absolute())
        for content in _contents(task, place, config, overwrite, workers):
            build = partial(ensure, content, workers, engines, keep_documents)
            if content.collection.is_imported:  # a server indexes it as well
                build = partial(patiently, build)
            for built in build():
                state = "up to date"
                if built.manifest:
                    counts, seconds = built.manifest.counts, built.manifest.seconds
                    state = f"{content.task.account(counts)}, in {seconds:,.1f} s"
                chosen = content.collection.chosen.items()
                options = "".join(f", --{name} {value}" for name, value in chosen)
                out.print(f"{built.store}: {state}{options}")
            _tell_of_outdated(content, prune)


def _contents(
    task: str, place: Place, config: Path | None, overwrite: bool, workers: Workers
) -> list[IndexContent]:
    """Return what to index: for a task, or for the path of a store what that is made of."""
    collection = place.collection_of(task)
    if is_store(task):
        with place.naming_the_build():
            content = IndexContent.of_store(Path(task), collection)
        learnt_from = content.recipe.get("chosen", {}).get("train")
        if learnt_from != collection.chosen.get("train"):
            raise InputError(f"{task}: learns from {learnt_from}; give that file", train="FILE")
        return [content]

    names = _task_names(task, collection)
    chosen = configured(names[0], config).index_task.settings.of_collection
    collection = collection.configured(chosen).imported(overwrite, workers)
    tasks = [of_config(name, collection, config).index_task for name in names]
    return with_needed(tasks, collection)


def _tell_of_outdated(content: IndexContent, prune: bool) -> None:
    """Say which indexes of a task have another content, or remove them."""
    rows_of_others = content.rows_of_others
    for other in outdated(content.store("auto")):
        if is_of_rows(other, rows_of_others):
            continue
        size = f"{size_of(other) / 1e6:,.1f} MB"
        if prune and remove_unless_open(other):
            out.print(f"{other}: removed, {size}")
        elif prune:
            out.print(f"{other}: in use, so not removed, {size}")
        else:
            out.print(f"{other}: of other settings or files, {size}; --prune removes it")


@contextmanager
def _workers(threads: int, spark: str | None, place: Place) -> Iterator[Workers]:
    """Yield the workers of a build: processes of this machine, or of a Spark cluster."""
    if spark is None:
        with closing(Processes(threads)) as processes:
            yield processes
        return

    from arqmath_bm25.core.workers.spark import SparkWorkers

    with closing(SparkWorkers(spark)) as workers:
        workers.check(place.data, place.indexes)
        yield workers


@command
def cluster(hosts: str | None = None, remove: list[str] | None = None) -> None:
    """List the indexes that this program built in a cluster, or remove some by name.

    Nothing else is ever removed. An incomplete index is being loaded, or its load was interrupted;
    `index` resumes it.

    Example: arqmath-bm25 cluster --hosts https://HOST:9200
    """
    with closing(connect(chosen_engine("opensearch", hosts).hosts)) as client:
        for name in remove or ():
            remove_index(client, name)
            out.print(f"{name}: removed")
        if remove:
            return

        for index in stored_indexes(client):
            results.print(
                f"{index.name}: {index.collection}, {index.documents:,} documents, "
                f"{index.size / 1e6:,.1f} MB, {index.state}"
            )


@dataclass
class RunOptions(SearchPlace):
    """Options for making and writing runs."""

    runs: Path = RUNS
    config: Path | None = None
    depth: int = MAX_DEPTH
    form: RunForm = "lab"
    threads: int = THREADS
    overwrite: bool = False
    queries: Path | None = None


@command
def run(
    task: str,
    options: RunOptions,
    topics: list[str] | None = None,
    variant: list[str] | None = None,
) -> None:
    """Rank the documents of a task for its topics and write the run files.

    The run of a year goes to RUNS/COLLECTION/YEAR/TEAM-TASK-ID-auto-VARIANT-P.tsv (A: not the
    primary variant; manual instead of auto with --queries), with a manifest next to it.

    Example: arqmath-bm25 run task1 --data /data/ARQMath --topics 2021 --variant both
    """
    for name in _task_names(task, options.collection):
        with options.naming_the_build(options.config, name):
            opened = options.opened(name, options.config)
            opened.threads = options.threads
            topic_sets = _topic_sets(opened, years_apart(topics), options.queries)
            if variant:
                chosen = list(map(opened.task.chosen, variant))
                variants = [name for name in opened.task.variants if name in chosen]
            else:
                variants, note = opened.task.runnable(opened)
                if note:
                    out.print(note)

            for topic_set in topic_sets:
                for name_of_variant in variants:
                    _write_run(options, opened, topic_set, name_of_variant)


def _topic_sets(
    index: OpenIndex, chosen: Sequence[str] | None, queries: Path | None
) -> Sequence[TopicFile]:
    """Read the topic files asked for, each with the name of its folder under runs."""
    task = index.task
    by_hand = {}
    if queries:
        # This refuses tasks without manual runs.
        task.manual_tag(task.primary)
        by_hand = read_queries(queries)
        chosen = chosen or [year_of(by_hand)]

    files = task.topic_files(index.collection, list(dict.fromkeys(chosen or ())))
    sets = []
    for folder, path in files:
        sets.append(TopicFile(folder, path, task.read(index.collection, path, index)))
    if queries:
        return with_queries(task, sets, by_hand, queries)
    return sets


def _write_run(options: RunOptions, index: OpenIndex, topics: TopicFile, variant: str) -> None:
    """Write one run with its manifest, and say so; InputError if it would replace another run."""
    began = time.monotonic()
    task = index.task
    target, manifest = _run_file(options, index, topics, variant)
    tag = manifest["tag"]

    count = len(topics.topics)
    topics_without_hits = []
    with progress(f"{topics.folder} {variant}", count, task.topics_are) as advance:

        def rankings() -> Iterator[tuple[str, list[Hit]]]:
            ranked = index.rank(topics.topics, variant, manifest["depth"])
            for topic, hits in zip(topics.topics, ranked, strict=True):
                advance(1)
                if not hits:
                    topics_without_hits.append(topic.topic_id)
                yield topic.topic_id, hits

        rows = write_run(target, rankings(), tag, task.lab, options.form, manifest)

    note = ""
    if topics_without_hits:
        note = f"; no {task.hits_are} for {some(topics_without_hits)}"
    size = f"{counted(count, task.topics_are)}, {counted(rows, task.rows_are)}"
    seconds = time.monotonic() - began
    out.print(f"{target}: {size}, in {seconds:.1f} s{note}")


def _run_file(
    options: RunOptions, index: OpenIndex, topics: TopicFile, variant: str
) -> tuple[Path, Json]:
    """Return the path of a run and its manifest; InputError if another run is there."""
    task = index.task
    named_topics: object = topics.folder
    if topics.folder not in (*YEARS, *SPLITS):
        named_topics = published(topics.path)

    command_to_repeat = command_line(
        "run",
        task.name,
        data=published(options.data),
        topics=named_topics,
        queries=published(options.queries),
        config=published(options.config),
        variant=variant,
        depth=options.depth,
        format=options.form,
    )
    depth = min(options.depth, task.depth)
    manifest = index.manifest_of(variant, depth, command_to_repeat, topics.path, options.queries)

    folder = options.runs / task.place(index.collection) / topics.folder
    stem = task.file_stem(manifest["tag"], variant)
    target = folder / file_name(stem, task.lab, options.form)
    if options.overwrite:
        return target, manifest

    existing = stored_manifest(target)
    differs = any(existing.get(key) != manifest.get(key) for key in _DECISIVE)
    if existing and differs:
        raise InputError(
            f"{target}: this run was made with other settings or data; --overwrite replaces it, "
            "another run.team in the configuration or another --runs keeps both"
        )
    return target, manifest


@command
def search(
    task: str,
    query: str,
    place: SearchPlace,
    config: Path | None = None,
    variant: str | None = None,
    depth: int = 5,
    explain: bool = False,
    tag: list[str] | None = None,
    year: list[int] | None = None,
    as_json: bool = False,
) -> None:
    r"""Show the best hits for a query.

    Example: arqmath-bm25 search task1 'Why does $\sum 1/n$ diverge?'
    """
    _check_query(task, query)
    posts = PostFilter.of(tag or (), year or ())
    names = _task_names(task, place.collection)
    for name in names:
        if len(names) > 1:
            results.print(Text(name, style="bold underline"))

        with place.naming_the_build(config, name):
            opened = place.opened(name, config)
            ranking = opened.task
            suggestion = _advise(opened, query)
            chosen = ranking.chosen(variant)
            text, labels = opened.labels.chosen(query)
            tags = [opened.labels.known.get(f"tag:{name}".casefold(), "") for name in tag or ()]
            passing = posts
            if tags and all(tags):  # of documents
                labels += tags
                passing = PostFilter.of((), year or ())
            topic = ranking.topic(text)
            if labels or as_json:
                hits, counts = opened.search_chosen(topic, labels, chosen, depth, passing)
            else:  # without the counts a search goes no deeper than the hits that are shown
                hits, counts = opened.best(topic, chosen, depth, passing), Counter()
            explanations: Sequence[list[Part] | None] = [None] * len(hits)
            if explain:
                explanations = opened.ranker.explain(topic, chosen, hits)

        found = [ranking.found(hit, opened) for hit in hits]
        if as_json:
            from arqmath_bm25.pages.web.shown_hits import Result, answer

            shown = map(Result, hits, found, explanations)
            body = answer(query, name, chosen, suggestion, counts, shown)
            results.print(json.dumps(body, ensure_ascii=False))
            continue
        if not hits:
            results.print(ranking.nothing if passing.is_open else NONE_PASSES)

        for rank, (hit, parts) in enumerate(zip(hits, explanations, strict=True), 1):
            show_hit(rank, hit, found[rank - 1], opened.collection, parts or ())


def _advise(index: OpenIndex, query: str) -> str:
    """Print advice on a query; return the suggested one, "" if its words are known."""
    note = index.task.advice(query)
    if note:
        tell(note)
    suggestion = index.suggested(query)
    if suggestion:
        tell(f"did you mean {suggestion}?")
    return suggestion


def _check_query(task: str, query: str) -> None:
    """Raise InputError for an empty query or an unknown task, with the call for own documents."""
    if not query.strip():
        raise InputError("the query is empty; give words, and formulas between dollars")
    if task == "all" or is_store(task):
        return
    try:
        task_class(task)
    except InputError as error:
        words, place = f"{task} {query}", "FOLDER"
        if is_there(task) or "/" in task:
            words, place = query, task
        elif is_there(query):
            words, place = task, query
        line = command_line("search", "docs", shlex.quote(words), data=place)
        raise InputError(f"{error}; own documents: `{line}`") from None


_MARGIN = " " * 5
_WIDTH = 95
_MAX_TERMS = 6  # of a field, that explain a score


def show_hit(
    rank: int, hit: Hit, found: Found, collection: CollectionFiles, parts: Iterable[Part]
) -> None:
    """Print a hit: its heading, its source and its text; then the parts of its score."""
    if found.text and found.post:  # an answer of Task 3
        note = f"{hit.score:.2f}  post {hit.doc_id}  {len(found.text):,} characters"
        results.print(Text(note, style="dim"))
        results.print(_wrapped("", found.text))
    else:
        heading = _heading(hit, found)
        note = _note(hit, found, collection)
        results.print(Text(f"{rank:>3}  {heading}", style="bold"))
        results.print(Text(f"{_MARGIN}{note}", style="dim"))
        results.print(_wrapped(_MARGIN, found.short_text, break_on_hyphens=True))
        results.print("")

    for part in parts:
        terms = [f"{term} {score:.3f}" for term, score in part.best_terms(_MAX_TERMS)]
        begin = f"{part.score:>12.3f}  {part.name:<20} "
        results.print(_wrapped(begin, ", ".join(terms)), style="dim")


def _wrapped(begin: str, text: str, break_on_hyphens: bool = False) -> Text:
    """Return a text in lines, with the later ones indented."""
    indent = " " * len(begin)
    wrapper = textwrap.TextWrapper(
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=break_on_hyphens,
    )
    return Text(wrapper.fill(begin + text))


def _heading(hit: Hit, found: Found) -> str:
    """Return the formula or the title of a hit, else its id."""
    if found.formula:
        return found.formula.latex or f"formula {hit.doc_id}"
    if found.title:
        return found.plain_title
    if found.post and not found.question:
        return "(no question)"
    return hit.doc_id


def _note(hit: Hit, found: Found, collection: CollectionFiles) -> str:
    """Return the score of a hit, where it is, and the thread of a formula."""
    parts = [f"{hit.score:.2f}"]
    if found.post:
        parts.append(collection.place(found.post))
    elif found.title:
        parts.append(hit.doc_id)
    if found.document and found.document.place:
        parts.append(found.document.place)

    if found.formula:
        parts.append(found.plain_title or "(no question)")
    is_cited_only = not (found.document or found.text or found.body)
    if is_cited_only:
        parts.append("its text is not known: the training set only cites it")

    return "  ".join(parts)
