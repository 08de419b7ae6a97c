"""Judgments that are not the labs': which grades are relevant, and what is measured."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING

import ir_measures
import pandas as pd
import pytest
import pytrec_eval
from chances import exhaustive, seed
from measure_objects import measure_of
from program import arqmath, json_of, printed, refused

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import full_name, measure, measures_of, named_measures
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

Judged = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, float]]


def random_run_and_judgments(chance: random.Random, low: int, high: int) -> tuple[Ranked, Judged]:
    """Return a run and judgments of five queries; scores have ties, some queries lack a run."""
    docs = [f"d{number}" for number in range(40)]
    qrels, run = {}, {}
    for query in (f"q{number}" for number in range(5)):
        judged = chance.sample(docs, chance.randint(1, 20))
        qrels[query] = {doc: chance.randint(low, high) for doc in judged}
        qrels[query][judged[0]] = max(1, low)  # pytrec_eval crashes where no grade is above -1
        ranked = chance.sample(docs, chance.randint(0, 30))
        run[query] = {doc: float(chance.randint(0, 12)) for doc in ranked}
    return {query: docs for query, docs in run.items() if docs}, qrels


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 2), (0, 3), (-2, 4)])
def test_random_runs_score_as_by_trec_eval(low: int, high: int) -> None:
    chance = random.Random(f"{seed()} {low} {high}")
    asked = named_measures("AP", "P@10", "Bpref", "Rprec", "RR", "R@100", "nDCG@10")
    theirs = {
        "AP": "map", "P@10": "P_10", "Bpref": "bpref", "Rprec": "Rprec", "RR": "recip_rank",
        "R@100": "recall_100", "nDCG@10": "ndcg_cut_10",
    }  # fmt: skip
    for _ in range(500 if exhaustive() else 150):
        run, qrels = random_run_and_judgments(chance, low, high)
        ours = measure(run, qrels, asked, 1)
        # Called directly, without negative grades: with them it crashes, or never ends.
        there = {q: {d: g for d, g in docs.items() if g >= 0} for q, docs in qrels.items()}
        found = pytrec_eval.RelevanceEvaluator(there, set(theirs.values())).evaluate(run)
        for query in qrels:
            for key, name in theirs.items():
                expected = found[query][name] if query in run else 0.0
                assert ours[query][key] == pytest.approx(expected, abs=1e-9), (query, key)


def test_the_task_and_not_the_names_of_topics_says_which_grades_are_relevant() -> None:
    grades = {"1": 1, "2": 2}
    for topic in ("A.1", "A.101", "D.17", "q1"):
        run = pd.DataFrame({"qid": [topic] * 2, "docno": ["1", "2"], "score": [2.0, 1.0]})
        for task, precision in (("task1", 0.1), ("docs", 0.2)):
            found = arq.evaluate(run, {topic: grades}, measures="P@10", task=task)  # type: ignore[call-overload]
            assert found["P@10"] == pytest.approx(precision), (topic, task)


ROWS = [
    {"id": "d1", "text": "the area of a triangle"},
    {"id": "d2", "text": "circles"},
    {"id": "d3", "text": "a triangle and its circles"},
]
QUERIES = {"q1": "triangle", "D.1": "circles", "A.1": "square", "B.7": "triangle area"}
QRELS = "q1 0 d1 1\nq1 0 d2 0\nD.1 0 d2 1\nD.1 0 d3 0\nA.1 0 d3 1\nB.7 0 d3 1\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents, queries, binary judgments, and runs with all that may be wrong with one."""
    monkeypatch.chdir(tmp_path)
    queries = [{"id": name, "text": text} for name, text in QUERIES.items()]
    for name, rows in (("mine.jsonl", ROWS), ("q.jsonl", queries)):
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels.txt").write_text(QRELS)
    arqmath("index", "docs", "--data", "mine.jsonl", "--engine", "flat")
    said = printed("run", "docs", "--data", "mine.jsonl", "--topics", "q.jsonl")
    assert "no document has a formula, so not run: math" in said
    folder = tmp_path / "runs" / "mine" / "q"
    assert {path.name for path in folder.glob("*.trec")} == {"text.trec", "both.trec"}
    (folder / "empty.trec").write_text("")
    return folder


def test_a_run_bears_the_names_of_its_documents_queries_and_variant(own: Path) -> None:
    rows = [line.split("\t") for line in (own / "both.trec").read_text().splitlines()]
    assert {len(row) for row in rows} == {6}
    assert {(row[1], row[5]) for row in rows} == {("Q0", "bm25arq-both")}
    assert [row[0] for row in rows] == ["q1", "q1", "D.1", "D.1", "B.7", "B.7"]
    again = own.with_name("again")
    arqmath("fuse", own / "both.trec", own / "text.trec", "-o", again / "fused.trec")
    assert (again / "fused.trec").read_text().count("\tQ0\t") == 6
    assert printed("validate", own / "both.trec", again / "fused.trec").count(": valid (docs,") == 2


def test_binary_judgments_are_measured_as_in_the_field(own: Path) -> None:
    runs = sorted(own.glob("*.trec"))
    scored = {score["run"]: score for score in json_of("eval", *runs, "--qrels", "qrels.txt")}
    qrels = list(ir_measures.read_trec_qrels("qrels.txt"))
    names = ("nDCG@10", "AP", "P@10", "RR", "R@100", "R@1000")
    expected = ir_measures.calc_aggregate(
        map(measure_of, names),
        qrels,
        ir_measures.read_trec_run(str(own / "both.trec")),
    )
    for name in names:
        # A query without a run counts 0, whose row ir_measures has as well.
        there = expected[measure_of(name)]
        full = full_name(named_measures(name)[0].at(1))
        assert scored["both"][full] == pytest.approx(there), name
        assert scored["empty"][full] == 0.0
    assert scored["both"]["AP(rel=1)"] > 0
    assert scored["empty"]["warnings"] == ["the run has no rows: no topic has a hit"]
    assert (scored["both"]["task"], scored["both"]["relevant"]) == ("docs", 1)
    assert not [name for name in scored["both"] if "judged_only" in name or "Bpref" in name]
    (asked,) = json_of(
        "eval", own / "both.trec", "--qrels", "qrels.txt", "--measure", "ndcg_prime",
        "--relevant", 2,
    )  # fmt: skip
    assert (asked["AP(rel=2)"], asked["relevant"]) == (0.0, 2)
    assert asked["nDCG(judged_only=True)"] > 0
    table = printed("eval", "--task", "docs", *runs, "--qrels", "qrels.txt")
    assert "docs · qrels.txt · relevant: grade 1 or more" in table
    assert "task1" not in table


def test_a_lab_run_without_rows_scores_0_by_the_year_of_its_folder(tmp_path: Path) -> None:
    run = tmp_path / "2021" / "T-task1-x-auto-both-A.tsv"
    run.parent.mkdir()
    run.write_text("")
    (scored,) = json_of("eval", run)
    assert (scored["nDCG(judged_only=True)"], scored["topics_in_run"]) == (0.0, 0)
    assert scored["relevant"] == 2
    assert "the run has no rows: no topic has a hit" in scored["warnings"]


def test_a_folder_of_runs_is_found_by_its_documents(own: Path) -> None:
    beside = own.parents[2] / "qrels"
    beside.mkdir()
    (beside / "test.tsv").write_text(QRELS)
    scored = json_of("eval", "--data", "mine.jsonl")
    assert [score["run"] for score in scored] == ["both", "empty", "text"]


def test_python_scores_as_the_program_does(own: Path) -> None:
    run = arq.read_run(own / "both.trec")
    columns = ["qid", "iteration", "docno", "label"]
    qrels = pd.read_csv("qrels.txt", sep=" ", names=columns)
    (there,) = json_of("eval", own / "both.trec", "--qrels", "qrels.txt")
    found = arq.evaluate(run, qrels)
    for name in ("AP(rel=1)", "nDCG@10"):
        assert found[name] == there[name]
    assert found["AP"] == there["AP(rel=1)"]
    assert arq.evaluate(run, qrels, relevant=2)["AP"] == 0.0
    compared = arq.compare({"a": run, "b": run}, qrels, relevant=1)
    assert compared.attrs["measure"] == "nDCG@10"


def test_a_report_has_no_nan_and_says_what_is_relevant(own: Path, tmp_path: Path) -> None:
    runs = sorted(own.glob("*.trec"))
    data = ("--data", "mine.jsonl", "--topics", "q.jsonl", "--qrels", "qrels.txt")
    arqmath("report", *runs, *data, "-o", "pages")
    pages = {path.name: path.read_text() for path in (tmp_path / "pages").rglob("*.html")}
    assert not [name for name, text in pages.items() if "nan" in text]
    assert "relevant is grade 1 or more" in pages["index.html"]
    assert "has the best nDCG@10" in pages["index.html"] or "share the best" in pages["index.html"]
    assert "′" not in pages["index.html"]
    assert '<span class="badge relevant">Relevant</span>' in pages["q1.html"]


def test_a_lab_topic_without_a_judged_hit_draws_a_curve_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("A.201 0 1 3\nA.202 0 2 3\nA.202 0 3 0\n")
    (tmp_path / "r.tsv").write_text("A.201\t9\t1\t2.0\tx\nA.202\t2\t1\t2.0\tx\n")
    evaluator = Evaluator(
        CollectionFiles(tmp_path, tmp_path), qrels=tmp_path / "q",
        measures=named_measures("IPrec(rel=2,judged_only=True)@0.1"),
    )  # fmt: skip
    values = evaluator.score(tmp_path / "r.tsv").score.values
    assert [of["IPrec(rel=2,judged_only=True)@0.1"] for of in values.values()] == [0.0, 1.0]


RANKED = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
GRADED = {"q": {"a": 0, "b": 2, "d": 1, "e": 1}}


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("RR@10", "RR@10", 1 / 2), ("RR@1", "RR@1", 0.0), ("recip_rank", "RR", 1 / 2),
        # (2^2 - 1) / 2^4 at rank 2, and (2^1 - 1) / 2^4 at rank 4, where 13/16 are not satisfied.
        ("ERR@20", "ERR@20", 3 / 16 / 2 + 13 / 16 / 16 / 4), ("ERR@2", "ERR@2", 3 / 16 / 2),
        # .2 · (.8 + .8³) for the relevant documents at ranks 2 and 4.
        ("RBP", "RBP", 0.2 * (0.8 + 0.8**3)),
        ("RBP(p=0.5,rel=2)", "RBP(p=0.5,rel=2)", 0.5 * 0.5),
        ("P_10", "P@10", 2 / 10), ("recall_100", "R@100", 2 / 3), ("success_1", "Success@1", 0.0),
    ],
)  # fmt: skip
def test_measures_that_people_ask_for(name: str, key: str, value: float) -> None:
    (asked,) = named_measures(name)
    assert asked.key == key
    assert measure(RANKED, GRADED, [asked], 1)["q"][key] == pytest.approx(value)


def test_err_is_that_of_gdeval() -> None:
    err = measure_of("ERR@20")
    if not ir_measures.gdeval.is_available():
        pytest.skip("gdeval needs perl")
    chance = random.Random(1)
    for _ in range(5):
        run, qrels = random_run_and_judgments(chance, 0, 4)
        run = {  # without ties, which gdeval orders in its own way, and with topics that it takes
            query[1:]: {
                doc: score + number / 100 for number, (doc, score) in enumerate(docs.items())
            }
            for query, docs in run.items()
        }
        qrels = {query[1:]: docs for query, docs in qrels.items()}
        ours = measure(run, qrels, named_measures("ERR@20"), 1)
        for found in ir_measures.gdeval.iter_calc([err], qrels, run):
            assert ours[found.query_id]["ERR@20"] == pytest.approx(found.value, abs=1e-5)


def test_names_of_trec_eval_are_those_of_the_labs_where_both_have_them() -> None:
    assert [str(one.at(2)) for one in named_measures("map", "ndcg_cut_10")] == [
        "AP(rel=2)", "nDCG@10",
    ]  # fmt: skip
    keys = {one.key for one in measures_of(RULES["docs"])}
    assert keys == {"nDCG@10", "AP", "P@10", "RR", "R@100", "R@1000", "judged_at_10"}


@pytest.mark.parametrize("name", ["a\0", "a\x1b[1m", "a\x7f", "x" * 513, "é" * 257, "a b", ""])
def test_an_id_is_text_that_a_run_and_an_index_can_hold(tmp_path: Path, name: str) -> None:
    (tmp_path / "d.jsonl").write_text(f"{json.dumps({'id': name, 'text': 'x'})}\n")
    place = ("--data", tmp_path / "d.jsonl", "--indexes", tmp_path / "i")
    assert "line 1: id " in refused("index", "docs", *place)


@pytest.mark.parametrize("name", ["x" * 512, "é" * 256, "D.99999999999999999999", "a/b:c#d", "…"])
def test_any_other_id_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "d.jsonl").write_text(f"{json.dumps({'id': name, 'text': 'x'})}\n")
    place = ("--data", tmp_path / "d.jsonl", "--indexes", tmp_path / "i", "--engine", "flat")
    arqmath("index", "docs", *place)
    # Another text than the document's, which would be left out of its own hits.
    (tmp_path / "q.jsonl").write_text(f"{json.dumps({'id': name, 'text': 'x x'})}\n")
    arqmath("run", "docs", *place, "--topics", tmp_path / "q.jsonl", "--runs", tmp_path / "r")
    assert (tmp_path / "r/d/q/both.trec").read_text().split("\t")[0::2][:2] == [name, name]


def test_why_says_which_documents_moved(own: Path) -> None:
    """One run is of this program, the other is not."""
    shutil.copy("q.jsonl", own)  # where the program looks for it
    (own / "x.trec").write_text("q1\tQ0\td3\t1\t2.0\tx\nD.1\tQ0\td2\t1\t1.0\tx\n")
    runs = own / "x.trec", own / "text.trec"
    said = printed("compare", *runs, "--data", "mine.jsonl", "--qrels", "qrels.txt", "--why", "q1")
    _, _, moved = said.partition("q1: what moved, and why")
    assert "d1 1 – 2 contents 0.0% → " in moved  # grade 1; not in x, the second of text
    assert "x.trec: no manifest beside it says how it was made" in moved


def test_what_takes_runs_finds_their_documents_and_queries(own: Path, tmp_path: Path) -> None:
    shutil.copy("q.jsonl", own)  # where the program looks for it
    runs = own / "both.trec", own / "text.trec"
    data = ("--data", "mine.jsonl")
    said = printed("compare", *runs, *data, "--qrels", "qrels.txt", "--why", "q1")
    assert "not explained" not in said
    assert "as it was made" in printed("verify", runs[0], *data)
    printed("report", *runs, *data, "--qrels", "qrels.txt", "-o", tmp_path / "report")
    assert "triangle area" in (tmp_path / "report/topics/B.7.html").read_text()
    assert "3 topics" in printed("pool", *runs, *data, "-o", tmp_path / "batch.csv")
    (own / "q.jsonl").unlink()
    assert "no topic file is the one of" in refused("verify", runs[0], *data)
    assert "venue" not in (own / "both.trec.manifest.json").read_text()
