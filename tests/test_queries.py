"""Queries: which terms they have for which field, and what repeated terms weigh."""

from __future__ import annotations

import pytest

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.core.records import Topic
from arqmath_bm25.tasks.queries import topic_query, weighted_terms


def test_terms_repeated_in_a_query_saturate() -> None:
    fields = {"title_text": "limit", "question_text": "limit sum limit", "question_math": "x x~y x"}
    query = weighted_terms(fields, {"contents": 2.0, "answer_math": 0.5}, saturation=1.0)
    # n(s + 1)/(n + s) with s = 1: 1 for once, 4/3 for twice, 3/2 for thrice
    assert query["contents"] == pytest.approx({"limit": 2 * 3 / 2, "sum": 2.0})
    assert query["answer_math"] == pytest.approx({"x": 0.5 * 4 / 3, "x~y": 0.5})


def test_a_topic_asks_with_its_title_its_text_and_its_tags() -> None:
    topic = Topic("A.1", "Groups of $x$", "<p>finite groups</p>", ("ring-theory",))
    query = topic_query(topic, Analyzer(AnalysisSettings()), {"contents": 1.0, "tags": 2.0}, 1.0)
    assert query["contents"] == pytest.approx(
        {"group": 4 / 3, "finit": 1.0, "ring": 1.0, "theori": 1.0}
    )
    assert query["tags"] == pytest.approx({t: 2 * w for t, w in query["contents"].items()})
