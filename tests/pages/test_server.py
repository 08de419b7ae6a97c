"""The server of the search page: who is slow is hung up on, every time, and keeps nobody out."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
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

async def long(request):
    return PlainTextResponse("x" * 1_000_000)

async def count(request):
    return PlainTextResponse(f"{len(server._Hasty._open)} here")

async def form(request):
    return PlainTextResponse("here" if await request.body() else "")

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
server._PATIENCE = float(sys.argv[2])
listening = server.listen("127.0.0.1", 0)
print(listening.getsockname()[1], flush=True)
routes = [
    Route("/", home), Route("/long", long), Route("/open", count),
    Route("/form", form, methods=["POST"]),
]
server.server(Starlette(routes=routes)).run(sockets=[listening])
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
    "a form": (b"", b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nab"),
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


def read_nothing(port: int, answers: int = 1) -> socket.socket:
    """Ask for some long answers."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(ASK.replace(b"/", b"/long", 1) * answers)
    return connection


# What one answer leaves in the buffers of the system, eight do not.
@pytest.mark.parametrize("answers", [1, 8])
def test_who_does_not_read_the_answer_is_hung_up_on(answers: int) -> None:
    with served(400, 0.2) as port, closing(read_nothing(port, answers)):
        while True:
            with closing(connect(port)) as connection:
                connection.sendall(ASK.replace(b"/", b"/open", 1))
                if b"\r\n\r\n1 here" in answer(connection):  # this one
                    break


def test_who_reads_slowly_gets_all() -> None:
    with served(400, 0.2) as port, closing(read_nothing(port)) as connection:
        count = 0
        while block := connection.recv(4096):
            count += len(block)
            time.sleep(0.002)
    assert count > 1_000_000


def test_who_asks_again_and_again_is_answered() -> None:
    with served(400, 1) as port, closing(connect(port)) as connection:
        for _ in range(12):
            connection.sendall(ASK)
            assert b"here" in answer(connection)
            time.sleep(0.2)


@pytest.mark.parametrize(
    ("readers", "idle"), [(150, 350), pytest.param(300, 2000, marks=pytest.mark.slow)]
)
def test_many_slow_connections_keep_nobody_out(readers: int, idle: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4000)), hard))
    slow = []
    try:
        with served(400, 1000) as port:
            for _ in range(readers):
                slow.append(read_nothing(port))
            for number in range(idle):
                slow.append(connect(port))
                # Half of them got an answer and are slow with their next request.
                with suppress(ConnectionError):  # it is hung up on by now
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
