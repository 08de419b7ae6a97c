"""The server of the search page: its names, its headers, its faults, a prefix."""

from __future__ import annotations

import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from hostile_collection import TITLE, write_collection
from program import arqmath
from selectolax.lexbor import LexborHTMLParser
from serving import Client, build_indexes, documents_site, open_site, running

import arqmath_bm25 as arq
from arqmath_bm25.cli.pages import _opened, serve
from arqmath_bm25.cli.shared.options import SearchPlace
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

QUERY = r"Why does $\sum_{n=2}^\infty \frac{1}{n \ln n}$ diverge?"


def test_methods_that_change_things_are_refused(client: Client) -> None:
    assert client.get("/api/search", method="POST", q="a").status == 405
    answer = client.get("/", method="POST")
    assert answer.status == 405
    assert LexborHTMLParser(answer.text).css_first("h1").text() == "Not allowed"


@pytest.mark.parametrize("path", ["/", "/api/search", "/posts/x", "/static/search.js"])
def test_every_response_forbids_foreign_scripts(client: Client, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"


def test_requests_at_the_same_time_get_each_their_own_answer(client: Client) -> None:
    queries = ["prime numbers", "$x^2$", "a group of order $p$", "compact set", QUERY] * 8
    alone = {q: client.get("/api/search", q=q).json() for q in set(queries)}
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda q: client.get("/api/search", q=q).json(), queries)
        for query, answer in zip(queries, answers, strict=True):
            assert answer == alone[query]


def test_posts_cannot_put_elements_into_the_page(tmp_path: Path) -> None:
    data = write_collection(tmp_path / "data")
    site = open_site(data, build_indexes(data, tmp_path / "indexes"))
    with running(site) as address:
        for path in (
            f"/?q={quote(f'series {TITLE}')}",
            f"/?q={quote(f'series {TITLE}')}&explain=2",
            "/posts/2?q=series",
            "/posts/1",
            "/posts/3",
        ):
            answer = Client(address).get(path)
            assert answer.status == 200
            tree = LexborHTMLParser(answer.text)
            assert [s.attributes.get("src") for s in tree.css("script")] == ["/static/search.js"]
            assert not tree.css("img, iframe, style, .bait[href], [onclick], [onerror], [onload]")


def test_a_port_in_use_is_told(indexes: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is in use"):
            serve(indexes=indexes, port=port)
    with pytest.raises(InputError, match=r"nowhere\.invalid"):
        serve(indexes=indexes, host="nowhere.invalid", port=0)


def test_without_an_index_there_is_nothing_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder without notes
    with pytest.raises(InputError, match="there is no index to search"):
        serve(indexes=tmp_path, port=0)


def ask(address: str, host: str) -> bytes:
    """Send a request by hand, and return the answer."""
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = f"GET /static/search.js HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        return connection.makefile("rb").read()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8000", "LOCALHOST"])
def test_the_server_answers_to_its_own_names(client: Client, host: str) -> None:
    assert ask(client.address, host).startswith(b"HTTP/1.1 200")


def test_the_path_of_an_index_is_what_is_served(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"id": "1", "text": "prime ideals"}\n')
    arqmath("index", "docs", "--data", tmp_path / "mine.jsonl", "--indexes", tmp_path / "i")
    (store,) = (tmp_path / "i/mine/docs").glob("flat-*")
    opened = _opened(SearchPlace(store), {}, builds=True)
    assert opened["docs"].directory == store


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[evil"])
def test_no_other_name_leads_to_it(client: Client, host: str) -> None:
    answer = ask(client.address, host)
    assert answer.startswith(b"HTTP/1.1 421")
    assert b"content-security-policy" in answer


def test_posts_that_were_replaced_are_told(tmp_path: Path) -> None:
    data = tmp_path / SAMPLE.name
    shutil.copytree(SAMPLE, data)
    site = open_site(data, build_indexes(data, tmp_path / "indexes"))
    with running(site) as address:
        assert Client(address).get("/", q="prime").status == 200
        posts = data / "Collection" / "Posts.V1.3.xml"
        posts.write_bytes(b"\n" * 99 + posts.read_bytes())
        for _ in range(4):  # whichever thread is asked
            answer = Client(address).get("/", q="prime")
            assert answer.status == 503
            assert "has changed since it was indexed" in answer.text


def test_no_answer_names_a_file_of_the_server(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "prime numbers"}]
    with running(documents_site(tmp_path, rows)) as address:
        client = Client(address)
        for path in (
            "/threads/1",
            "/posts/1",
            "/documents/b",
            "/nowhere",
            "/static/x",
            "/?q=a&depth=x",
        ):
            answer = client.get(path)
            assert answer.status in (404, 422), path
            assert str(tmp_path) not in answer.text

        (tmp_path / "corpus.jsonl").write_text('{"id": "b", "text": "other words here"}\n')
        for path in ("/?q=prime", "/documents/a", "/api/search?q=prime"):
            answer = client.get(path)
            assert str(tmp_path) not in answer.text
            assert answer.status == 200, path
            assert "(changed in corpus.jsonl since it was indexed)" in answer.text


@pytest.mark.parametrize("name", ["icon.svg", "style.css", "search.js"])
def test_static_files_are_sent_once(client: Client, name: str) -> None:
    url = f"{client.address}/static/{name}"
    with urlopen(url) as first:  # noqa: S310
        tag = first.headers["etag"]
        assert first.headers["cache-control"] == "no-cache"

    with pytest.raises(HTTPError) as raised:
        urlopen(Request(url, headers={"If-None-Match": f'"other", {tag}'}))  # noqa: S310
    assert raised.value.code == 304
    assert raised.value.read() == b""
    assert client.get("/").headers["cache-control"] == "no-cache"
    assert "etag" not in client.get("/").headers


def test_a_prefix_is_before_every_address(indexes: Path) -> None:
    """Every link, form, script and style of every page leads to a page below the prefix."""
    with running(open_site(SAMPLE, indexes, "/~ada/search"), "notes.uni.example") as address:
        client = Client(address)
        assert client.get("/").status == 404
        seen, waiting = set[str](), ["/~ada/search/", f"/~ada/search/?q={quote(QUERY)}"]
        while waiting and len(seen) < 60:
            path = waiting.pop(0)
            seen.add(path)
            answer = client.get(path)
            assert answer.status == 200, path
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            tree = LexborHTMLParser(answer.text)
            for name in ("href", "src", "action"):
                for element in tree.css(f"[{name}]"):
                    target = str(element.attributes[name])
                    if target.startswith(("#", "https://math.stackexchange.com/")):
                        continue
                    assert target.startswith("/~ada/search/"), target
                    if (new := target.partition("#")[0]) not in [*seen, *waiting]:
                        waiting.append(new)
        assert any("/posts/" in path for path in seen)
        assert client.get("/~ada/search/api/search", q="prime").status == 200
        assert '{"error"' in client.get("/~ada/search/api/search", q="a", depth=0).text
        assert "Not found" in client.get("/~ada/search/nowhere").text


def test_pages_name_the_site_of_the_collection(indexes: Path, tmp_path: Path) -> None:
    assert arq.sample(indexes).origin == ""
    assert CollectionFiles(SAMPLE, tmp_path).origin == "math.stackexchange.com"
    assert CollectionFiles(SAMPLE, tmp_path, site="physics.example").origin == "physics.example"
