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


def test_judgments_may_be_references_to_learn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two queries learn from each other; they share no word with the premise that both need."""
    monkeypatch.setattr(beds, "find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    documents = {"a": "conjugate exponents", "b": "maximal chains"}
    queries = {"q1": "series in a normed space", "q2": "bounded series in a space", "q3": "chains"}
    directory = tmp_path / "premises"
    (directory / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) + "\n" for key, text in rows.items()]
        (directory / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\ta\t1\nq3\tb\t1\n"
    (directory / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")

    table = beds.bed_table(directory, tmp_path / "premises-references.jsonl")
    assert "| `both` | 0.3333 | 0.3333 |  |" in table
    assert "| `cited` | 1.0000 | 1.0000 |" in table
    assert "index docs --data premises --train premises-references.jsonl" in table
