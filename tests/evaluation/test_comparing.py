"""Comparisons: wins, paired tests, corrections, intervals, topic categories."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.comparing import compare, holm
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.evaluation.topic_sets import read_topic_info, topic_sets

if TYPE_CHECKING:
    from pathlib import Path

A = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
B = [0.3, 0.2, 0.5, 0.3, 0.9, 0.8]


def topics(values: list[float]) -> dict[str, float]:
    return {f"A.{number}": value for number, value in enumerate(values, 1)}


def test_wins_ties_and_losses_are_those_of_the_later_run() -> None:
    (result,) = compare({"a": topics(A), "b": topics(B)})
    assert (result.run, result.baseline) == ("b", "a")
    assert (result.wins, result.ties, result.losses) == (4, 1, 1)
    assert result.mean == pytest.approx(0.5)
    assert result.difference == pytest.approx(0.15)


def test_the_t_test_is_the_paired_one() -> None:
    (result,) = compare({"a": topics(A), "b": topics(B)})
    assert result.t_test_p == pytest.approx(scipy.stats.ttest_rel(B, A).pvalue)


def test_the_randomization_test_of_few_topics_is_exact() -> None:
    differences = np.subtract(B, A)
    means = [np.mean(differences * signs) for signs in product((1, -1), repeat=len(A))]
    extreme = np.mean([abs(mean) >= abs(differences.mean()) - 1e-12 for mean in means])
    (result,) = compare({"a": topics(A), "b": topics(B)})
    assert result.randomization_p == pytest.approx(extreme)


def test_the_interval_holds_the_mean_difference_and_is_the_same_every_time() -> None:
    generator = np.random.default_rng(7)
    base = generator.random(80)
    better = base + generator.normal(0.05, 0.1, 80)
    runs = {"a": topics(base.tolist()), "b": topics(better.tolist())}
    (result,) = compare(runs)
    assert result.low < result.difference < result.high
    # The interval of the normal approximation: mean ± 1.96 standard errors.
    error = float(np.std(better - base) / np.sqrt(80))
    assert result.low == pytest.approx(result.difference - 1.96 * error, abs=0.15 * error)
    assert result.high == pytest.approx(result.difference + 1.96 * error, abs=0.15 * error)
    assert compare(runs) == [result]


def test_equal_runs_do_not_differ() -> None:
    (result,) = compare({"a": topics(A), "b": topics(A)})
    assert (result.t_test_p, result.randomization_p) == (1.0, 1.0)
    assert (result.low, result.difference, result.high, result.ties) == (0.0, 0.0, 0.0, 6)


def test_a_constant_difference_has_no_variance() -> None:
    (result,) = compare({"a": topics(A), "b": topics([value + 0.5 for value in A])})
    assert result.t_test_p == 0.0
    assert result.low == result.high == pytest.approx(0.5)


def test_holm_multiplies_the_smallest_p_value_by_their_number() -> None:
    # Worked by hand: 0.01 * 4, 0.02 * 3, 0.03 * 2 (not below 0.06), 0.5.
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])


def test_the_correction_is_over_the_comparisons_of_one_call() -> None:
    alone = compare({"a": topics(A), "b": topics(B)})[0]
    first, second = compare({"a": topics(A), "b": topics(B), "c": topics(A[::-1])})
    assert alone.t_test_holm == alone.t_test_p
    assert first.t_test_p == alone.t_test_p
    assert [first.t_test_holm, second.t_test_holm] == holm([first.t_test_p, second.t_test_p])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_corrected_p_values_keep_their_order_and_are_not_smaller(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
    pairs = sorted(zip(p_values, corrected, strict=True))
    assert [q for _, q in pairs] == sorted(corrected)
    assert min(corrected) == pytest.approx(min(1.0, len(p_values) * min(p_values)))


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({"a": topics(A)}, "two runs or more"),
        ({"a": topics(A), "b": topics(B[1:])}, "the same topics"),
        ({"a": topics(A[:1]), "b": topics(B[:1])}, "two or more"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(
    runs: dict[str, dict[str, float]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        compare(runs)


def test_topics_are_grouped_by_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "topics.csv"
    path.write_text(
        "\ufeffTopic,assessor,#Answers,HM,Dependency,Difficulty,Category\r\n"
        "A.1,X,500,20,Text,Low,Proof\r\nA.2,X,400,9,Both,Low,Proof\r\nA.9,Y,1,1,Text,High,Concept\r\n"
    )
    info = read_topic_info(path)
    assert {topic: labels["Dependency"] for topic, labels in info.items()} == {
        "A.1": "Text", "A.2": "Both", "A.9": "Text",
    }  # fmt: skip
    assert topic_sets(["A.1", "A.2"], info, "Dependency") == {"Both": ["A.2"], "Text": ["A.1"]}
    assert topic_sets(["A.1", "A.2"], info, "Difficulty") == {"Low": ["A.1", "A.2"]}
    with pytest.raises(InputError, match="none of the judged topics"):
        topic_sets(["A.300"], info, "Category")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: expected the columns Topic"),
        ("Topic,Points\nA.1,3\n", "row 1: .* found Topic, Points"),
    ],
)
def test_a_file_without_labels_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "topics.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_topic_info(path)


def test_the_official_labels_make_the_published_sets(lite: Path) -> None:
    info = read_topic_info(*(lite / "extras").glob("*_Topic_Information.csv"))
    judged = [t for t in info if int(t.removeprefix("A.")) <= 300]

    def sizes(topics: list[str], column: str) -> dict[str, int]:
        return {label: len(some) for label, some in topic_sets(topics, info, column).items()}

    assert sizes(judged, "Dependency") == {"Text": 10, "Formula": 21, "Both": 40}
    assert sizes(judged, "Difficulty") == {"Low": 32, "Medium": 20, "High": 19}
    assert sizes(judged, "Category") == {"Proof": 27, "Concept": 19, "Calculation": 25}
    of_2022 = [topic for topic in info if topic not in judged]
    assert sizes(of_2022, "Dependency") == {"Text": 10, "Formula": 22, "Both": 46}


def test_topics_of_task_2_have_the_labels_of_their_questions() -> None:
    info = {"A.1": {"Difficulty": "Low"}, "A.2": {"Difficulty": "High"}}
    sets = topic_sets(["B.1", "B.2", "B.3"], info, "Difficulty")
    assert sets == {"High": ["B.2"], "Low": ["B.1"]}
    with pytest.raises(InputError, match="'Size': topics are grouped by Dependency, Difficulty"):
        topic_sets(["A.1"], info, "Size")


def test_a_set_has_the_averages_of_its_topics() -> None:
    found = score({"A.1": {"x": 1.0}, "A.2": {"y": 1.0}}, {"A.1": {"x": 3}, "A.2": {"z": 3}})
    assert found.averages(["A.1"])["ndcg_prime"] == 1.0
    assert found.averages(["A.2"])["ndcg_prime"] == 0.0
    assert found.averages()["ndcg_prime"] == 0.5
