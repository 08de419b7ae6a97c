"""Queries: which terms they have for which field, and what repeated terms weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings, LatexSettings
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.records import Topic
from arqmath_bm25.tasks.queries import build_query, idf, prune_query, weighted_terms
from arqmath_bm25.tasks.settings import QuerySettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def test_terms_repeated_in_a_query_saturate() -> None:
    fields = {
        "title_text": "limit",
        "question_text": "limit sum limit",
        "question_math": "x x~y x",
    }
    bags = {name: Bag(terms.split()) for name, terms in fields.items()}
    query = weighted_terms(bags, {"contents": 2.0, "body_math": 0.5}, k3=1.0)
    # n(s + 1)/(n + s) with s = 1: 1 for once, 4/3 for twice, 3/2 for thrice
    assert query["contents"] == pytest.approx({"limit": 2 * 3 / 2, "sum": 2.0})
    assert query["body_math"] == pytest.approx({"x": 0.5 * 4 / 3, "x~y": 0.5})


def test_a_topic_asks_with_its_title_its_text_and_its_tags() -> None:
    topic = Topic("A.1", "Groups of $x$", "<p>finite groups</p>", ("ring-theory",))
    query = asked(topic, Analyzer(AnalysisSettings()), {"contents": 1.0, "tags": 2.0}, k3=1.0)
    assert query["contents"] == pytest.approx(
        {"group": 4 / 3, "finit": 1.0, "ring": 1.0, "theori": 1.0}
    )
    assert query["tags"] == pytest.approx({t: 2 * w for t, w in query["contents"].items()})


class Counted:
    """Documents that hold a term, by field, of ten."""

    count = 10

    def __init__(self, **counts: dict[str, int]) -> None:
        self._counts = counts

    def document_counts(self, terms: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        return {
            field: {t: self._counts[field][t] for t in of_field if t in self._counts[field]}
            for field, of_field in terms.items()
        }


def asked(
    topic: Topic, analyzer: Analyzer, weights: dict[str, float], **settings: Any
) -> dict[str, Any]:
    """Return the query of a topic from which nothing is left out."""
    query = build_query(topic, analyzer, weights, QuerySettings(**settings), Counted())  # type: ignore[arg-type]
    return dict(query)


def test_of_a_long_query_the_terms_are_kept_that_can_add_most() -> None:
    """Of words the gains are: limit 2 idf(5), sum idf(1) + idf(2), set 3 idf(9), absent 0."""
    searcher = Counted(
        contents={"limit": 5, "sum": 1, "set": 9}, title_text={"sum": 2}, body_operators={"~+": 1}
    )
    words = {"limit": 2.0, "sum": 1.0, "set": 3.0, "absent": 99.0}
    query = {"contents": words, "title_text": words, "body_operators": {"~+": 1.0, "~x": 1.0}}
    assert idf(1, 10) + idf(2, 10) > 2 * idf(5, 10) > 3 * idf(9, 10)
    kept = prune_query(query, searcher, QuerySettings(max_terms={"text": 2}))  # type: ignore[arg-type]
    assert kept == {
        "contents": {"limit": 2.0, "sum": 1.0},
        "title_text": {"limit": 2.0, "sum": 1.0},
        "body_operators": {"~+": 1.0, "~x": 1.0},
    }
    assert prune_query(query, searcher, QuerySettings()) == query  # type: ignore[arg-type]
    one = QuerySettings(max_terms={"text": 1})
    assert list(prune_query(query, searcher, one)["contents"]) == ["sum"]  # type: ignore[arg-type]
    # What title and tags hold is cut last.
    assert list(prune_query(query, searcher, one, {"set"})["contents"]) == ["set"]  # type: ignore[arg-type]


def test_words_that_many_questions_hold_count_only_in_title_and_tags() -> None:
    """Of 1,000 documents more than 30 have a question with "help" or "function"."""
    searcher = Counted(
        contents={"help": 3, "function": 200, "spline": 300, "root": 1},
        question_text={"help": 31, "function": 200, "spline": 30},
    )
    searcher.count = 1000
    words = dict.fromkeys(("help", "function", "spline", "root"), 1.0)
    query = {"contents": words, "question_text": words}
    settings = QuerySettings(max_df=0.03)
    kept = prune_query(query, searcher, settings, {"function"})  # type: ignore[arg-type]
    assert kept["contents"] == dict.fromkeys(("function", "spline", "root"), 1.0)
    # Ten documents are few, whatever their share is.
    small = Counted(contents={"help": 10, "root": 11})
    small.count = 20
    assert prune_query({"contents": words}, small, settings)["contents"] == {"help": 1.0}  # type: ignore[arg-type]


def test_a_body_that_says_a_thing_twice_asks_as_one_that_says_it_once() -> None:
    body = "<p>Roots of splines: $x^2$, splines</p>"
    one = Topic("", "$x^2$", body)
    two = one._replace(question=f"{body} {body}")
    analyzer = Analyzer(AnalysisSettings(latex=LatexSettings(operators=True)))
    weights = {"contents": 1.0, "body_operators": 1.0}
    once = asked(one, analyzer, weights, repeats=False)
    assert asked(two, analyzer, weights, repeats=False) == once
    assert once["contents"] == {"root": 1.0, "spline": 1.0}
    assert once["body_operators"]["^~1~x"] == 1.5  # in the title and in the body
    assert asked(two, analyzer, weights) != asked(one, analyzer, weights)


def test_formulas_weigh_more_the_fewer_words_stand_beside_them() -> None:
    analyzer = Analyzer(AnalysisSettings(latex=LatexSettings(operators=True)))
    weights = {"contents": 1.0, "body_operators": 0.5}
    settings = QuerySettings(brevity=6)
    searcher = Counted()
    found = {}
    for text in ("$x^2$", "roots roots splines $x^2$", "roots, splines, knots of $x^2$"):
        topic = Topic("", text)
        query = build_query(topic, analyzer, weights, settings, searcher)  # type: ignore[arg-type]
        found[text] = query["body_operators"]["^~1~x"]
        assert set(query["contents"].values()) <= {1.0, 2 * 3 / 4}
    # 1 + 6 / n for n different words; a formula alone has nothing to be weighed against.
    assert list(found.values()) == [0.5, 0.5 * 4, 0.5 * 3]
