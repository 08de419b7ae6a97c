"""The tf-idf baseline ranks as the shared task's script does, except that ties have an order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    read_premises,
    read_statements,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.sample_data import NLPS_SAMPLE
from arqmath_bm25.tasks.cited.candidates import Candidates
from arqmath_bm25.tasks.premises.premise_selection import Tfidf

if TYPE_CHECKING:
    from pathlib import Path


def official(premises: list[Premise], statements: list[Statement]) -> np.ndarray:
    """Return all cosine distances, as the script computes them."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_distances

    vectorizer = TfidfVectorizer().fit([premise.text for premise in premises])
    return cosine_distances(
        vectorizer.transform([s.text for s in statements]),
        vectorizer.transform([p.text for p in premises]),
    )


def assert_official(premises: list[Premise], statements: list[Statement], depth: int) -> None:
    place = {premise.premise_id: at for at, premise in enumerate(premises)}
    ranked = list(Tfidf(premises).rank(statements, depth))
    for distances, ranking in zip(official(premises, statements), ranked, strict=True):
        ours = distances[[place[premise] for premise, _ in ranking]]
        # The same distances in the same order: the same ranking up to ties.
        np.testing.assert_allclose(ours, np.sort(distances)[:depth], atol=1e-9)
        assert len(dict(ranking)) == len(ranking) == min(depth, len(premises))


def test_scores_are_those_of_a_calculation_by_hand() -> None:
    ranker = Tfidf([Premise("1", "aa bb"), Premise("2", "bb cc"), Premise("3", "dd x")])
    (ranking,) = ranker.rank([Statement("9", "AA and bb", ())], 3)
    # idf = ln((1 + n) / (1 + df)) + 1; single letters are no words, unknown words do not count
    rare, shared = math.log(4 / 2) + 1, math.log(4 / 3) + 1
    expected = [("1", 1), ("2", shared**2 / (rare**2 + shared**2)), ("3", 0)]
    assert ranking == [(premise, pytest.approx(score)) for premise, score in expected]


def test_the_ranking_is_the_official_one_on_the_sample() -> None:
    files = PremiseFiles.at(NLPS_SAMPLE)
    premises = read_premises(files.knowledge_base)
    assert_official(premises, read_statements(files.statements("dev")), 50)
    assert_official(premises, read_statements(files.statements("dev")), 500)


@pytest.mark.slow
def test_the_ranking_is_the_official_one_on_real_statements(shared: Path) -> None:
    files = PremiseFiles.at(shared / "data" / "nlps")
    premises = read_premises(files.knowledge_base)
    assert_official(premises, read_statements(files.statements("dev")), 500)


def test_ties_are_ordered_by_descending_id() -> None:
    first, second = "28685985635914523459309806228640732355", "3"
    ranker = Tfidf([Premise(first, "aa"), Premise(second, "aa"), Premise("1", "bb")])
    (ranking,) = ranker.rank([Statement("9", "aa", ())], 3)
    assert [premise for premise, _ in ranking] == [second, first, "1"]
    (ranking,) = ranker.rank([Statement("9", "aa", ())], 1)  # also where the list is cut
    assert [premise for premise, _ in ranking] == [second]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    files = PremiseFiles.at(NLPS_SAMPLE)
    statements = read_statements(files.statements("dev"))
    ranker = Tfidf(read_premises(files.knowledge_base))
    whole = list(ranker.rank(statements, 20))
    monkeypatch.setattr("arqmath_bm25.tasks.premises.premise_selection.BLOCK", 3)
    assert list(ranker.rank(statements, 20)) == whole


SCORES = st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=60)


@given(SCORES, st.integers(min_value=1, max_value=70))
def test_the_best_are_the_first_of_a_full_sort(scores: list[int], depth: int) -> None:
    candidates = Candidates(str(n) for n in range(len(scores)))
    by_id = {str(n): score for n, score in enumerate(scores)}
    of_candidates = np.array([float(by_id[premise]) for premise in candidates.ids])
    best = candidates.best(of_candidates, depth)
    full = sorted(sorted(by_id, reverse=True), key=lambda one: -by_id[one])
    assert [premise for premise, _ in best] == full[:depth]
    last = full[0]
    ranking = candidates.best(of_candidates, len(scores), last=last)
    assert [premise for premise, _ in ranking] == [*full[1:], last]
