"""Posts: which rows count, how threads join, how a post is found again."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.collection.posts import PostTable, read_tags
from arqmath_bm25.core import progress
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers.local import Processes

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = '<row Id="{0}" PostTypeId="1" Title="t{0}" Body="q{0}" Tags="&lt;a&gt;&lt;b-c&gt;"/>'
ANSWER = '<row Id="{0}" PostTypeId="2" ParentId="{1}" Body="a{0}"/>'


def dump(path: Path, *rows: str) -> Path:
    path.write_text("<posts>\n" + "\n".join(rows) + "\n</posts>", encoding="utf-8")
    return path


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    path = dump(
        tmp_path / "Posts.xml",
        QUESTION.format(1),
        ANSWER.format(2, 1),
        ANSWER.format(2, 1),  # the first of a kind counts
        '<row Id="3" PostTypeId="5" Body="a tag wiki"/>',
        '<row Id="4" PostTypeId="2" ParentId="1" Body="x" CreationDate="2019-01-01T00:00:00.000"/>',
        '<row Id="5" PostTypeId="2" ParentId="1" Body="x" CreationDate="2018-12-31T23:59:59.999"/>',
        '<row Id="six" PostTypeId="2" Body="x"/>',
        '<row Id="7" PostTypeId="2" ParentId="1"/>',
        '<row Id="8" PostTypeId="2" ParentId="1" Body="a < b"/>',
        '<rOw Id="9" PostTypeId="2" ParentId="1" Body="a"/>',
    )
    assert PostTable.scan(path, until=2018).counts == {
        "rows": 10,
        "questions": 1,
        "answers": 2,
        "rows with a repeated Id": 1,
        "posts of other types": 1,
        "posts after 2018": 1,
        "rows without Id, PostTypeId or Body": 1,
        "rows whose Id or ParentId is not a positive number": 1,
        "broken rows": 2,
    }


@pytest.mark.parametrize("number", ["04", "-4", "+4", "0", "", " 4", "4.0", "9" * 19, "٤"])
def test_ids_are_written_in_one_way(tmp_path: Path, number: str) -> None:
    path = dump(
        tmp_path / "Posts.xml",
        QUESTION.format(1),
        ANSWER.format(number, 1),
        ANSWER.format(2, number or "-"),
        ANSWER.format(3, 1),
        ANSWER.format(10**18 - 1, 1),
    )
    table = PostTable.scan(path)
    assert table.counts["rows whose Id or ParentId is not a positive number"] == 2
    assert [table.read(str(post)) is not None for post in table.ids] == [True] * 3
    assert table.read(number) is None


def test_the_first_of_equal_ids_counts(tmp_path: Path) -> None:
    rows = (QUESTION.format(1), ANSWER.format(2, 1), ANSWER.format(2, 1).replace("a2", "other"))
    post = PostTable.scan(dump(tmp_path / "Posts.xml", *rows)).read("2")
    assert post is not None
    assert post.body == "a2"


def test_answers_join_their_question_wherever_it_stands(tmp_path: Path) -> None:
    path = dump(
        tmp_path / "Posts.xml",
        ANSWER.format(2, 9),  # before its question, as after a merge
        ANSWER.format(4, 77),  # its question is missing
        QUESTION.format(3),
        ANSWER.format(11, 3),
        QUESTION.format(9),
        ANSWER.format(10, 3),
        '<row Id="12" PostTypeId="2" Body="no ParentId at all"/>',
    )
    threads = [
        (t.question.post_id if t.question else None, [a.post_id for a in t.answers])
        for t in PostTable.scan(path).threads()
    ]
    assert threads == [("3", ["10", "11"]), ("9", ["2"]), (None, ["12"]), (None, ["4"])]


def test_threads_of_ranges_are_the_threads(tmp_path: Path) -> None:
    rows = [QUESTION.format(n) for n in (1, 4)] + [
        ANSWER.format(n, 1 + n % 2 * 3) for n in (5, 6, 7)
    ]
    table = PostTable.scan(dump(tmp_path / "Posts.xml", *rows))
    first, second = table.thread_starts().tolist()
    parts = (table.part(first, second), table.part(second, len(table)))
    assert [thread for part in parts for thread in part.threads()] == list(table.threads())


@given(
    entries=st.lists(st.tuples(st.integers(1, 40), st.booleans(), st.integers(1, 40))),
    comment=st.sampled_from(([], ["<!-- among them -->"])),
)
def test_the_table_does_not_depend_on_how_the_scan_is_cut(
    entries: list[tuple[int, bool, int]],
    comment: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows = [ANSWER.format(n, p) if answer else QUESTION.format(n) for n, answer, p in entries]
    rows += comment and ["<!--", *rows, "-->"]
    path = dump(tmp_path_factory.mktemp("dump") / "Posts.xml", *rows, ANSWER.format(99, 1))
    whole = PostTable.scan(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arqmath_bm25.collection.dump._RANGE", 70)
        cut = PostTable.scan(path)
    assert cut.counts == whole.counts
    assert list(cut.threads()) == list(whole.threads())


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (('Id="2"', 'Id="2" Score="3" OwnerUserId="7"'), []),
        (('Title="t1"', 'Title="other"'), [0]),
        (('Body="q1"', 'Body="other"'), [0]),
        (("&lt;a&gt;&lt;b-c&gt;", "|a|b-c|"), []),  # dumps since 2024
        (("&lt;b-c&gt;", ""), [0]),
        (('Body="a2"', 'Body="other"'), [0]),
        (('Body="a4"', 'Body="a4&amp;"'), [1]),  # an answer whose question is not there
        (('Body="q5"', 'Body="other"'), []),  # a question without an answer
    ],
)
def test_the_digest_of_a_post_is_that_of_what_documents_are_made_of(
    tmp_path: Path, change: tuple[str, str], changed: list[int]
) -> None:
    rows = [
        QUESTION.format(1), ANSWER.format(2, 1), ANSWER.format(4, 3), QUESTION.format(5),
    ]  # fmt: skip
    table = PostTable.scan(dump(tmp_path / "a.xml", *rows), with_contents=True)
    before = table.answer_contents().tolist()
    assert len(set(before)) == 2

    first = "\n".join(rows).replace(*change, 1).split("\n")
    other = PostTable.scan(dump(tmp_path / "b.xml", *first), with_contents=True)
    after = other.answer_contents().tolist()
    assert [n for n in range(2) if before[n] != after[n]] == changed
    plain = PostTable.scan(tmp_path / "b.xml")
    assert list(plain.threads()) == list(other.threads())


def test_the_digest_of_a_post_depends_on_its_thread(tmp_path: Path) -> None:
    digests = []
    for parent in (1, 3):
        rows = QUESTION.format(1), ANSWER.format(2, parent)
        path = dump(tmp_path / f"{parent}.xml", *rows)
        table = PostTable.scan(path, with_contents=True)
        digests.append(table.answer_contents().tolist()[-1])
    assert digests[0] != digests[1]


def test_two_processes_scan_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLE / "Collection" / "Posts.V1.3.xml"
    monkeypatch.setattr("arqmath_bm25.collection.dump._RANGE", 1 << 16)
    steps: list[float] = []
    monkeypatch.setattr(progress, "progress", lambda *_: nullcontext(steps.append))
    one, two = PostTable.scan(path), PostTable.scan(path, Processes(2))
    assert one.counts == two.counts
    assert list(one.threads()) == list(two.threads())
    assert sum(steps) == 2 * path.stat().st_size


def test_all_attributes_are_read_where_present() -> None:
    posts = PostTable.scan(SAMPLE / "Collection" / "Posts.V1.3.xml")
    threads = list(posts.threads())
    questions = [thread.question for thread in threads if thread.question]
    answers = [answer for thread in threads for answer in thread.answers]
    assert all(q.title and q.tags and q.creation_date and q.score is not None for q in questions)
    assert any(q.accepted_answer_id in {a.post_id for a in answers} for q in questions)
    assert all(a.parent_id and a.score is not None and a.title is None for a in answers)
    assert any(a.owner_user_id for a in answers)


def test_a_post_is_found_again_after_saving(tmp_path: Path) -> None:
    path = dump(tmp_path / "Posts.xml", QUESTION.format(30), ANSWER.format(4, 30))
    PostTable.scan(path).save(tmp_path / "posts.npy")
    table = PostTable.load(tmp_path / "posts.npy", path)
    answer, question = table.read("4"), table.read("30")
    assert answer is not None
    assert question is not None
    assert (answer.body, answer.parent_id, question.tags) == ("a4", "30", ("a", "b-c"))
    assert [table.read(absent) for absent in ("5", "", "x", "-4", "0", "99999999999999999999")] == [
        None
    ] * 6
    for other in (1, 31):  # of another length, and of the same
        dump(path, QUESTION.format(other), ANSWER.format(4, other))
        with pytest.raises(InputError, match="changed since it was indexed"):
            PostTable.load(tmp_path / "posts.npy", path).read("30")


def test_a_post_with_another_word_than_was_indexed_is_no_answer(tmp_path: Path) -> None:
    path = dump(tmp_path / "Posts.xml", QUESTION.format(30), ANSWER.format(4, 30))
    table = PostTable.scan(path)
    assert table.read("30") is not None
    dump(path, QUESTION.format(30).replace("q30", "p30"), ANSWER.format(4, 30))
    assert table.read("4") is not None
    with pytest.raises(InputError, match="the row of Id 30 at byte 8 is another"):
        table.read("30")


def test_a_dump_without_posts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 1 rows is a question or an answer"):
        PostTable.scan(dump(tmp_path / "Posts.xml", '<row Id="3" PostTypeId="5" Body="wiki"/>'))


@pytest.mark.parametrize("tags", ["<a><b-c>", "|a|b-c|", "a,b-c", "a, b-c"])
def test_tags_in_every_form(tags: str) -> None:
    assert read_tags(tags) == ("a", "b-c")


def test_the_real_subset_is_read_without_loss(lite: Path, shared: Path) -> None:
    expected = {"rows": 6164, "questions": 2769, "answers": 3395}
    assert PostTable.scan(lite / "Collection" / "Posts.V1.3.xml").counts == expected
    assert PostTable.scan(shared / "data" / "mse-raw" / "Posts.xml").counts == expected
