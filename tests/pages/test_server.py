"""All servers of pages: who may ask, what every answer has, and many clients at once."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.web.server import PublicAddress, listen, own_names

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

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), hard))
listening = server.listen("127.0.0.1", 0)
print(listening.getsockname()[1], flush=True)
names = server.own_names("MyHost.lan", listening, "notes.uni.example")
app = server.guarded(Starlette(routes=[Route("/", home)]), names)
server.server(app).run(sockets=[listening])
"""


@contextmanager
def served(files: int = 400) -> Iterator[int]:
    """Serve a page in a process that may open so many files at first; yields its port."""
    command = [sys.executable, "-c", SERVER, str(files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def ask(port: int, host: str) -> str:
    """Return the whole answer to a request for the page."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
        request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        return connection.makefile("rb").read().decode()


OWN_NAMES = [
    "localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.2", "192.168.7.9:8000", "[::1]:8000",
    "[2001:db8::7]", "myhost.lan", "notes.uni.example", "Notes.Uni.Example:443",
]  # fmt: skip
OTHER_NAMES = ["evil.example", "127.0.0.1.evil.example", "", "[evil", "notes.uni.example.evil.org"]


def test_the_page_is_given_under_the_names_of_the_server_and_no_others() -> None:
    with served() as port:
        for name in OWN_NAMES:
            answer = ask(port, name)
            assert answer.startswith("HTTP/1.1 200 "), name
            assert answer.endswith("here")
        for name in OTHER_NAMES:
            answer = ask(port, name)
            assert answer.startswith("HTTP/1.1 421 "), name
            assert not answer.endswith("here")
            assert "such as https://" in answer
            assert "default-src 'none'" in answer
            assert "x-content-type-options: nosniff" in answer


def test_idle_clients_keep_nobody_out() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4000), hard))
    connections = []
    try:
        with served(files=400) as port:
            for number in range(2000):
                connection = socket.create_connection(("127.0.0.1", port))
                connections.append(connection)
                if number % 2:  # half of them say nothing, half do not end what they say
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            for _ in range(5):
                assert ask(port, "localhost").endswith("here")
    finally:
        for connection in connections:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_names_are_compared_without_case() -> None:
    with closing(listen("127.0.0.1", 0)) as listening:
        assert "myhost.lan" in own_names("MyHost.lan", listening)


@pytest.mark.parametrize(
    ("url", "host", "prefix"),
    [
        ("https://notes.uni.example/search", "notes.uni.example", "/search"),
        ("https://notes.uni.example/~ada/notes/", "notes.uni.example", "/~ada/notes"),
        ("http://Notes.uni.example:8080", "notes.uni.example", ""),
        ("http://[2001:db8::7]/", "2001:db8::7", ""),
    ],
)
def test_the_public_address_gives_name_and_prefix(url: str, host: str, prefix: str) -> None:
    assert PublicAddress.of(url) == (host, prefix)


@pytest.mark.parametrize(
    "url",
    [
        "notes.uni.example/search", "/search", "", "https:///search", "ftp://notes.uni.example",
        "https://notes.uni.example/a//b", "https://notes.uni.example/a b",
        "https://notes.uni.example/?q=x", "https://[evil", "https://notes.uni.example/{x}",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"expected the address of the search page"):
        PublicAddress.of(url)
