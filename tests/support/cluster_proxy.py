"""A proxy before a cluster, for tests: TLS, people's rights, and faults on demand."""

from __future__ import annotations

import ssl
import subprocess
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from shutil import which
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Asked(NamedTuple):
    """A request that came to the proxy."""

    method: str
    path: str  # with the query
    body: bytes
    authorization: str | None


class Answer(NamedTuple):
    """What the proxy says in place of the cluster."""

    status: int
    body: bytes = b"{}"
    kind: str = "application/json"
    after: float = 0  # seconds
    forwarded: bool = False  # whether the cluster gets the request nevertheless


class Proxy:
    """A running proxy; `fault` may answer a request, or raise ConnectionError to hang up."""

    def __init__(self, target: str, url: str) -> None:
        self.url = url
        self.target = urlsplit(target)
        self.asked: list[Asked] = []
        self.fault: Callable[[Asked], Answer | None] = lambda _: None

    def bulks(self) -> list[Asked]:
        """Return the requests that brought documents."""
        return [asked for asked in self.asked if "/_bulk" in asked.path]


@contextmanager
def proxy(target: str, tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """Run a proxy before the cluster `target` on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits for 40 ms

        def log_message(self, *_: Any) -> None:
            return

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = Asked(self.command, self.path, body, self.headers.get("authorization"))
            running.asked.append(asked)
            try:
                answer = running.fault(asked)
            except ConnectionError:
                self.close_connection = True
                return
            if answer is None or answer.forwarded:
                passed = self._pass_on(asked)
                answer = answer or passed
            time.sleep(answer.after)
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815

        def _pass_on(self, asked: Asked) -> Answer:
            connection = HTTPConnection(running.target.hostname or "", running.target.port)
            headers = {"content-type": self.headers.get("content-type") or "application/json"}
            connection.request(asked.method, asked.path, asked.body, headers)
            response = connection.getresponse()
            kind = response.getheader("content-type") or "application/json"
            answer = Answer(response.status, response.read(), kind)
            connection.close()
            return answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    running = Proxy(target, f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def certificates(place: Path) -> None:
    """Write an authority's ca.pem, and certificates that it signed: server and client."""
    name = "/CN=127.0.0.1"

    def openssl(*arguments: str) -> None:
        command = [str(which("openssl")), *arguments]
        subprocess.run(command, cwd=place, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=own")
    (place / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for who in ("server", "client"):
        openssl("req", *key, "-keyout", f"{who}.key", "-out", f"{who}.csr", "-subj", name)
        openssl(
            "x509", "-req", "-in", f"{who}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{who}.pem", "-extfile", "names",
        )  # fmt: skip


def tls(place: Path, wants_certificate: bool = False) -> ssl.SSLContext:
    """Return what a server at 127.0.0.1 speaks TLS with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "server.pem", place / "server.key")
    if wants_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(place / "ca.pem")
    return context
