"""Shared by all servers of pages: host names, headers, static files and limits.

Every response forbids scripts but those of the page, frames, and foreign requests, whatever a post
holds.
"""

from __future__ import annotations

import errno
import resource
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Container
from ipaddress import ip_address
from math import inf
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.page_files import policy, static

_LONGEST_HEAD: Final = 1 << 20  # bytes; a query that is too long gets an answer that says so
_QUEUE: Final = 1024  # connections that wait to be accepted
_PATIENCE: Final = 10  # seconds that a client may take to say what it wants, or to read on
_HEADERS: Final = {
    b"content-security-policy": (
        policy(script=True, source="'self'")
        + "; connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ).encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
_FILES: Final = {
    "style.css": "text/css", "search.js": "text/javascript", "judging.js": "text/javascript"
}  # fmt: skip


def guarded(app: ASGIApp, hosts: Container[str]) -> ASGIApp:
    """Answer only to the server's own names, and add the headers that every response has."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS.items()]
            await send(message)

        answering = app
        if scope["type"] == "http" and not _knows(hosts, dict(scope["headers"]).get(b"host", b"")):
            answering = PlainTextResponse("This is not a name of this server.", 421)
        await answering(scope, receive, send_with_headers)

    return answer


def _knows(hosts: Container[str], host: bytes) -> bool:
    """Return whether a name is the server's, or an address, which no page can rebind."""
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
        return name in hosts or ip_address(name) is not None
    except ValueError:
        return False


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    return Response(static(name), media_type=_FILES[name])


STATIC: Final = Route("/static/{name}", _file)


def server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of the application, which logs warnings only."""
    return _Server(
        uvicorn.Config(
            app, log_level="warning", http=_Hasty, ws="none", timeout_keep_alive=_PATIENCE,
            backlog=_files() // 8, h11_max_incomplete_event_size=_LONGEST_HEAD,
        )
    )  # fmt: skip


class _Server(uvicorn.Server):
    """A server that accepts few connections at once, while the system keeps more waiting."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_QUEUE)


class _Hasty(H11Protocol):
    """HTTP/1.1 that hangs up on who keeps it waiting: for a request, or to take the answer.

    Where half of the files that this process may open are connections, the next one costs the one
    that keeps it waiting longest its place: there is always a file left for who asks next.
    """

    _open: ClassVar[dict[_Hasty, TimerHandle]] = {}  # with the time to look at them again
    _unread: float = inf  # bytes of answers that were left the last time

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self._open) > _files() // 2:
            next(other for other in self._open if not other._is_at_work())._hang_up()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._forget()
        self._open[self] = self.loop.call_later(_PATIENCE, self._look)

    def _forget(self) -> None:
        if timer := self._open.pop(self, None):
            timer.cancel()

    def _look(self) -> None:
        unread = self.transport.get_write_buffer_size()
        reading, self._unread = 0 < unread < self._unread, unread or inf
        if reading or self._is_at_work():
            self._wait()
        else:
            self._hang_up()

    def _is_at_work(self) -> bool:
        """Return whether a whole request has come and the client waits for the answer."""
        asked = self.cycle is not None and not self.cycle.more_body
        answering = asked and not self.cycle.response_complete
        return answering and not self.transport.get_write_buffer_size()

    def _hang_up(self) -> None:
        self._forget()
        self.transport.abort()  # close() would wait until the client has read


def _files() -> int:
    """Return how many files this process may open; half are for connections.

    An eighth is accepted at once, so that none is accepted for which there is no file.
    """
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def own_names(host: str, listening: socket.socket) -> frozenset[str]:
    """Return the names by which the server may be asked: a page elsewhere must not rebind one."""
    name: Any = listening.getsockname()[0]
    names = {"localhost", "127.0.0.1", "::1", host, str(name), socket.gethostname()}
    return frozenset(map(str.lower, names))


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one.

    Raises InputError where that is not possible: an unknown host, a port in use.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror or error}") from None
    try:
        return socket.create_server(address[:2], family=family, backlog=_QUEUE)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use; choose another with --port, or 0 for any"
            ) from None
        raise InputError(f"cannot listen at port {port} of {host}: {error.strerror}") from None
