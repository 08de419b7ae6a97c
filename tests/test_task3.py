"""Task 3: which post answers, and which part of it."""

from __future__ import annotations

import pytest

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.posts import ANSWER, Post
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.settings import default_config
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.open_domain import Answerer
from arqmath_bm25.tasks.answers.passages import best_passage

TOPIC = Topic("A.301", "Roots of $x^2$", "<p>What is a root?</p>", ("roots",))
LONG = "A proof. " * 200


class RankedPosts:
    """Task 1 with a ranking that is given: bodies, best first; its own index and collection."""

    settings = configured("task1").settings

    def __init__(self, *bodies: str | None) -> None:
        self._bodies = {str(n): body for n, body in enumerate(bodies, 1)}
        self.collection = self.posts = self

    def ranker(self, index: object) -> RankedPosts:
        return self

    def rank(self, topics, variant, depth, threads):
        for _ in topics:
            yield [Hit(post, 10 - float(post)) for post in self._bodies][:depth]

    def read(self, post_id: str) -> Post | None:
        body = self._bodies[post_id]
        return None if body is None else Post(post_id, ANSWER, body)


def answer(*bodies: str | None, passage: str = "start", depth: int = 10) -> Hit | None:
    ranked = RankedPosts(*bodies)
    settings = configured("task3").settings.model_copy(update={"passage": passage})
    answerer = Answerer(ranked, ranked, settings)  # type: ignore[arg-type]
    (hits,) = answerer.rank([TOPIC], "both", depth, 1)
    return hits[0] if hits else None


def extract(post: str, score: float, text: str) -> Hit:
    return Hit(post, score, text=text)


def test_the_best_post_answers() -> None:
    assert answer("<p>So $x$.</p><p>QED</p>", "<p>No.</p>") == extract("1", 9.0, "So $x$. QED")


@pytest.mark.parametrize("body", ["", '<p><img src="a.png" alt="a"></p>', "<hr>", None])
def test_a_post_without_text_gives_way_to_the_next(body: str | None) -> None:
    assert answer(body, body, "<p>Yes.</p>") == extract("3", 7.0, "Yes.")
    assert answer(body, body, "<p>Yes.</p>", depth=2) is None
    assert answer(body) is None


def test_a_formula_that_is_too_long_gives_way_too() -> None:
    formula = f"<p>${'x' * 30_000}$</p>"
    assert answer(formula, "<p>Yes.</p>") == extract("2", 8.0, "Yes.")
    for passage in ("start", "best"):
        assert answer(f"<p>See:</p>{formula}", passage=passage) == extract("1", 9.0, "See:")


def test_a_long_answer_is_its_beginning_or_the_passage_that_matches() -> None:
    body = f"<p>{LONG}</p><p>A root of $x^2$ is $0$. That is it.</p><p>{LONG}</p>"
    start = answer(body)
    assert start is not None
    assert len(start.text) <= 1200
    assert start.text.startswith("A proof. A proof.")
    assert start.text.endswith("A proof.")
    best = answer(body, passage="best")
    assert best is not None
    assert len(best.text) <= 1200
    assert best.text.startswith("A root of $x^2$ is $0$. That is it. A proof.")


def test_a_short_answer_is_whole_whatever_matches() -> None:
    body = "<p>No.</p><p>A root.</p>"
    assert answer(body, passage="best") == extract("1", 9.0, "No. A root.")


def passage(text: str, limit: int, **query: dict[str, float]) -> str:
    return best_passage(text, query, Analyzer(AnalysisSettings()), 2.0, limit)


def test_passages_begin_with_paragraphs_and_end_with_sentences() -> None:
    text = "One two. Three four.\nFive six. Seven $x$.\nEight."
    assert passage(text, 20, contents={"five": 1.0}) == "Five six. Seven $x$."
    assert passage(text, 19, contents={"five": 1.0}) == "Five six."
    assert passage(text, 28, contents={"five": 1.0}) == "Five six. Seven $x$.\nEight."
    assert passage(text, 20, answer_math={"x": 1.0}) == "Five six. Seven $x$."
    assert passage(text, 20, contents={"seven": 1.0, "three": 1.0}) == "One two. Three four."
    assert passage(text, 20, contents={"seven": 2.0, "three": 1.0}) == "Five six. Seven $x$."


def test_rare_terms_count_more_and_the_first_passage_wins_a_tie() -> None:
    text = "Common.\nCommon.\nRare.\nCommon."
    assert passage(text, 8, contents={"common": 1.0, "rare": 1.0}) == "Rare."
    assert passage("Other.\nOdd.\nOther.", 7, contents={}) == "Other."


def test_nothing_fits() -> None:
    assert passage("One two three.", 5, contents={"one": 1.0}) == "One two three."


def test_the_configuration_names_the_one_of_task_1() -> None:
    task = configured("task3")
    assert task.settings.ranking.path == default_config("task1")
    assert [task.run_name(variant) for variant in task.variants] == [
        "arqmathbm25-task3-bm25-auto-text-extract-A",
        "arqmathbm25-task3-bm25-auto-math-extract-A",
        "arqmathbm25-task3-bm25-auto-both-extract-P",
    ]
