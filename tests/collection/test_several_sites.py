"""Several dumps as one collection, with ids that clash."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from all_fields import all_fields
from hypothesis import given
from hypothesis import strategies as st
from program import arqmath, printed, refused
from test_posts import ANSWER, QUESTION, dump

import arqmath_bm25 as arq
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import Post, PostTable, Thread
from arqmath_bm25.collection.sites import find_sites, linked_post, read_links, scan_sites
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.engines.lucene.indexing import index_documents
from arqmath_bm25.engines.lucene.search import LuceneSearcher
from arqmath_bm25.runs.run_writing import write_run
from arqmath_bm25.tasks.answers.answer_documents import write_answer_documents
from arqmath_bm25.tasks.settings import FIELDS

if TYPE_CHECKING:
    from pathlib import Path

LINK = '<row PostId="{}" RelatedPostId="{}"/>'


def site(data: Path, *rows: str, links: str = "") -> Path:
    data.mkdir(parents=True)
    dump(data / "Posts.xml", *rows)
    (data / "PostLinks.xml").write_text(f"<postlinks>{links}</postlinks>")
    return data


@pytest.fixture
def release(tmp_path: Path) -> Path:
    plain = QUESTION.format(1), ANSWER.format(2, 1), QUESTION.format(3), ANSWER.format(4, 9)
    rows = [row.replace('"a', '"answer a') for row in plain]
    links = LINK.format(1, 3)
    site(tmp_path / "release" / "mathoverflow.net", *rows[:2], links=links)
    changed = (row.replace('"a', '"other a') for row in rows)
    site(tmp_path / "release" / "math.stackexchange.com", *changed, links=links)
    return tmp_path / "release"


def test_posts_of_all_sites_are_told_apart(release: Path, tmp_path: Path) -> None:
    sites = find_sites(release)
    scanned = scan_sites(sites)
    assert scanned.counts == {"rows": 6, "questions": 3, "answers": 3}
    scanned.save(tmp_path / "posts.npy")
    for table in (
        scanned,
        PostTable.load(tmp_path / "posts.npy", {site.name: site.posts for site in sites}),
    ):
        one, other = table.read("math.stackexchange.com:2"), table.read("mathoverflow.net:2")
        question = "math.stackexchange.com:1"
        assert one == Post("math.stackexchange.com:2", 2, "other answer a2", question)
        assert other == Post("mathoverflow.net:2", 2, "answer a2", "mathoverflow.net:1")
        for absent in ("2", "x:2", *(f"mathoverflow.net:{post}" for post in ("", 3, 1 << 40))):
            assert table.read(absent) is None
        ids = ["mathoverflow.net:2", "math.stackexchange.com:2", "math.stackexchange.com:3", "2"]
        threads = table.threads_of([*ids, "mathoverflow.net:1"]).tolist()
        assert threads == [threads[4], 1, 3, -1, (1 << 40) + 1]
        assert table.subset([(1 << 40) + 2, 77]).read(ids[0]) == other


def test_links_stay_on_their_site(release: Path) -> None:
    links = read_links(find_sites(release))
    other = 1 << 40  # where the numbers of mathoverflow.net begin
    assert links.of(other + 1) == [other + 3]
    assert (links.of(3), links.of(2)) == ([1], [])


Rows = st.lists(st.tuples(st.integers(1, 20), st.booleans(), st.integers(1, 20)), max_size=20)


@given(of_sites=st.tuples(Rows, Rows, Rows))
def test_all_sites_together_are_each_of_them(
    of_sites: tuple[list[tuple[int, bool, int]], ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("release")
    expected = []
    for name, entries in zip("abc", of_sites, strict=True):
        rows = [ANSWER.format(n, p) if answer else QUESTION.format(n) for n, answer, p in entries]
        path = site(place / name, *rows, ANSWER.format(99, 1)) / "Posts.xml"
        expected += [renamed(thread, name) for thread in PostTable.scan(path).threads()]
    table = scan_sites(find_sites(place))
    assert list(table.threads()) == expected
    cuts = [*table.thread_starts().tolist(), len(table)]
    middle = cuts[len(cuts) // 2]
    sent = pickle.dumps([table.part(0, middle), table.part(middle, len(table))])
    parts = pickle.loads(sent)  # noqa: S301
    assert [thread for part in parts for thread in part.threads()] == expected


def renamed(thread: Thread, name: str) -> Thread:
    def with_site(post: Post) -> Post:
        parent = f"{name}:{post.parent_id}" if post.parent_id else None
        return post._replace(post_id=f"{name}:{post.post_id}", parent_id=parent)

    question = with_site(thread.question) if thread.question else None
    return Thread(question, tuple(map(with_site, thread.answers)))


def test_ids_that_leave_no_room_are_counted(tmp_path: Path) -> None:
    rows = [ANSWER.format(n, 1) for n in ((1 << 40) - 1, 1 << 40, -2)]
    site(tmp_path / "a", *rows, ANSWER.format(5, 1 << 40), QUESTION.format(2 << 40))
    site(tmp_path / "b", ANSWER.format(5, 1))
    table = scan_sites(find_sites(tmp_path))
    assert table.counts == {
        "rows": 6,
        "questions": 0,
        "answers": 2,
        "ids of more than 40 bits": 3,
        "rows whose Id or ParentId is no positive number": 1,
    }
    assert [t.answers[0].post_id for t in table.threads()] == [f"a:{(1 << 40) - 1}", "b:5"]


def test_one_dump_keeps_its_bytes(release: Path, tmp_path: Path) -> None:
    (only,) = find_sites(release / "mathoverflow.net")
    assert type(scan_sites([only])) is PostTable
    scan_sites([only]).save(tmp_path / "one.npy")
    PostTable.scan(only.posts).save(tmp_path / "other.npy")
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "other.npy").read_bytes()
    loaded = PostTable.load(tmp_path / "one.npy", only.posts)
    assert loaded.read("2") == PostTable.scan(only.posts).read("2")
    assert read_links([only]).of(1) == PostLinks.read(only.links).of(1) == [3]


def test_a_run_over_two_sites_names_them(release: Path, tmp_path: Path) -> None:
    sites = find_sites(release)
    table, settings = scan_sites(sites), all_fields(AnalysisSettings())
    (tmp_path / "documents").mkdir()
    written = write_answer_documents(table, settings, tmp_path / "documents", HERE)
    lines = (tmp_path / "documents" / "part-00000.jsonl").read_text()
    assert '{"id":"mathoverflow.net:2"' in lines
    index, count = tmp_path / "lucene", written["documents"]
    index_documents(tmp_path / "documents", index, FIELDS[1:], count, 1)
    hits = LuceneSearcher(index, 1.2, 0.75).search({"contents": {"answer": 1.0}}, 10)
    other = [f"math.stackexchange.com:{post}" for post in (4, 2)]
    assert [hit.doc_id for hit in hits] == ["mathoverflow.net:2", *other]
    write_run(tmp_path / "run.tsv", [("A.1", hits)], "name", "task1", "trec")
    rows = (tmp_path / "run.tsv").read_text().splitlines()
    assert [row.split()[2] for row in rows] == [hit.doc_id for hit in hits]


def test_names_must_tell_sites_apart(tmp_path: Path) -> None:
    site(tmp_path / "sites" / "same", ANSWER.format(2, 1))
    (tmp_path / "sites" / "empty").mkdir()
    assert len(find_sites(tmp_path / "sites")) == 1
    site(tmp_path / "sites" / "with: blank", ANSWER.format(2, 1))
    with pytest.raises(InputError, match="it must be of letters"):
        find_sites(tmp_path / "sites")
    with pytest.raises(InputError, match="missing file"):
        find_sites(tmp_path / "sites" / "empty")


def test_a_folder_of_sites_is_indexed_ranked_and_searched(release: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics.xml"
    topics.write_text(
        '<Topics><Topic number="A.1"><Title>answer</Title><Question>other answer</Question>'
        "<Tags>a</Tags></Topic></Topics>"
    )
    places = ("--data", release, "--indexes", tmp_path / "indexes")
    said = printed("index", "task1", *places, "--engine", "flat")
    assert "2 sites, math.stackexchange.com, mathoverflow.net; ids are SITE:ID" in said
    assert "6 posts read, 3 questions, 3 answers; 3 answers indexed, 0 lost" in said
    arqmath("index", "task1", *places, "--engine", "lucene")
    runs = tmp_path / "runs"
    found = []
    for engine in ("lucene", "flat"):
        options = (*places, "--topics", topics, "--runs", runs, "--overwrite", "--engine", engine)
        assert "1 topics, 3 rows" in printed("run", "task1", "--variant", "both", *options)
        (file,) = (runs / "release" / "topics").glob("*-both-P.tsv")
        found.append(file.read_bytes())
    assert found[0] == found[1]
    ids = {row.split("\t")[1] for row in found[0].decode().splitlines()}
    assert ids == {"mathoverflow.net:2", "math.stackexchange.com:2", "math.stackexchange.com:4"}
    shown = printed("search", "task1", "answer", "--depth", 1, *places)
    assert "https://mathoverflow.net/a/2 answer a2" in shown
    index = arq.Collection(release, tmp_path / "indexes").index("task1")
    assert list(index.search("answer", k=1)["docno"]) == ["mathoverflow.net:2"]
    (release / "mathoverflow.net").rename(release / "mathoverflow.org")
    assert "this index is of math.stackexchange.com, mathoverflow.net" in refused(
        "search", "task1", "answer", *places
    )


def test_a_link_to_an_answer_leads_to_the_answer() -> None:
    assert linked_post("/questions/1/title/2") == ("", "2")
    assert linked_post("/questions/1/title") == ("", "1")
    assert linked_post("https://a.org/q/1") == ("a.org", "1")
