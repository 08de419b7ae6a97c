"""Where most texts of a certain kind are LaTeX, a text that could be LaTeX is read as LaTeX."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from program import arqmath

import arqmath_bm25 as arq
from arqmath_bm25.analysis.kinds import are_mostly_latex, kind_of

if TYPE_CHECKING:
    from pathlib import Path

DOUBTFUL = r"Every ring~$R$ as in \eqref{eq:zorn} has a maximal ideal, by Zorn's lemma."


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"latex": 1}, True),
        ({"latex": 1, "markdown": 1, "plain": 98}, True),
        ({"latex": 1, "markdown": 1, "lean": 1}, False),
        ({"latex": 1, "plain": 100}, False),
        ({"plain": 3}, False),
        ({}, False),
    ],
)
def test_half_of_the_certain_ones_and_a_hundredth_of_all_decide(
    kinds: dict[str, int], expected: bool
) -> None:
    assert are_mostly_latex(Counter(kinds)) is expected


@pytest.mark.parametrize(
    "text",
    [
        "a group of order 8",
        "x^2 + y^2 = z^2",
        r"\sum 1/n",
        "50% of $x$ and of $y$",
        "# Rings\n\nof $x$",
        "<p>for $x$</p>",
    ],
)
def test_what_cannot_be_latex_is_no_latex(text: str) -> None:
    assert kind_of(text, is_mostly_latex=True) == kind_of(text)


@pytest.mark.parametrize("text", [DOUBTFUL, "for $x$", r"by \Equation{14}", r"\(x\) is even"])
def test_what_could_be_latex_is_latex_among_latex(text: str) -> None:
    assert kind_of(text) == "plain"
    assert kind_of(text, is_mostly_latex=True) == "latex"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.tex").write_text("A \\emph{field} has no proper ideal $I$.\n")
    (folder / "b.txt").write_text(DOUBTFUL)
    return folder


def words_of(index: arq.Index) -> list[str]:
    """Return the words of the doubtful document that differ by its kind."""
    return [word for word in index.document("b.txt")["words"].split() if "eq" in word]


def test_a_text_is_read_as_most_others_are(notes: Path, tmp_path: Path) -> None:
    index = arq.Collection(notes, tmp_path / "i").index("docs")
    assert index.document("b.txt")["kind"] == "latex"
    assert words_of(index) == []
    assert index.analyze(r"\ref{eq} of $y$")["words"] == []
    assert list(index.search("eq zorn", variant="text")["docno"]) == ["b.txt"]
    assert index.search("eq", variant="text").empty


def test_a_query_is_read_as_most_documents_are(notes: Path, tmp_path: Path) -> None:
    (notes / "c.txt").write_text("An equation (eq) for Zorn, eqref.")
    collection = arq.Collection(notes, tmp_path / "i")
    query = r"\eqref{eq:x} of $y$"
    assert list(collection.index("docs").search(query, variant="text")["docno"]) == []

    (notes / "d.md").write_text("# Markdown\n\nOf **fields**.")
    (notes / "e.md").write_text("# More\n\nOf **rings**.")
    assert list(collection.index("docs").search(query, variant="text")["docno"]) == [
        "c.txt",
        "b.txt",
    ]


def test_queries_of_a_file_are_read_as_documents_are(notes: Path, tmp_path: Path) -> None:
    (notes / "c.txt").write_text("What is equated: 14 eqref.")
    (notes / "queries.jsonl").write_text(json.dumps({"id": "q", "text": r"by \Eqref{14}"}))
    arqmath("run", "docs", "--data", notes, "--indexes", tmp_path / "i", "--runs", tmp_path / "r")
    (run,) = (tmp_path / "r").rglob("text.trec")
    assert [line.split()[2] for line in run.read_text().splitlines()] == ["c.txt"]


def test_a_turned_decision_reads_the_folder_anew(notes: Path, tmp_path: Path) -> None:
    for number in range(3):
        (notes / f"m{number}.md").write_text(f"# Note {number}\n\nOf **fields**.")
    data = ("--data", notes, "--indexes", tmp_path / "i")
    assert "anew" not in arqmath("index", "docs", *data).stderr
    for number in range(3):
        (notes / f"t{number}.tex").write_text(f"\\emph{{Note}} {number}\n")

    said = " ".join(arqmath("index", "docs", *data).stderr.split())
    assert "read anew: what could be LaTeX is now LaTeX, as most others are" in said
    now = arq.Collection(notes, tmp_path / "i").index("docs")
    assert words_of(now) == []
    assert now.search("eq", variant="text").empty

    (notes / "a.tex").unlink()
    said = " ".join(arqmath("index", "docs", *data).stderr.split())
    assert "read anew" not in said
    (notes / "t0.tex").unlink()
    said = " ".join(arqmath("index", "docs", *data).stderr.split())
    assert "read anew: what could be LaTeX is now plain text" in said
    then = arq.Collection(notes, tmp_path / "i").index("docs")
    assert list(then.search("eq", variant="text")["docno"]) == ["b.txt"]


def test_inspect_names_the_doubtful_ones(notes: Path) -> None:
    (notes / "c.txt").write_text("A group of order 8.")
    assert arqmath("inspect", notes, "--kinds").stdout == "b.txt: latex\n"
    assert '"kind": "latex"' in arqmath("inspect", notes, "--text").stdout.splitlines()[1]
    (notes / "a.tex").unlink()
    assert arqmath("inspect", notes, "--kinds").stdout == "b.txt: plain\n"
