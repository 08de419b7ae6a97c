"""The second stage of Task 1 on three threads; expected scores are added up by hand."""

from __future__ import annotations

from itertools import combinations
from math import log
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from all_fields import all_fields

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings, LatexSettings
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks.answers.answer_documents import write_answer_documents
from arqmath_bm25.tasks.answers.post_signatures import SIGNATURES, write_signatures
from arqmath_bm25.tasks.answers.second_stage import AnswerStage
from arqmath_bm25.tasks.settings import StageSettings

if TYPE_CHECKING:
    from pathlib import Path

POSTS = r"""<posts>
<row Id="1" PostTypeId="1" Title="of $a^2+b^2$" Body="$x$ &lt;p>"/>
<row Id="2" PostTypeId="2" ParentId="1" Body="words"/>
<row Id="3" PostTypeId="2" ParentId="1" Body="$\sqrt x$ and $\frac{x}{y}$"/>
<row Id="4" PostTypeId="1" Title="none" Body="unanswered $z$"/>
<row Id="5" PostTypeId="1" Title="two" Body="$$\sum_i i$$"/>
<row Id="6" PostTypeId="2" ParentId="5" Body="$u^2+v^2$"/>
<row Id="7" PostTypeId="2" ParentId="70" Body="$\sqrt y$, whose question is missing"/>
</posts>"""
DISTINCT = 5  # signatures: of a sum of squares, a letter, a root, a fraction, a sum over i
HITS = [Hit("6", 4), Hit("3", 3), Hit("7", 2), Hit("2", 1)]


def built(place: Path, workers: int) -> AnswerStage:
    place.mkdir()
    (place / "Posts.xml").write_text(POSTS)
    table = PostTable.scan(place / "Posts.xml")
    settings = AnalysisSettings(latex=LatexSettings(operators=True))
    (place / "documents").mkdir()
    documents = place / "documents"
    write_answer_documents(table, all_fields(settings), documents, Processes(workers))
    write_signatures(place / "documents", place / SIGNATURES)
    index = SimpleNamespace(directory=place, collection=SimpleNamespace(posts=table))
    return AnswerStage(index, Analyzer(settings))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> AnswerStage:
    return built(tmp_path_factory.mktemp("stage") / "index", 1)


def scores(stage: AnswerStage, topic: Topic, **weights: float) -> dict[str, float]:
    hits = stage(topic, HITS, StageSettings.model_validate(weights))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return {hit.doc_id: hit.score for hit in hits}


def test_a_thread_adds_the_share_of_its_best_score_that_its_weight_says(stage: AnswerStage) -> None:
    threads = {"6": 1.5 * 4, "3": 1.5 * 3, "7": 1.5 * 2, "2": 1 + 3 / 2}
    assert scores(stage, Topic("", "x"), thread=0.5) == pytest.approx(threads)


def test_formulas_count_in_answer_question_and_title(stage: AnswerStage) -> None:
    def gained(topic: Topic) -> list[float]:
        found = scores(stage, topic, formulas=1)
        return [found[hit.doc_id] - hit.score for hit in HITS]

    # 6 has it itself, 2 in its question's title, which counts alone and with the question's body.
    six, three, seven, two = gained(Topic("", "$p^2+q^2$"))
    assert two == pytest.approx(2 * six)
    assert three > two > seven > 0  # a root is a power, and so a little like it
    # In the body a formula weighs half as much, and nothing if the title has it.
    halves = gained(Topic("", "", "<p>$p^2+q^2$</p>"))
    assert halves == pytest.approx([six / 2, three / 2, seven / 2, two / 2], abs=1e-5)
    twice = gained(Topic("", "$p^2+q^2$", "<p>$p^2+q^2$</p>"))
    assert twice == pytest.approx([six, three, seven, two], abs=1e-5)
    assert gained(Topic("", "no formula")) == [0, 0, 0, 0]


def test_the_three_most_telling_formulas_of_a_body_count(stage: AnswerStage) -> None:
    def gained(formulas: tuple[str, ...]) -> dict[str, float]:
        body = " and ".join(f"${formula}$" for formula in formulas)
        found = scores(stage, Topic("", "", body), formulas=1)
        return {doc: round(score, 5) for doc, score in found.items()}

    formulas = ("p^2+q^2", r"\frac{p}{q}", r"\sqrt p", r"\sum_i i")
    threes = list(combinations(formulas, 3))
    assert sum(gained(formulas) == gained(three) for three in threes) == 1
    for three in threes:
        assert all(gained(three) != gained(two) for two in combinations(three, 2))


def test_idf_counts_formulas_that_differ(stage: AnswerStage) -> None:
    """a^2+b^2 and u^2+v^2 are alike, so that a sum, as what no other formula is, tells most."""
    (terms,) = stage._of(stage._analyzer.title("$x^2+y^2$")).values()
    values = stage._signatures.idf(terms)
    assert values.max() == stage._signatures.idf.unseen == pytest.approx(log(1 + DISTINCT))


def test_ranks_below_the_depth_stay(stage: AnswerStage) -> None:
    settings = StageSettings(thread=1, depth=2)
    assert stage(Topic("", "x"), HITS, settings)[2:] == HITS[2:]
    assert stage(Topic("", "x"), [], settings) == []


def test_ties_are_in_descending_order_of_ids(stage: AnswerStage) -> None:
    hits = [Hit("7", 1), Hit("2", 1), Hit("3", 1)]
    found = stage(Topic("", "x"), hits, StageSettings(thread=1))
    assert [hit.doc_id for hit in found] == ["7", "3", "2"]


def test_signatures_do_not_depend_on_parts_and_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path / "one", 1)
    monkeypatch.setattr("arqmath_bm25.tasks.answers.answer_documents._PER_PART", 1)
    built(tmp_path / "parts", 2)
    files = sorted((tmp_path / "one" / SIGNATURES).iterdir())
    assert len(files) == 7
    # 100 GB of posts have more terms than 32 bits can number.
    assert np.load(tmp_path / "one" / SIGNATURES / "starts.npy").dtype == np.int64
    for file in files:
        assert (tmp_path / "parts" / SIGNATURES / file.name).read_bytes() == file.read_bytes()
