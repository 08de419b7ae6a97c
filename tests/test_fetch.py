"""Downloading from a server that breaks off, lies, or has something else than it should."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection import fetch_download
from arqmath_bm25.collection.fetch import alone, fetch, read_source
from arqmath_bm25.collection.fetch_catalogue import CATALOGUE, PublishedFile, needed
from arqmath_bm25.collection.fetch_download import PAUSES, download
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 4096  # 1 MiB


@dataclass
class Server:
    """What the server does, and the requests that it saw."""

    url: str = ""
    content: bytes = CONTENT
    ranges: bool = True
    etag: str = '"one"'
    status: int = 200
    length: int | None = None  # what Content-Length says; None: the truth
    chunked: bool = False
    redirect: str = ""
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
                self.send_error(state.status)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if not state.ranges or self.headers.get("If-Range") != state.etag:
                start = 0
            if start >= len(state.content) > 0:
                self.send_error(416)
                return
            body = state.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("ETag", state.etag)
            if start:
                last = len(state.content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
            if not state.chunked:
                self.send_header("Content-Length", str(state.length or len(body)))
            self.end_headers()
            self.wfile.write(body[: state.break_after.pop(0) if state.break_after else None])

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
    with pytest.raises(InputError, match=r"broke off at byte 300,000 of 1,048,576.*call it again"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert files_of(tmp_path) == {"file.part", "file.part.json"}
    server.break_after = []
    server.seen.clear()
    download(f"{server.url}/file", tmp_path / "file", accept)
    assert server.seen == [("/file", "bytes=300000-")]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_pauses_grow_until_it_is_given_up(server: Server, tmp_path: Path) -> None:
    server.status = 503
    pauses: list[float] = []
    with pytest.raises(InputError, match="503 Service Unavailable; given up after 6 attempts"):
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
    with pytest.raises(InputError, match="given up"):
        download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert len(server.seen) == 1 + 1 + len(PAUSES)


def test_a_file_that_changed_meanwhile_is_read_anew(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000]

    def change(_: float) -> None:
        server.etag, server.content = '"two"', CONTENT[::-1]

    download(f"{server.url}/file", tmp_path / "file", accept, change)
    assert (tmp_path / "file").read_bytes() == CONTENT[::-1]


def test_a_file_that_shrank_meanwhile_is_read_anew(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000]

    def shrink(_: float) -> None:
        server.content = CONTENT[:1000]

    download(f"{server.url}/file", tmp_path / "file", accept, shrink)
    assert (tmp_path / "file").read_bytes() == CONTENT[:1000]


def test_a_weak_etag_proves_nothing(server: Server, tmp_path: Path) -> None:
    server.etag = 'W/"one"'
    server.break_after = [300_000]
    download(f"{server.url}/file", tmp_path / "file", accept, lambda _: None)
    assert [asked for _, asked in server.seen] == ["", ""]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_the_remains_of_another_address_are_not_continued(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(b"other")
    note = {"url": "http://mirror/file", "validator": '"one"', "length": 1_048_576}
    (tmp_path / "file.part.json").write_text(json.dumps(note))
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
    file = PublishedFile("topics.xml", "topics", frozenset())
    with pytest.raises(InputError, match=r"topics\.xml is cut off: its root element is not closed"):
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
    with pytest.raises(InputError, match=r"1,000,000,000,000 MB are still to come, and .* free"):
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
    with alone(tmp_path), pytest.raises(InputError, match="another process"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


def test_a_disk_that_fills_up_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(_: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "qrels").write_bytes(CONTENT)
    monkeypatch.setattr("shutil.copyfile", fill)
    with pytest.raises(InputError, match="to/qrels: the disk is full; make room"):
        fetch(PublishedFile("qrels", "qrels", frozenset()), tmp_path / "from", tmp_path / "to")
    assert files_of(tmp_path / "to") == set()


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no connection: .*refused"):
        download("http://127.0.0.1:9/file", tmp_path / "file", accept, lambda _: None)


def test_no_opener_reads_local_files() -> None:
    handled = set(fetch_download._opener().handle_open)
    assert handled <= {"http", "https"}


def test_a_wrong_hash_leaves_nothing(server: Server, tmp_path: Path) -> None:
    file = PublishedFile("Topics/x y&z.xml", "topics", frozenset(), sha256="0123456789abcdef")
    with pytest.raises(InputError, match=r"x y&z\.xml.*does not begin with 0123456789abcdef"):
        fetch(file, server.url, tmp_path)
    assert server.seen == [("/Topics/x%20y%26z.xml", "")]
    assert files_of(tmp_path) == set()


@pytest.mark.parametrize("served", [b"a\nb\n", b"a\r\nb\r\n"])
@pytest.mark.parametrize("published", [b"a\nb\n", b"a\r\nb\r\n", b"a\r\nb\n"])
def test_line_ends_do_not_make_another_file_of_it(
    published: bytes, served: bytes, tmp_path: Path
) -> None:
    digest = hashlib.sha256(published).hexdigest()[:16]
    file = PublishedFile("qrels", "qrels", frozenset(), sha256=digest)
    (tmp_path / "qrels").write_bytes(served)
    mixed = published == b"a\r\nb\n"  # no rule leads back to it
    assert file.has_hash(tmp_path / "qrels") is not mixed


def test_a_web_page_instead_of_a_file_is_refused(server: Server, tmp_path: Path) -> None:
    server.content = b"\n<!DOCTYPE html><html>Log in first</html>"
    with pytest.raises(InputError, match="a web page was sent instead of qrels"):
        fetch(PublishedFile("qrels", "qrels", frozenset()), server.url, tmp_path)


def test_a_size_far_from_the_published_one_is_refused(server: Server, tmp_path: Path) -> None:
    file = PublishedFile("links.xml", "links", frozenset(), size=2_000_000)
    with pytest.raises(InputError, match=r"it has 1\.0 MB, expected about 2\.0 MB"):
        fetch(file, server.url, tmp_path)


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


def test_the_real_files_have_the_published_hashes(lite: Path) -> None:
    here = [file for file in CATALOGUE if file.sha256 and (lite / file.path).is_file()]
    assert len(here) == 5
    assert all(file.has_hash(lite / file.path) for file in here)


def test_each_task_has_what_it_reads() -> None:
    everything = {file.part for file in CATALOGUE}
    assert everything == {"topics", "qrels", "posts", "links", "formulas", "slt", "opt"}
    assert {f.part for f in needed(tuple(everything), "task3")} == {
        "topics", "qrels", "posts", "links"
    }  # fmt: skip
    assert len(needed(["topics"], "task1")) == len(needed(["topics"], "task2")) == 3
    assert len(needed(["topics"], None)) == 6


@pytest.mark.parametrize("source", ["ftp://site/data", "http:///data", "file:///tmp", "absent"])
def test_sources_are_web_addresses_or_folders(source: str) -> None:
    with pytest.raises(InputError, match=f"--from {source}"):
        read_source(source)
