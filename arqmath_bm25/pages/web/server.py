"""Shared by all servers of pages: host names, addresses, headers and static files.

Every response forbids foreign scripts, frames and requests, since posts are not trusted. A reverse
proxy has to deal with clients that are slow on purpose (docs/USAGE.md).
"""

from __future__ import annotations

import errno
import hashlib
import re
import resource
import socket
from collections.abc import Container
from functools import cache
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.page_files import policy, static

# Bytes of the head of a request; within it, a query that is too long still gets an answer.
_LONGEST_HEAD = 1 << 20

# Connections that may wait to be accepted.
_QUEUE = 1024

# An idle connection is closed after so many seconds.
_KEEP_ALIVE = 10

# Open connections, if the system allows so many files.
_CONNECTIONS = 1 << 14
_PREFIX = re.compile(r"(?:/[\w.~-]+)*")
_HEADERS = {
    b"content-security-policy": (
        policy(script=True, source="'self'")
        + "; connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ).encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    # A browser or proxy asks again each time; static files then need not be sent again.
    b"cache-control": b"no-cache",
}
_FILES = {
    "icon.svg": "image/svg+xml",
    "style.css": "text/css",
    "search.js": "text/javascript",
    "judging.js": "text/javascript",
}

_OTHER_NAME = (
    "This server does not answer to this name. For a search page that visitors reach under another "
    "name, start it with the URL of that address, such as https://notes.uni.example/search"
)


class PublicAddress(NamedTuple):
    """The address of the pages for visitors, from which a reverse proxy passes requests on."""

    host: str
    prefix: str  # the beginning of all paths, such as /search; may be empty

    @classmethod
    def of(cls, url: str) -> PublicAddress:
        """Read a URL; InputError if it is not the address of a site or a folder of one."""
        try:
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:
            parts, host = urlsplit(""), None

        prefix = parts.path.rstrip("/")
        is_web = parts.scheme in ("http", "https")
        if not (is_web and host and _PREFIX.fullmatch(prefix)) or parts.query or parts.fragment:
            raise InputError(
                f"{url}: expected the address of the search page, such as "
                "https://notes.uni.example/search"
            )

        return cls(host, prefix)


def guarded(app: ASGIApp, hosts: Container[str]) -> ASGIApp:
    """Answer only to the server's own names, and add the headers that every response has."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS.items()]
            await send(message)

        answering = app
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"")
            if not _knows(hosts, host.decode("latin-1")):
                answering = PlainTextResponse(_OTHER_NAME, 421)

        await answering(scope, receive, send_with_headers)

    return answer


def _knows(hosts: Container[str], host: str) -> bool:
    """Return whether a name is the server's, or an IP address, which no page can rebind."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in hosts or ip_address(name) is not None
    except ValueError:
        return False


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")

    headers = {"etag": _etag(name)}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(static(name), media_type=_FILES[name], headers=headers)


@cache
def _etag(name: str) -> str:
    """Return the tag of the content of a static file."""
    digest = hashlib.sha256(static(name)).hexdigest()
    return f'"{digest[:16]}"'


STATIC = Route("/static/{name}", _file)


def server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of the application, which logs warnings only.

    This process may open a file for each of many connections then, idle ones too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    config = uvicorn.Config(
        app,
        log_level="warning",
        http="h11",
        ws="none",
        backlog=_QUEUE,
        timeout_keep_alive=_KEEP_ALIVE,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    return uvicorn.Server(config)


def own_names(host: str, listening: socket.socket, public: str = "") -> frozenset[str]:
    """Return the host names that requests may have; others could be rebound by a page elsewhere."""
    address = listening.getsockname()[0]
    names = {
        "localhost",
        "127.0.0.1",
        "::1",
        host.lower(),
        str(address).lower(),
        socket.gethostname().lower(),
        public.lower(),
    }
    return frozenset(names - {""})


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one.

    Raises InputError where that is not possible: an unknown host, a port in use.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"{host}: {error.strerror or error}") from None

    try:
        return socket.create_server(address[:2], family=family, backlog=_QUEUE)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use; choose another, or 0 for any", port=0
            ) from None

        raise InputError(f"cannot listen at port {port} of {host}: {error.strerror}") from None
