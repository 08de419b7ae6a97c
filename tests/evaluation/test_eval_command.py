"""The commands `eval` and `compare` as a user calls them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from program import arqmath, json_of

from arqmath_bm25.collection.formulas import COLUMNS
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, Year
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.sample_data import NLPS_SAMPLE, SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels, write_qrels
from arqmath_bm25.runs.run_writing import write_run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, so that runs/ and indexes/ are those of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def perfect_run(path: Path, year: Year, junk: int = 0) -> Path:
    """Write a run that ranks the sample's judged answers by grade, behind `junk` others."""
    rankings = []
    for topic, grades in read_qrels(Layout(SAMPLE).qrels("task1", year)).items():
        docs = [f"junk{number}" for number in range(junk)]
        docs += sorted(grades, key=lambda doc: -grades[doc])
        rankings.append((topic, [Hit(doc, -float(rank)) for rank, doc in enumerate(docs)]))
    write_run(path, rankings, "perfect", "task1")
    return path


def test_a_run_is_scored_against_the_judgments_of_its_topics() -> None:
    for year in YEARS:
        (found,) = json_of("eval", perfect_run(Path(f"run{year}.tsv"), year))
        assert found["task"] == "task1"
        assert found["qrels"] == str(Layout(SAMPLE).qrels("task1", year))
        assert found["nDCG(judged_only=True)"] == pytest.approx(1.0)
        assert found["AP(rel=2,judged_only=True)"] == pytest.approx(1.0)


def test_the_json_has_the_keys_that_are_promised() -> None:
    (found,) = json_of("eval", perfect_run(Path("run.tsv"), "2020"), "--measure", "infAP(rel=2)")
    averages = {
        "nDCG(judged_only=True)", "AP(rel=2,judged_only=True)", "P(rel=2,judged_only=True)@10",
        "Bpref(rel=2)", "P(rel=2)@10", "nDCG", "AP(rel=2)", "Judged@10",
        "P(rel=2,judged_only=True)@5", "infAP(rel=2)",
    }  # fmt: skip
    assert averages | {"run", "task", "qrels", "topics", "topics_in_run"} <= found.keys()
    assert found["run_topics_only"].keys() == averages
    assert (found["run"], found["topics"], found["topics_in_run"]) == ("run", 6, 6)


def test_without_runs_those_of_the_collection_are_scored() -> None:
    name = "bm25arq-task1-bm25-auto-both-P"
    for year in YEARS:
        perfect_run(Path(f"runs/{SAMPLE.name}/{year}/{name}.tsv"), year)
    Path(f"runs/{SAMPLE.name}/2020/{name}.tsv.manifest.json").write_text("{}")
    found = json_of("eval")
    assert [(one["run"], one["topics"]) for one in found] == [(name, 6)] * 3
    (one,) = json_of("eval", "--task", "task1", "--topics", "2021")
    assert "2021" in one["qrels"]


def test_runs_without_judgments_are_named_and_left_out() -> None:
    data = Path("part")
    for file in (Layout(SAMPLE).qrels("task1", "2020"), Layout(SAMPLE).topics("task1", "2020")):
        target = data / file.relative_to(SAMPLE)
        target.parent.mkdir(parents=True)
        shutil.copy(file, target)
    perfect_run(Path("runs/part/2020/a.tsv"), "2020")
    perfect_run(Path("runs/part/2021/b.tsv"), "2021")
    result = arqmath("eval", "--data", data, "--json", "-")
    assert [one["run"] for one in json.loads(result.stdout)] == ["a"]
    assert "b.tsv: there are no judgments of task1 2021" in result.stderr


def test_no_runs_at_all_is_an_error_that_says_how_to_make_them() -> None:
    with pytest.raises(InputError, match=r"no run files of task2 in .*`arqmath-bm25 run task2`"):
        arqmath("eval", "--task", "task2")
    with pytest.raises(InputError, match=r"`arqmath-bm25 run all --data "):
        Path("other").mkdir()
        arqmath("eval", "--data", "other")


def test_the_table_shows_scores_and_what_to_know_of_them() -> None:
    run = perfect_run(Path("run.tsv"), "2020")
    rows = [line for line in run.read_text().splitlines(True) if not line.startswith("A.1\t")]
    Path("part.tsv").write_text("".join(rows))
    output = arqmath("eval", run, "part.tsv", "--measure", "nDCG@5").stdout
    assert "qrel_official_task1" in output
    assert "nDCG′" in output
    assert "nDCG@5" in output
    assert "6 of 6   1.0000" in output
    assert "5 of 6   0.8333" in output
    assert "averaged over the 5 topics with a judged hit, not all 6: nDCG′ 1.0000" in output
    assert "run: averaged over" not in output
    assert "as in a prime run" in output


def test_every_value_of_every_topic_is_written_as_csv() -> None:
    run = perfect_run(Path("run.tsv"), "2020", junk=1)
    arqmath("eval", run, "--per-topic", "out/topics.csv", "--json", "out/scores.json")
    rows = list(csv.DictReader(io.StringIO(Path("out/topics.csv").read_text())))
    assert [row["topic"] for row in rows] == list(read_qrels(Layout(SAMPLE).qrels("task1", "2020")))
    assert {(row["run"], row["task"]) for row in rows} == {("run", "task1")}
    (found,) = json.loads(Path("out/scores.json").read_text())
    mean = sum(float(row["AP(rel=2)"]) for row in rows) / len(rows)
    assert found["AP(rel=2)"] == pytest.approx(mean)
    assert sorted(path.name for path in Path("out").iterdir()) == ["scores.json", "topics.csv"]


def test_a_run_of_formulas_is_scored_with_the_formulas_of_the_collection() -> None:
    qrels = {"B.1": {"500000": 3, "500001": 0}}
    write_qrels(Path("qrels"), qrels)
    Path("run.tsv").write_text("B.1\t1\t10027\t1\t2.0\tr\nB.1\t2\t10027\t2\t1.0\tr\n")
    (found,) = json_of("eval", "run.tsv", "--qrels", "qrels")
    assert (found["task"], found["nDCG(judged_only=True)"], found["rows_judged"]) == (
        "task2",
        1.0,
        2,
    )
    (kept,) = Path(f"indexes/{SAMPLE.name}").glob("*.npy")
    assert kept.name.startswith("visual-ids-")
    header = "\t".join(COLUMNS["v2"])
    formulas = Path("data/Formulas/latex_representation_v2/1.tsv")
    formulas.parent.mkdir(parents=True)
    formulas.write_text(f"{header}\n1\t7\t7\ttitle\t500001\tx\n2\t7\t7\ttitle\t500000\ty\n")
    (found,) = json_of("eval", "run.tsv", "--qrels", "qrels", "--data", "data")
    assert found["nDCG(judged_only=True)"] == pytest.approx(0.6309, abs=1e-4)


def test_a_run_of_formulas_needs_the_formulas() -> None:
    Path("other").mkdir()
    Path("run.tsv").write_text("B.1\t1\t10027\t1\t2.0\tr\n")
    with pytest.raises(InputError, match=r'"Formulas/latex_representation_v3/1\.tsv.* published'):
        arqmath("eval", "run.tsv", "--data", "other")


def test_premises_are_scored_and_the_two_averages_explained() -> None:
    Path("gold.json").write_text(json.dumps({"1": {"text": "…", "premises": [10**38 + 1, 7]}}))
    Path("predict.txt").write_text(f"1\t{10**38 + 1}\n")
    (found,) = json_of("eval", "predict.txt", "--qrels", "gold.json")
    assert found["task"] == "nlps"
    assert (found["MAP@500 (official)"], found["AP(rel=1)@500"], found["R(rel=1)@500"]) == (
        1.0,
        0.5,
        0.5,
    )
    output = arqmath("eval", "predict.txt", "--qrels", "gold.json").stdout
    assert "averages precision over the relevant premises that were retrieved" in output
    assert "run statements MAP" in " ".join(output.split())
    with pytest.raises(InputError, match=r"expected a dev_set\.json"):
        arqmath("eval", "predict.txt")


def test_without_runs_predictions_of_the_dev_set_are_scored() -> None:
    for split in ("dev", "test"):
        statements = json.loads((NLPS_SAMPLE / f"{split}_set.json").read_text())
        target = Path(f"runs/{NLPS_SAMPLE.name}/{split}/both.txt")
        target.parent.mkdir(parents=True)
        target.write_text("".join(
            f"{statement}\t{premise}\n"
            for statement, found in statements.items() for premise in found["premises"] or [1]
        ))  # fmt: skip
    result = arqmath("eval", "--task", "nlps", "--json", "-")
    (found,) = json.loads(result.stdout)
    assert (found["run"], found["AP(rel=1)@500"], found["R(rel=1)@500"]) == ("both", 1.0, 1.0)
    assert "both.txt: there are no judgments of nlps test" in result.stderr


def test_answers_are_scored_by_the_map_of_the_organisers() -> None:
    write_qrels(Path("qrels"), {"A.301": {"d_1": 3, "d_2": 5}})
    Path("map").write_text("GPT3\tA.301\td_1\nrun5\tA.301\td_2\n")
    found = json_of("eval", "--qrels", "qrels", "--answer-map", "map")
    assert [(one["run"], one["AR"], one["P@1"]) for one in found] == [
        ("GPT3", 3.0, 1.0), ("run5", 0.0, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "nowhere.tsv"], r"nowhere\.tsv: no such run file"),
        (["eval", "--topics", "2019"], "--topics 2019: expected 2020, 2021, 2022"),
        (["eval", "--measure", "ndgc"], "do you mean ndcg"),
        (["eval", "--data", "nowhere"], "DATA=nowhere: no such file or directory"),
        (["eval", "run.tsv", "--qrels", "run.tsv"], "row 1: .* this looks like a run"),
        (["eval", "run.tsv", "--topics", "2021"], r"run\.tsv: the qrels judge none"),
        (["compare", "run.tsv"], "two runs or more"),
    ],
)
def test_faults_are_told_in_one_message(arguments: list[str], message: str) -> None:
    perfect_run(Path("run.tsv"), "2020")
    with pytest.raises(InputError, match=message):
        arqmath(*arguments)


def test_a_task_that_does_not_exist_is_wrong_usage() -> None:
    wrong = arqmath("eval", "--task", "task4", status=2)
    assert "task4" in wrong.stderr


def test_runs_are_compared_with_the_first(tmp_path: Path) -> None:
    best = perfect_run(Path("best.tsv"), "2020")
    worse = perfect_run(Path("worse.tsv"), "2020", junk=3)
    labels = "\n".join(f"A.{number},Low" for number in range(1, 101))
    Path("topics.csv").write_text(f"Topic,Difficulty\n{labels}\n")
    assert "6/0/0" in arqmath("compare", worse, best, "--measure", "map").stdout
    of_labels = arqmath("eval", best, "--by", "Difficulty", "--topic-info", "topics.csv").stdout
    assert "best by Difficulty" in of_labels
    assert re.search(r"Low +6 +1\.0000", of_labels)
    found = json_of("compare", worse, best, "--measure", "nDCG@10")
    assert found["measure"] == "nDCG@10"
    (comparison,) = found["comparisons"]
    assert (comparison["run"], comparison["baseline"], comparison["wins"]) == ("best", "worse", 6)
    assert found["means"]["best"] == pytest.approx(1.0)
    # nDCG′ does not see the unjudged documents.
    assert json_of("compare", worse, best)["comparisons"][0]["ties"] == 6


def test_runs_of_different_judgments_are_not_compared() -> None:
    first, second = perfect_run(Path("a.tsv"), "2020"), perfect_run(Path("b.tsv"), "2021")
    with pytest.raises(InputError, match=r"b\.tsv: scored as task1 with .*2021.* same judgments"):
        arqmath("compare", first, second)
