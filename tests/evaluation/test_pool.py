"""Pooling as in the labs' protocol: depths, distinct formulas, and the posts that are shown."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from lxml import html

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.writing import together
from arqmath_bm25.evaluation.judging.pool import (
    Depths,
    Item,
    Pool,
    PooledPost,
    choose_posts,
    shuffle_for_assessors,
)
from arqmath_bm25.evaluation.judging.pool import pool as make_pool
from arqmath_bm25.pages.judging.annotation import COLUMNS, TEMPLATE, write_batch
from arqmath_bm25.runs.eligible import Eligible, eligible_answers, eligible_formulas
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from pathlib import Path

PRIMARY, OTHER = "T-task1-one-auto-both-P.tsv", "T-task1-two-auto-both-A.tsv"


@pytest.fixture(scope="module")
def posts() -> PostTable:
    return PostTable.scan(Layout(SAMPLE).posts())


@pytest.fixture(scope="module")
def answers(posts: PostTable) -> Eligible:
    return eligible_answers(posts)


def answer_ids(posts: PostTable, number: int) -> list[str]:
    found = [answer.post_id for thread in posts.threads() for answer in thread.answers]
    return sorted(found)[:number]


def write(path: Path, rows: list[tuple]) -> Path:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def pool_answers(runs: list[Path], depths: Depths, eligible: Eligible, seed: int) -> Pool:
    return make_pool([Run.read(run, "task1") for run in runs], depths, eligible, seed)


# Task 1


def test_the_pool_is_the_union_of_the_best_of_each_run(tmp_path, posts, answers) -> None:
    a, b, c, d, e = answer_ids(posts, 5)
    one = [("A.1", doc, i, 9 - i, "x") for i, doc in enumerate((a, b, c, d), 1)]
    two = [("A.1", doc, i, 9 - i, "x") for i, doc in enumerate((e, a, d), 1)]
    two += [("A.10", b, 1, 1, "x"), ("A.9", c, 1, 1, "x")]
    runs = [write(tmp_path / PRIMARY, one), write(tmp_path / OTHER, two)]
    pool = pool_answers(runs, Depths(primary=3, other=1), answers, seed=0)
    assert {item.doc_id for item in pool.items if item.topic_id == "A.1"} == {a, b, c, e}
    assert [item.topic_id for item in pool.items] == ["A.1"] * 4 + ["A.9", "A.10"]
    assert all(item.hits == (PooledPost(item.doc_id),) for item in pool.items)
    assert pool == pool_answers(runs[::-1], Depths(primary=3, other=1), answers, seed=0)


def test_best_is_by_score_and_ties_by_id_as_trec_eval_has_them(tmp_path, posts, answers) -> None:
    a, b, c = answer_ids(posts, 3)
    run = write(tmp_path / OTHER, [("A.1", d, i, 1, "x") for i, d in enumerate((a, b, c), 1)])
    pool = pool_answers([run], Depths(1, 1), answers, seed=0)
    assert [item.doc_id for item in pool.items] == [c]


def test_what_may_not_be_returned_takes_no_place_in_the_pool(tmp_path, posts, answers) -> None:
    a, b = answer_ids(posts, 2)
    ids = ("10027", "99999999", a, b)  # a question, nothing, answers
    run = write(tmp_path / OTHER, [("A.1", d, i, -i, "x") for i, d in enumerate(ids, 1)])
    pool = pool_answers([run], Depths(1, 1), answers, seed=0)
    assert [item.doc_id for item in pool.items] == [a]
    assert pool.left_out == {"question id": 1, "unknown id": 1}


# Which posts show a formula: the three rules. Posts are named by their threads here.


def test_rule_1_all_posts_are_shown_if_they_are_no_more_than_five() -> None:
    posts = {"a1": "a", "a2": "a", "b1": "b", "c1": "c", "d1": "d"}
    assert choose_posts(posts, random.Random(0)) == sorted(posts)


@pytest.mark.parametrize("seed", range(20))
def test_rule_2_few_threads_give_one_post_each_and_then_any(seed: int) -> None:
    posts = {f"a{i}": "a" for i in range(9)} | {"b1": "b", "c1": "c"}
    chosen = choose_posts(posts, random.Random(seed))
    assert len(set(chosen)) == 5
    assert {posts[post] for post in chosen} == {"a", "b", "c"}


def test_rule_2_does_not_always_take_the_same_posts() -> None:
    posts = {f"a{i}": "a" for i in range(9)} | {"b1": "b", "c1": "c"}
    drawn = Counter(p for seed in range(300) for p in choose_posts(posts, random.Random(seed)))
    assert drawn["b1"] == drawn["c1"] == 300
    assert all(60 < drawn[f"a{i}"] < 140 for i in range(9))  # each: 3 of 9, about 100 times


@pytest.mark.parametrize("seed", range(20))
def test_rule_3_many_threads_give_five_of_them_one_post_each(seed: int) -> None:
    posts = {f"{thread}{i}": thread for thread in "abcdefg" for i in range(3)}
    chosen = choose_posts(posts, random.Random(seed))
    assert len(chosen) == len({posts[post] for post in chosen}) == 5


def test_rule_3_draws_threads_not_posts() -> None:
    posts = {f"a{i}": "a" for i in range(50)} | {f"{thread}1": thread for thread in "bcdefghij"}
    drawn = Counter(
        posts[post] for seed in range(300) for post in choose_posts(posts, random.Random(seed))
    )
    assert all(110 < drawn[thread] < 190 for thread in "abcdefghij")  # 5 of 10, about 150 times


def test_the_choice_does_not_hang_on_the_order_of_the_runs() -> None:
    posts = {f"{thread}{i}": thread for thread in "abcdefg" for i in range(3)}
    backwards = dict(reversed(posts.items()))
    assert choose_posts(posts, random.Random(3)) == choose_posts(backwards, random.Random(3))


# Task 2


@pytest.fixture
def formulas() -> FormulaIds:
    """Visual id 900 is formulas 1-4, 901 is 5, 902 is 6; post = 100 + formula; 4 in a comment."""
    visual = [900, 900, 900, 900, 901, 902]
    posts, flags = [101, 102, 103, 104, 105, 106], [0, 0, 0, 1, 0, 0]
    table = [[1, 2, 3, 4, 5, 6], visual, visual, posts, flags, visual]
    return FormulaIds(np.array(table, np.int32))


def formula_run(path: Path, formulas: tuple[int, ...]) -> Path:
    return write(path, [("B.1", f, 100 + f, i, -i, "x") for i, f in enumerate(formulas, 1)])


def test_depth_counts_distinct_formulas_and_instances_come_from_the_pool(
    tmp_path, formulas
) -> None:
    one = formula_run(tmp_path / "T-task2-a-auto-math-P.tsv", (1, 4, 2, 5, 3, 6))
    two = formula_run(tmp_path / "T-task2-b-auto-math-A.tsv", (6, 3))
    pool = make_pool(
        [Run.read(run, "task2", lambda: formulas) for run in (one, two)],
        Depths(primary=2, other=1), eligible_formulas(formulas), seed=0,
    )  # fmt: skip
    assert {item.doc_id: item.hits for item in pool.items} == {
        "900": (
            PooledPost("101", "1"),
            PooledPost("102", "2"),
        ),  # 3 stands below what either run adds
        "901": (PooledPost("105", "5"),),
        "902": (PooledPost("106", "6"),),
    }
    assert pool.left_out == {"comment formula": 1}


def test_assessors_see_the_same_items_in_orders_of_their_own() -> None:
    items = [
        Item(f"A.{topic}", str(doc), (PooledPost(str(doc)),))
        for topic in (1, 2)
        for doc in range(9)
    ]
    first, second = shuffle_for_assessors(items, 2, seed=0)
    assert sorted(first) == sorted(second) == items
    assert first != second
    assert [item.topic_id for item in first] == ["A.1"] * 9 + ["A.2"] * 9
    assert shuffle_for_assessors(items, 2, seed=0) == [first, second]


# The batch


def batch(path: Path, items: list[Item], question: Topic, **latex) -> list:
    with together() as files:
        write_batch(files, path, items, {"A.1": question}, CollectionFiles(SAMPLE), latex)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


HOSTILE = Topic(
    "A.1",
    '=HYPERLINK("evil") <script>alert(1)</script> ${hit_1}',
    '<p onclick="x()">+1 <span class="math-container" id="q_1">$a<b$</span></p></form>',
    (),
)


def test_a_batch_has_one_row_per_item_with_five_places(tmp_path, posts) -> None:
    a, b = answer_ids(posts, 2)
    items = [Item("A.1", a, (PooledPost(a),)), Item("A.1", b, (PooledPost(b),))]
    rows = batch(tmp_path / "batch.csv", items, HOSTILE)
    assert [(row["topic_id"], row["doc_id"], row["post_1"]) for row in rows] == [
        ("A.1", a, a),
        ("A.1", b, b),
    ]
    assert set(rows[0]) == set(COLUMNS)
    asked = [[row[name] for name in ("title", "question", "formula")] for row in rows]
    assert asked[0][1].startswith("<div><p>+1 ")
    assert asked[1] == ["", "", ""]  # of the same topic
    assert all(rows[0][f"{name}_{n}"] == "" for name in ("post", "hit") for n in range(2, 6))
    title = posts.read(posts.read(a).parent_id).title.split("<")[0]
    assert title in rows[0]["hit_1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch.csv", "batch.html"]


def test_no_cell_is_a_formula_to_a_spreadsheet(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    item = Item("A.1", a, (PooledPost(a, "f1"),))
    (row,) = batch(tmp_path / "b.csv", [item], HOSTILE._replace(formulas=("=1+1",)), f1="=2+2")
    assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_the_filled_template_holds_no_script_but_its_own(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    (row,) = batch(tmp_path / "b.csv", [Item("A.1", a, (PooledPost(a),))], HOSTILE)
    template = filled = (tmp_path / "b.html").read_text("utf-8")
    for name, value in row.items():  # as Turkle does
        filled = filled.replace("${" + name + "}", value)
    assert "${" not in filled
    before, after = html.fromstring(template), html.fromstring(filled)
    assert after.xpath("count(//script)") == before.xpath("count(//script)") == 1
    assert not after.xpath("//@onclick | //form")
    assert after.xpath("//h2//text()")[0].startswith("=HYPERLINK")
    assert len(after.xpath("//section[@data-post!='']")) == 1


def test_no_cell_can_name_a_variable_of_the_template(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    item = Item("A.1", a, (PooledPost(a, "f1"),))
    span = '<span class="math-container" id="q_1">${hit_1}</span>'
    body = f"<p>{span} costs $5</p>"
    question = Topic("A.1", "${doc_id}", body, formula_id="q_1", formulas=("${title}",))
    (row,) = batch(tmp_path / "b.csv", [item], question, f1="${post_1}")
    assert not [cell for cell in row.values() if "$" in cell]
    asked = html.fromstring(row["question"])
    assert "costs $5" in asked.text_content()  # still a dollar to the browser
    assert len(asked.xpath("//mark")) == 1


def test_the_template_asks_for_the_grades_that_are_understood() -> None:
    template = TEMPLATE.read_text("utf-8")
    tree = html.fromstring(template)
    assert tree.xpath("//input[@type='radio']/@value") == list(GRADE_OF_LABEL)
    assert all("${" + column + "}" in template for column in COLUMNS)
    assert "://" not in template  # it asks nothing of the network


def test_a_comment_is_asked_for_only_if_it_is_wanted(tmp_path, posts) -> None:
    for comments in (True, False):
        with together() as files:
            write_batch(
                files, tmp_path / "b.csv", [], {}, CollectionFiles(SAMPLE), {}, comments=comments
            )
        boxes = html.fromstring((tmp_path / "b.html").read_text("utf-8")).xpath("//textarea")
        assert len(boxes) == comments


def test_hits_lead_to_their_threads_where_these_are_shown(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    items = [Item("A.1", a, (PooledPost(a),))]
    with together() as files:
        write_batch(
            files,
            tmp_path / "b.csv",
            items,
            {"A.1": HOSTILE},
            CollectionFiles(SAMPLE),
            {},
            threads='https://a.org/$"t/',
        )
    text = (tmp_path / "b.csv").read_text("utf-8")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    (link,) = html.fromstring(row["hit_1"]).xpath("//a[text()='the whole thread']/@href")
    assert link == f'https://a.org/$"t/{posts.read(a).parent_id}.html#post-{a}'
    assert "$" not in row["hit_1"]


def test_hits_lead_to_their_site_where_no_thread_pages_are_named(tmp_path, lite) -> None:
    topic = Topic("A.1", "t", "q", formula_id="", formulas=())
    items = [Item("A.1", "320", (PooledPost("320"),))]
    with together() as files:
        write_batch(files, tmp_path / "b.csv", items, {"A.1": topic}, CollectionFiles(lite), {})
    assert "https://math.stackexchange.com/a/320" in (tmp_path / "b.csv").read_text("utf-8")


def test_batches_of_one_pool_appear_together(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    items = [Item("A.1", a, (PooledPost(a),))]
    with together() as files:
        for name in ("one", "two"):
            place = tmp_path / f"{name}.csv"
            write_batch(files, place, items, {"A.1": HOSTILE}, CollectionFiles(SAMPLE), {})
        assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert {path.name for path in tmp_path.iterdir()} == {
        "one.csv",
        "one.html",
        "two.csv",
        "two.html",
    }


def test_topics_that_the_files_lack_are_named(tmp_path, posts) -> None:
    (a,) = answer_ids(posts, 1)
    with pytest.raises(
        InputError,
        match=r"b\.csv: topic 'A\.7' is in the runs, but in no topic file of this collection",
    ):
        batch(tmp_path / "b.csv", [Item("A.7", a, (PooledPost(a),))], HOSTILE)
    assert list(tmp_path.iterdir()) == []


# Topics of Task 2
