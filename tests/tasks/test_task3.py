"""Task 3: which post answers, and how much of it."""

from __future__ import annotations

import pytest

from arqmath_bm25.collection.posts import ANSWER, Post
from arqmath_bm25.core.configuration import default_config, load
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.open_domain import AnswerExtractor
from arqmath_bm25.tasks.settings import Task1Settings

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

    def rank(self, topics, variant, depth):
        for _ in topics:
            yield [Hit(post, 10 - float(post)) for post in self._bodies][:depth]

    def read(self, post_id: str) -> Post | None:
        body = self._bodies[post_id]
        return None if body is None else Post(post_id, ANSWER, body)


def answer(*bodies: str | None, depth: int = 10) -> Hit | None:
    ranked = RankedPosts(*bodies)
    answerer = AnswerExtractor(ranked, ranked)  # type: ignore[arg-type]
    (hits,) = answerer.rank([TOPIC], "both", depth)
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
    assert answer(f"<p>See:</p>{formula}") == extract("1", 9.0, "See:")


def test_a_long_answer_is_its_beginning() -> None:
    start = answer(f"<p>{LONG}</p><p>A root of $x^2$ is $0$. That is it.</p>")
    assert start is not None
    assert 1190 < len(start.text) <= 1200
    assert start.text.startswith("A proof. A proof.")
    assert start.text.endswith("A proof.")


def test_the_configuration_names_the_one_of_task_1() -> None:
    task = configured("task3")
    assert task.settings.ranking == load(Task1Settings, default_config("task1"))
    assert [task.tag(variant) for variant in task.variants] == [
        "bm25arq-task3-bm25-auto-text-extract-A",
        "bm25arq-task3-bm25-auto-math-extract-A",
        "bm25arq-task3-bm25-auto-both-extract-P",
    ]
