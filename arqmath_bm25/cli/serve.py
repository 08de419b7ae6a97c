"""The command `serve`: a search page over the indexes."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Annotated

import typer

from arqmath_bm25.cli import options
from arqmath_bm25.errors import InputError


def serve(
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 8000,
) -> None:
    """Serve a search page for every task that has an index, and a JSON interface (/openapi.json).

    Only this machine can reach it, unless --host says otherwise. Ctrl-C ends it.

    Example: arqmath-bm25 serve --data /data/ARQMath --port 8080
    """
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise InputError("serve needs starlette and uvicorn: pip install 'arqmath-bm25[web]'")
    from arqmath_bm25.web.app import Site
    from arqmath_bm25.web.engines import ENGINES, available
    from arqmath_bm25.web.pool import SearchPool
    from arqmath_bm25.web.server import listen, server

    where = options.layout(data)
    directory = indexes / where.name
    openers = {task: partial(ENGINES[task], where, directory) for task in available(directory)}
    with listen(host, port) as listening:
        # Opened here once, so that an index that does not serve is told before the first search.
        engines = {task: opener() for task, opener in openers.items()}
        # The sample's posts are not on the site.
        site = Site(SearchPool(openers, options.THREADS), engines, on_site=data is not None)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        options.out.print(f"{address}: {', '.join(engines)} of {where.name}; Ctrl-C ends it")
        server(site.app()).run(sockets=[listening])
