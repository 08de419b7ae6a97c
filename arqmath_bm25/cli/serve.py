"""The command `serve`: a search page over the indexes."""

from importlib.util import find_spec

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import THREADS, SearchPlace, command_line, out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.tasks import TASKS, task_class
from arqmath_bm25.tasks.index import Index


@command
def serve(place: SearchPlace, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve a search page for every task that has an index, and a JSON interface (/api/search).

    Only this machine can reach it, unless --host says otherwise. Ctrl-C ends it.

    Example: arqmath-bm25 serve --data /data/ARQMath --port 8080
    """
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise InputError("serve needs starlette and uvicorn: pip install 'arqmath-bm25[web]'")
    from arqmath_bm25.pages.web.app import SearchPages
    from arqmath_bm25.pages.web.server import listen, own_names, server

    collection = place.collection
    places = {n: collection.indexes / task_class(n).place(collection) / n for n in TASKS}
    tasks = [name for name, directory in places.items() if Manifest.read(directory)]
    if not tasks:
        build_it = command_line("index", "all", data=place.data, indexes=place.indexes)
        raise InputError(
            f"{collection.directory}: there is no index to search; `{build_it}` builds it"
        )
    with listen(host, port) as listening, place.naming_the_build():
        opened = {n: Index.open(collection, n, engine=place.chosen_engine) for n in tasks}
        for index in opened.values():  # what does not serve is told before the first search
            index.search("", index.task.primary, 1)
        site = SearchPages(collection, opened, THREADS)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        out.print(f"{address}: {', '.join(opened)} of {collection.name}; Ctrl-C ends it")
        server(site.app(own_names(host, listening))).run(sockets=[listening])
