"""Pages of documents of one's own: as readers see them, and nothing in them acts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from hostile_collection import write_folder
from serving import Client, documents_site, folder_site, page, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DOCUMENTS = [
    {
        "id": "thm/1",
        "title": "Pythagoras",
        "text": "Let $a,b,c$ be the sides of a right triangle. Then $$a^2+b^2=c^2$$ holds.",
        "tags": ["geometry", "triangles"],
        "url": "https://notes.uni.example/pythagoras",
    },
    {"id": "a541", "text": r"If $a_n = a > n$, then there is one prime among $a_1, \dots, a_n$."},
    {
        "id": 'bad"><script>alert(1)</script>',
        "title": "<script>alert(1)</script> of a circle",
        "text": "<script>alert(1)</script> A circle <img src=x onerror=alert(1)>",
        "url": "javascript:alert(1)",
    },
    {"id": "..", "text": "A parent"},
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(documents_site(tmp_path_factory.mktemp("docs"), DOCUMENTS)) as address:
        yield Client(address)


def test_a_document_that_was_found_opens(documents: Client) -> None:
    result = page(documents, "/", q="triangle $a^2+b^2$").css_first(".result")
    link = result.css_first("h3 a").attributes["href"]
    assert link.startswith("/documents/thm%2F1?")
    document = page(documents, link)
    assert document.css_first("h1").text() == "Pythagoras"
    assert document.css_first("title").text() == "Pythagoras"
    assert document.css_first(".post mark").text() == "triangle"
    assert document.css(".post mark math")
    for shown in (result, document):
        assert [tag.text() for tag in shown.css(".tag")] == ["geometry", "triangles"]
        assert shown.css("a[href='https://notes.uni.example/pythagoras']")
    (more,) = [each for each in document.css("a") if each.text() == "more like this"]
    again = page(documents, more.attributes["href"])
    assert again.css_first(".result h3").text() == "Pythagoras"
    assert document.css_first("#again").attributes["value"] == "triangle $a^2+b^2$"


def test_the_name_of_an_untitled_document_has_its_formulas(documents: Client) -> None:
    tree = page(documents, "/", q="prime")
    assert tree.css_first(".result h3").text().startswith("If ")
    assert len(tree.css(".result h3 math")) == 2
    (found,) = documents.get("/api/search", q="prime").json()["results"]
    assert found["title"] == r"If $a_n = a > n$, then there is one prime among $a_1, \dots, a_n$."


def test_an_untitled_document_is_headed_by_its_first_paragraph(tmp_path: Path) -> None:
    text = "\n\nPrimes of $n$.\n\nThere are infinitely many.\n\nEuclid knew it."
    with running(documents_site(tmp_path, [{"id": "1", "text": text}])) as address:
        (found,) = Client(address).get("/api/search", q="primes").json()["results"]
    assert found["title"] == "Primes of $n$."


GROUPS = r"\newcommand{\G}{\mathbb G}\section{Groups}A \emph{group} is $\G$."


def test_sections_of_a_file_lead_to_each_other(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "sub/a.md").write_text(
        "# One\n\nAn ant.\n\n# All $n$\n\nA bee.\n\n# Three\n\nA cat.\n"
    )
    (notes / "sub/b.md").write_text("# Four\n\nA dog.\n")
    with running(folder_site(notes, tmp_path / "indexes")) as address:
        client = Client(address)
        reached = {}
        for query in ("ant", "bee", "cat", "dog"):
            link = page(client, "/", q=query).css_first(".hit-link").attributes["href"]
            shown = page(client, link)
            links = shown.css("nav.pages a, .copy")
            reached[query] = [(each.text(), each.attributes["href"]) for each in links]
            whole = shown.css_first("a[href^='/files/']").attributes["href"]
            assert client.get(whole).status == 200
    ids = ["a.md%23one", "a.md%23all-n", "a.md%23three", "b.md%23four"]
    one, several, three, four = (f"/documents/sub%2F{name}" for name in ids)
    assert reached == {
        "ant": [("copy link", one), ("Next: All n", several)],
        "bee": [("copy link", several), ("Previous: One", one), ("Next: Three", three)],
        "cat": [("copy link", three), ("Previous: All n", several)],
        "dog": [("copy link", four)],
    }


def test_a_document_names_those_that_refer_to_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.tex").write_text(
        r"\section{Sums}\label{sums}Sums of $n$.\section{Series}\label{series}By \ref{sums}."
    )
    (notes / "b.tex").write_text(r"\section{Limits $x$}\label{limits}By \ref{sums} and \ref{none}.")
    with running(folder_site(notes, tmp_path / "indexes")) as address:
        client = Client(address)
        links = {}
        for name in ("a.tex%23sums", "a.tex%23series", "b.tex%23limits"):
            shown = page(client, f"/documents/{name}").css("[aria-labelledby=referring] a")
            links[name] = [(each.text(), each.attributes["href"]) for each in shown]
        assert page(client, links["a.tex%23sums"][1][1]).css_first("h1").text() == "Limits x"
    assert links == {
        "a.tex%23sums": [
            ("Series", "/documents/a.tex%23series"),
            ("Limits x", "/documents/b.tex%23limits"),
        ],
        "a.tex%23series": [],
        "b.tex%23limits": [],
    }


def test_source_is_shown_as_readers_see_it(tmp_path: Path) -> None:
    rows = [
        {"id": "md", "kind": "markdown", "text": "# Primes of $n$\n\nThere are **many** `primes`."},
        {"id": "tex", "kind": "latex", "text": GROUPS},
    ]
    with running(documents_site(tmp_path, rows)) as address:
        client = Client(address)
        for query, name, text in (
            ("primes", "Primes of $n$", "Primes of $n$ There are many primes."),
            ("group", "Groups", r"Groups A group is $\mathbb G$."),
        ):
            (found,) = client.get("/api/search", q=query).json()["results"]
            assert (found["title"], found["text"]) == (name, text)
            link = page(client, "/", q=query).css_first(".hit-link").attributes["href"]
            assert page(client, link).css(".post h2")


def test_nothing_of_a_document_can_act(documents: Client) -> None:
    tree = page(documents, "/", q="circle")
    link = tree.css_first(".result h3 a").attributes["href"]
    for shown in (tree, page(documents, link)):
        assert [s.attributes.get("src") for s in shown.css("script")] == ["/static/search.js"]
        assert not shown.css("img, [onerror], a[href^=javascript]")


def test_hostile_files_are_inert(tmp_path: Path) -> None:
    script = "<script>alert(1)</script>"
    attacks = {
        "markdown": f"# Attack\n\n{script} [x](javascript:alert(1)) <p onclick=alert(1)>",
        "html": f"<h1>Attack</h1><svg onload=alert(1)>{script}</svg><math>{script}</math>",
        "latex": rf"\section{{Attack}}{script}\href{{javascript:alert(1)}}{{x}} ${script}$",
        "plain": f"Attack {script} ${script}$",
    }
    rows = [{"id": name, "kind": name, "text": text} for name, text in attacks.items()]
    nested = {
        "html": "Attack" + "<ul><li>" * 5000,
        "markdown": "Attack\n\n" + "".join(" " * (n % 90) + "* x\n" for n in range(5000)),
        "latex": "Attack" + r"\begin{itemize}\item " * 5000,
    }
    rows += [{"id": f"{name}-lists", "kind": name, "text": text} for name, text in nested.items()]
    with running(documents_site(tmp_path, rows)) as address:
        assert inert_documents(Client(address), "attack") == len(rows)


def test_hostile_names_of_files_are_inert(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "notes")
    with running(folder_site(folder, tmp_path / "indexes")) as address:
        assert inert_documents(Client(address), "series") == 6  # the drawing is none


def inert_documents(client: Client, query: str) -> int:
    """Check that nothing acts in the results of a query nor in the documents; return how many."""
    results = page(client, "/", q=query, depth=20)
    links = [link.attributes["href"] for link in results.css(".hit-link")]
    for tree in (results, *(page(client, link) for link in links)):
        assert [s.attributes.get("src") for s in tree.css("script")] == ["/static/search.js"]
        acting = "[onload], [onerror], [onclick], svg, iframe, style, a[href^=javascript]"
        assert not tree.css(acting)
    return len(links)


def test_a_document_that_is_not_there_is_not_found(documents: Client) -> None:
    for path in ("/documents/none", "/documents/", "/documents/thm%2F2", "/documents/" + "x" * 900):
        answer = documents.get(path)
        assert answer.status == 404
        assert "Not found" in answer.text
    assert documents.get("/", q="circle", tag="geometry").status == 422
    assert "have no tags or years" in documents.get("/", q="circle", tag="geometry").text


def test_nothing_found_comes_with_a_way_on(documents: Client) -> None:
    tree = page(documents, "/", q="zzz $x^9$")
    assert tree.css_first("#results").text() == "No results for “zzz $x^9$”"
    words, formulas = tree.css("#found a")
    assert parse_qs(urlsplit(words.attributes["href"]).query)["q"] == ["zzz"]
    assert parse_qs(urlsplit(formulas.attributes["href"]).query)["q"] == ["$x^9$"]
    nothing = page(documents, "/", q="zzz").css_first("#found").text()
    assert "Try fewer or more general words" in nothing


@pytest.mark.slow
def test_serve_indexes_documents_that_are_not_indexed(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS), encoding="utf-8")
    command = [sys.executable, "-m", "arqmath_bm25", "serve", str(mine), "--port", "0"]
    command += ["--url", "https://notes.uni.example/search", "--indexes", str(tmp_path / "i")]
    for documents in (4, 0, 5):  # that are indexed
        if documents == 5:
            with mine.open("a", encoding="utf-8") as file:
                file.write('{"id": "new", "text": "A new triangle"}\n')

        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                if documents:
                    assert f"{documents} documents indexed" in server.stdout.readline()
                line = server.stdout.readline()
                assert line.startswith("https://notes.uni.example/search (a proxy passes on to")
                local = re.search(r"(http://127\.0\.0\.1:\d+/search)/\)", line)
                assert local, line
                found = page(Client(local[1]), "/", q="triangle").css(".result")
                assert len(found) == (2 if documents == 5 else 1)
            finally:
                server.kill()


def test_a_solution_with_a_label_is_linked_and_leads_to_its_exercise(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.tex").write_text(
        r"\section{S}\begin{exercise}[Count]\label{ex}Count.\end{exercise}"
        "\n\n"
        r"\begin{solution}\label{so}Seven.\end{solution}"
        r"\begin{theorem}\label{th}All.\end{theorem}\begin{proof}\label{pf}Clear.\end{proof}"
        r"\section{Use}By \ref{so} and \ref{pf}."
    )
    (notes / "b.md").write_text(
        "# Rings\n\n```{exercise} Units\n:label: units\nFind them.\n```\n\nBetween.\n\n"
        "# Solved\n\n```{solution} units\n:label: one\nOne.\n```\n\n# Use\n\nSee {ref}`one`.\n"
    )
    (notes / "c.rst").write_text("Other\n=====\n\n.. solution:: units\n\n   Minus one.\n")
    links = {}
    with running(folder_site(notes, tmp_path / "indexes")) as address:
        client = Client(address)
        for name in ("a.tex%23use", "b.md%23solved", "b.md%23use", "c.rst%23other"):
            shown = page(client, f"/documents/{name}").css(".post a")
            links[name] = [(each.text(), each.attributes["href"]) for each in shown]
    units = ("Units", "/documents/b.md%23units")
    assert links == {
        "a.tex%23use": [("Count", "/documents/a.tex%23ex"), ("pf", "/documents/a.tex%23th")],
        "b.md%23solved": [units],
        "b.md%23use": [("Solved", "/documents/b.md%23solved")],
        "c.rst%23other": [units],
    }
