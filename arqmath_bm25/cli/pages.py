"""The commands `report`, `threads`, `export` and `serve`: pages, as files or served."""

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import typer

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import THREADS, Place, SearchPlace, command_line, out
from arqmath_bm25.collection.file_collection import is_file_collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RunTask
from arqmath_bm25.core.manifest import MANIFEST
from arqmath_bm25.core.progress import console, counted, progress, status, tell
from arqmath_bm25.core.stores import is_store, stores
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.core.writing import state_of
from arqmath_bm25.pages.judging.annotation import posts_of_batch
from arqmath_bm25.runs.run_writing import topics_of
from arqmath_bm25.tasks import TASKS, trust
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from arqmath_bm25.pages.web.search_pages import LatestPages

_HOST = "127.0.0.1"
_PAUSE = 1.0  # seconds between two looks at DATA, at least
_PAUSES = 20  # times as long as the last look took


@command
def report(
    runs: list[Path],
    output: Path,
    place: Place,
    qrels: Path | None = None,
    task: RunTask | None = None,
    topics: Path | None = None,
    relevant: int | None = None,
    depth: int | None = None,
    baseline: Path | None = None,
    thread_pages: Path | None = None,
) -> None:
    """Write a report on runs as HTML pages that open from disk: scores, charts, every topic.

    The overview has scores, significance and plots; a page for each topic shows the question and
    the rankings side by side, with formulas drawn and relevance marked. Without --qrels the
    official judgments of the topics' year are used, if DATA has them.

    Example: arqmath-bm25 report runs/arqmath-sample/2021/*task1*.tsv -o report
    """
    # Templates and charts take half a second to load, which other commands need not wait for.
    from arqmath_bm25.evaluation.evaluator import Evaluator
    from arqmath_bm25.pages.report.gather import CHARTS, ReportData
    from arqmath_bm25.pages.report.site import write_report
    from arqmath_bm25.runs.run import Run

    made_of = place.provenance(runs)
    collection = place.collection
    with status("Reading runs") as say:
        evaluator = Evaluator(collection, qrels=qrels, measures=CHARTS, relevant=relevant)
        data = ReportData(
            [Run.read(run, task or collection.run_task, evaluator.open_ids) for run in runs],
            evaluator,
            topics=[str(topics)] if topics else topics_of(made_of),
            depth=depth,
            baseline=baseline,
            status=say,
        )

    with progress("Writing pages", len(data.questions), "topics") as advance:
        write_report(data, output, advance, thread_pages)
    out.print(f"{output / 'index.html'}: {counted(len(data.questions), 'topics')}")


@command
def threads(
    output: Path,
    place: Place,
    ids: list[str] | None = None,
    pool: Path | None = None,
    threads: int = THREADS,
) -> None:
    """Write threads as HTML pages that open from disk, as the labs' assessors saw them.

    A page has the question, its answers with score and acceptance, and the comments, users, dates,
    tags, duplicates and links that DATA has. Every post and formula has an anchor:
    ID.html#post-ID, ID.html#formula-ID. Links lead to pages that are written too, or nowhere.

    Example: arqmath-bm25 threads --pool batch.csv --data /data/ARQMath -o threads
    """
    posts = list(ids or ())
    if pool:
        posts += posts_of_batch(pool)
    if not posts:
        raise InputError(
            "threads of which posts? Give ids of questions or answers, or --pool BATCH"
        )

    # Templates take a quarter of a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.threads import ThreadReader, write_threads

    with closing(Processes(threads)) as workers, status("Reading comments, users and links"):
        reader = ThreadReader(place.collection, workers)
    for line in reader.left_out():
        out.print(f"left out: {line}")

    with progress("Writing pages", len(posts), "posts") as advance:
        count = write_threads(reader, posts, output, advance, place.delimiters or "mathjax")
    out.print(f"{output / 'index.html'}: {count} threads")


@command
def export(documents: Path, output: Path, place: Place) -> None:
    """Write documents of your own as HTML pages that open from disk: contents, links, no search.

    DOCUMENTS are indexed first, unless they are already. Each file is a page with its sections;
    pictures are copied. `serve` shows the same documents with search.

    Example: arqmath-bm25 export notes -o site
    """
    # Templates take a quarter of a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.export import write_site

    index = SearchPlace(documents, place.indexes, **place.options).opened("docs", builds=True)
    count = write_site(index, output)
    out.print(f"{output / 'index.html'}: {counted(count, 'files')}, without search")


@command
def serve(
    place: SearchPlace,
    documents: Path | None = None,
    host: str = _HOST,
    port: int = 8000,
    url: str | None = None,
    files: bool = False,
    title: str = "arqmath-bm25",
    config: list[Path] | None = None,
) -> None:
    """Serve a search page for every task that has an index, and a JSON interface (/api/search).

    DOCUMENTS of your own are indexed first, and again when a file is saved. Only this machine can
    reach the page, unless --host says otherwise, or a reverse proxy passes on what visitors ask at
    --url. Ctrl-C ends it.

    Example: arqmath-bm25 serve mine.jsonl --port 8080
    """
    with needed_by("serve", "web"):
        from arqmath_bm25.pages.web.search_pages import LatestPages, SearchPages
        from arqmath_bm25.pages.web.server import PublicAddress, listen, own_names, server

    configs = trust(config or ())
    public = PublicAddress("", "")
    if url is not None:
        public = PublicAddress.of(url)

    if documents is not None:
        place = replace(place, data=documents)

    with listen(host, port) as listening:
        opened = _opened(place, configs, documents is not None)
        collection = next(iter(opened.values())).collection
        names = own_names(host, listening, public.host)
        folder = None
        is_private = host == _HOST and url is None
        if collection.is_imported and isinstance(collection.data, Path) and (files or is_private):
            folder = collection.data

        def pages(indexes: Mapping[str, OpenIndex]) -> "ASGIApp":
            site = SearchPages(indexes, THREADS, public.prefix, folder, title)
            Thread(target=site.read_ahead, daemon=True).start()
            return site.app(names)

        latest = LatestPages(pages, opened)
        shown = host
        if ":" in host:  # an address of IPv6
            shown = f"[{host}]"
        address = f"http://{shown}:{listening.getsockname()[1]}{public.prefix}/"
        if url is not None:
            address = f"{url} (a proxy passes on to {address})"
        out.print(f"{address}: {', '.join(opened)} of {collection.name}; Ctrl-C ends it")
        if not (place.data and is_store(str(place.data))):
            builds = documents is not None
            following = (latest, opened, place, configs, builds)
            Thread(target=_follow, args=following, daemon=True).start()
        server(latest).run(sockets=[listening])


def _follow(
    latest: "LatestPages",
    opened: Mapping[str, OpenIndex],
    place: SearchPlace,
    configs: Mapping[str, Path],
    builds: bool,
) -> None:
    """Show the indexes of changed files as soon as there are some; a folder is indexed first."""
    collection = next(iter(opened.values())).collection
    shown = _state(opened, collection.layout.data)
    said = ""
    pause = _PAUSE
    while True:
        time.sleep(pause)
        began = time.monotonic()
        try:
            state = _state(opened, collection.rows or collection.layout.data)
            pause = max(_PAUSE, _PAUSES * (time.monotonic() - began))
            if state != shown:
                now = replace(place)
                opened = {name: _ready(now, name, configs.get(name), builds) for name in opened}
                latest.show(opened)
                collection = next(iter(opened.values())).collection
                shown = _state(opened, collection.layout.data)
            said = ""
        except Exception as error:  # whatever it is, the former indexes answer
            if str(error) != said:
                said = str(error)
                tell(f"answers stay as they are: {said}")
            pause = max(_PAUSE, _PAUSES * (time.monotonic() - began))


def _state(opened: Mapping[str, OpenIndex], data: Path) -> object:
    """Return a value that changes when other indexes or learnt references are to be shown."""
    states: list[object] = [data]
    for index in opened.values():
        states += [index.task.served(variant, index) for variant in index.variants]
        if not index.collection.is_imported:
            sources = index.task.index_task.sources(index.collection)
            states += [state_of(path) for path in sources]
        made = index.directory / MANIFEST  # another file if the index was made anew
        states.append(made.exists() and state_of(made))
    return states


def _ready(place: SearchPlace, name: str, config: Path | None, builds: bool) -> OpenIndex:
    """Open the index of a task; InputError if it cannot be searched."""
    index = place.opened(name, config, builds)
    variant, _ = index.task.served(index.task.primary, index)
    index.search("", variant, 1)
    return index


def _opened(place: SearchPlace, configs: Mapping[str, Path], builds: bool) -> dict[str, OpenIndex]:
    """Open the index of every task that has one; InputError if there is none.

    With `builds`, own documents are indexed first. DATA may be the store of an index, too.
    """
    if place.data is not None and is_store(str(place.data)):
        by_path = replace(place, data=None)
        with by_path.naming_the_build(name=str(place.data)):
            index = by_path.opened(str(place.data))
        return {index.task.name: index}
    opened = {}
    missing = []
    builds = builds or place.collection.is_imported
    for name in ["docs"] if builds else TASKS:
        has_stores = bool(stores(place.collection.directory / name))
        try:
            with place.naming_the_build(configs.get(name)):
                opened[name] = _ready(place, name, configs.get(name), builds)
        except InputError as error:
            if has_stores or builds:
                missing.append(error)

    if missing and not opened:
        raise missing[0]
    for reason in missing:
        tell(str(reason))
    if not opened and place.data is None and is_file_collection(Path(), place.indexes):
        console.print("There is no index to search. To search the files here: arqmath-bm25 serve .")
        raise typer.Exit(2)
    if not opened:
        build_it = command_line("index", "all", data=place.data, indexes=place.indexes)
        raise InputError(
            f"{place.collection.directory}: there is no index to search; `{build_it}` builds it"
        )
    return opened
