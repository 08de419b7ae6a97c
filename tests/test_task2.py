"""Rankings of formulas: what is like a formula, and by which instance it is shown."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.formula_topics import read_formula_topics
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import YEARS, Layout
from arqmath_bm25.config import Task2Settings, load_task1, load_task2
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.evaluation.visual import VisualIds, by_visual_id
from arqmath_bm25.retrieval import task1
from arqmath_bm25.retrieval.task2 import Task2, build_index, why_stale
from arqmath_bm25.runs import separated
from arqmath_bm25.sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

LAYOUT = Layout(SAMPLE)
FORMULAS = LAYOUT.formulas()
SETTINGS = load_task2()


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Task2:
    path = tmp_path_factory.mktemp("indexes")
    posts, links = LAYOUT.posts(), LAYOUT.post_links()
    task1.build_index(posts, links, path / "task1", load_task1(), threads=1)
    build_index(FORMULAS, path / "task2", SETTINGS, threads=1)
    answers = task1.Task1(path / "task1", load_task1(), posts, links)
    return Task2(path / "task2", SETTINGS, FORMULAS, answers)


@pytest.fixture(scope="module")
def rows() -> dict[str, tuple[str, str, str]]:
    """Formula id → LaTeX, post, visual id of everything that may be returned."""
    found = (row for row in read_formulas(FORMULAS) if row.type != "comment")
    return {row.formula_id: (row.latex, row.post_id, row.visual_id) for row in found}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        (r"\sqrt2+\sqrt3", r"\sqrt2+\sqrt3"),  # itself
        (r"\sum_{j=0}^m j\binom mj", r"\sum_{k=0}^n k\binom nk=n2^{n-1}"),  # other names
        (r"(u+v+w)(\frac1u+\frac1v+\frac1w)", r"(x+y+z)\left(\frac1x+\frac1y+\frac1z\right)\ge9"),
    ],
)
def test_the_best_hit_is_like_the_query(
    ranker: Task2, rows: dict[str, tuple[str, str, str]], query: str, first: str
) -> None:
    hits = ranker.search([query], "", "math", depth=3)
    assert first in [rows[hit.formula_id][0] for hit in hits]


def test_every_formula_is_returned_once_with_its_post(
    ranker: Task2, rows: dict[str, tuple[str, str, str]]
) -> None:
    topics = read_formula_topics(LAYOUT.task2_topics("2021"))
    for variant in SETTINGS.variants:
        for _, hits in ranker.rank(topics, variant, depth=100, threads=2):
            assert len({hit.visual_id for hit in hits}) == len(hits) <= 100
            for hit in hits:
                assert rows[hit.formula_id][1:] == (hit.post_id, hit.visual_id)
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert separated(scores)


def test_one_topic_is_ranked_as_among_others(ranker: Task2) -> None:
    topics = read_formula_topics(LAYOUT.task2_topics("2020"))
    for variant in SETTINGS.variants:
        all_hits = [hits for _, hits in ranker.rank(topics, variant, 50, threads=2)]
        ((_, alone),) = ranker.rank(topics[2:3], variant, 50, threads=1)
        assert alone == all_hits[2]


def test_mathml_of_a_topic_is_searched_in_place_of_its_latex(
    ranker: Task2, rows: dict[str, tuple[str, str, str]]
) -> None:
    topic = read_formula_topics(LAYOUT.task2_topics("2020"))[0]
    mathml = "<math><msqrt><mn>2</mn></msqrt><mo>+</mo><msqrt><mn>3</mn></msqrt></math>"
    ((_, hits),) = ranker.rank([topic], "math", 3, 1, {topic.formula_id: mathml})
    assert r"\sqrt2+\sqrt3" in [rows[hit.formula_id][0] for hit in hits]
    (other,) = ranker.rank([topic], "math", 3, 1, {"q_0": mathml})  # of another topic
    assert [other] == list(ranker.rank([topic], "math", 3, 1))


def test_the_words_of_a_question_choose_among_the_instances(ranker: Task2) -> None:
    common = ["(0,1)"]  # stands in several threads
    plain = ranker.search(common, "", "both", depth=1)[0]
    assert ranker.search(common, "", "math", depth=1)[0].formula_id == plain.formula_id
    chosen = {
        ranker.search(common, words, "both", depth=1)[0].formula_id
        for words in ("open cover without finite subcover", "uniformly continuous function", "")
    }
    assert len(chosen) > 1


def test_nothing_in_common_is_no_hit(ranker: Task2) -> None:
    for variant in SETTINGS.variants:
        assert ranker.search([r"\Xi\Xi"], "", variant, depth=10) == []
        assert ranker.search([""], "", variant, depth=10) == []


def test_what_assessors_found_useful_comes_first(ranker: Task2) -> None:
    ids = VisualIds.read(FORMULAS)
    for year in YEARS:
        qrels = by_visual_id(read_qrels(LAYOUT.task2_qrels(year)), ids).qrels
        topics = read_formula_topics(LAYOUT.task2_topics(year))
        ranked = ranker.rank(topics, "math", 1000, threads=2)
        rankings = {t.topic.topic_id: {h.visual_id: h.score for h in hits} for t, hits in ranked}
        assert score(rankings, qrels).averages()["ndcg"] > 0.7


def test_an_index_of_other_settings_or_data_is_not_used(tmp_path: Path) -> None:
    manifest = build_index(FORMULAS, tmp_path / "index", SETTINGS, threads=1)
    assert why_stale(manifest, FORMULAS, SETTINGS) is None
    raw = SETTINGS.model_dump()
    other = Task2Settings.model_validate({**raw, "analysis": {"patterns": (2, 4)}})
    assert (
        why_stale(manifest, FORMULAS, other) == "this index was built with other analysis settings"
    )
    with pytest.raises(InputError, match="other analysis settings"):
        Task2(tmp_path / "index", other, FORMULAS, None)
    copy = tmp_path / "copy"
    shutil.copytree(FORMULAS, copy)
    with pytest.raises(InputError, match="built from other data"):
        Task2(tmp_path / "index", SETTINGS, copy, None)
    with pytest.raises(InputError, match="there is no index"):
        Task2(tmp_path / "absent", SETTINGS, FORMULAS, None)


@pytest.mark.slow
@pytest.mark.parametrize(("year", "at_least"), [("2020", 0.745), ("2021", 0.75)])
def test_the_real_subset_is_ranked_better_than_by_mathdowsers(
    lite: Path, tmp_path: Path, year: str, at_least: float
) -> None:
    formulas = lite / "Formulas" / "latex_representation_v3"
    build_index(formulas, tmp_path / "index", SETTINGS, threads=2)
    ranker = Task2(tmp_path / "index", SETTINGS, formulas, None)
    qrels = read_qrels(lite / "qrels_lite" / f"{year}_t2v3.tsv")
    qrels = {topic: judged for topic, judged in qrels.items() if max(judged.values()) >= 2}
    topics = read_formula_topics(Layout(lite).task2_topics(year))  # type: ignore[arg-type]
    ranked = ranker.rank(topics, "math", 1000, threads=2)
    rankings = {t.topic.topic_id: {h.visual_id: h.score for h in hits} for t, hits in ranked}
    assert score(rankings, qrels).averages()["ndcg"] >= at_least
