"""The measures against an independent implementation, by hand, and against published vectors."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import pytest
from chances import exhaustive
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.measures import (
    average,
    measure,
    measures_of,
    named_measures,
)
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_rules import best
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

MEASURES = measures_of(RULES["task1"])

Row = tuple[str, str, float]  # topic, document, score
QRELS = {
    "A.1": {"11": 3, "12": 0, "13": 2, "9": 1, "10": 0, "14": 2},
    "A.2": {"21": 1, "22": 0},
    "A.3": {"31": 2},
}
RUN = {
    "A.1": {"99": 9.0, "10": 5.0, "9": 5.0, "13": 5.0, "11": 1.5, "12": 1.0},
    "A.2": {"77": 3.0, "21": 2.0},
}
PRIME_RUN = {
    topic: {doc: score for doc, score in docs.items() if doc in QRELS[topic]}
    for topic, docs in RUN.items()
}


# An implementation of the protocol in plain Python. It shares nothing with the package: slow,
# literal, and without trec_eval.


def plain_ranking(rows: list[Row], topic: str, depth: int) -> list[str]:
    scores: dict[str, float] = {}
    for row_topic, doc, value in rows:
        if row_topic == topic and doc not in scores:
            scores[doc] = struct.unpack("f", struct.pack("f", value))[0]  # as trec_eval stores it
    order = sorted(scores, reverse=True)
    order.sort(key=lambda doc: -scores[doc])  # stable: equal scores stay in descending id order
    return order[:depth]


def plain_ndcg(ranking: list[str], grades: dict[str, int]) -> float:
    def dcg(gains: list[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))

    ideal = dcg(sorted(grades.values(), reverse=True))
    return dcg([grades.get(doc, 0) for doc in ranking]) / ideal if ideal else 0.0


def plain_ap(ranking: list[str], grades: dict[str, int]) -> float:
    relevant = {doc for doc, grade in grades.items() if grade >= 2}
    ranks = [rank for rank, doc in enumerate(ranking, 1) if doc in relevant]
    precisions = [found / rank for found, rank in enumerate(ranks, 1)]
    return sum(precisions) / len(relevant) if relevant else 0.0


def plain_precision(ranking: list[str], grades: dict[str, int], depth: int) -> float:
    return sum(grades.get(doc, 0) >= 2 for doc in ranking[:depth]) / depth


def plain_bpref(ranking: list[str], grades: dict[str, int]) -> float:
    relevant = sum(grade >= 2 for grade in grades.values())
    bound = min(relevant, len(grades) - relevant)
    total, nonrelevant_above = 0.0, 0
    for doc in ranking:
        if grades.get(doc, -1) >= 2:
            above = min(nonrelevant_above, relevant)
            total += 1 - above / bound if above else 1
        elif doc in grades:
            nonrelevant_above += 1
    return total / relevant if relevant else 0.0


def plain_scores(
    rows: list[Row], qrels: dict[str, dict[str, int]], depth: int
) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for topic, grades in qrels.items():
        whole = plain_ranking(rows, topic, depth)
        primed = [doc for doc in whole if doc in grades]
        top = whole[:10]
        scores[topic] = {
            "ndcg_prime": plain_ndcg(primed, grades),
            "map_prime": plain_ap(primed, grades),
            "p10_prime": plain_precision(primed, grades, 10),
            "p5_prime": plain_precision(primed, grades, 5),
            "bpref": plain_bpref(primed, grades),
            "ndcg": plain_ndcg(whole, grades),
            "map": plain_ap(whole, grades),
            "p10": plain_precision(whole, grades, 10),
            "judged_at_10": sum(doc in grades for doc in top) / len(top) if top else 0.0,
        }
    return scores


TOPICS = st.sampled_from(["A.1", "A.2", "A.3", "A.4"])
DOCS = st.sampled_from([*map(str, range(8, 27)), "d_1", "100", "999"])
SCORES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 2.0, 1e30, 123456.789])
ROWS = st.lists(st.tuples(TOPICS, DOCS, SCORES), min_size=1, max_size=90)
JUDGED = st.dictionaries(
    TOPICS, st.dictionaries(DOCS, st.integers(0, 3), min_size=1, max_size=15), min_size=1
)


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "run.tsv"


def write_rows(path: Path, rows: list[Row]) -> None:
    lines = (f"{topic}\t{doc}\t1\t{value!r}\tr\n" for topic, doc, value in rows)
    path.write_text("".join(lines))


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(ROWS, JUDGED, st.integers(1, 12))
def test_an_independent_implementation_agrees(
    run_path: Path, rows: list[Row], qrels: dict[str, dict[str, int]], depth: int
) -> None:
    write_rows(run_path, rows)
    rankings = Run.read(run_path, "task1").rankings(depth)
    expected = plain_scores(rows, qrels, depth)
    topics = {topic for topic, _, _ in rows} & qrels.keys()
    if not topics:
        with pytest.raises(InputError, match="judge none of the run's topics"):
            score(rankings.topics, qrels)
        return
    result = score(rankings.topics, qrels)
    assert list(result.values) == list(qrels)
    for topic, values in expected.items():
        assert result.values[topic] == pytest.approx(values, abs=1e-9), topic
    with_zeros, of_run = result.averages(), result.averages_of_run_topics()
    primed = {
        topic for topic in topics if set(plain_ranking(rows, topic, depth)) & qrels[topic].keys()
    }
    for key in expected[next(iter(topics))]:
        total = sum(values[key] for values in expected.values())
        own = primed if key in {one.key for one in MEASURES if one.primed} else topics
        assert with_zeros[key] == pytest.approx(total / len(qrels))
        assert of_run[key] == pytest.approx(total / len(own) if own else 0.0)


def test_equal_scores_stand_by_descending_id_as_text_also_at_the_cut() -> None:
    ranking = {"2": 1.0, "9": 1.0, "10": 1.0, "1": 1.0 + 1e-9, "3": 2.0}
    assert best(ranking) == ["3", "9", "2", "10", "1"]  # 32-bit floats: 1.0 + 1e-9 is 1.0
    assert best(ranking)[:3] == ["3", "9", "2"]


@settings(max_examples=60 if exhaustive() else 15, deadline=None)
@given(st.lists(st.tuples(st.just("A.1"), st.integers(0, 400).map(str), SCORES), min_size=150,
                max_size=400), st.integers(1, 9))  # fmt: skip
def test_a_run_that_is_far_too_deep_is_cut_as_if_it_were_read_whole(
    run_path: Path, rows: list[Row], depth: int
) -> None:
    write_rows(run_path, rows)
    rankings = Run.read(run_path, "task1").rankings(depth)
    assert best(rankings.topics["A.1"])[:depth] == plain_ranking(rows, "A.1", depth)
    assert len(Run.read(run_path, "task1")) == len(rows)
    assert len(rows) == rankings.counts["repeated"] + rankings.counts["cut"] + depth


def test_a_document_that_fell_out_does_not_come_back_with_a_better_score(run_path: Path) -> None:
    lower = [("A.1", str(number), -float(number)) for number in range(100)]
    write_rows(run_path, [*lower, ("A.1", "99", 1000.0), ("A.1", "new", 500.0)])
    rankings = Run.read(run_path, "task1").rankings(3)
    assert rankings.topics == {"A.1": {"0": 0.0, "1": -1.0, "new": 500.0}}
    assert rankings.counts["repeated"] == 1


def test_the_first_row_of_a_repeated_document_counts(run_path: Path) -> None:
    write_rows(run_path, [("A.1", "7", 1.0), ("A.1", "8", 2.0), ("A.1", "7", 9.0)])
    rankings = Run.read(run_path, "task1").rankings()
    assert rankings.topics == {"A.1": {"7": 1.0, "8": 2.0}}
    assert (rankings.counts["repeated"], rankings.counts["cut"]) == (1, 0)


def test_equal_scores_are_ordered_by_id_as_descending_strings() -> None:
    assert best({"10": 5.0, "9": 5.0, "13": 5.0, "11": 1.5, "99": 9.0})[:4] == [
        "99", "9", "13", "10",
    ]  # fmt: skip


def test_scores_are_compared_as_32_bit_floats() -> None:
    # 16777217 is the first whole number that such a float cannot hold.
    assert best({"1": 16_777_217.0, "2": 16_777_216.0}) == ["2", "1"]
    assert best({"1": 1e300, "2": 2e300})[:1] == ["2"]  # both are infinite


def test_vectors_of_the_protocol() -> None:
    assert best(PRIME_RUN["A.1"]) == ["9", "13", "10", "11", "12"]
    values = measure(RUN, QRELS, MEASURES, 2)
    assert values["A.1"]["ndcg_prime"] == pytest.approx(0.624307, abs=5e-7)
    assert values["A.1"]["map_prime"] == pytest.approx(1 / 3)
    assert values["A.1"]["p10_prime"] == pytest.approx(0.2)
    assert values["A.1"]["bpref"] == pytest.approx(1 / 3)
    assert values["A.2"]["ndcg_prime"] == pytest.approx(1.0)
    assert values["A.2"]["map_prime"] == values["A.2"]["p10_prime"] == 0.0
    assert set(values["A.3"].values()) == {0.0}


def test_a_run_without_unjudged_documents_is_its_own_prime_run() -> None:
    values = measure(PRIME_RUN, QRELS, MEASURES, 2)["A.1"]
    assert values["ndcg"] == values["ndcg_prime"]
    assert values["judged_at_10"] == 1.0


def test_bpref_is_the_same_with_and_without_unjudged_documents() -> None:
    bpref = named_measures("Bpref(rel=2)")
    assert measure(RUN, QRELS, bpref, 1) == measure(PRIME_RUN, QRELS, bpref, 1)


def test_topics_without_any_document_have_the_values_of_an_empty_ranking() -> None:
    # An empty ranking handed to pytrec_eval 0.5.11 ends the process, once there are enough of them.
    qrels = {f"A.{topic}": {str(doc): doc % 4 for doc in range(500)} for topic in range(100)}
    measures = (*MEASURES, *named_measures("AP@10"))
    for rankings in ({}, {"A.1": {"unjudged": 1.0}}):
        for values in measure(rankings, qrels, measures, 2).values():
            assert values["AP@10"] == 0.0
            assert all(values[one.key] == 0.0 for one in MEASURES)


def test_an_average_over_no_topic_is_nothing() -> None:
    assert average(iter([0.5, 0.1])) == pytest.approx(0.3)
    assert average([]) == 0.0
