"""The files that the search page of a folder sends: pictures and sources, none that acts."""

from __future__ import annotations

import base64
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from serving import Answer, Client, folder_site, page, running

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
LONG = f"{'d' * 250}/{'e' * 250}/{'f' * 99}.md"  # an id has at most 512 bytes
FILES = {
    LONG: b"# Long\n\nA long path\n",
    "circle.md": b"# Circle\n\nA circle ![round](pics/a%20b.png) ![far](https://e.example/x.png)\n",
    "sub/line.md": b'# Line\n\nA line ![up](../pics/a%20b.png "t") ![gone](none.png)\n'
    b"![out](../../secret.png) ![text](../circle.md) ![link](../leak.png) ![no](//[e/x.png)\n",
    "page.html": b"<h1>Page</h1><p>A page <img src='act.svg' alt='\"drawn\"'></p>"
    b"<script>alert(1)</script>",
    "act.svg": SVG,
    "pics/a b.png": PNG,
    "pics/other.PNG": PNG,
    "pics/photo.jpg": b"\xff\xd8\xff",
    "notes.bak": b"not read",
    "key.pem": b"secret",
    ".hidden/a.png": PNG,
    ".hidden.png": PNG,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    folder = root / "notes"
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "secret.png").write_bytes(PNG)
    (folder / "leak.png").symlink_to(root / "secret.png")
    (folder / "out").symlink_to(root)
    (folder / "key.png").symlink_to(folder / "key.pem")
    (folder / "shown.png").symlink_to(folder / "pics/other.PNG")
    return folder


@pytest.fixture(scope="module")
def notes(folder: Path) -> Iterator[Client]:
    with running(folder_site(folder, folder.parent / "indexes")) as address:
        yield Client(address)


def head(client: Client, path: str, **headers: str) -> Answer:
    """Ask for the headers of a file."""
    request = Request(client.address + path, method="HEAD", headers=headers)  # noqa: S310
    with urlopen(request) as answer:  # noqa: S310
        return Answer(answer.status, answer.headers, "")


def pictures(client: Client, doc_id: str) -> dict[str, str]:
    """Return the pictures of a document, and check that they are sent as pictures."""
    found = page(client, f"/documents/{quote(doc_id, safe='')}").css(".post img")
    shown = {}
    for picture in found:
        text, address = (picture.attributes[name] or "" for name in ("alt", "src"))
        assert head(client, address).headers["content-type"].startswith("image/")
        shown[text] = address
    return shown


def test_pictures_of_the_folder_are_shown(notes: Client) -> None:
    shown = "/files/pics/a%20b.png"
    assert pictures(notes, "circle.md#circle") == {"round": shown}
    assert pictures(notes, "sub/line.md#line") == {"up": shown}
    assert pictures(notes, "page.html#page") == {'"drawn"': "/files/act.svg"}
    line = page(notes, "/documents/sub%2Fline.md%23line")
    (post,) = line.css(".post")
    names = re.findall(r"\[picture: (\w+)\]", post.text())
    assert names == ["gone", "out", "text", "link", "no"]
    assert [link.text() for link in post.css("a")] == ["[picture: text]"]
    (far,) = page(notes, "/documents/circle.md%23circle").css(".post a")
    assert far.attributes["href"] == "https://e.example/x.png"
    assert "img-src 'self'" in notes.get("/").headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pics/a%20b.png", "image/png"),
        ("pics/other.PNG", "image/png"),
        ("shown.png", "image/png"),
        ("pics/photo.jpg", "image/jpeg"),
    ],
)
def test_bitmaps_are_sent_in_the_page(notes: Client, name: str, kind: str) -> None:
    headers = head(notes, f"/files/{name}").headers
    assert headers["content-type"] == kind
    assert "content-disposition" not in headers
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("act.svg", "image/svg+xml"),
        ("page.html", "text/plain; charset=utf-8"),
        ("sub/line.md", "text/plain; charset=utf-8"),
        (LONG, "text/plain; charset=utf-8"),
    ],
)
def test_what_could_act_is_an_attachment_without_rights(
    notes: Client, name: str, kind: str
) -> None:
    answer = notes.get(f"/files/{name}")
    assert answer.text.encode() == FILES[name]
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    policies = answer.headers.get_all("content-security-policy")  # type: ignore[attr-defined]
    assert "sandbox" in policies


@pytest.mark.parametrize(
    "name",
    [
        "",
        "none.png",
        "pics",
        "notes.bak",
        "key.pem",
        "key.png",
        "leak.png",
        "out/secret.png",
        ".hidden.png",
        ".hidden/a.png",
        "../secret.png",
        "..%2fsecret.png",
        "..%2fnotes/act.svg",
        "%2e%2e/secret.png",
        "pics/..%2f..%2fsecret.png",
        "pics/..%2fact.svg",
        "..%5csecret.png",
        "..%252fsecret.png",
        "/act.svg",
        "%2fetc%2fpasswd",
        "a%00.png",
        "act.svg%00.png",
        "%ff.png",
        "x" * 5000 + ".png",
    ],
)
def test_nothing_else_is_sent(notes: Client, folder: Path, name: str) -> None:
    answer = notes.get(f"/files/{name}")
    assert answer.status == 404
    assert str(folder.parent) not in answer.text


def test_an_absolute_path_is_no_name(notes: Client, folder: Path) -> None:
    for path in (str(folder / "act.svg"), quote(str(folder / "act.svg"), safe="")):
        assert notes.get(f"/files/{path}").status == 404


def test_a_file_is_sent_once(notes: Client, folder: Path) -> None:
    first = head(notes, "/files/act.svg").headers
    assert first["last-modified"]
    request = (
        f"GET /files/act.svg HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {first['etag']}\r\n"
    )
    site = urlsplit(notes.address)
    with socket.create_connection((site.hostname, site.port)) as connection:
        connection.sendall(f"{request}Connection: close\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 304")
    assert b"content-security-policy: sandbox" in answer
    assert b"script" not in answer.partition(b"\r\n\r\n")[2]


def test_addresses_have_the_prefix(folder: Path) -> None:
    site = folder_site(folder, folder.parent / "indexes", "/~ada")
    with running(site) as address:
        line = page(Client(address), "/~ada/documents/circle.md%23circle")
        (picture,) = line.css(".post img")
        assert picture.attributes["src"] == "/~ada/files/pics/a%20b.png"
        assert head(Client(address), picture.attributes["src"]).status == 200


def test_no_answer_has_the_path_of_the_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = folder_site(folder, tmp_path / "indexes")
    paths = ["/", "/?q=circle", "/documents/circle.md%23circle", "/documents/x", "/posts/1"]
    paths += ["/threads/1", "/api/search", "/api/results?q=line", "/api/preview?q=line&task=docs"]
    paths += ["/static/x", "/files/x", "/files/circle.md", "/nowhere", "/api/search?q=a&depth=x"]
    paths += ["/api/search?q=circle&explain=circle.md%23circle"]
    seen = set()

    def see(client: Client) -> None:
        for path in paths:
            answer = client.get(path)
            seen.add(answer.status)
            for place in (folder, tmp_path):
                assert str(place) not in answer.text, path
                assert str(place) not in str(answer.headers), path

    with running(site) as address:
        see(Client(address))
        for kind, error in ((InputError, 503), (OSError, 500)):
            ranker = type(site._indexes["docs"].ranker)
            for owner, method in ((ranker, "explain"), (OpenIndex, "search_chosen")):

                def fail(*_: object, kind: type[Exception] = kind) -> None:
                    raise kind(f"{folder}/circle.md: damaged")

                with monkeypatch.context() as patched:
                    patched.setattr(owner, method, fail)
                    assert Client(address).get(paths[-1]).status == error
                    see(Client(address))
    assert seen == {200, 404, 422, 500, 503}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 200),
        (["--host", "localhost"], 404),
        (["--host", "localhost", "--files"], 200),
        (["--url", "https://notes.uni.example"], 404),
    ],
)
def test_files_are_sent_to_others_only_if_asked(
    folder: Path, tmp_path: Path, options: list[str], status: int
) -> None:
    command = [sys.executable, "-m", "arqmath_bm25", "serve", str(folder), "--port", "0"]
    command += ["--indexes", str(tmp_path / "i"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = None
            while port is None:
                line = server.stdout.readline()
                assert line
                port = re.search(r"http://[\w.]+:(\d+)/", line)
            client = Client(f"http://localhost:{port[1]}")
            assert client.get("/files/act.svg").status == status
            shown = page(client, "/documents/circle.md%23circle").css(".post img")
            assert len(shown) == (status == 200)
        finally:
            server.kill()


def test_pictures_of_latex_and_rst_are_shown_or_linked(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "figs").mkdir(parents=True)
    for name in ("figs/photo.png", "figs/plot.pdf", "secret.pdf"):
        (notes / name).write_bytes(PNG)
    (notes / ".gitignore").write_text("secret.pdf\n")
    (notes / "a.tex").write_text(
        r"\graphicspath{{figs/}}\section{A}\includegraphics[width=1cm]{photo}"
        r"\includegraphics{plot.pdf}\includegraphics{gone}"
    )
    (notes / "b.rst").write_text("B\n=\n\n.. image:: figs/photo.png\n   :alt: shot\n")
    with running(folder_site(notes, tmp_path / "indexes")) as address:
        client = Client(address)
        assert pictures(client, "a.tex#a") == {"": "/files/figs/photo.png"}
        assert pictures(client, "b.rst#b") == {"shot": "/files/figs/photo.png"}
        (link,) = page(client, "/documents/a.tex%23a").css(".post a")
        assert link.attributes["href"] == "/files/figs/plot.pdf"
        headers = head(client, "/files/figs/plot.pdf").headers
        assert headers["content-type"] == "application/pdf"
        assert client.get("/files/secret.pdf").status == 404
