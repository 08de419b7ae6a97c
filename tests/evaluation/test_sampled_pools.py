"""Pools judged in part: strata, their file, and average precision estimated from them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.judging.pool import Item, PooledPost
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.sampled_pools import (
    Pooled,
    Stratum,
    draw,
    parse_strata,
    read_sampled_qrels,
    with_grades,
    write_sampled_qrels,
    xinfap,
)
from arqmath_bm25.runs.run_writing import write_run

if TYPE_CHECKING:
    from pathlib import Path

POOL = {
    "a": Pooled(1, 2), "b": Pooled(1, 0), "c": Pooled(1, 3),
    "d": Pooled(2, 2), "e": Pooled(2, None), "f": Pooled(2, 0), "g": Pooled(2, None),
}  # fmt: skip
SAMPLED = {"A.1": POOL, "A.2": {"a": Pooled(1, 3)}}


def test_two_strata_by_hand() -> None:
    # a: 1. c, below a, e and x: of stratum 1 all that is judged is relevant, of 2 nothing is
    # judged, which counts as a half: (1 + 1 + 1/2) / 4. d in the same way: (1 + 2 + 1/2) / 5.
    # Relevant: 2 of stratum 1; half of the 4 of stratum 2, so that d stands for two.
    expected = (1 + 2.5 / 4 + 2 * 3.5 / 5) / 4
    assert xinfap(["a", "e", "x", "c", "d"], POOL) == pytest.approx(expected, abs=1e-4)
    assert xinfap(["b", "f"], POOL) == xinfap([], POOL) == 0.0
    assert xinfap(["a"], {"a": Pooled(1, None), "b": Pooled(1, 0)}) == 0.0


DOCS = [f"d{number}" for number in range(12)]
GRADES = st.dictionaries(
    st.sampled_from(DOCS), st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=12
)


def of_trec_eval(name: str, ranking: list[str], grades: dict[str, int]) -> float:
    run = {doc: -float(rank) for rank, doc in enumerate(ranking)} or {"": 0.0}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": grades}, {name}, relevance_level=2)
    return evaluator.evaluate({"q": run})["q"][name]


def plain_inf_ap(ranking: list[str], grades: dict[str, int | None]) -> float:
    """Compute infAP as trec_eval defines it; pytrec_eval crashes where something is unjudged."""
    relevant = sum(grade is not None and grade >= 2 for grade in grades.values())
    total = 0.0
    for above, doc in enumerate(ranking):
        if (grades.get(doc) or 0) < 2:
            continue
        pooled = [grades[other] for other in ranking[:above] if other in grades]
        judged = [grade for grade in pooled if grade is not None]
        hits = sum(grade >= 2 for grade in judged)
        chance = (hits + 0.00001) / (len(judged) + 0.00002)
        share = len(pooled) / above * chance if above else 0.0
        total += 1 / (above + 1) + above / (above + 1) * share
    return total / relevant if relevant else 0.0


@settings(deadline=None)
@given(GRADES, st.permutations(DOCS), st.integers(0, 12))
def test_with_one_stratum_it_is_inf_ap(grades, ranking, depth) -> None:
    pool = {doc: Pooled(1, grade) for doc, grade in grades.items()}
    expected = plain_inf_ap(ranking[:depth], grades)
    assert xinfap(ranking[:depth], pool) == pytest.approx(expected, abs=1e-9)
    if None not in grades.values():
        assert expected == pytest.approx(of_trec_eval("infAP", ranking[:depth], grades), abs=1e-9)


@settings(deadline=None)
@given(GRADES, st.permutations(DOCS), st.integers(0, 12), st.randoms())
def test_with_every_document_judged_it_is_average_precision(grades, ranking, depth, chance) -> None:
    complete = {doc: grade or 0 for doc, grade in grades.items()}
    pool = {doc: Pooled(chance.randint(1, 3), grade) for doc, grade in complete.items()}
    expected = of_trec_eval("map", ranking[:depth], complete)
    assert xinfap(ranking[:depth], pool) == pytest.approx(expected, abs=1e-3)


def test_samples_estimate_the_value_of_the_whole_pool() -> None:
    chance = random.Random(7)
    docs = [str(number) for number in range(200)]
    grades = {doc: 3 * (chance.random() < 0.5 / (1 + at / 40)) for at, doc in enumerate(docs)}
    items = [Item("A.1", doc, (PooledPost(doc),)) for doc in docs]
    ranks = {"A.1": {doc: at for at, doc in enumerate(docs, 1)}}
    truth = of_trec_eval("map", docs, grades)
    estimates = []
    for seed in range(60):
        drawn, pool = draw(items, ranks, parse_strata("20:1,200:0.25"), seed)
        assert len(drawn) == 20 + 45
        judged = {"A.1": {item.doc_id: grades[item.doc_id] for item in drawn}}
        estimates.append(xinfap(docs, with_grades(pool, judged)["A.1"]))
    assert sum(estimates) / len(estimates) == pytest.approx(truth, abs=0.01)
    assert max(estimates) - min(estimates) > 0.02


def test_a_share_of_each_stratum_is_drawn_for_each_topic() -> None:
    ranks = {"A.10": {"x": 1}, "A.9": {str(n): n for n in range(1, 9)}}
    items = [Item(topic, doc, (PooledPost(doc),)) for topic, docs in ranks.items() for doc in docs]
    strata = (Stratum(2, 1.0), Stratum(7, 0.4))
    sample, pool = draw(items, ranks, strata, seed=1)
    assert list(pool) == ["A.9", "A.10"]
    assert {doc: one.stratum for doc, one in pool["A.9"].items()} == {
        "1": 1, "2": 1, "3": 2, "4": 2, "5": 2, "6": 2, "7": 2,  # 8 stands below the last
    }  # fmt: skip
    drawn = [item.doc_id for item in sample if item.topic_id == "A.9"]
    assert {"1", "2"} < set(drawn)
    assert len(drawn) == 4  # two fifths of five
    less, _ = draw(items, ranks, (Stratum(2, 1.0), Stratum(7, 0.3)), seed=1)
    assert less == sample  # one and a half of five are two: shares are rounded up
    assert (sample, pool) == draw(items, ranks, strata, seed=1)
    assert any(sample != draw(items, ranks, strata, seed)[0] for seed in range(9))


@pytest.mark.parametrize("text", ["", "10", "10:0", "10:2", "x:1", "20:1,10:0.5", "10:nan"])
def test_strata_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not understood; expected growing depths"):
        parse_strata(text)


def test_the_file_holds_every_pooled_document(tmp_path: Path) -> None:
    path = tmp_path / "sampled.tsv"
    write_sampled_qrels(path, SAMPLED)
    assert path.read_text().splitlines()[3:5] == ["A.1\t0\td\t2\t2", "A.1\t0\te\t2\t-1"]
    assert read_sampled_qrels(path) == SAMPLED
    assert read_qrels(path)["A.1"] == {"a": 2, "b": 0, "c": 3, "d": 2, "f": 0}


def test_a_run_is_scored_on_a_sample_with_xinfap_beside_the_rest(tmp_path: Path) -> None:
    write_sampled_qrels(tmp_path / "sampled.tsv", SAMPLED)
    run = tmp_path / "run.tsv"
    write_run(run, [("A.1", [Hit(doc, -rank) for rank, doc in enumerate("aexcd")])], "x", "task1")
    evaluator = Evaluator(Collection(tmp_path, tmp_path), qrels=tmp_path / "sampled.tsv")
    found = evaluator.score(run).to_json()
    value = xinfap(list("aexcd"), POOL)
    assert found["xinfAP"] == pytest.approx(value / 2)  # A.2 counts 0
    assert found["run_topics_only"]["xinfAP"] == pytest.approx(value)
    assert found["map_prime"] == pytest.approx((1 + 1 + 1) / 3 / 2)  # a c d: nothing else is judged


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("A.1 0 7 2\n", "row 1: expected the 5 columns of qrels"),
        ("A.1 0 7 1 2\nA.1 0 8 x 2\n", "row 2: stratum is 'x'"),
        ("A.1 0 7 1 -2\n", "row 1: grade is '-2'"),
        ("A.1 0 7 1 2\nA.1 0 7 1 2\n", "row 2: 7 stands in an earlier row of topic A.1"),
    ],
)
def test_rows_that_are_none_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "sampled.tsv"
    path.write_text(rows)
    with pytest.raises(InputError, match=message):
        read_sampled_qrels(path)
