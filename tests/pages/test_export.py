"""Documents of one's own as pages on disk: contents, links and pictures, and nothing that acts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from hostile_collection import write_folder
from selectolax.lexbor import LexborHTMLParser
from serving import Client, folder_site, page, running
from test_folder_files import PNG

from arqmath_bm25.cli import app
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "index.tex": r"\section{Limits}\label{lim}A limit, by \ref{bw}, \eqref{bw:eq} and \ref{none}."
    r"\begin{theorem}[Bolzano]\label{bw}A bounded sequence.\end{theorem}"
    r"\begin{lemma}\label{gap}No title.\end{lemma}",
    "INDEX.tex": r"\section{Series}By \hyperref[bw]{the theorem}, \ref{gap}, \cref{lim,bw}.",
    "sub/a.md": "# Rings\n\nA ring: [up](../b.md#all-groups), [all](/b.md), [gone](c.md), "
    "[web](https://e.example/), [](https://e.example/), [[b]] ![ring](../pics/a%20b.png)\n",
    "b.md": "# <b>All</b> groups\n\nA group, see [rings](sub/a.md) ![no](../secret.png)\n",
}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ("notes/pics/a b.png", "notes/unused.png", "secret.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    return folder


def export(*arguments: str) -> None:
    app(["--quiet", "export", *arguments], standalone_mode=False)


def pages_in(site: Path) -> dict[str, LexborHTMLParser]:
    return {path.name: LexborHTMLParser(path.read_text()) for path in site.glob("*.html")}


def links(tree: LexborHTMLParser, selector: str) -> dict[str, str]:
    return {each.text(): each.attributes["href"] or "" for each in tree.css(selector)}


def test_documents_are_pages_that_link_to_each_other(notes: Path) -> None:
    export("notes", "-o", "site")
    site = notes.parent / "site"
    pages = pages_in(site)
    (lower,) = (name for name in pages if name.endswith("-index.tex.html"))
    assert links(pages[lower], ".post a") == {"Bolzano": f"{lower}#bw"}
    limits = pages[lower].css_first(".post")
    assert limits.text().strip() == "A limit, by Bolzano, bw:eq and none."
    assert links(pages["INDEX.tex.html"], ".post a") == {
        "the theorem": f"{lower}#bw",
        "gap": f"{lower}#gap",
        "Limits": f"{lower}#lim",
        "Bolzano": f"{lower}#bw",
    }
    assert links(pages["sub_a.md.html"], ".post a") == {
        "up": "b.md.html#all-groups",
        "all": "b.md.html#all-groups",
        "web": "https://e.example/",
        "https://e.example/": "https://e.example/",
        "b": "b.md.html#all-groups",
    }
    (picture,) = pages["sub_a.md.html"].css(".post img")
    assert (site / unquote(picture.attributes["src"] or "")).read_bytes() == PNG
    copied = [path.name for path in site.glob("files/**/*.png")]
    assert copied == ["a b.png"]

    assert links(pages["index.html"], "h2 a").keys() == FILES.keys()
    assert "no search" in pages["index.html"].css_first("main").text()
    for tree in pages.values():
        for link in tree.css("a[href]"):
            name, _, anchor = (link.attributes["href"] or "").partition("#")
            if not urlsplit(name).netloc and anchor != "main":
                found = pages[name].css("[id]")
                assert not anchor or unquote(anchor) in {each.attributes["id"] for each in found}


def test_a_statement_and_its_declaration_link_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "n").mkdir()
    statement = r"\begin{theorem}\label{add}\lean{A.add_comm}Sums commute.\end{theorem}"
    (tmp_path / "n" / "a.tex").write_text(statement)
    declaration = "namespace A\ntheorem add_comm (m n : ℕ) : m + n = n + m := by simp\nend A\n"
    (tmp_path / "n" / "A.lean").write_text(declaration)
    monkeypatch.chdir(tmp_path)
    export("n", "-o", "site")
    pages = pages_in(tmp_path / "site")
    there = {"A.add_comm": "A.lean.html#A.add_comm"}
    assert links(pages["a.tex.html"], ".post a") == there
    assert links(pages["A.lean.html"], ".hint a") == {"a.tex#add": "a.tex.html#add"}

    with running(folder_site(tmp_path / "n", tmp_path / "i")) as address:
        client = Client(address)
        shown = links(page(client, "/documents/a.tex%23add"), ".post a")
        assert shown == {"A.add_comm": "/documents/A.lean%23A.add_comm"}
        back = links(page(client, shown["A.add_comm"]), "section a")
        assert list(back.values()) == ["/documents/a.tex%23add"]


def test_the_same_pages_are_made_twice_and_name_no_folder_of_this_machine(notes: Path) -> None:
    (notes.parent / "empty").mkdir()
    made = []
    for name in ("site", "empty", "site"):
        export("notes", "-o", name)
        site = notes.parent / name
        files = [path for path in sorted(site.rglob("*")) if path.is_file()]
        made.append({path.relative_to(site): path.read_bytes() for path in files})
    assert made[0] == made[1] == made[2]
    assert not any(str(notes.parent).encode() in content for content in made[0].values())


def test_a_folder_of_something_else_is_left_alone(notes: Path) -> None:
    for name in ("notes", "notes/b.md"):
        with pytest.raises(InputError, match="choose another -o"):
            export("notes", "-o", name)
    assert (notes / "b.md").read_text() == FILES["b.md"]


def test_pages_within_the_folder_are_no_documents(notes: Path) -> None:
    export("notes", "-o", "notes/site")
    first = (notes / "site/index.html").read_bytes()
    export("notes", "-o", "notes/site")
    assert (notes / "site/index.html").read_bytes() == first


def test_nothing_of_a_document_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "notes")
    monkeypatch.chdir(tmp_path)
    export("notes", "-o", "site")
    pages = pages_in(tmp_path / "site")
    assert len(pages) == 7
    for tree in pages.values():
        acting = "script, [onload], [onerror], [onclick], svg, iframe, style, a[href^=javascript]"
        assert not tree.css(acting)
        assert all(
            (each.attributes["src"] or "").startswith("./files/") for each in tree.css("img")
        )


def test_a_reference_leads_to_its_document_on_the_search_page_too(notes: Path) -> None:
    with running(folder_site(notes, notes.parent / "indexes")) as address:
        client = Client(address)
        shown = links(page(client, "/documents/INDEX.tex%23series"), ".post a")
        assert shown["gap"] == "/documents/index.tex%23gap"
        assert page(client, shown["Bolzano"]).css_first("h1").text() == "Limits › Theorem: Bolzano"
        shown = links(page(client, "/documents/b.md%23all-groups"), ".post a")
        assert page(client, shown["rings"]).css_first("h1").text() == "Rings"


def test_rows_of_a_file_are_one_page_wherever_they_stand(notes: Path) -> None:
    rows = [{"id": f"d{n}", "text": f"text {n}", "file": file} for n, file in enumerate("aba")]
    (notes.parent / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    export("rows.jsonl", "-o", "site")
    pages = pages_in(notes.parent / "site")
    assert pages.keys() == {"a.html", "b.html", "index.html"}
    assert [each.text().strip() for each in pages["a.html"].css(".post")] == ["text 0", "text 2"]
