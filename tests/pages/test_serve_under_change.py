"""A server while others change, rename, index and prune the folder that it serves."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from chances import exhaustive
from program import arqmath
from selectolax.lexbor import LexborHTMLParser
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opensearch_nodes import Nodes

WORDS: Final = "groups rings cyclic sums fields order".split()
SEARCHES: Final = 200 if exhaustive() else 40


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(8):
        write(folder, f"n{number}", random.Random(number))
    return folder


def write(folder: Path, name: str, chance: random.Random) -> None:
    words = " ".join(chance.choices(WORDS, k=12))
    (folder / f"{name}.md").write_text(f"This is {name} about primes, {words} $x^2$.\n")


@pytest.fixture
def address(notes: Path) -> Iterator[str]:
    with served(notes.parent, notes, "--title", "Notes & <sums>") as (address, said):
        assert "8 documents indexed" in said
        yield address


@contextmanager
def served(place: Path, *arguments: object) -> Iterator[tuple[str, str]]:
    """Start a server; yield its address, and what it said before."""
    command = [sys.executable, "-m", "arqmath_bm25", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        said = ""
        try:
            for line in server.stdout:
                found = re.match(r"http://[\d.:]+", line)
                if found:
                    yield found[0], said
                    break
                said += line
        finally:
            server.kill()


def results(address: str) -> list[dict[str, object]]:
    with urlopen(f"{address}/api/search?q=primes&depth=20") as answer:  # noqa: S310
        found: list[dict[str, object]] = json.load(answer)["results"]
    return found


def searched(address: str) -> dict[str, str]:
    """Return the texts that a search finds, by the ids of their documents."""
    return {str(row["doc_id"]): str(row["text"]) for row in results(address)}


@pytest.mark.parametrize("path", ["/", "/?q=primes", "/nowhere"])
def test_the_page_has_the_name_it_was_given(address: str, path: str) -> None:
    try:
        with urlopen(address + path) as answer:  # noqa: S310
            html = answer.read()
    except HTTPError as problem:
        html = problem.read()
    shown = LexborHTMLParser(html)
    named = [shown.css_first(part).text() for part in ("title", ".brand a")]
    assert all("Notes & <sums>" in text for text in named)
    assert "arqmath-bm25" not in shown.css_first("title").text()


def test_every_answer_is_of_one_state_and_the_last_is_the_newest(notes: Path, address: str) -> None:
    chance = random.Random(5)
    index = ("index", "docs", "--data", notes, "--indexes", notes.parent / "indexes", "-j", 1)
    for number in range(SEARCHES):
        match chance.choice(("edit", "rename", "index", "index", "prune", "search")):
            case "edit":
                write(notes, chance.choice([path.stem for path in notes.glob("n*")]), chance)
            case "rename":
                chance.choice(sorted(notes.glob("n*"))).rename(notes / f"new{number}.md")
            case "index":
                arqmath(*index)
            case "prune":
                arqmath(*index, "--prune")
            case "search":
                arqmath("search", "docs", "groups", *index[2:-2])

        found = searched(address)  # urlopen raises for any other status than 200
        assert len(found) == 8
        for doc_id, text in found.items():
            # A renamed file says its former name.
            assert doc_id.startswith("new") or f"This is {doc_id.removesuffix('.md')} about" in text

    write(notes, "last", chance)
    arqmath(*index)
    wait_until(lambda: len(searched(address)) == 9, every=0.2)
    copy = shutil.copytree(notes, notes.parent / "fresh" / "notes")
    where = ("--data", copy, "--indexes", copy.parent / "indexes")
    fresh = arqmath("-q", "search", "docs", "primes", *where, "-k", 20, "--json")
    assert results(address) == json.loads(fresh.stdout)["results"]


@pytest.mark.slow
def test_an_index_that_is_made_anew_in_a_cluster_is_opened_again(
    opensearch: Nodes, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", opensearch.hosts[0])
    place = notes.parent
    rows = [{"id": path.stem, "text": path.read_text()} for path in sorted(notes.glob("*.md"))]
    (place / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = ("--data", place / "corpus.jsonl", "--indexes", place / "indexes")
    cluster = ("--engine", "opensearch")
    arqmath("index", "docs", *where, *cluster)
    with served(place, *where, *cluster) as (address, _):
        before = results(address)
        assert len(before) == 8
        (name,) = re.findall(r"arqmath-docs-\w+", arqmath("cluster").stdout)
        arqmath("cluster", "--remove", name)
        arqmath("index", "docs", *where, *cluster)
        wait_until(lambda: results_unless_broken(address) == before)


def results_unless_broken(address: str) -> list[dict[str, object]]:
    """Return the results of a search, none while the index that is shown is away."""
    try:
        return results(address)
    except HTTPError as error:
        if error.code != 503:
            raise
        return []
