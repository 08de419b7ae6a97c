"""Rankings of formulas: what is like a formula, and by which instance it is shown."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.stores import why_unusable
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.evaluation.qrels import by_visual_id, read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run_writing import separated
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.formulas.formula_retrieval import (
    FormulaRetrieval,
    Task2Settings,
    thread_context,
)
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from pathlib import Path

LAYOUT = Layout(SAMPLE)
FORMULAS = LAYOUT.formulas()
TASK = configured("task2")


@pytest.fixture(scope="module")
def ranker(sample_indexes: Path) -> OpenIndex:
    index = OpenIndex.open(CollectionFiles(SAMPLE, sample_indexes), "task2")
    index.threads = 2
    return index


def search(ranker: OpenIndex, formula: str, words: str, variant: str, depth: int) -> list[Hit]:
    topic = Topic("", words, formulas=(formula,))
    (hits,) = ranker.rank([topic], variant, depth)
    return hits


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
    ranker: OpenIndex, rows: dict[str, tuple[str, str, str]], query: str, first: str
) -> None:
    hits = search(ranker, query, "", "math", depth=3)
    assert first in [rows[hit.doc_id][0] for hit in hits]


def test_every_formula_is_returned_once_with_its_post(
    ranker: OpenIndex, rows: dict[str, tuple[str, str, str]]
) -> None:
    topics = read_topics(LAYOUT.topics("task2", "2021"))
    for variant in TASK.variants:
        for hits in ranker.rank(topics, variant, depth=100):
            assert len({hit.visual_id for hit in hits}) == len(hits) <= 100
            for hit in hits:
                assert rows[hit.doc_id][1:] == (hit.post_id, hit.visual_id)
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert separated(scores)


def test_one_topic_is_ranked_as_among_others(ranker: OpenIndex) -> None:
    topics = read_topics(LAYOUT.topics("task2", "2020"))
    for variant in TASK.variants:
        all_hits = list(ranker.rank(topics, variant, 50))
        (alone,) = ranker.rank(topics[2:3], variant, 50)
        assert alone == all_hits[2]


def test_the_words_of_a_question_choose_among_the_instances(ranker: OpenIndex) -> None:
    common = "(0,1)"  # stands in several threads
    plain = search(ranker, common, "", "both", depth=1)[0]
    assert search(ranker, common, "", "math", depth=1)[0].doc_id == plain.doc_id
    chosen = {
        search(ranker, common, words, "both", depth=1)[0].doc_id
        for words in ("open cover without finite subcover", "uniformly continuous function", "")
    }
    assert len(chosen) > 1


def test_a_formula_that_a_topic_has_twice_weighs_twice(ranker: OpenIndex) -> None:
    formula = r"\sqrt2+\sqrt3"
    topics = [Topic("", "", formulas=(formula,) * n) for n in (1, 2)]
    once, twice = ranker.rank(topics, "math", 20)
    assert once
    assert [hit.doc_id for hit in twice] == [hit.doc_id for hit in once]
    assert [hit.score for hit in twice] == [2 * hit.score for hit in once]


def test_nothing_in_common_is_no_hit(ranker: OpenIndex) -> None:
    for variant in TASK.variants:
        assert search(ranker, r"\unheard", "", variant, depth=10) == []
        assert search(ranker, "", "", variant, depth=10) == []


def test_what_assessors_found_useful_comes_first(ranker: OpenIndex) -> None:
    ids = FormulaIds.read(FORMULAS)
    for year in YEARS:
        path = LAYOUT.qrels("task2", year)
        qrels = by_visual_id(read_qrels(path), ids, path).qrels
        topics = read_topics(LAYOUT.topics("task2", year))
        ranked = ranker.rank(topics, "math", 1000)
        rankings = {
            t.topic_id: {h.visual_id: h.score for h in hits}
            for t, hits in zip(topics, ranked, strict=True)
        }
        assert score(rankings, qrels).averages()["ndcg"] > 0.7


def test_an_index_of_other_settings_or_data_is_not_used(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(FORMULAS, data / "Formulas" / FORMULAS.name)
    collection = CollectionFiles(data, tmp_path / "indexes")
    content = IndexContent.of(TASK, collection)
    ((path, manifest),) = ensure(content, HERE)
    assert why_unusable(path, content.recipe, content.sources) is None
    raw = TASK.settings.model_dump()
    other = Task2Settings.model_validate({**raw, "analysis": {"patterns": (2, 4)}})
    recipe = FormulaRetrieval(other).recipe
    reason = why_unusable(path, recipe, content.sources)
    assert reason == f"{path}: this index was built with other analysis settings"
    with pytest.raises(InputError, match="there is no index"):
        OpenIndex.open(CollectionFiles(data, tmp_path / "absent"), "task2")
    moved = tmp_path / "moved" / "data"
    shutil.move(data, moved)  # identity is content, not place
    assert (
        OpenIndex.open(CollectionFiles(moved, tmp_path / "indexes"), "task2").manifest == manifest
    )
    with next(moved.rglob("1.tsv")).open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match=r"built from other data \(1\.tsv has other content\)"):
        OpenIndex.open(CollectionFiles(moved, tmp_path / "indexes"), "task2")


@pytest.mark.slow
@pytest.mark.parametrize(("year", "at_least"), [("2020", 0.84), ("2021", 0.805)])
def test_the_real_subset_is_ranked_better_than_by_mathdowsers(
    lite: Path, lite_indexes: Path, year: str, at_least: float
) -> None:
    collection = CollectionFiles(lite, lite_indexes)
    ranker = OpenIndex.open(collection, "task2")
    qrels = read_qrels(lite / "qrels_lite" / f"{year}_t2v3.tsv")
    qrels = {topic: judged for topic, judged in qrels.items() if max(judged.values()) >= 2}
    topics = read_topics(collection.layout.topics("task2", year))  # type: ignore[arg-type]
    ranked = ranker.rank(topics, "math", 1000)
    rankings = {
        t.topic_id: {h.visual_id: h.score for h in hits}
        for t, hits in zip(topics, ranked, strict=True)
    }
    assert score(rankings, qrels).averages()["ndcg"] >= at_least


def test_a_thread_has_the_sum_of_its_shares_as_a_share_of_the_best() -> None:
    """Of three threads the second has words and operators of the question, the others one each."""
    posts = PostTable.scan(SAMPLE / "Collection" / "Posts.V1.3.xml")
    answers = [thread.answers[0].post_id for thread in posts.threads() if thread.answers][:3]
    words = [Hit(answers[0], 8.0), Hit(answers[1], 6.0)]
    operators = [Hit(answers[1], 4.0), Hit(answers[2], 3.0)]
    context = thread_context(posts, words, operators)
    shares = dict(zip(context.threads.tolist(), context.scores.tolist(), strict=True))
    expected = [1 / 1.75, 1.0, 0.75 / 1.75]
    threads = posts.threads_of(answers).tolist()
    assert shares == pytest.approx(dict(zip(threads, expected, strict=True)))
    assert len(thread_context(posts, [], []).threads) == 0
