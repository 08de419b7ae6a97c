"""Downloading from a server that breaks off, lies, or has something else than it should."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import IO, TYPE_CHECKING
from urllib.error import URLError

import pytest

from arqmath_bm25.collection.download import PAUSES, download
from arqmath_bm25.collection.fetching import alone_in, fetch
from arqmath_bm25.collection.published import PublishedFile
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 4096  # 1 MiB
LATER = "Mon, 07 Nov 2022 08:49:37 GMT"
JUDGMENTS = b"A.1\t0\t1234\t2\r\nA.1\t0\t1235\t0\r\n"


@dataclass
class Server:
    """What the server does, and the requests that it saw."""

    url: str = ""
    content: bytes = CONTENT
    ranges: bool = True
    date: str = "Sun, 06 Nov 2022 08:49:37 GMT"
    status: int = 200
    length: int | None = None  # what Content-Length says; None: the truth
    chunked: bool = False
    redirect: str = ""
    headers: dict[str, str] = field(default_factory=dict)  # besides, or instead of, the true ones
    honest: bool = True  # compares If-Range, and says which file it goes on with
    extra: bytes = b""  # sent after the end
    break_after: list[int] = field(default_factory=list)  # bytes sent; one for each request
    seen: list[tuple[str, str]] = field(default_factory=list)  # path, Range


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            state.seen.append((self.path, asked))
            if state.redirect:
                self.send_response(302)
                self.send_header("Location", state.redirect)
                state.redirect = ""
                self.end_headers()
                return
            if state.status != 200:
                self.send_response(state.status)
                for name, value in state.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if not state.ranges or (state.honest and self.headers.get("If-Range") != state.date):
                start = 0
            if start >= len(state.content) > 0:
                self.send_error(416)
                return
            body = state.content[start:]
            self.send_response(206 if start else 200)
            headers = {"Last-Modified": state.date} | state.headers
            for name, value in headers.items():
                self.send_header(name, value)
            if start:
                last = len(state.content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
            if not state.chunked:
                length = state.length or len(body) + len(state.extra if start else b"")
                self.send_header("Content-Length", str(length))
            self.end_headers()
            sent = state.break_after.pop(0) if state.break_after else None
            with suppress(ConnectionError):
                self.wfile.write(body[:sent] if sent is not None else body + state.extra)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{http.server_port}"
        yield state
        http.shutdown()
        thread.join()


def accept(_: Path) -> None:
    pass


def files_of(directory: Path) -> set[str]:
    return {path.name for path in directory.rglob("*") if path.is_file()}


def test_a_broken_download_goes_on_where_it_broke_off(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000, 400_000]
    pauses: list[float] = []
    download(f"{server.url}/file", tmp_path / "file", accept, pauses.append)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [asked for _, asked in server.seen] == ["", "bytes=300000-", "bytes=700000-"]
    assert files_of(tmp_path) == {"file"}
    assert pauses == [PAUSES[0]] * 2  # both attempts got further


def test_a_later_call_goes_on_too(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000] + [0] * 9
    with pytest.raises(InputError, match=r"broke off at byte 300,000 of 1,048,576.*same command"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert files_of(tmp_path) == {"file.part"}
    server.break_after = []
    server.seen.clear()
    download(f"{server.url}/file", tmp_path / "file", accept)
    assert server.seen == [("/file", "bytes=300000-")]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_pauses_grow_until_it_is_given_up(server: Server, tmp_path: Path) -> None:
    server.status = 503
    pauses: list[float] = []
    with pytest.raises(InputError, match="503 Service Unavailable; gave up after 6 attempts"):
        download(f"{server.url}/file", tmp_path / "file", accept, pauses.append)
    assert tuple(pauses) == PAUSES


def test_a_server_without_ranges_is_read_anew(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.break_after = [300_000]
    download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_ranges_one_that_always_breaks_off_is_given_up(
    server: Server, tmp_path: Path
) -> None:
    server.ranges = False
    server.break_after = [300_000] * 99
    with pytest.raises(InputError, match="gave up"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert len(server.seen) == 1 + len(PAUSES)


def test_a_file_that_changed_meanwhile_is_read_anew(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000]

    def change(_: float) -> None:
        server.date, server.content = LATER, CONTENT[::-1]

    download(f"{server.url}/file", tmp_path / "file", accept, change)
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_a_file_that_shrank_meanwhile_is_read_anew(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000]

    def shrink(_: float) -> None:
        server.content = CONTENT[:1000]

    download(f"{server.url}/file", tmp_path / "file", accept, shrink)
    assert (tmp_path / "file").read_bytes() == CONTENT[:1000]


@pytest.mark.parametrize(
    "date",
    ["", "yesterday", "Mon, 99 Foo 2020 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"],
)
def test_a_file_without_a_date_is_read_anew(date: str, server: Server, tmp_path: Path) -> None:
    server.date = date
    server.break_after = [300_000]
    download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.seen == [("/file", ""), ("/file", "")]  # nothing says that it is the same


@pytest.mark.parametrize("date", [LATER, ""])
def test_the_rest_of_another_file_is_not_appended(
    date: str, server: Server, tmp_path: Path
) -> None:
    server.honest = False
    server.break_after = [300_000]

    def change(_: float) -> None:
        server.content, server.date = CONTENT[::-1], date

    download(f"{server.url}/file", tmp_path / "file", accept, change)
    assert (tmp_path / "file").read_bytes() == server.content
    assert [asked for _, asked in server.seen] == ["", "bytes=300000-", ""]


def test_nothing_is_written_beyond_the_announced_length(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000]
    server.extra = b"x" * 10_000_000
    download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [asked for _, asked in server.seen] == ["", "bytes=300000-"]


def test_remains_that_are_longer_than_the_file_are_not_continued(
    server: Server, tmp_path: Path
) -> None:
    part = tmp_path / "file.part"
    part.write_bytes(CONTENT + b"more")
    date = parsedate_to_datetime(server.date).timestamp()
    os.utime(part, (date, date))
    download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.seen == [("/file", "bytes=1048580-"), ("/file", "")]


def test_a_server_that_sends_little_each_time_is_given_up(server: Server, tmp_path: Path) -> None:
    server.break_after = [1000] * 99
    with pytest.raises(InputError, match="gave up after 6 attempts"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Content-Encoding": "gzip"}, "encoded as gzip"),
        ({"Content-Length": "9" * 5000}, "does not say how long"),
        ({"Content-Length": "-1"}, "does not say how long"),
    ],
)
def test_answers_that_cannot_be_read_are_refused(
    headers: dict[str, str], message: str, server: Server, tmp_path: Path
) -> None:
    server.headers = headers
    with pytest.raises(InputError, match=message):
        download(f"{server.url}/file", tmp_path / "file", accept)
    assert files_of(tmp_path) == set()


@pytest.mark.parametrize("status", [201, 204, 206, 401, 403, 418])
def test_other_answers_than_a_file_are_refused(status: int, server: Server, tmp_path: Path) -> None:
    server.status = status
    with pytest.raises(InputError, match=f"the server answers {status}"):
        download(f"{server.url}/file", tmp_path / "file", accept)
    assert len(server.seen) == 1


def test_answers_of_any_kind_end_in_the_file_or_one_message(tmp_path: Path) -> None:
    """Answers are mutated as bytes, so that no part of the protocol is left out."""
    content = b"".join(bytes([number]) for number in range(256))
    dated = b"Last-Modified: Sun, 06 Nov 2022 08:49:37 GMT\r\n"
    whole = [
        b"HTTP/1.1 200 OK\r\n" + dated + b"Content-Length: 256\r\n\r\n" + content,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 256\r\n\r\n"
        b"80\r\n" + content[:128] + b"\r\n80\r\n" + content[128:] + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 206 Partial Content\r\n" + dated + b"Content-Range: bytes 100-255/256\r\n"
        b"Content-Length: 156\r\n\r\n" + content[100:],
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/a\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
    ]
    answer = b""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(answer)

    def check(part: Path) -> None:
        if part.read_bytes() != content:
            raise InputError(f"{part}: not the file")

    draw = random.Random(13)
    date = parsedate_to_datetime("Sun, 06 Nov 2022 08:49:37 GMT").timestamp()
    outcomes = set()
    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/file"
        try:
            for number in range(120):
                data = bytearray(whole[number % len(whole)])
                for _ in range(draw.randint(0, 3)):
                    at = draw.randrange(max(1, data.find(b"\r\n\r\n") + 8))
                    new = draw.choice([b"", b"\r\n", b"9", b"-", b":", b"\xe4[", draw.randbytes(2)])
                    data[at : at + draw.choice([0, 1, 4])] = new
                answer = bytes(data)
                (tmp_path / "file.part").write_bytes(content[:100])
                os.utime(tmp_path / "file.part", (date, date))
                try:
                    download(url, tmp_path / "file", check, lambda _: None)
                except InputError as error:
                    outcomes.add(str(error).partition("; ")[0])
                else:
                    outcomes.add("whole")
                    assert (tmp_path / "file").read_bytes() == content
                    (tmp_path / "file").unlink()
        finally:
            server.shutdown()
            thread.join()
    assert "whole" in outcomes
    assert len(outcomes) > 10


def test_https_stays_https(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    )
    try:
        subprocess.run(make.split(), check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl")
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append(self.path)
            scheme, _, path = self.path[1:].partition("/")
            if path:
                self.send_response(302)
                here = f"https://127.0.0.1:{secure.server_port}"
                self.send_header("Location", f"{here if scheme == 'https' else server.url}/{path}")
            else:
                self.send_response(200)
                self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"" if path else b"ok")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as secure:
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        thread = threading.Thread(target=secure.serve_forever, args=(0.01,))
        thread.start()
        url = f"https://127.0.0.1:{secure.server_port}"
        try:
            with pytest.raises(InputError, match="certificate verify failed"):
                download(f"{url}/https/file", tmp_path / "file", accept)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            download(f"{url}/https/file", tmp_path / "file", accept)
            with pytest.raises(InputError, match=r"redirects to http://.*only https addresses"):
                download(f"{url}/http/file", tmp_path / "other", accept)
        finally:
            secure.shutdown()
            thread.join()
    assert asked == ["/https/file", "/file", "/http/file"]
    assert server.seen == []
    assert (tmp_path / "file").read_bytes() == b"ok"


def test_remains_of_another_file_are_not_continued(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(b"other")  # written now, not when the file was
    download(f"{server.url}/file", tmp_path / "file", accept)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_that_promises_more_than_it_sends_leaves_no_file(
    server: Server, tmp_path: Path
) -> None:
    server.ranges = False
    server.length = len(CONTENT) + 1
    with pytest.raises(InputError, match="byte 1,048,576 of 1,048,577"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert not (tmp_path / "file").exists()


def test_a_server_that_promises_less_than_the_file_has_is_found_out(
    server: Server, tmp_path: Path
) -> None:
    server.content = b"<Topics><Topic/>" + b" " * 5000 + b"</Topics>"
    server.length = 4000
    digest = hashlib.sha256(server.content).hexdigest()[:16]
    file = PublishedFile("Topics/topics.xml", "topics", frozenset(), sha256=digest)
    with pytest.raises(InputError, match=r"not the published Topics/topics\.xml: its SHA-256"):
        fetch(file, server.url, tmp_path)
    assert files_of(tmp_path) == set()


def test_a_file_without_length_is_refused(server: Server, tmp_path: Path) -> None:
    server.chunked = True
    with pytest.raises(InputError, match="does not say how long the file is"):
        download(f"{server.url}/file", tmp_path / "file", accept)


def test_a_disk_that_is_too_small_is_named_before_the_download(
    server: Server, tmp_path: Path
) -> None:
    server.length = 10**18
    with pytest.raises(InputError, match=r"1,000,000,000,000 MB are needed, but only .* free"):
        download(f"{server.url}/file", tmp_path / "file", accept)


def test_a_missing_file_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(InputError, match=r"/file: the server answers 404 Not Found$"):
        download(f"{server.url}/file", tmp_path / "file", accept)
    assert len(server.seen) == 1
    assert files_of(tmp_path) == set()
    assert fetch(PublishedFile("file", "qrels", frozenset()), server.url, tmp_path) == "absent"


def test_redirects_lead_to_the_web_only(server: Server, tmp_path: Path) -> None:
    server.redirect = f"{server.url}/moved"
    download(f"{server.url}/file", tmp_path / "file", accept)
    assert [path for path, _ in server.seen] == ["/file", "/moved"]
    for elsewhere in ("ftp://127.0.0.1/file", "file:///etc/hostname"):
        server.redirect = elsewhere
        with pytest.raises(InputError, match=r"302|redirects to ftp"):
            download(f"{server.url}/file", tmp_path / "other", accept)


def test_two_calls_do_not_mix(tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(InputError, match="is writing this"), alone_in(tmp_path):
        pass
    with alone_in(tmp_path):
        pass


def test_a_disk_that_fills_up_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(_: object, target: IO[bytes]) -> None:
        target.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "from/Evaluation").mkdir(parents=True)
    (tmp_path / "from/Evaluation/qrels").write_bytes(JUDGMENTS)
    monkeypatch.setattr("shutil.copyfileobj", fill)
    with pytest.raises(InputError, match="to/Evaluation/qrels: the disk is full; make room"):
        fetch(
            PublishedFile("Evaluation/qrels", "qrels", frozenset()),
            tmp_path / "from",
            tmp_path / "to",
        )
    assert files_of(tmp_path / "to") == set()


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no connection: .*refused"):
        download("http://127.0.0.1:9/file", tmp_path / "file", accept, lambda _: None)


@pytest.mark.parametrize(
    "reason",
    [socket.gaierror(-2, "Name or service not known"), OSError(errno.ENETUNREACH, "unreachable")],
)
def test_without_a_network_it_gives_up_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: OSError
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise URLError(reason)

    monkeypatch.setattr("urllib.request.OpenerDirector.open", unreachable)
    pauses: list[float] = []
    target = tmp_path / "Topics" / "file"
    with pytest.raises(InputError, match=r"take their folder as the source"):
        download("http://nowhere.example/file", target, accept, pauses.append)
    assert pauses == []
    assert not target.parent.exists()

    target.parent.mkdir()
    target.with_name("file.part").write_bytes(b"half")  # a network that breaks may come back
    with pytest.raises(InputError, match="gave up after 6 attempts"):
        download("http://nowhere.example/file", target, accept, pauses.append)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/file", "data:,file"])
def test_only_the_web_is_read(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected an http or https address"):
        download(url, tmp_path / "file", accept)
    assert files_of(tmp_path) == set()


def test_a_wrong_hash_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.content = b"<Topics></Topics>"
    file = PublishedFile("Topics/x y&z.xml", "topics", frozenset(), sha256="0123456789abcdef")
    with pytest.raises(InputError, match=r"x y&z\.xml.*does not begin with 0123456789abcdef"):
        fetch(file, server.url, tmp_path)
    assert server.seen == [("/Topics/x%20y%26z.xml", "")]
    assert files_of(tmp_path) == set()


def test_what_is_there_stays(server: Server, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"mine")
    digest = hashlib.sha256(b"mine").hexdigest()[:16]
    assert fetch(PublishedFile("qrels", "qrels", frozenset()), server.url, tmp_path) == "there"
    same = PublishedFile("qrels", "qrels", frozenset(), sha256=digest)
    assert fetch(same, server.url, tmp_path) == "there"
    other = PublishedFile("qrels", "qrels", frozenset(), sha256="0" * 16)
    assert fetch(other, server.url, tmp_path) == "differs"
    assert (tmp_path / "qrels").read_bytes() == b"mine"
    assert server.seen == []
