"""Fusion of rankings: values by hand from the papers' formulas, order as trec_eval sees it."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.runs.fusion import check_weights, fuse_rankings, min_max, reciprocal_ranks
from arqmath_bm25.runs.run_writing import separated

A = [("x", 9.0), ("y", 5.0), ("z", 1.0)]
B = [("z", 0.2), ("x", 0.1)]


def test_reciprocal_rank_fusion() -> None:
    assert fuse_rankings([A, B], [1, 1], "rrf") == [
        ("x", pytest.approx(1 / 61 + 1 / 62)),
        ("z", pytest.approx(1 / 63 + 1 / 61)),
        ("y", pytest.approx(1 / 62)),
    ]
    assert fuse_rankings([A, B], [1, 3], "rrf", k=1)[0] == ("z", pytest.approx(1 / 4 + 3 / 2))


def test_weighted_sum_of_scores_between_0_and_1() -> None:
    assert fuse_rankings([A, B], [1, 0.5], "weighted") == [("x", 1.0), ("z", 0.5), ("y", 0.5)]
    assert fuse_rankings([A, B], [1, 2], "weighted")[0] == ("z", 2.0)


def test_scores_that_do_not_differ_all_count_fully() -> None:
    assert min_max([("a", -1.0), ("b", -1.0)]) == [1.0, 1.0]
    assert min_max([("a", 0.0)]) == [1.0]
    assert min_max([]) == []
    assert min_max([("a", 1.7e308), ("b", 0.0), ("c", -1.7e308)]) == [1.0, 0.5, 0.0]


def test_a_topic_that_a_run_lacks_is_fused_from_the_others() -> None:
    assert fuse_rankings([[], B], [1, 1], "rrf") == list(
        zip(["z", "x"], reciprocal_ranks(B, 60), strict=True)
    )
    assert fuse_rankings([[], []], [1, 1], "weighted") == []


def test_ties_are_broken_by_id_descending_as_strings() -> None:
    fused = fuse_rankings([[("10", 3.0), ("9", 2.0)], [("9", 3.0), ("10", 2.0)]], [1, 1], "rrf")
    assert [doc for doc, _ in fused] == ["9", "10"]


rankings = st.dictionaries(
    st.integers(0, 30).map(str), st.floats(-(2.0**99), 2.0**99, width=32), max_size=12
).map(lambda scores: sorted(scores.items(), key=lambda hit: (hit[1], hit[0]), reverse=True))
methods = st.sampled_from(["rrf", "weighted"])


@given(st.permutations(list(range(4))), st.lists(rankings, min_size=4, max_size=4), methods)
def test_the_order_of_runs_does_not_matter(order, lists, method) -> None:
    weights = [1.0, 0.1, 0.3, 0.7]
    fused = fuse_rankings(lists, weights, method)
    permuted = fuse_rankings([lists[i] for i in order], [weights[i] for i in order], method)
    assert permuted == fused


@given(st.lists(rankings, min_size=2, max_size=3), methods)
def test_trec_eval_sees_the_order_that_is_written(lists, method) -> None:
    fused = fuse_rankings(lists, [1.0] * len(lists), method)
    scores = separated([score for _, score in fused])
    assert (np.diff(np.float32(scores)) < 0).all()
    assert {doc for doc, _ in fused} == {doc for ranking in lists for doc, _ in ranking}
    for rank, (doc, _) in enumerate(fused, 1):
        # With one relevant document its reciprocal rank says where trec_eval sees it.
        judge = pytrec_eval.RelevanceEvaluator({"A.1": {doc: 1}}, {"recip_rank"})
        run = dict(zip([d for d, _ in fused], scores, strict=True))
        assert judge.evaluate({"A.1": run})["A.1"]["recip_rank"] == pytest.approx(1 / rank)


def test_two_runs_are_enough() -> None:
    assert check_weights("a.tsv", None, 2) == [1, 1]
    with pytest.raises(InputError, match=r"a\.tsv: one run alone; fusion takes two or more"):
        check_weights("a.tsv", None, 1)
