"""Kernel, regression and ranking of premises: by hand, and on real data."""

from __future__ import annotations

import json
from dataclasses import replace
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    read_premises,
    read_statements,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.sample_data import NLPS_SAMPLE
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.evaluation.score import score_premises
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.cited.ridge import (
    TextVectors,
    gram,
    inverse_for,
    near_influence,
    whole_influence,
)
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.premises.premise_selection import Model, PremiseRanker, Ridge, Tfidf
from arqmath_bm25.tasks.settings import RidgeSettings, RidgeVariant
from experiments.tuning.premise_folds import cross_validate, folds

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.tasks.cited.candidates import CandidateRanking

ANALYZER = Analyzer(AnalysisSettings())
ALONE = RidgeVariant(method="ridge", profile=0, text=0, citations=0)


def test_the_kernel_is_the_weighted_mean_of_cosines_of_tfidf() -> None:
    weights = {"tokens": 0.75, "words": 0.25, "characters": 0.0}
    vectors, rows = TextVectors.fit(["group", "group ring"], weights, ANALYZER)
    # `group` is in both texts: weight 1; `ring`, and as a token `group ring`, in one.
    ring, unseen = log(3 / 2) + 1, log(3 / 1) + 1
    cosine = 0.75 / sqrt(1 + 2 * ring**2) + 0.25 / sqrt(1 + ring**2)
    assert gram(rows, rows) == pytest.approx(np.array([[1, cosine], [cosine, 1]]))
    # What no text holds counts in the length; a text without any term of a view has cosine 0.
    found = gram(vectors(["field group", ""]), rows)
    assert found[0, 0] == pytest.approx(0.75 / sqrt(1 + 2 * unseen**2) + 0.25 / sqrt(1 + unseen**2))
    assert found[1].tolist() == [0, 0]


def test_influence_is_that_of_ridge_regression() -> None:
    # Rows with cosine .6; (K + .5 I)^-1 = [[1.5, -.6], [-.6, 1.5]] / (1.5² - .6²).
    rows = sparse.csr_matrix([[1, 0], [0.6, 0.8]])
    inverse = inverse_for(rows, 0.5)
    found = np.array([[0, 0.8]]) @ inverse
    assert found == pytest.approx(np.array([[-0.48 / 1.89, 1.2 / 1.89]]))
    # Without the second row, of which the first is a query: .6 / 1.5.
    hidden = whole_influence(np.array([[0.6, 0]]), inverse, [[1]])
    assert hidden == pytest.approx(np.array([[0.4, 0]]))
    assert near_influence(np.array([[0.6, 0]]), rows, 0.5) == pytest.approx(hidden)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("penalty", [0.1, 0.5, 2.0])
def test_a_hidden_fold_gets_what_the_other_rows_say(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    # Beside a column of its own each, so no row is nearly a mixture of others.
    half = sparse.hstack([sparse.random(12, 18, 0.3, rng=rng), sparse.eye(12)], "csr")
    rows = sparse.vstack([half, half], "csr")
    inverse = inverse_for(rows, penalty)
    similarity = gram(sparse.random(20, 30, 0.3, "csr", rng=rng), rows)
    expected = similarity @ np.linalg.inv(gram(rows, rows) + penalty * np.eye(24))
    assert similarity @ inverse == pytest.approx(expected)
    fold, rest = np.array([0, 3, 5, 17]), np.delete(np.arange(24), [0, 3, 5, 17])
    left = np.zeros((4, 24))
    left[:, rest] = gram(rows[fold], rows[rest]) @ inverse_for(rows[rest], penalty)
    similarity = gram(rows[fold], rows)
    similarity[:, fold] = 0
    assert whole_influence(similarity, inverse, [fold.tolist()] * 4) == pytest.approx(left)


TRAINING = [
    Statement("11", "Prime groups are cyclic", ("1", "2")),
    Statement("12", "Rings of prime order", ("2",)),
    Statement("13", "Continuous functions", ("3",)),
]
PREMISES = [Premise("13", "Continuous functions"), Premise("4", "Rings have two operations")]


def ranked(query: str, statement_id: str = "", variant: RidgeVariant = ALONE) -> dict[str, float]:
    model = Model.fit(PREMISES, TRAINING, RidgeSettings(), ANALYZER)
    (ranking,) = Ridge(model, variant).rank([Statement(statement_id, query, ())], 9)
    return dict(ranking)


def test_citations_of_similar_statements_decide() -> None:
    assert list(ranked("Cyclic prime groups"))[:2] == ["2", "1"]
    found = ranked("Functions that are continuous")
    assert list(found)[:2] == ["3", "13"]  # a statement cites itself less than others
    assert found["13"] == pytest.approx(0.8 * found["3"])


def test_a_premise_that_was_never_cited_is_found_by_its_text() -> None:
    assert next(iter(ranked("Operations", variant=ALONE.model_copy(update={"text": 2})))) == "4"
    often = ranked("zyzzyva", variant=ALONE.model_copy(update={"citations": 0.1}))
    assert often["2"] == pytest.approx(0.1)
    assert often["1"] == pytest.approx(0.1 * log(2) / log(3))


def test_a_statement_neither_votes_for_itself_nor_is_its_own_premise() -> None:
    found = ranked("Continuous functions", "13")
    assert list(found)[-1] == "13"
    assert found["3"] <= 0  # nobody else cites it


def test_folds_hold_statements_that_cite_and_are_not_cited() -> None:
    training = [Statement(str(n), "text", (str(n // 2),) if n else ()) for n in range(40)]
    found = folds(training)
    assert len(found) == 5
    assert sorted(np.concatenate(found).tolist()) == list(range(20, 40))
    assert [f.tolist() for f in found] == [f.tolist() for f in folds(list(training))]


def sample() -> tuple[list[Premise], list[Statement]]:
    files = PremiseFiles.at(NLPS_SAMPLE)
    return read_premises(files.knowledge_base), read_statements(files.train)


def test_what_is_fitted_has_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    premises, training = sample()
    many = [replace(s, statement_id=f"9{n}{s.statement_id}") for n in range(3) for s in training]
    for name, threads in (("a", 1), ("b", 2)):
        with threadpool_limits(threads):
            model = Model.fit(premises, [*training, *many], RidgeSettings(), ANALYZER)
            model.save(tmp_path / name)
    for path in (tmp_path / "a").rglob("*.np?"):
        other = tmp_path / "b" / path.relative_to(tmp_path / "a")
        assert path.read_bytes() == other.read_bytes(), path.name
    # What is read again ranks as what was written.
    again = Model.load(tmp_path / "a", RidgeSettings(), ANALYZER)
    asked = [Statement("", "Every subgroup of the center is normal", ())]
    assert list(Ridge(again, ALONE).rank(asked, 5)) == list(Ridge(model, ALONE).rank(asked, 5))


def test_cross_validation_hides_the_fold(tmp_path: Path) -> None:
    """Premises that one statement cites: with that in the fold, nobody knows them."""
    train = {f"5{n}": {"text": f"thing{n}", "premises": [str(n)]} for n in range(20)}
    (tmp_path / "knowledge_base.json").write_text(json.dumps({"900": "A thing of its own"}))
    (tmp_path / "train_set.json").write_text(json.dumps(train))
    task, data = configured("nlps"), CollectionFiles(tmp_path, tmp_path / "indexes")
    ensure(IndexContent.of(task.index_task, data), HERE)
    ranker = PremiseRanker(OpenIndex.of(task, data), task.settings)
    scores = cross_validate(ranker, read_statements(tmp_path / "train_set.json"), "ridge")
    assert [len(score.values) for score in scores] == [4] * 5
    # Seen, every statement would find its own premise first.
    assert all(score.to_json()["AP(rel=1)@500"] < 0.5 for score in scores)


@pytest.mark.slow
@pytest.mark.nightly
def test_goals_on_the_real_dev_set(shared: Path) -> None:
    files = PremiseFiles.at(shared / "data" / "nlps")
    premises, training = read_premises(files.knowledge_base), read_statements(files.train)
    config, dev = configured("nlps").settings, read_statements(files.statements("dev"))
    model = Model.fit(
        premises, training, config.ridge, Analyzer(AnalysisSettings(text=config.analysis.text))
    )
    nearest = Tfidf([Premise(s.statement_id, s.text) for s in training]).rank(dev, 1)
    new = [s for s, ((_, cosine),) in zip(dev, nearest, strict=True) if cosine < 0.9]
    assert len(new) == 1127

    def scores(ranker: Ridge, asked: list[Statement]) -> tuple[float, float]:
        rankings: list[CandidateRanking] = list(ranker.rank(asked, 500))
        found = zip(asked, rankings, strict=True)
        predicted = {s.statement_id: tuple(p for p, _ in ranking) for s, ranking in found}
        values = score_premises(predicted, {s.statement_id: s.references for s in asked}).to_json()
        return values["AP(rel=1)@500"], values["MAP@500 (official)"]

    ridge = config.variants["ridge"]
    assert isinstance(ridge, RidgeVariant)
    standard, official = scores(Ridge(model, ridge), dev)
    assert standard >= 0.363
    assert official >= 0.395
    assert scores(Ridge(model, ridge), new)[0] >= 0.32
