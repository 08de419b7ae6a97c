"""The server of the search page: who is slow is hung up on, every time, and keeps nobody out."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.pages.web.server import listen, own_names

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = """
import resource, sys
from arqmath_bm25.pages.web import server
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

async def home(request):
    return PlainTextResponse("here")

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
server._PATIENCE = float(sys.argv[2])
listening = server.listen("127.0.0.1", 0)
print(listening.getsockname()[1], flush=True)
server.server(Starlette(routes=[Route("/", home)])).run(sockets=[listening])
"""
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def served(files: int, patience: float) -> Iterator[int]:
    """Serve a page in a process that may open so many files; yields its port."""
    command = [sys.executable, "-c", SERVER, str(files), str(patience)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(60)
    return connection


def answer(connection: socket.socket, requests: int = 1) -> bytes:
    """Read the answers to some requests, which may come together."""
    data = b""
    while data.count(b"here") < requests and (block := connection.recv(4096)):
        data += block
    return data


SLOW = {
    "a second head": (ASK, b"GET / HTTP/1.1\r\nHost: loc"),
    "the head after two": (ASK * 2, b"GET"),
    "a body": (b"", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("what", SLOW)
def test_who_does_not_end_a_request_is_hung_up_on(what: str) -> None:
    before, begun = SLOW[what]
    with served(400, 5) as port, closing(connect(port)) as connection:
        connection.sendall(before)
        requests = before.count(b"GET")
        assert answer(connection, requests).count(b"here") == requests
        began = time.monotonic()
        connection.sendall(begun)
        with_drips = 0
        try:
            while time.monotonic() < began + 60:
                connection.settimeout(0.2)
                try:
                    if connection.recv(4096) == b"":
                        break
                except TimeoutError:
                    with_drips += 1
                    connection.sendall(b"a" if begun else b"")
        except ConnectionError:
            pass
        assert time.monotonic() < began + 50


def test_who_asks_again_and_again_is_answered() -> None:
    with served(400, 1) as port, closing(connect(port)) as connection:
        for _ in range(12):
            connection.sendall(ASK)
            assert b"here" in answer(connection)
            time.sleep(0.2)


def test_many_slow_connections_keep_nobody_out() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2000)), hard))
    slow = []
    try:
        with served(400, 1000) as port:
            for number in range(500):
                slow.append(connect(port))
                # Half of them got an answer and are slow with their next request.
                slow[-1].sendall((ASK if number % 2 else b"") + b"GET / HTTP/1.1\r\nHost: loc")
            for _ in range(5):
                with closing(connect(port)) as connection:
                    connection.sendall(ASK)
                    assert b"here" in answer(connection)
    finally:
        for connection in slow:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_names_are_compared_without_case() -> None:
    with closing(listen("127.0.0.1", 0)) as listening:
        assert "myhost.lan" in own_names("MyHost.lan", listening)
