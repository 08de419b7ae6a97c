"""Topics and judgments from links between questions; expected ones are read off eight rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from program import arqmath, refused
from run_rows import read_run

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Topic
from arqmath_bm25.evaluation.qrels import read_qrels
from experiments.duplicate_topics import (
    TOPICS,
    deal,
    judge_by_links,
    read_questions,
    write_duplicates,
)

if TYPE_CHECKING:
    from pathlib import Path

POSTS = """<posts>
<row Id="1" PostTypeId="1"
 Title="Sum of &lt;span class=&quot;math-container&quot; id=&quot;7&quot;>n&lt;/span>"
 Body="&lt;blockquote> &lt;p>&lt;strong>Possible Duplicate:&lt;/strong>&lt;br/> gauss &lt;/p>
 &lt;/blockquote> &lt;p>A &amp;lt; B &amp;amp; C&lt;/p>" Tags="&lt;sums>&lt;series>"/>
<row Id="11" PostTypeId="2" ParentId="1" Body="own gauss"/>
<row Id="12" PostTypeId="2" ParentId="1" Body="more of gauss"/>
<row Id="2" PostTypeId="1" Title="two" Body="gauss" Tags=""/>
<row Id="21" PostTypeId="2" ParentId="2" Body="gauss sums series"/>
<row Id="3" PostTypeId="1" Title="three" Body="gauss and no answer"/>
<row Id="41" PostTypeId="2" ParentId="4" Body="gauss, whose question is missing"/>
<row Id="5" PostTypeId="1" Title="five" Body="gauss alone"/>
<row Id="51" PostTypeId="2" ParentId="5" Body="gauss alone"/>
<row Id="6" PostTypeId="1" Title="six" Body="euler"/>
<row Id="61" PostTypeId="2" ParentId="6" Body="euler"/>
<row Id="7" PostTypeId="1" Title="seven" Body="euler"/>
<row Id="71" PostTypeId="2" ParentId="7" Body="euler"/>
</posts>"""
# Question, related one, type. Of no use: links to oneself, to answers, to what is not there.
LINKS = [
    (1, 2, 3), (1, 2, 1), (3, 1, 1), (7, 6, 3),
    (5, 5, 1), (5, 11, 1), (5, 4, 1), (5, 99, 3), (5, -1, 1), (5, 6, 2),
]  # fmt: skip
QRELS = {
    "D.1": {"21": 3}, "D.2": {"11": 3, "12": 3}, "D.3": {"11": 2, "12": 2},
    "D.6": {"71": 3}, "D.7": {"61": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    (place / "Posts.xml").write_text(POSTS)
    rows = (f'<row PostId="{a}" RelatedPostId="{b}" LinkTypeId="{t}"/>' for a, b, t in LINKS)
    (place / "PostLinks.xml").write_text(f"<postlinks>{''.join(rows)}</postlinks>")
    return place


def test_answers_to_linked_questions_are_relevant(data: Path) -> None:
    assert judge_by_links(CollectionFiles(data)) == QRELS


def test_a_seed_chooses_topics(data: Path) -> None:
    chosen = [judge_by_links(CollectionFiles(data), 3, seed) for seed in range(9)]
    assert {len(qrels) for qrels in chosen} == {3}
    assert all(qrels.items() <= QRELS.items() for qrels in chosen)
    assert len({tuple(qrels) for qrels in chosen}) > 1
    assert judge_by_links(CollectionFiles(data), 3, 4) == chosen[4]


def test_topics_are_written_as_the_labs_write_them(data: Path, tmp_path: Path) -> None:
    (first, *_) = read_questions(CollectionFiles(data), ["D.7", "D.1"])
    title = 'Sum of <span class="math-container" id="7">$n$</span>'
    assert first == Topic(
        "D.1", title, " <p>A &lt; B &amp; C</p>", ("sums", "series"), own_thread="1"
    )
    done = arqmath("topics", "duplicates", "--data", data, "-o", tmp_path)
    assert "topics_train.xml, qrels_train.tsv: 3 duplicates" in done.output
    # 1, 2 and 3 hang together, and so do 6 and 7.
    halves = {}
    for half, ids in (("train", ["D.1", "D.2", "D.3"]), ("test", ["D.6", "D.7"])):
        halves[half] = read_topics(tmp_path / f"topics_{half}.xml")
        assert [topic.topic_id for topic in halves[half]] == ids
        assert read_qrels(tmp_path / f"qrels_{half}.tsv") == {one: QRELS[one] for one in ids}
    assert halves["train"][0] == first._replace(own_thread="")  # the task says that it is one
    text = (tmp_path / "topics_train.xml").read_text()
    assert text.startswith(
        '<?xml version="1.0" ?>\n<Topics>\n   <Topic number="D.1">\n      <Title>'
    )
    assert "      <Tags>sums,series</Tags>\n   </Topic>\n" in text


def test_what_is_related_is_dealt_together() -> None:
    related = {"a": {1}, "b": {2}, "c": {3}, "d": {1, 3}, "e": set[int](), "f": {4}}
    assert deal(related, 2) == [["a", "c", "d"], ["b", "e", "f"]]
    assert deal({"a": {1}, "b": {1}}, 2) == [["a", "b"], []]


@pytest.mark.slow
def test_a_topic_never_finds_what_was_made_of_its_link(data: Path, tmp_path: Path) -> None:
    places = ("--data", data, "--indexes", tmp_path / "indexes")
    arqmath("index", "task1", *places)
    write_duplicates(CollectionFiles(data), tmp_path, TOPICS, 0)
    run = ("run", "task1", *places, "--runs", tmp_path / "runs", "--variant", "both")
    arqmath(*run, "--topics", tmp_path / "topics_train.xml")
    (file,) = (tmp_path / "runs").rglob("*.tsv")
    found: dict[str, set[str]] = {}
    for row in read_run(file):
        found.setdefault(row.topic_id, set()).add(row.doc_id)
    # Without its notice topic 1 does not ask for "gauss".
    others = {"11", "12", "41", "51"}
    assert found == {"D.1": {"21"}, "D.2": others, "D.3": {*others, "21"}}


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (None, "there is no PostLinks file"),
        ("<postlinks></postlinks>", "no link leads from a question of DATA to one with answers"),
        ("<posts></posts>", "postlinks"),
    ],
)
def test_collections_without_links_are_refused(
    data: Path, tmp_path: Path, links: str | None, message: str
) -> None:
    (tmp_path / "Posts.xml").write_text(POSTS)
    if links is not None:
        (tmp_path / "PostLinks.xml").write_text(links)
    with pytest.raises(InputError, match=message):
        judge_by_links(CollectionFiles(tmp_path))
    refused("topics", "duplicates", "--data", tmp_path, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_subset_has_enough_topics(lite: Path) -> None:
    qrels = judge_by_links(CollectionFiles(lite))
    assert len(qrels) == 341  # counted by another program
