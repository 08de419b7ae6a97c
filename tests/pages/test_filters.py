"""Documents are chosen by what is typed: `type:`, `tag:`, `in:`; the counts are those by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from lecturer import write_notes
from program import ended
from serving import Client, folder_site, page, running

from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.post_filter import SEARCHED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_notes(tmp_path_factory.mktemp("lecturer"))


@pytest.fixture(scope="module")
def notes(folder: Path) -> Iterator[Client]:
    with running(folder_site(folder, folder / "indexes")) as address:
        yield Client(address)


# Counted by hand in lecturer.txt.
BY_HAND = {
    "in:numerics": 10,
    "in:probability": 10,
    "in:algebra": 10,
    "in:analysis": 7,
    "in:graphs": 3,
    "type:theorem": 7,
    "type:notebook": 3,
    "tag:roots": 3,
    "tag:iteration": 2,
    "tag:statistik": 1,
    "type:theorem in:numerics": 2,
    "type:theorem type:notebook": 10,
    "in:numerics tag:iteration": 2,
}


@pytest.mark.parametrize(("typed", "count"), BY_HAND.items())
def test_what_is_chosen_is_counted_by_hand(notes: Client, typed: str, count: int) -> None:
    answer = notes.get("/api/search", q=typed, depth=100).json()
    assert len(answer["results"]) == count
    if " " not in typed:
        assert answer["counts"][typed] == count


def test_counts_are_of_what_the_query_finds(notes: Client) -> None:
    answer = notes.get("/api/search", q="polynomial theorem", depth=100).json()
    ids = [hit["doc_id"] for hit in answer["results"]]
    for name in ("numerics", "algebra", "analysis"):
        inside = sum(doc_id.startswith(f"{name}/") for doc_id in ids)
        assert answer["counts"].get(f"in:{name}", 0) == inside
    chosen = notes.get("/api/search", q="polynomial theorem in:algebra", depth=100).json()
    assert [hit["doc_id"] for hit in chosen["results"]] == [
        doc_id for doc_id in ids if doc_id.startswith("algebra/")
    ]


@pytest.mark.parametrize(
    "text", ["f: X -> Y", "type: theorem", "type:nonsense group", "in:nowhere"]
)
def test_what_the_collection_does_not_have_is_text(notes: Client, text: str) -> None:
    answer = notes.get("/api/search", q=text).json()
    plain = notes.get("/api/search", q=text.replace(":", " ")).json()
    if "->" not in text:
        assert [hit["doc_id"] for hit in answer["results"]] == [
            hit["doc_id"] for hit in plain["results"]
        ]


def test_the_first_page_has_examples_of_its_own_titles(notes: Client) -> None:
    examples = [link.text() for link in page(notes, "/").css(".examples a")]
    assert len(examples) == 3
    for title in examples:
        assert notes.get("/api/search", q=title).json()["results"][0]["title"].startswith(title)


def test_the_page_has_links_with_counts(notes: Client) -> None:
    shown = page(notes, "/", q="theorem")
    links = {link.text(): link.attributes["href"] for link in shown.css(".filters a")}
    counts = notes.get("/api/search", q="theorem").json()["counts"]
    assert f"theorem {counts['type:theorem']}" in links
    assert "q=theorem+type%3Atheorem" in links[f"theorem {counts['type:theorem']}"]
    chosen = page(notes, "/", q="theorem type:theorem")
    assert [link.text() for link in chosen.css(".filters a[aria-current]")] == ["theorem ×"]
    assert chosen.css_first("h2#results").text().startswith(str(counts["type:theorem"]))


def test_the_terminal_chooses_and_prints_json(folder: Path) -> None:
    data = ["--data", str(folder), "--indexes", str(folder / "indexes")]
    said = ended("-q", "search", "docs", "theorem in:algebra", *data, "--json", cwd=folder)
    answer = json.loads(said.stdout)
    assert answer["query"] == "theorem in:algebra"
    assert answer["results"]
    assert all(hit["doc_id"].startswith("algebra/") for hit in answer["results"])


def test_the_terminal_ranks_no_deeper_than_it_shows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths = []

    def rank(index: OpenIndex, topics: Any, variant: str, depth: int) -> Any:
        depths.append(depth)
        return ranked(index, topics, variant, depth)

    ranked = OpenIndex.rank
    monkeypatch.setattr(OpenIndex, "rank", rank)
    data = ["--data", str(folder), "--indexes", str(folder / "indexes"), "--depth", "3"]
    shown = ended("-q", "search", "docs", "polynomial theorem", *data, cwd=folder)
    counted = ended("-q", "search", "docs", "polynomial theorem", *data, "--json", cwd=folder)
    assert depths == [3, SEARCHED]
    results = json.loads(counted.stdout)["results"]
    assert len(results) == 3
    places = [shown.stdout.index(hit["doc_id"]) for hit in results]
    assert places == sorted(places)
