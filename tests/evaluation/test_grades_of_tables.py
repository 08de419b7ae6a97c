"""Binary measures at the grade that their table names, from the command line and from Python."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from program import arqmath, json_of, printed, refused

import arqmath_bm25 as arq
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from pathlib import Path

QRELS = "A.1 0 1 0\nA.1 0 2 1\nA.1 0 3 3\nA.2 0 4 2\nA.2 0 5 1\n"
RUNS = {
    "first.tsv": "A.1 Q0 2 1 9 r\nA.1 Q0 3 2 8 r\nA.2 Q0 5 1 9 r\nA.2 Q0 4 2 8 r\nA.2 Q0 6 3 7 r\n",
    "other.tsv": "A.1 Q0 3 1 9 r\nA.1 Q0 2 2 8 r\nA.2 Q0 5 1 9 r\nA.2 Q0 4 2 8 r\n",
}
TABLE = "relevant: grade 2 or more"


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    for name, rows in RUNS.items():
        (tmp_path / name).write_text(rows)
    return tmp_path / "first.tsv"


def test_what_is_typed_is_scored_at_the_grade_of_the_caption(first: Path) -> None:
    """The relevant answers, of grades 3 and 2, have rank 2 in both topics."""
    names = ("P_10", "AP", "recip_rank", "map", "P(rel=1)@10", "Success@1", "Success(rel=1)@1")
    asked = [part for name in names for part in ("--measure", name)]
    said = arqmath("eval", first, "--qrels", "qrels", *asked, "--format", "csv").output
    lines = said[said.index("run,") :].splitlines()[:2]
    (scored,) = csv.DictReader(lines)
    expected = ["0.1", "0.5", "0.5", "0.2", "0.0", "1.0"]  # AP and map are one measure
    assert list(scored.values())[-len(expected) :] == expected
    for form in ("terminal", "latex", "markdown"):
        table = printed("eval", first, "--qrels", "qrels", *asked, "--format", form)
        assert TABLE in table
        assert "P(rel=1)@10" in table.replace("\n", "")


def test_runs_are_compared_at_the_grade_of_the_caption(first: Path) -> None:
    runs = (first, first.with_name("other.tsv"), "--qrels", "qrels")
    (compared,) = json_of("compare", *runs, "--measure", "P_1")["comparisons"]
    assert (compared["mean"], compared["difference"]) == (0.5, 0.5)
    assert f"P@1 of 2 topics ({TABLE})" in printed("compare", *runs, "--measure", "P_1")
    own = printed("compare", *runs, "--measure", "P(rel=1)@1")
    assert "P(rel=1)@1 of 2 topics, compared with" in own


def test_numbers_of_documents_are_no_scores(first: Path) -> None:
    assert "not a score" in refused("eval", first, "--qrels", "qrels", "--measure", "NumRet")


def test_judgments_below_the_relevant_grade_are_warned_of_once(first: Path) -> None:
    qrels = first.with_name("binary")
    qrels.write_text("A.1 0 2 1\nA.1 0 3 0\nA.2 0 4 1\nA.2 0 9 0\n")
    runs = (first, first.with_name("other.tsv"))
    said = printed("eval", *runs, "--qrels", qrels)
    assert said.count("no judgment has grade 2 or more") == 1
    assert said.count("relevant=1") == 1
    assert "relevant=1" in printed("compare", *runs, "--qrels", qrels)
    assert "no judgment" not in printed("eval", *runs, "--qrels", qrels, "--relevant", 1)
    with pytest.warns(arq.ScoreWarning, match="relevant=1"):
        arq.evaluate(Run.read(first, "task1").rankings().topics, read_qrels(qrels))


def test_judgments_of_other_documents_than_the_collections_are_told(first: Path) -> None:
    """Three of four judged documents are not among one's own, though each hit may be judged."""
    rows = [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]
    corpus = first.with_name("own.jsonl")
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    qrels = first.with_name("q")
    qrels.write_text("q 0 1 1\nq 0 7 1\nq 0 8 1\nq 0 9 1\n")
    run = first.with_name("r.trec")
    run.write_text("q Q0 1 1 2.0 r\n")
    said = printed("eval", run, "--qrels", qrels, "--data", corpus)
    assert "of 4 judged documents the collection has 1: these scores cannot be compared" in said
    qrels.write_text("q 0 1 1\nq 0 2 1\nq 0 9 1\n")
    assert "cannot be" not in printed("eval", run, "--qrels", qrels, "--data", corpus)


@pytest.mark.parametrize("score", ["0.862", "17.1234568", "-0.1", "1e-07", "123456789"])
def test_scores_keep_their_digits_when_a_run_is_converted(first: Path, score: str) -> None:
    run = first.with_name("T-task1-x-auto-both-A.tsv")
    run.write_text(f"A.1\t7\t1\t{score}\tx\nA.1\t8\t2\t-1\tx\n")
    arqmath("convert", run, "-o", "out.tsv")
    assert (first.parent / "out.tsv").read_text() == run.read_text()


@pytest.mark.parametrize(("option", "name"), [("--json", "s.csv"), ("--per-topic", "s.json")])
def test_a_name_that_promises_another_form_is_refused(option: str, name: str, first: Path) -> None:
    said = refused("eval", first, "--qrels", "qrels", option, name)
    assert f"{option} writes" in said
    assert not first.with_name(name).exists()
