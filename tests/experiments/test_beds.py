"""The page of `python -m experiments beds`; the expected scores are counted by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from experiments import beds

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = {"a": "a red house", "b": "a green garden", "c": "a blue boat"}
QUERIES = {"q1": "house", "q2": "garden", "q3": "tree"}
JUDGMENTS = {"q1": "a", "q2": "b", "q3": "c"}


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "bed"
    (directory / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": key, "text": text}) + "\n" for key, text in rows.items()]
        (directory / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    judgments = [f"{query}\t{doc}\t1\n" for query, doc in JUDGMENTS.items()]
    qrels = "query-id\tcorpus-id\tscore\n" + "".join(judgments)
    (directory / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return directory


def test_a_page_has_the_scores_of_each_bed(bed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beds, "find_spec", lambda _: None)
    table = beds.bed_table(bed)
    assert "3 judged queries." in table
    assert "| `both` | 0.6667 | 0.6667 |  |" in table  # two of three queries are answered
    assert "| `text` | 0.6667 | 0.6667 | 1 |" in table
    assert "`math`" not in table


def test_a_variant_that_finds_nothing_is_left_out(
    bed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document has a formula, and no query."""
    monkeypatch.setattr(beds, "find_spec", lambda _: None)
    with (bed / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"_id": "d", "text": "the formula $x^2$"}) + "\n")
    table = beds.bed_table(bed)
    assert "`text`" in table
    assert "`math`" not in table


def test_references_of_documents_are_learnt_from(
    bed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries share no word with the premise, but some with a statement that refers to it."""
    monkeypatch.setattr(beds, "find_spec", lambda _: None)
    rows = [
        {"_id": "premise", "text": "conjugate exponents"},
        {"_id": "statement", "text": "series in a normed space", "references": ["premise"]},
    ]
    with (bed / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    queries = [{"_id": "1", "text": "bounded series"}, {"_id": "2", "text": "normed spaces"}]
    lines = [json.dumps(query) + "\n" for query in queries]
    (bed / "queries.jsonl").write_text("".join(lines), encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\n1\tpremise\t1\n2\tpremise\t1\n"
    (bed / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")

    table = beds.bed_table(bed)
    assert "| `both` | 0.0000 | 0.0000 |  |" in table
    assert "| `cited` | 0.6309 | 1.0000 |" in table  # second, 1 / log2(3), after the statement
