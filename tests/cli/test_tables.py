"""Tables of scores can be pasted, and fit into eighty columns."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import arqmath, json_of

from arqmath_bm25.cli.shared.tables import (
    MarkedNumber,
    ScoreTable,
    comma_separated,
    latex,
    markdown,
)
from arqmath_bm25.runs.short_names import short_names

PANDOC = shutil.which("pandoc") or ""
TABLE = ScoreTable(
    caption="nDCG′ of 2 topics · 50 % & more",
    header=["run", "nDCG′", "p_value"],
    rows=[["a_b|c", MarkedNumber(0.123456, "†"), "< 0.0001"], ["$x^2$", 1.0, 0.5]],
    notes=["one note"],
)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return two runs of twelve topics: in each the second finds the relevant one later."""
    monkeypatch.chdir(tmp_path)
    topics = [f"q{number}" for number in range(12)]
    Path("qrels").write_text("".join(f"{topic} 0 d1 1\n" for topic in topics))
    for name, rank in (("Team-docs-good-A", 1), ("Team-docs-bad-A", 3)):
        rows = []
        for topic in topics:
            docs = ["x", "y", "z"]
            docs[rank - 1] = "d1"
            rows += [f"{topic} Q0 {doc} {n} {9 - n} me\n" for n, doc in enumerate(docs, 1)]
        Path(f"{name}.trec").write_text("".join(rows))
    return [Path("Team-docs-good-A.trec"), Path("Team-docs-bad-A.trec")]


def test_latex_escapes_what_latex_reads() -> None:
    lines = latex(TABLE).splitlines()
    assert lines[1] == r"\caption{nDCG$'$ of 2 topics $\cdot$ 50 \% \& more}"
    assert lines[2] == r"\begin{tabular}{lrr}"
    assert lines[4] == r"run & nDCG$'$ & p\_value \\"
    assert lines[6] == r"a\_b|c & 0.1235$^\dagger$ & $<$ 0.0001 \\"
    assert lines[7] == r"\$x\textasciicircum{}2\$ & 1.0000 & 0.5000 \\"
    assert lines[-1] == "% one note"


@pytest.mark.skipif(not PANDOC, reason="pandoc is missing")
def test_latex_is_read_by_pandoc() -> None:
    done = subprocess.run(
        [PANDOC, "-f", "latex", "-t", "plain", "--wrap=none"],
        input=latex(TABLE), capture_output=True, text=True, check=True,
    )  # fmt: skip
    words = " ".join(done.stdout.split())
    assert "run nDCG′ p_value" in words.replace("'", "′")
    assert "a_b|c 0.1235" in words
    assert "50 % & more" in words


def test_markdown_and_csv_have_a_cell_for_each_column() -> None:
    head, rule, first, *_ = markdown(TABLE).splitlines()
    assert head == "| run | nDCG′ | p\\_value |"
    assert rule == "|:--|--:|--:|"
    assert first == "| a\\_b\\|c | 0.1235† | \\< 0.0001 |"
    rows = list(csv.reader(io.StringIO(comma_separated(TABLE))))
    assert rows == [
        ["run", "nDCG′", "p_value"],
        ["a_b|c", "0.123456", "< 0.0001"],
        ["$x^2$", "1.0", "0.5"],
    ]


def test_figures_are_those_of_json(runs: list[Path]) -> None:
    told = json_of("eval", *runs, "--qrels", "qrels")
    table = csv.DictReader(
        io.StringIO(arqmath("eval", *runs, "--qrels", "qrels", "--format", "csv").stdout)
    )
    for row, expected in zip(table, told, strict=True):
        assert row["run"] == expected["run"]
        for key in ("nDCG@10", "AP(rel=1)", "RR(rel=1)", "Judged@10"):
            assert float(row[key]) == expected[key]
    compared = json_of("compare", *runs, "--qrels", "qrels")
    output = arqmath("compare", *runs, "--qrels", "qrels", "--format", "csv").stdout
    (row,) = csv.DictReader(io.StringIO(output))
    assert row == {key: str(value) for key, value in compared["comparisons"][0].items()}


def test_runs_that_differ_are_marked(runs: list[Path]) -> None:
    """Twelve losses of twelve: p is 2/4096 in the randomization test."""
    for form, dagger in (("latex", r"$^\dagger$"), ("markdown", "†")):
        output = arqmath("eval", *runs, "--qrels", "qrels", "--format", form).stdout
        good, bad = (line for line in output.splitlines() if re.match("(. )?(good|bad) ", line))
        assert dagger not in good
        assert f"0.3333{dagger}" in bad  # AP and RR of the third rank
        assert f"{dagger}: differs from good, p" in output
        tested = arqmath("compare", *runs, "--qrels", "qrels", "--measure", "RR", "--format", form)
        assert f"0.3333{dagger}" in tested.stdout


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["T-task1-bm25-auto-both-P", "T-task1-bm25-auto-text-A"], ["both-P", "text-A"]),
        (["a", "b"], ["a", "b"]),
        (["only-one"], ["only-one"]),
        (["x-1-y", "x-1-y"], ["x-1-y", "x-1-y"]),
    ],
)
def test_names_are_shortened_to_what_differs(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short


def test_no_run_name_breaks_at_eighty_columns(runs: list[Path]) -> None:
    script = shutil.which("script")
    if script is None:
        pytest.skip("there is no script(1)")
    program = f"{sys.executable} -m arqmath_bm25"
    for command in ("eval", "compare"):
        line = " ".join([program, command, *map(str, runs), "--qrels", "qrels"])
        done = subprocess.run(
            [script, "-qc", f"stty cols 80; NO_COLOR=1 {line}", "/dev/null"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rows = [row for row in done.stdout.splitlines() if re.search(r" bad .*0\.\d{4}", row)]
        assert rows
        assert all(len(row.rstrip()) <= 80 for row in rows)
