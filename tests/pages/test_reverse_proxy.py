"""The search page behind nginx, with the lines of docs/USAGE.md: under its name, below its path."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser
from serving import documents_site, running

if TYPE_CHECKING:
    from collections.abc import Iterator

USAGE = Path(__file__).parents[2] / "docs" / "USAGE.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
HOST = "notes.uni.example"
CONFIGURATION = """
daemon off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    server {{
        listen 127.0.0.1:{port};
        server_name notes.uni.example;
        {location}
    }}
}}
"""
DOCUMENTS = [
    {"id": "thm/1", "title": "Pythagoras", "text": "In a right triangle $a^2+b^2=c^2$."},
    {"id": "https://notes.example//x?y#z", "text": "A triangle with an address as its id"},
    {"id": "50%", "text": "Half a triangle"},
]

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Serve some documents behind nginx; yields the port of nginx."""
    place = tmp_path_factory.mktemp("nginx")
    site = documents_site(tmp_path_factory.mktemp("docs"), DOCUMENTS, "/search")
    with running(site, HOST) as address, started(place, address) as port:
        yield port


@contextmanager
def started(place: Path, address: str) -> Iterator[int]:
    """Start nginx with the location of the guide; yields its port."""
    (location,) = re.findall(r"```nginx\n(.*?)```", USAGE.read_text("utf-8"), re.DOTALL)
    assert "http://127.0.0.1:8000" in location
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    written = location.replace("http://127.0.0.1:8000", address)
    configuration = place / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(place=place, port=port, location=written))
    command = [str(NGINX), "-c", str(configuration), "-p", str(place), "-e", f"{place}/error.log"]
    with subprocess.Popen(command) as nginx:
        try:
            while nginx.poll() is None and not answers(port):
                time.sleep(0.05)
            yield port
        finally:
            nginx.terminate()


def answers(port: int) -> bool:
    with closing(socket.socket()) as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def get(port: int, path: str) -> tuple[int, str, str]:
    """Return status, kind and text of an answer of nginx."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={"Host": HOST})
        answer = connection.getresponse()
        kind = answer.headers.get("content-type", "")
        return answer.status, kind, answer.read().decode()


def test_no_request_of_a_visitor_fails(proxy: int) -> None:
    """Follow every link, form, script and style from the search page."""
    waiting = ["/search/", "/search/?q=triangle", "/search/api/search?q=triangle"]
    seen = []
    while waiting:
        path = waiting.pop()
        seen.append(path)
        status, kind, text = get(proxy, path)
        assert status == 200, path
        if not kind.startswith("text/html"):
            continue
        for name in ("href", "src", "action"):
            for element in LexborHTMLParser(text).css(f"[{name}]"):
                target = str(element.attributes[name]).partition("#")[0]
                if target and target not in [*seen, *waiting]:
                    assert target.startswith("/search/"), target
                    waiting.append(target)
    documents = {path.partition("?")[0] for path in seen if "/documents/" in path}
    assert documents == {f"/search/documents/{quote(row['id'], safe='')}" for row in DOCUMENTS}


def test_the_path_without_its_slash_leads_to_the_page(proxy: int) -> None:
    status, _, _ = get(proxy, "/search")
    assert status in (301, 307)
