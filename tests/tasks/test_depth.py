"""The first hits are the same to any depth, with reranker, context and learnt references."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from program import arqmath

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.records import Topic
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from pathlib import Path

DEPTHS = (1, 20, 95, 100, 1000, 1001, 2500, 100_000)


def check_depths(index: OpenIndex, topic: Topic, variant: str, matching: int) -> None:
    """Check that each ranking begins with the one before it, and that parts add up anywhere."""
    rankings = []
    for depth in DEPTHS:
        (hits,) = index.rank([topic], variant, depth)
        rankings.append(hits)
    for fewer, more in pairwise(rankings):
        assert more[: len(fewer)] == fewer
    for depth, hits in zip(DEPTHS, rankings, strict=True):
        assert len(hits) >= min(depth, matching)
    asked = rankings[-1][::90]
    parts = index.ranker.explain(topic, variant, asked)
    totals = [sum(part.score for part in of_hit) for of_hit in parts]
    assert totals == pytest.approx([hit.score for hit in asked], rel=1e-5)


def test_a_topic_from_the_collection_has_as_many_reranked_answers(
    lite: Path, lite_indexes: Path
) -> None:
    """Its own thread is left out, however many of its answers are among the first."""
    collection = CollectionFiles(lite, lite_indexes)
    index = OpenIndex.open(collection, "task1")
    threads = [thread for thread in collection.posts.threads() if len(thread.answers) > 6]
    for thread in threads[::9]:
        question = thread.question
        assert question
        topic = Topic(f"D.{question.post_id}", question.title or "", question.body, question.tags)
        topic = index.task.placed(topic)
        check_depths(index, topic, "both", 1001)
        (hits,) = index.rank([topic], "both", 2000)
        own = {answer.post_id for answer in thread.answers}
        assert own.isdisjoint(hit.doc_id for hit in hits)


def test_formulas_beyond_the_reranked_ones_follow_them(lite: Path, lite_indexes: Path) -> None:
    index = OpenIndex.open(CollectionFiles(lite, lite_indexes), "task2")
    topics = index.task.asked(index.collection, ["2021"])
    for topic in list(topics.values())[:40:9]:
        check_depths(index, topic, "both", 1001)


def written(path: Path, count: int) -> Path:
    """Write documents that refer to others, all with a word that a query has."""
    chance = random.Random(4)
    with path.open("w") as lines:
        for number in range(count):
            text = " ".join(chance.choices("group ring field norm space prime".split(), k=9))
            row: dict[str, Any] = {"id": f"d{number}", "text": f"series {text}"}
            if number % 3:
                row["references"] = [f"d{chance.randrange(count)}", f"d{number // 9}"]
            lines.write(json.dumps(row) + "\n")
    return path


def test_learnt_references_count_alike_to_any_depth(tmp_path: Path) -> None:
    collection = arq.Collection(written(tmp_path / "rows.jsonl", 1400), tmp_path / "indexes")
    index = collection.index("docs", engine="flat")
    check_depths(index._opened, Topic("q", "A series in a ring"), "cited", 1000)
    hits = index.search("series ring", k=1400, variant="text")
    assert len(hits) == 1400
    last = index.explain("series ring", hits["docno"].iloc[-1], variant="text")
    assert last.attrs["rank"] == 1400


def test_premises_are_ranked_to_any_depth(sample_indexes: Path) -> None:
    index = arq.sample(sample_indexes).index("nlps")
    topics = arq.sample(sample_indexes).topics("nlps", "dev").head(1)
    first = index.run(topics, depth=5)
    every = index.run(topics, depth=10_000)
    assert every["docno"][:5].tolist() == first["docno"].tolist()
    assert len(every) == len(index)


def test_a_search_shows_any_number_of_hits(lite: Path, lite_indexes: Path) -> None:
    options = ("--data", lite, "--indexes", lite_indexes, "--variant", "text")
    shown = arqmath("search", "task1", "prove a function of a number", "-k", 1200, *options).stdout
    assert "\n1200  " in shown
    assert "\n1201  " not in shown
