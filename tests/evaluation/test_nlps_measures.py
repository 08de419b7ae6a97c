"""NLPS: the shared task's own average precision, the standard one, and recall."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.score import read_gold, score_premises
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from pathlib import Path

LONG = "283179182911182673402012337493814021913"  # 39 digits
NEXT = "283179182911182673402012337493814021914"  # the same as a float
JUNK = [f"7{number:038}" for number in range(600)]


def gold_file(tmp_path: Path, gold: object) -> Path:
    path = tmp_path / "dev_set.json"
    path.write_text(json.dumps(gold))
    return path


def script_average_precision(ranking: list[str], relevant: set[str], depth: int) -> float:
    """Compute what `evaluate.py` of the shared task does, written anew from its steps."""
    flags = [premise in relevant for premise in ranking[:depth]]
    at_hits = [sum(flags[: k + 1]) / (k + 1) for k, hit in enumerate(flags) if hit]
    return sum(at_hits) / len(at_hits) if at_hits else 0.0


def test_precision_is_averaged_over_retrieved_or_over_all_relevant_premises() -> None:
    # Relevant premises at ranks 1, 2, 4, 6 and 10: the example in the script has 0.7833.
    ranking = [*"abxcydzvwe", *JUNK][:500]
    result = score_premises({"s": tuple(ranking)}, {"s": tuple("abcdefgh")})
    assert result.values["s"]["map_500_official"] == pytest.approx(0.78333333)
    assert result.values["s"]["map_500"] == pytest.approx(0.78333333 * 5 / 8)
    assert result.values["s"]["recall_500"] == 5 / 8
    assert result.warnings == ()


def test_only_the_first_500_premises_count() -> None:
    ranking = [*JUNK[:499], "a", "b"]
    values = score_premises({"s": tuple(ranking)}, {"s": ("a", "b")}).values["s"]
    assert values == {"map_500_official": 1 / 500, "map_500": 1 / 1000, "recall_500": 0.5}


def test_statements_without_predictions_count_zero_and_are_named() -> None:
    full = ("a", *JUNK[:499])
    result = score_premises({"s": full, "t": ("a",)}, {"s": ("a",), "t": ("a",), "u": ("a",)})
    assert result.to_json() == {
        "MAP@500 (official)": pytest.approx(2 / 3), "AP(rel=1)@500": pytest.approx(2 / 3),
        "R(rel=1)@500": pytest.approx(2 / 3), "statements": 3, "relevant": 1,
        "warnings": [
            "1 statements are not predicted and count 0; the official script refuses this",
            "1 statements have fewer than 500 premises; the official script refuses this",
        ],
    }  # fmt: skip


def test_predictions_for_other_statements_are_refused() -> None:
    with pytest.raises(InputError, match="none of the 1 statements of the gold file is predicted"):
        score_premises({"x": ("a",)}, {"s": ("a",)})


def test_ids_of_39_digits_are_kept_digit_by_digit(tmp_path: Path) -> None:
    assert float(LONG) == float(NEXT)
    gold = read_gold(gold_file(tmp_path, {LONG: {"text": "…", "premises": [int(NEXT)]}}))
    assert gold == {LONG: {NEXT: 1}}
    path = tmp_path / "predict.txt"
    path.write_text(f"{LONG}\t{LONG}\n{LONG}\t{NEXT}\n")
    predicted = {t: tuple(docs) for t, docs in Run.read(path, "nlps").rankings(500).topics.items()}
    assert predicted == {LONG: (LONG, NEXT)}
    assert score_premises(predicted, gold).values[LONG]["map_500_official"] == 0.5


def test_repeated_premises_keep_their_first_rank_as_in_the_script(tmp_path: Path) -> None:
    path = tmp_path / "predict.txt"
    path.write_text("1\t5\r\n1\t5\r\n2\t8\r\n1\t6\r\n1\t5")
    assert {t: tuple(docs) for t, docs in Run.read(path, "nlps").rankings(500).topics.items()} == {
        "1": ("5", "6"),
        "2": ("8",),
    }


def test_a_set_without_relevant_premises_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a test set has them masked"):
        read_gold(gold_file(tmp_path, {"1": {"text": "…", "premises": []}}))


def test_a_gold_id_that_was_rounded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"statement 1 premises 0: .* found '2\.8e\+38'"):
        read_gold(gold_file(tmp_path, {"1": {"text": "…", "premises": [2.8e38]}}))


def test_predictions_need_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "predict.txt"
    path.write_text("1\t5\n1 5 0.3\n")
    with pytest.raises(InputError, match=r"row 2: expected 2 columns .* found 3"):
        {t: tuple(docs) for t, docs in Run.read(path, "nlps").rankings(500).topics.items()}


PREMISES = st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=12)


@settings(deadline=None)
@given(PREMISES, st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_the_averages_are_those_of_the_script_and_of_trec_eval(
    ranking: list[str], relevant: set[str]
) -> None:
    values = score_premises({"s": tuple(ranking)}, {"s": tuple(relevant)}).values["s"]
    assert values["map_500_official"] == pytest.approx(
        script_average_precision(ranking, relevant, 500)
    )
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"s": dict.fromkeys(relevant, 1)}, {"map_cut.500", "recall.500"}
    )
    found = evaluator.evaluate({"s": {doc: -float(rank) for rank, doc in enumerate(ranking)}})["s"]
    assert values["map_500"] == pytest.approx(found["map_cut_500"])
    assert values["recall_500"] == pytest.approx(found["recall_500"])


def test_the_gold_of_the_shared_task_can_be_read_and_its_test_set_is_masked(shared: Path) -> None:
    gold = read_gold(shared / "data" / "nlps" / "dev_set.json")
    assert len(gold) == 1430
    assert sum(map(len, gold.values())) == 4076  # distinct; some statements repeat a premise
    assert min(len(premise) for premises in gold.values() for premise in premises) > 30
    with pytest.raises(InputError, match="masked"):
        read_gold(shared / "data" / "nlps" / "test_set.json")
