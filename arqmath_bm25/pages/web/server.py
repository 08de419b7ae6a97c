"""The server that runs the application: where it listens, and what it takes at most."""

from __future__ import annotations

import errno
import resource
import socket
from typing import TYPE_CHECKING, Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

    from starlette.types import ASGIApp

_LONGEST_HEAD: Final = 1 << 20  # bytes; a query that is too long gets an answer that says so
_PATIENCE: Final = 10  # seconds that a connection may take to say what it wants


def server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of the application, which logs warnings only."""
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", http=_Hasty, ws="none", timeout_keep_alive=_PATIENCE,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
        )
    )  # fmt: skip


class _Hasty(H11Protocol):
    """HTTP/1.1 that hangs up on those who do not say in time what they want, every time.

    Where many keep it waiting, it hangs up on those who do so for longest: there is always a file
    left for who asks next.
    """

    _waiting: ClassVar[dict[_Hasty, TimerHandle]] = {}

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting[self] = self.loop.call_later(_PATIENCE, self._hang_up)
        if len(self._waiting) > resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2:
            next(iter(self._waiting))._hang_up()

    def _stop_waiting(self) -> None:
        if timer := self._waiting.pop(self, None):
            timer.cancel()

    def _hang_up(self) -> None:
        self._stop_waiting()
        answered = self.cycle is None or self.cycle.response_complete
        if answered and not self.transport.is_closing():
            self.transport.abort()


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
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror or error}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use; choose another with --port, or 0 for any"
            ) from None
        raise InputError(f"cannot listen at port {port} of {host}: {error.strerror}") from None
    return listening
