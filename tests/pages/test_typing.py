"""What the page finds while one types, and what it advises for a word that no document has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from lecturer import write_notes
from serving import Client, folder_site, running

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines_of(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


QUESTIONS: Final = lines_of("typed_questions.txt")
MISTAKES: Final = [line.split("\t") for line in lines_of("typed_mistakes.tsv")]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = write_notes(tmp_path_factory.mktemp("lecturer"))
    with running(folder_site(folder, folder / "indexes")) as address:
        yield Client(address)


def typed(notes: Client, text: str) -> list[dict[str, Any]]:
    answer = notes.get("/api/search", q=text, prefix=1)
    assert answer.status == 200, answer.text
    hits: list[dict[str, Any]] = answer.json()["results"]
    return hits


def words_of(hits: list[dict[str, Any]]) -> list[str]:
    text = " ".join(f"{hit['title']} {hit['text']}" for hit in hits)
    return re.findall(r"[^\W\d_]+", text.casefold())


def test_results_come_while_one_types(notes: Client) -> None:
    empty, found_early, states = [], 0, 0
    for question in QUESTIONS:
        answer = notes.get("/api/search", q=question).json()["results"]
        for length in range(3, len(question) + 1):
            text = question[:length]
            states += 1
            hits = typed(notes, text)
            last = re.split(r"[^\w]", text)[-1]
            if not any(word.startswith(last) for word in words_of(hits)):
                empty.append(text)
            found_early += answer[0]["doc_id"] in [hit["doc_id"] for hit in hits]

    assert len(empty) <= states // 20, empty
    assert found_early >= 0.6 * states


def test_mistakes_in_a_word_are_found_or_named(notes: Client) -> None:
    missed = []
    for mistake, word in MISTAKES:
        answer = notes.get("/api/search", q=mistake).json()
        if word not in words_of(answer["results"]) and answer["suggestion"] != word:
            missed.append((mistake, answer["suggestion"]))
    assert len(missed) <= 4, missed


@pytest.fixture(scope="module", params=["words: true", "words: false"])
def lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[bool, Client]]:
    """Whether an index of answers keeps their words, and a page of it."""
    folder = tmp_path_factory.mktemp("lab")
    config = folder / "words.yaml"
    config.write_text(request.param, encoding="utf-8")
    collection = CollectionFiles(None, folder / "indexes")
    ensure(IndexContent.of(configured("task1", config).index_task, collection))
    index = OpenIndex.open(collection, "task1", config)
    with running(SearchPages({"task1": index}, threads=2)) as address:
        yield "true" in request.param, Client(address)


def test_answers_of_a_lab_come_while_one_types_if_their_words_are_kept(
    lab: tuple[bool, Client],
) -> None:
    keeps_words, page = lab
    whole = page.get("/api/search", q="eigenvalue").json()
    assert whole["results"]
    begun = page.get("/api/search", q="eigenva", prefix=1).json()
    assert bool(begun["results"]) == keeps_words

    suggested = page.get("/api/search", q="eigenvlaue").json()["suggestion"]
    assert suggested == ("eigenvalue" if keeps_words else None)


def test_the_words_of_a_lab_are_counted_by_answers(tmp_path: Path) -> None:
    config = tmp_path / "words.yaml"
    config.write_text("words: true", encoding="utf-8")
    collection = CollectionFiles(None, tmp_path / "indexes")
    content = IndexContent.of(configured("task1", config).index_task, collection)
    files = set()
    for engine in ("flat", "lucene"):
        (built,) = ensure(content, engines=[Engine(engine)])
        files.add((built.store / "words").read_bytes())
    assert len(files) == 1

    counts = dict(line.split("\t") for line in files.pop().decode().splitlines())
    holding = 0
    for thread in collection.posts.threads():
        question = thread.question
        for answer in thread.answers:
            text = answer.body
            if question:
                text += f" {question.title} {question.body}"
            prose = re.sub(r"<[^>]*>|\$[^$]*\$", " ", text)
            holding += bool(re.search(r"(?i)(?<![^\W_])eigenvalue(?![^\W_])", prose))
    assert int(counts["eigenvalue"]) == holding
