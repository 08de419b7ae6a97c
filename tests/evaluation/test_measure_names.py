"""Names of ir_measures mean here what they mean there."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import ir_measures
import pytest
from measure_objects import measure_of

import arqmath_bm25 as arq
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.measures import key_of, measure, measures_of, named_measures
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.core.labs import RunTask

MEASURES = measures_of(RULES["task1"])

QRELS = {
    "A.1": {"11": 3, "12": 0, "13": 2, "9": 1, "10": 0, "14": 2},
    "A.2": {"21": 1, "22": 0},
    "A.3": {"31": 2},
}
RUN = {
    "A.1": {"99": 9.0, "10": 5.5, "9": 5.2, "13": 5.0, "11": 1.5, "12": 1.0},
    "A.2": {"77": 3.0, "21": 2.0},
}
# Our keys for the measures of the labs, by their names in ir_measures.
OURS = {
    "ndcg_prime": "nDCG(judged_only=True)", "map_prime": "AP(rel=2,judged_only=True)",
    "p10_prime": "P(rel=2,judged_only=True)@10", "p5_prime": "P(rel=2,judged_only=True)@5",
    "bpref": "Bpref(rel=2)", "ndcg": "nDCG", "map": "AP(rel=2)", "p10": "P(rel=2)@10",
    "judged_at_10": "Judged@10",
}  # fmt: skip
OTHERS = [
    "nDCG(judged_only=True)@10", "AP", "AP@3", "P@5", "R(rel=2)@3", "RR(rel=2)", "Rprec(rel=2)",
    "infAP(rel=2)", "IPrec(rel=2)@0.1", "Success(rel=3)@5", "SetP", "SetR(rel=2)", "SetAP(rel=1)",
    "nDCG(gains={1:3})@2", "SetF(beta=2.0)",
    "Judged@2", "MAP(rel=2)", "NDCG@5", "MRR(judged_only=True, rel=2)",
]  # fmt: skip


def values_of(name: str, run=RUN, qrels=QRELS, relevant: int = 1) -> dict[str, float]:
    (one,) = named_measures(name)
    return {t: v[one.key] for t, v in measure(run, qrels, [one], relevant).items()}


def test_every_measure_of_the_labs_has_a_name_there() -> None:
    assert set(OURS) == {one.key for one in MEASURES}
    ours = measure(RUN, QRELS, MEASURES, 2)
    for key, name in OURS.items():
        assert values_of(name) == {topic: values[key] for topic, values in ours.items()}, name


def test_values_by_hand() -> None:
    assert values_of("P@5")["A.1"] == pytest.approx(3 / 5)  # 9, 13, 11: grades 1, 2, 3
    assert values_of("P(rel=2)@5")["A.1"] == pytest.approx(2 / 5)
    assert values_of("P(rel=2, judged_only=True)@3")["A.1"] == pytest.approx(1 / 3)
    assert values_of("RR(rel=3)")["A.1"] == pytest.approx(1 / 5)
    assert values_of("Judged@2") == {"A.1": 0.5, "A.2": 0.5, "A.3": 0.0}
    assert [one.key for one in named_measures("P(rel=2) @5")] == ["P(rel=2)@5"]
    assert [one.key for one in named_measures("ndcg_prime", "ar", "recall_500")] == ["ndcg_prime"]


@pytest.mark.parametrize("name", [*OURS.values(), *OTHERS])
def test_values_are_those_of_ir_measures(name: str) -> None:
    there = ir_measures.iter_calc([measure_of(name)], QRELS, RUN)
    found = {one.query_id: one.value for one in there}
    for topic in RUN:
        assert values_of(name)[topic] == pytest.approx(found[topic]), topic


def test_two_thousand_random_runs_score_as_by_ir_measures() -> None:
    chance = random.Random(2020)
    docs, topics = [str(number) for number in range(40)], [f"A.{n}" for n in range(1, 2001)]
    qrels, run = (
        {
            topic: {doc: grade() for doc in chance.sample(docs, chance.randint(1, 30))}
            for topic in topics
        }
        for grade in (lambda: chance.choice((0, 0, 1, 2, 3)), lambda: chance.randint(0, 20) / 4)
    )
    ours = measure(run, qrels, MEASURES, 2)
    for key, name in OURS.items():
        if key != "judged_at_10":  # its order of equal scores is another there
            there = ir_measures.iter_calc([measure_of(name)], qrels, run)
            expected = {one.query_id: one.value for one in there}
            assert {t: values[key] for t, values in ours.items()} == pytest.approx(expected), key


@pytest.mark.parametrize("key", [key for key in OURS if key != "judged_at_10"])
def test_official_runs_have_the_scores_of_ir_measures(shared: Path, lite: Path, key: str) -> None:
    qrels = read_qrels(lite / "Evaluation/ Scripts & Qrels/ARQMath-1/Task 1 /qrel_official_task1")
    run = Run.read(
        shared / "data/arqmath1-runs/prim_MIRMU-task1-Ensemble-auto-both-A.tsv"
    ).rankings()
    name = measure_of(OURS[key])
    there = ir_measures.calc_aggregate([name], qrels, run.topics)[name]
    values = values_of(OURS[key], run.topics, qrels).values()
    assert sum(values) / len(values) == pytest.approx(there, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("AP(rel='x')", "does not understand it (invalid param rel='x')"),
        ("nDCG(rel=2)", "does not understand it"),
        ("nDCG(dcg='exp-log2')@10", "nDCG with these parameters is not computed here"),
        ("Judged(judged_only=True)@5", "does not understand it"),
        ("P(rel=2)", "(invalid param cutoff); expected a name such as P(rel=2)@10"),
        ("P@0.5", "(invalid param cutoff=0.5)"),
        ("IPrec", "(invalid param recall)"),
        ("nDGC@10", "do you mean nDCG"),
        ("AP(rel=2", "do you mean"),
        ("AP(2)", "parameters are written name=value"),
        # trec_eval ends the process.
        ("P@0", "(invalid param cutoff=0)"),
        ("nDCG@99999999999", "(invalid param cutoff=99999999999)"),
        ("AP(rel=99999999999)", "(invalid param rel=99999999999)"),
        ("SetF(beta=-1.0)", "(invalid param beta=-1.0)"),
        ("nDCG(gains={1:2.5})", "(invalid param gains={1: 2.5})"),
        ("nDCG(gains={'a':1})", "(invalid param gains={'a': 1})"),
        ("rbp.95", "(invalid param cutoff=0.95)"),
        # Counts are not averages over topics: trec_eval has their sums.
        ("NumRet", "not a score"), ("num_rel_ret", "not a score"), ("NumRel(rel=2)", "not a score"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        named_measures(name)
    assert message in str(error.value)


AS_WRITTEN = {
    "ndcg@10": "nDCG@10", "NDCG@10": "nDCG@10", "p@10": "P@10", "precision@5": "P@5",
    "recall@100": "R@100", "recall.1000": "R@1000", "mrr": "RR", "MRR@10": "RR@10",
    "ndcg_cut.10": "nDCG@10", "map_cut.100": "AP@100", "P.10": "P@10", "map@1000": "AP@1000",
    "recip_rank_cut_10": "RR@10", "success@5": "Success@5", "Recall@20": "R@20",
    "hit@10": "Success@10",
    "f1": "SetF", "precision": "SetP", "recall": "SetR", "rprec": "Rprec", "err@20": "ERR@20",
    "rbp": "RBP", "iprec_at_recall_0.10": "IPrec@0.1", "judged@10": "Judged@10", "ap": "AP",
    "map": "map", "Map": "map", "nDCG'": "ndcg_prime", "ndcg′": "ndcg_prime", "MAP'": "map_prime",
    "P'@10": "p10_prime", "NDCG_Prime": "ndcg_prime", "Bpref": "Bpref", "BPREF": "bpref",
}  # fmt: skip


@pytest.mark.parametrize(("name", "key"), AS_WRITTEN.items())
def test_measures_may_be_written_as_people_write_them(name: str, key: str) -> None:
    (one,) = named_measures(name)
    assert (one.key, key_of(name)) == (key, key)


@pytest.mark.parametrize(
    "name", ["ndgc@10", "mapp", "presision@10", "recal@100", "A", "zzz", "accuracy"]
)
def test_advice_names_measures_that_there_are(name: str) -> None:
    with pytest.raises(InputError, match="do you mean ") as error:
        named_measures(name)
    advice = str(error.value).partition("do you mean ")[2].removesuffix("?").split(", ")
    assert len(named_measures(*advice)) == len(advice)


def test_scoring_loads_nothing_that_takes_long() -> None:
    code = (
        "import sys, arqmath_bm25.evaluation.evaluator\n"
        "slow = {'scipy', 'sklearn', 'pandas', 'pydantic', 'jnius', 'lxml', 'rich'}\n"
        "print(sorted(slow.intersection(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


# Spellings of trec_eval, ranx, MTEB, papers and people, and what ir_measures calls them.
SPELLINGS = {
    "map": "AP", "MAP": "AP", "AP": "AP", "mAP": "AP", "average precision": "AP",
    "map_cut_100": "AP@100", "map_cut.100": "AP@100", "MAP@3": "AP@3", "map_at_3": "AP@3",
    "P_10": "P@10", "P.10": "P@10", "P@10": "P@10", "p10": "P@10", "p_at_10": "P@10",
    "precision@10": "P@10", "Prec@2": "P@2", "P′@3": "P(judged_only=True)@3",
    "recall_100": "R@100", "recall.3": "R@3", "R@100": "R@100", "Recall@2": "R@2",
    "recip_rank": "RR", "RR": "RR", "MRR": "RR", "mrr@10": "RR@10", "recip_rank_cut_2": "RR@2",
    "Rprec": "Rprec", "R-Prec": "Rprec", "r_precision": "Rprec", "bpref": "Bpref", "BPref": "Bpref",
    "success_5": "Success@5", "Success@1": "Success@1", "hit@10": "Success@10",
    "hit_rate@2": "Success@2", "infAP": "infAP", "set_P": "SetP", "precision": "SetP",
    "set_recall": "SetR", "recall": "SetR", "set_F": "SetF", "f1": "SetF", "set_map": "SetAP",
    "set_relative_P": "SetP(relative=True)", "iprec_at_recall_0.10": "IPrec@0.1",
    "SetF(beta=2.0)": "SetF(beta=2.0)", "map_prime": "AP(judged_only=True)",
    "p5_prime": "P(judged_only=True)@5", "ndcg_cut_10": "nDCG@10", "NDCG@10": "nDCG@10",
    "ndcg_prime": "nDCG(judged_only=True)", "nDCG'@3": "nDCG(judged_only=True)@3",
    "judged_10": "Judged@10",
}  # fmt: skip


@pytest.mark.parametrize("relevant", [1, 2, 3])
@pytest.mark.parametrize(("name", "theirs"), SPELLINGS.items())
def test_a_binary_measure_takes_the_grade_of_its_table(
    name: str, theirs: str, relevant: int
) -> None:
    there = measure_of(theirs)
    if "rel" in there.SUPPORTED_PARAMS:
        there = there(rel=relevant)
    found = {one.query_id: one.value for one in ir_measures.iter_calc([there], QRELS, RUN)}
    for topic in RUN:
        assert values_of(name, relevant=relevant)[topic] == pytest.approx(found[topic]), topic


@pytest.mark.parametrize("name", ["P(rel=1)@10", "AP(rel=3)", "map(rel=3)", "RBP(rel=1)"])
def test_a_grade_of_its_own_counts_in_every_table_and_is_shown(name: str) -> None:
    values = [values_of(name, relevant=level) for level in (1, 2, 3)]
    assert values[0] == values[1] == values[2]
    assert "(rel=" in key_of(name)


def test_rank_biased_precision_takes_the_grade_of_its_table() -> None:
    assert values_of("RBP", relevant=2) == values_of("RBP(rel=2)") != values_of("RBP")


@pytest.mark.filterwarnings("ignore::arqmath_bm25.core.errors.ScoreWarning")
@pytest.mark.parametrize("relevant", [1, 2, 3])
@pytest.mark.parametrize(("task", "begin"), [("task1", "A"), ("task2", "B"), ("docs", "q")])
def test_a_name_means_the_same_in_every_task(task: RunTask, begin: str, relevant: int) -> None:
    """Own names of the labs count too; a topic without hits has the value 0."""
    run, qrels = (
        {topic.replace("A", begin): dict(documents) for topic, documents in of_topics.items()}
        for of_topics in (RUN, QRELS)
    )
    rows = []
    for topic, documents in run.items():
        for docno, score in documents.items():
            # Each formula of Task 2 is the only one that looks like it.
            row = {"qid": topic, "docno": docno, "score": score, "visual_id": docno, "post_id": "1"}
            rows.append(row)
    found = arq.evaluate(
        rows, qrels, measures=list(SPELLINGS), task=task, relevant=relevant, per_topic=True
    )
    for name, theirs in SPELLINGS.items():
        there = measure_of(theirs)
        if "rel" in there.SUPPORTED_PARAMS:
            there = there(rel=relevant)
        for one in ir_measures.iter_calc([there], qrels, run):
            assert found[name][one.query_id] == pytest.approx(one.value), (name, one.query_id)
