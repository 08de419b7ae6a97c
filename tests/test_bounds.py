"""What unjudged hits could do to scores, and what one team's hits did to a pool."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.measures import MEASURES
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.evaluation.unjudged import KEYS, bounds, bounds_of_topic, leave_out, team_of

DOCS = [f"d{number}" for number in range(9)]
JUDGED = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), min_size=1, max_size=9)


def of_trec_eval(ranking: list[str], grades: dict[str, int]) -> dict[str, float]:
    run = {"q": {doc: -float(rank) for rank, doc in enumerate(ranking)}}
    return score(run, {"q": grades}, MEASURES).values["q"]


def test_one_topic_by_hand() -> None:
    # u unjudged, then a relevant document: AP is 1/2, or (1 + 1) / 2.
    found = bounds_of_topic(["u", "r"], {"r": 3})
    assert found["map"] == (pytest.approx(1 / 2), pytest.approx(1.0))
    assert found["p10"] == (pytest.approx(1 / 10), pytest.approx(2 / 10))
    # Below it, one more relevant document is worse, since it is found late: (1 + 2/3) / 2.
    found = bounds_of_topic(["r", "n", "u"], {"r": 3, "n": 0})
    assert found["map"] == (pytest.approx((1 + 2 / 3) / 2), pytest.approx(1.0))
    assert bounds_of_topic([], {"r": 3})["ndcg"] == (0.0, 0.0)


@settings(deadline=None, max_examples=60)
@given(st.permutations(DOCS), st.integers(1, 7), JUDGED)
def test_bounds_are_the_ends_of_every_way_to_judge_what_is_not_judged(
    docs: list[str], depth: int, grades: dict[str, int]
) -> None:
    ranking = docs[:depth]
    unjudged = [doc for doc in ranking if doc not in grades]
    ways = [
        of_trec_eval(ranking, grades | dict(zip(unjudged, labels, strict=True)))
        for labels in product((0, 3), repeat=len(unjudged))
    ]
    found = bounds_of_topic(ranking, grades)
    for key in KEYS:
        values = [way[key] for way in ways]
        assert found[key] == (pytest.approx(min(values)), pytest.approx(max(values))), key


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from("abc"), JUDGED, min_size=1), st.permutations(DOCS))
def test_bounds_contain_the_score(qrels: dict[str, dict[str, int]], docs: list[str]) -> None:
    run = {topic: {doc: -float(at) for at, doc in enumerate(docs)} for topic in [*qrels][:2]}
    averages = score(run, qrels).averages()
    for key, (low, high) in bounds(run, qrels).items():
        assert low - 1e-9 <= averages[key] <= high + 1e-9


def test_what_one_team_alone_brought_is_left_out() -> None:
    def ranking(docs: str) -> dict[str, float]:
        return {doc: -float(rank) for rank, doc in enumerate(docs)}

    runs = {
        "X-1": {"A.1": ranking("abz")}, "X-2": {"A.1": ranking("ac")}, "Y": {"A.1": ranking("cdy")},
    }  # fmt: skip
    teams = {"X-1": "X", "X-2": "X", "Y": "Y"}
    qrels = {"A.1": {"a": 3, "b": 1, "c": 2, "d": 2, "o": 3}, "A.2": {"q": 3}}
    everything, without_x, without_y = leave_out(runs, teams, qrels, depth=2)
    assert (everything.team, everything.judgments) == ("", 0)
    assert everything.scores["Y"] == score(runs["Y"], qrels).averages()
    assert (without_x.team, without_x.judgments, without_x.relevant) == (
        "X",
        2,
        1,
    )  # a, b (of grade 1: not relevant); not c
    assert without_x.scores["X-1"]["map"] == 0.0
    left = {"A.1": {"c": 2, "d": 2, "o": 3}, "A.2": {"q": 3}}  # o: of runs that are not given
    assert without_x.scores["Y"] == score(runs["Y"], left).averages()
    assert (without_y.team, without_y.judgments, without_y.relevant) == ("Y", 1, 1)  # d
    with pytest.raises(InputError, match="X alone brought every judgment"):
        leave_out({"X-1": runs["X-1"]}, teams, {"A.1": {"a": 3}}, depth=2)


def test_teams_are_told_by_official_names() -> None:
    assert team_of(Path("prime_Team-task1-a-auto-both-P.tsv")) == "Team"
    assert team_of(Path("mine.tsv")) == "mine"
