"""The command `serve`: a search page over the indexes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.tasks import TASKS, task_class
from arqmath_bm25.tasks.index import Index


def serve(
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 8000,
    engine: options.EngineOption = "auto",
    hosts: options.Hosts = None,
) -> None:
    """Serve a search page for every task that has an index, and a JSON interface (/api/search).

    Only this machine can reach it, unless --host says otherwise. Ctrl-C ends it.

    Example: arqmath-bm25 serve --data /data/ARQMath --port 8080
    """
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise InputError("serve needs starlette and uvicorn: pip install 'arqmath-bm25[web]'")
    from arqmath_bm25.pages.web.app import Site
    from arqmath_bm25.pages.web.server import listen, own_names, server

    collection, chosen = Collection(data, indexes), chosen_engine(engine, hosts)
    places = {name: task_class(name).place(collection) for name in TASKS}
    tasks = [name for name in TASKS if Manifest.read(collection.indexes / places[name] / name)]
    if not tasks:
        build_it = options.command("index", "all", data=data, indexes=indexes)
        raise InputError(
            f"{collection.directory}: there is no index to search; `{build_it}` builds it"
        )
    with listen(host, port) as listening, options.naming_the_build(data, indexes):
        opened = {name: Index.open(collection, name, engine=chosen) for name in tasks}
        for index in opened.values():  # what does not serve is told before the first search
            index.search("", index.task.primary, 1)
        site = Site(collection, opened, options.THREADS)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        names = f"{', '.join(opened)} of {collection.name}"
        options.out.print(f"{address}: {names}; Ctrl-C ends it")
        server(site.app(own_names(host, listening))).run(sockets=[listening])
