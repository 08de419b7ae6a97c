"""The supervised ranking: its formula by hand, its edges, and its goals on real data."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    Statement,
    read_premises,
    read_statements,
)
from arqmath_bm25.config import SupervisedVariant, load_nlps
from arqmath_bm25.evaluation.nlps import score_premises
from arqmath_bm25.lucene.search import Hit
from arqmath_bm25.retrieval.nlps import Nlps, build_index
from arqmath_bm25.retrieval.nlps_ranking import Candidates
from arqmath_bm25.retrieval.nlps_supervised import Supervised
from arqmath_bm25.retrieval.nlps_tfidf import Tfidf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TRAINING = [
    Statement("11", "first", ("1", "2")),
    Statement("12", "second", ("2",)),
    Statement("13", "third", ("3", "2")),
]


class Found:
    """An index that finds the same for every query, cut at k."""

    def __init__(self, **scores: float) -> None:
        self.hits = [Hit(doc_id.removeprefix("_"), score) for doc_id, score in scores.items()]

    def search_many(self, queries: Iterable[object], k: int, threads: int) -> Iterator[list[Hit]]:
        for _ in queries:
            yield self.hits[:k]


def ranking(
    statement_id: str,
    statements: Found,
    profiles: Found | None = None,
    texts: Found | None = None,
    **changes: float,
) -> list[tuple[str, float]]:
    weights = {"votes": 0, "profile": 0, "text": 0, "citations": 0, "sharpness": 1, **changes}
    variant = SupervisedVariant(
        method="supervised", fields={"contents": 1}, **{"neighbours": 2, **weights}
    )
    ranker = Supervised(
        Candidates("12345"),
        texts or Found(),  # type: ignore[arg-type]
        statements,  # type: ignore[arg-type]
        profiles or Found(),  # type: ignore[arg-type]
        TRAINING,
        lambda text: {},
        variant,
    )
    (found,) = ranker.rank([Statement(statement_id, "", ())], 5, 1)
    return found


def test_the_score_is_the_formula_of_the_module() -> None:
    parts = {
        "statements": Found(_11=8, _12=4, _13=1),  # the third is not among the 2 nearest
        "profiles": Found(_3=10, _2=5),
        "texts": Found(_5=3, _1=1.5),
    }
    found = dict(ranking("99", **parts, sharpness=3, votes=1, profile=0.2, text=0.3, citations=0.1))
    # Votes: 1 gets 1, 2 gets 1 + (4/8)^3; citations: 1 and 3 have 1, 2 has 3.
    one = log(2) / log(4)
    expected = {
        "1": 1 / 1.125 + 0.3 * 0.5 + 0.1 * one,
        "2": 1 + 0.2 * 0.5 + 0.1,
        "3": 0.2 + 0.1 * one,
        "4": 0,
        "5": 0.3,
    }
    assert found == pytest.approx(expected)
    assert list(found) == ["2", "1", "5", "3", "4"]


def test_a_premise_that_was_never_cited_is_found_by_its_text() -> None:
    found = ranking("99", Found(_11=8), texts=Found(_4=9), votes=1, text=1.1)
    assert found[0] == ("4", pytest.approx(1.1))


def test_a_statement_neither_votes_for_itself_nor_is_its_own_premise() -> None:
    # Statement 11 is in the training set; its neighbours are 12 and 13 then.
    found = ranking("11", Found(_11=8, _12=4, _13=2), votes=1)
    assert found[:2] == [("2", 1), ("3", pytest.approx(0.5 / 1.5))]
    # Statement 2 is a premise as well.
    assert [premise for premise, _ in ranking("2", Found(_11=8), votes=1)] == list("15432")


def test_without_any_match_the_most_cited_come_first() -> None:
    assert [p for p, _ in ranking("99", Found(), votes=1, citations=0.1)] == list("23154")


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Nlps, PremiseFiles]:
    """The real collection, indexed with the default configuration."""
    files = PremiseFiles.at(shared / "data" / "nlps")
    index = tmp_path_factory.mktemp("nlps") / "index"
    settings = load_nlps()
    build_index(files.knowledge_base, files.train, index, settings, 2)
    return Nlps(index, settings, files.knowledge_base, files.train), files


@pytest.mark.slow
def test_goals_on_real_statements_whose_premises_are_all_known(
    real: tuple[Nlps, PremiseFiles],
) -> None:
    nlps, files = real
    training = read_statements(files.train)
    known = {premise.premise_id for premise in read_premises(files.knowledge_base)}
    known |= {premise for statement in training for premise in statement.premises}
    dev = [s for s in read_statements(files.statements("dev")) if known.issuperset(s.premises)]
    assert len(dev) == 1182
    ranked = nlps.ranker("supervised").rank(dev, 500, 2)
    predicted = {
        statement.statement_id: tuple(premise for premise, _ in ranking)
        for statement, ranking in zip(dev, ranked, strict=True)
    }
    assert all(len(set(premises)) == 500 for premises in predicted.values())
    gold = {statement.statement_id: statement.premises for statement in dev}
    score = score_premises(predicted, gold).to_json()
    assert score["map_500"] >= 0.34
    assert score["map_500_official"] >= 0.35
    assert score["recall_500"] >= 0.92
    # Statements that nearly repeat one of the training set are not what it lives on.
    nearest = Tfidf([Premise(s.statement_id, s.text) for s in training]).rank(dev, 1, 1)
    new = [s for s, ((_, cosine),) in zip(dev, nearest, strict=True) if cosine < 0.9]
    assert len(new) == 908
    score = score_premises(predicted, {s.statement_id: s.premises for s in new}).to_json()
    assert score["map_500"] >= 0.31
