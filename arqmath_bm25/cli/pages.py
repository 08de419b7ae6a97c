"""The commands `report`, `threads` and `serve`: pages, as files or served."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import THREADS, Place, SearchPlace, command_line, out
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.labs import RunTask
from arqmath_bm25.core.progress import counted, progress, status
from arqmath_bm25.core.stores import stores
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.pages.judging.annotation import posts_of_batch
from arqmath_bm25.tasks import TASKS, task_class, trust
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, folder_of, of_config
from arqmath_bm25.tasks.open_index import Index


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
    from arqmath_bm25.pages.report.gather import gather
    from arqmath_bm25.pages.report.site import write_report

    with status("Reading runs") as say:
        data = gather(
            runs,
            place.of(runs).collection,
            task=task,
            qrels=qrels,
            topics=topics,
            relevant=relevant,
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
    delimiters: Delimiters = "mathjax",
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
        out.print(f"left out: {line}", markup=False)

    with progress("Writing pages", len(posts), "posts") as advance:
        count = write_threads(reader, posts, output, advance, delimiters)
    out.print(f"{output / 'index.html'}: {count} threads", markup=False)


@command
def serve(
    place: SearchPlace,
    documents: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    url: str | None = None,
    config: list[Path] | None = None,
) -> None:
    """Serve a search page for every task that has an index, and a JSON interface (/api/search).

    DOCUMENTS of your own are indexed first, unless they are already. Only this machine can reach
    the page, unless --host says otherwise, or a reverse proxy passes on what visitors ask at --url.
    Ctrl-C ends it.

    Example: arqmath-bm25 serve mine.jsonl --port 8080
    """
    with needed_by("serve", "web"):
        from arqmath_bm25.pages.web.search_pages import SearchPages
        from arqmath_bm25.pages.web.server import PublicAddress, listen, own_names, server

    trust(config or ())
    public = PublicAddress("", "")
    if url is not None:
        public = PublicAddress.of(url)

    if documents is not None:
        place = replace(place, data=documents)
        _index_documents(place)

    collection = place.collection
    tasks = [name for name in TASKS if stores(folder_of(task_class(name), collection))]
    if not tasks:
        build_it = command_line("index", "all", data=place.data, indexes=place.indexes)
        raise InputError(
            f"{collection.directory}: there is no index to search; `{build_it}` builds it"
        )

    with listen(host, port) as listening, place.naming_the_build():
        opened = {n: Index.open(collection, n, engine=place.chosen_engine) for n in tasks}
        for index in opened.values():  # what does not serve is told before the first search
            index.search("", index.task.primary, 1)

        site = SearchPages(collection, opened, THREADS, public.prefix)
        shown = host
        if ":" in host:  # an address of IPv6
            shown = f"[{host}]"
        address = f"http://{shown}:{listening.getsockname()[1]}{public.prefix}/"
        if url is not None:
            address = f"{url} (a proxy passes on to {address})"
        out.print(f"{address}: {', '.join(opened)} of {collection.name}; Ctrl-C ends it")
        Thread(target=site.read_ahead, daemon=True).start()
        names = own_names(host, listening, public.host)
        server(site.app(names)).run(sockets=[listening])


def _index_documents(place: SearchPlace) -> None:
    """Index own documents, unless an index of them is up to date, with any settings."""
    collection, engine = place.collection, place.chosen_engine
    try:
        Index.open(collection, "docs", engine=engine)
    except NoIndexError:
        task = of_config("docs", collection).index_task
        with closing(Processes(THREADS)) as workers:
            for built in ensure(IndexContent.of(task, collection), workers, [engine]):
                if built.manifest:
                    out.print(f"{built.store}: {task.account(built.manifest.counts)}")
