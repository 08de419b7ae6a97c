"""The server that runs the application: where it listens, and what it takes at most."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Final

import uvicorn

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_LONGEST_HEAD: Final = 1 << 20  # bytes; a query that is too long gets an answer that says so
_BUSY: Final = 64  # connections; further ones are told to come back (503)


def server(app: ASGIApp) -> uvicorn.Server:
    """Return a server of the application, which logs warnings only."""
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", limit_concurrency=_BUSY, http="h11", ws="none",
            h11_max_incomplete_event_size=_LONGEST_HEAD,
        )
    )  # fmt: skip


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
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use; choose another with --port, or 0 for any"
            ) from None
        raise InputError(f"cannot listen at port {port} of {host}: {error.strerror}") from None
    return listening
