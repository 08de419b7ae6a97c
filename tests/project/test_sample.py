"""The bundled sample is what its source says, and is whole."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from sklearn.metrics import cohen_kappa_score

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.activity import KINDS, good_rows
from arqmath_bm25.collection.layout import Dump, Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.labs import GRADE_OF_LABEL, YEARS
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.judging.judge import (
    agreements,
    judge,
    read_annotations,
)
from arqmath_bm25.evaluation.qrels import read_qrels
from tests.support.parsed_dumps import parsed_rows
from tools.sample.build import build

if TYPE_CHECKING:
    from pathlib import Path


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_the_files_are_what_the_source_gives(tmp_path: Path) -> None:
    build(tmp_path)
    assert files(tmp_path) == files(SAMPLE)  # else: make sample


def test_it_is_large_enough_to_mean_something() -> None:
    threads = list(PostTable.scan(Layout(SAMPLE).posts()).threads())
    assert len(threads) >= 60
    assert sum(len(thread.answers) for thread in threads) >= 150
    assert len({tag for thread in threads if thread.question for tag in thread.question.tags}) > 40


def test_every_formula_of_a_post_is_in_the_formula_files() -> None:
    rows: dict[str, tuple[str, str, str]] = {}
    for path in sorted((SAMPLE / "Formulas" / "latex_representation_v3").glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                rows[row["id"]] = (row["post_id"], row["type"], row["formula"])
    seen = 0
    for thread in PostTable.scan(Layout(SAMPLE).posts()).threads():
        assert thread.question is not None
        question = thread.question
        parts = [(question.post_id, "title", read_title(question.title or ""))]
        parts.append((question.post_id, "question", read_body(question.body)))
        parts += [(answer.post_id, "answer", read_body(answer.body)) for answer in thread.answers]
        for post_id, kind, content in parts:
            for formula in content.formulas:
                assert formula.formula_id is not None
                assert rows[formula.formula_id] == (post_id, kind, formula.latex)
                seen += 1
    assert seen == sum(kind != "comment" for _, kind, _ in rows.values())


def test_comments_votes_and_users_fit_the_posts() -> None:
    layout = Layout(SAMPLE)
    dumps: tuple[Dump, ...] = ("Comments", "Votes", "Users", "Tags", "PostLinks")
    paths, roots = map(layout.dump, dumps), map(str.lower, dumps)
    counts: Counter[str] = Counter()
    comments, votes, users, tags, links = (
        [row for _, row in good_rows(parsed_rows(path, root), KINDS[root], counts)]
        for path, root in zip(paths, roots, strict=True)
        if path
    )
    assert counts.keys() == {"rows"}
    names_of = KINDS["votes"].types
    tally = Counter((vote["PostId"], names_of[vote["VoteTypeId"]]) for vote in votes)
    threads = list(PostTable.scan(layout.posts()).threads())
    posts = [post for thread in threads for post in (thread.question, *thread.answers) if post]
    for post in posts:
        assert tally[post.post_id, "up"] - tally[post.post_id, "down"] == post.score
    accepted = {post.accepted_answer_id for post in posts} - {None}
    assert {post.post_id for post in posts if tally[post.post_id, "accepted"]} == accepted
    names = {user["Id"]: user["DisplayName"] for user in users}
    assert {who.get("UserId") for who in comments} | {post.owner_user_id for post in posts} <= {
        *names, None
    }  # fmt: skip
    ids = {post.post_id for post in posts}
    assert {comment["PostId"] for comment in comments} <= ids
    assert {link[end] for link in links for end in KINDS["postlinks"].ids} <= ids
    assert {tag["TagName"] for tag in tags} == {tag for post in posts for tag in post.tags}


def test_two_assessors_saw_the_same_answers() -> None:
    """The first is the qrels; the second differs in 15 of 49 answers, two of them without grade."""
    files = [SAMPLE / "Assessments" / f"{name}.csv" for name in ("first", "second")]
    qrels = judge(read_annotations(files[:1])).qrels
    official = read_qrels(Layout(SAMPLE).qrels("task1", "2020"))
    assert qrels == {topic: official[topic] for topic in ("A.1", "A.2", "A.3", "A.4")}
    notes = read_annotations(files)
    assert len(notes) == 49
    assert sum(len({one.label for one in given}) > 1 for given in notes.values()) == 15
    (agreement,) = agreements(notes)
    labels = [[GRADE_OF_LABEL[note.label] for note in of_hit] for of_hit in notes.values()]
    grades = [both for both in labels if len(both) == 2 and None not in both]
    kappa = cohen_kappa_score(*zip(*grades, strict=True))
    assert agreement.kappa == pytest.approx(kappa)
    assert agreement.hits == 47


def test_topics_are_judged_by_answers_that_exist() -> None:
    layout = Layout(SAMPLE)
    threads = PostTable.scan(layout.posts()).threads()
    answers = {answer.post_id for thread in threads for answer in thread.answers}
    for year in YEARS:
        topics = {topic.topic_id for topic in read_topics(layout.topics("task1", year))}
        qrels = read_qrels(layout.qrels("task1", year))
        assert len(qrels) == 6
        assert set(qrels) < topics  # two were not assessed
        for judged in qrels.values():
            assert set(judged) < answers
            assert sum(grade >= 2 for grade in judged.values()) >= 2
