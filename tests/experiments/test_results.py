"""The books of results, what is made of them, and the tables that stand in README and docs/."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from program import arqmath

from arqmath_bm25.cli import run_program
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.configuration import load
from arqmath_bm25.core.errors import InputError
from experiments.__main__ import app as experiments
from experiments.readme_tables import PAGES, with_tables
from experiments.results.book import Book, book_of, books
from experiments.results.pages import expected_table
from experiments.results.runner import Maker

BOOK = {
    "collection": "a",
    "tables": {
        "t": {
            "title": "T",
            "task": "task1",
            "sets": {"2020": None, "2021": None},
            "topics": {"2021": 6},
            "measures": {"nDCG(judged_only=True)": "nDCG′", "AP(rel=2,judged_only=True)": "MAP′"},
            "rows": {
                "ours": {"name": "`text`", "variant": "text", "scores": {"2021": [0.8112]}},
                "theirs": {"name": "a", "scores": {"2020": [1.5, None]}, "source": "s <b>"},
            },
        }
    },
}


def test_tables_of_the_pages_are_those_of_the_books() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert with_tables(text) == text, f"{page.name}: run experiments/readme_tables.py"
    named = re.findall(r"<!-- results:(\S+)", "".join(page.read_text() for page in PAGES))
    shown = {table for tables in named for table in tables.split("+")}
    tables = [name for book in books() for name in book.tables]
    assert shown == {name for name in tables if not name.startswith("sample-")}
    assert len(tables) == len(set(tables))


def test_links_of_the_pages_lead_to_files() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_expected_scores_are_shown_with_three_digits() -> None:
    table = Book.model_validate(BOOK).tables["t"]
    assert expected_table(table).splitlines() == [
        "| nDCG′ / MAP′ | 2020 | 2021 (6 topics) | source |",
        "| --- | ---: | ---: | --- |",
        "| `text` | – | .811 |  |",
        "| a | 1.500 / – | – | s <b> |",
    ]


def test_a_table_of_another_size_stands_beside_the_first() -> None:
    table = Book.model_validate(BOOK).tables["t"]
    larger = Book.model_validate(BOOK).tables["t"].model_copy(update={"size": "9 answers"})
    del larger.rows["theirs"]
    assert expected_table(table, larger).splitlines() == [
        "| nDCG′ / MAP′ | 2020 | 2021 (6 topics) | 2020, 9 answers | 2021, 9 answers | source |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        "| `text` | – | .811 | – | .811 |  |",
        "| a | 1.500 / – | – | – | – | s <b> |",
    ]


@pytest.mark.slow
def test_the_book_of_30000_answers_is_about_what_remix_writes(lite: Path, tmp_path: Path) -> None:
    arqmath("remix", "--data", lite, "-o", tmp_path / "remix")
    book = book_of(CollectionFiles(tmp_path / "remix"))
    assert set(book.tables) == {"task1-30000", "task1-seeds"}
    assert set(book.tables["task1-30000"].rows) <= set(
        book_of(CollectionFiles(lite)).tables["task1"].rows
    )


def test_collections_are_known_by_their_content(lite: Path, tmp_path: Path) -> None:
    assert book_of(CollectionFiles()).collection == "arqmath-sample"
    assert book_of(CollectionFiles(lite)).collection == "arqmath-lite"
    assert book_of(CollectionFiles(lite.parent / "nlps")).collection == "nlps"
    assert book_of(CollectionFiles(lite.parent / "stackmathqa")).collection == "stackmathqa"
    (tmp_path / "Collection").mkdir()
    (tmp_path / "Collection" / "Posts.V1.3.xml").write_text("<posts/>")
    assert book_of(CollectionFiles(tmp_path)).collection == "the official collection"


def test_a_score_for_a_set_that_a_table_lacks_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(
        yaml.safe_dump(BOOK, sort_keys=False).replace(
            "'2020':\n          -", "'2022':\n          -"
        )
    )
    with pytest.raises(InputError, match=r"book\.yaml: tables\.t: rows\.theirs\.scores\.2022: exp"):
        load(Book, path)


def test_nothing_to_make_and_a_key_that_a_configuration_lacks_are_faults(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="has nothing that the book is about"):
        Maker(Book.model_validate(BOOK), empty, tmp_path).make_all(print)
    book = Book.model_validate(BOOK)
    book.tables["t"].rows["ours"].change["rerank.nothing.depth"] = 1
    with pytest.raises(InputError, match=r"task1\.yaml: change rerank.nothing.depth: there is no"):
        Maker(book, None, tmp_path).make_all(print)


def own_collection(
    data: Path, documents: dict[str, str], queries: dict[str, str], judgments: str
) -> Path:
    """Write a collection of texts by their ids, with judgments as TREC has them."""
    (data / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", documents), ("queries", queries)):
        rows = [json.dumps({"id": key, "text": text}) for key, text in texts.items()]
        (data / f"{name}.jsonl").write_text("\n".join(rows))
    (data / "qrels" / "test.tsv").write_text(judgments)
    return data


@pytest.mark.slow
def test_documents_of_ones_own_are_indexed_run_and_scored(tmp_path: Path) -> None:
    documents = {"a": "area", "b": "circle"}
    queries = {"q": "circle", "r": "area"}
    data = own_collection(tmp_path / "mine", documents, queries, "q 0 b 1\nr 0 a 0\n")
    table = {"title": "T", "task": "docs", "sets": {"queries": "qrels/test.tsv"}}
    rows = {"text": {"name": "a", "variant": "text", "scores": {"queries": [1]}}}
    book = {
        "collection": "a",
        "tables": {"t": table | {"measures": {"AP(rel=1)": "AP"}, "rows": rows}},
    }
    (tmp_path / "out").mkdir()
    made = Maker(Book.model_validate(book), data, tmp_path / "out").make_all(lambda *_: None)
    assert made["tables"]["t"]["text"]["sets"]["queries"]["measured"] == {"AP(rel=1)": 1.0}
    assert made["tables"]["t"]["text"]["sets"]["queries"]["topics"] == 1  # r has nothing relevant
    assert made["ok"]


@pytest.mark.slow
def test_a_row_may_learn_from_the_judgments_of_other_queries(tmp_path: Path) -> None:
    """No query shares a word with the premise that it needs."""
    documents = {"a": "conjugate exponents", "b": "maximal chains"}
    queries = {"q": "series in a normed space", "r": "bounded series in a space"}
    data = own_collection(tmp_path / "mine", documents, queries, "q 0 a 1\nr 0 a 1\n")
    table = {"title": "T", "task": "docs", "sets": {"queries": "qrels/test.tsv"}}
    row = {"name": "a", "variant": "cited", "learns": True, "scores": {"queries": [1]}}
    rows = {"cited": row}
    book = {
        "collection": "a",
        "tables": {"t": table | {"measures": {"AP(rel=1)": "AP"}, "rows": rows}},
    }
    (tmp_path / "out").mkdir()
    made = Maker(Book.model_validate(book), data, tmp_path / "out").make_all(lambda *_: None)
    assert made["ok"]
    assert "--train judgments/references.jsonl" in made["tables"]["t"]["cited"]["commands"][0]


@pytest.mark.slow
def test_commands_can_be_pasted_and_a_difference_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "book.yaml", tmp_path / "out"
    path.write_text(yaml.safe_dump(BOOK, sort_keys=False))
    arguments = ("reproduce", "--book", path, "-o", out)
    assert "1 as expected" in arqmath(*arguments).output
    made = json.loads((out / "results.json").read_text())
    row = made["tables"]["t"]["ours"]
    assert row["ok"] is True
    monkeypatch.chdir(out)
    *_, score = row["commands"]
    pasted = arqmath("--quiet", *shlex.split(score)[1:])
    for one in json.loads(pasted.stdout):
        assert (
            round(one["AP(rel=2,judged_only=True)"], 5)
            == row["sets"][one["year"]]["measured"]["AP(rel=2,judged_only=True)"]
        )
    assert "s &lt;b&gt;" not in (page := (out / "index.html").read_text())
    assert "<code>text</code>, 2021" in page

    path.write_text(yaml.safe_dump(BOOK, sort_keys=False).replace("- 0.8112\n", "- 0.8132\n"))
    assert "1 different" in arqmath(*arguments, status=1).output
    assert "| .8112 / .7260 | .8132 | -0.0020 |" in (out / "results.md").read_text()
    with pytest.raises(SystemExit):
        monkeypatch.setattr(sys, "argv", ["", "reproduce", "-o", str(tmp_path)])
        run_program(experiments, "experiments")


@pytest.mark.slow
def test_results_on_the_sample_are_as_expected(tmp_path: Path) -> None:
    assert "10 as expected" in arqmath("reproduce", "-o", tmp_path / "results").output
