"""Dumps of other sites: their years and addresses, links between their threads, what they lack."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from program import arqmath, printed, refused
from selectolax.lexbor import LexborHTMLParser
from serving import open_site, running

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.collection.site import linked_post
from arqmath_bm25.core.errors import InputError
from tests.support.parsed_dumps import parsed_rows

if TYPE_CHECKING:
    from pathlib import Path

QUANTUM, GENAI = "quantumcomputing.stackexchange.com", "genai.stackexchange.com"


def dump(place: Path, *rows: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "Posts.xml").write_text(f"<posts>{''.join(rows)}</posts>", encoding="utf-8")
    return place


def question(number: int, year: int, body: str = "") -> str:
    return (
        f'<row Id="{number}" PostTypeId="1" CreationDate="{year}-01-01" Title="t" Body="{body}"/>'
    )


def answer(number: int, parent: int, year: int) -> str:
    return (
        f'<row Id="{number}" PostTypeId="2" ParentId="{parent}" CreationDate="{year}-01-01" '
        'Body="word $x+y$"/>'
    )


def test_posts_of_every_year_count_unless_topics_of_the_labs_are_in_play(tmp_path: Path) -> None:
    rows = [question(1, 2017), answer(2, 1, 2018), answer(3, 1, 2019)]
    every = {"1", "2", "3"}

    def posts(name: str, **chosen: str) -> set[str]:
        return set(map(str, CollectionFiles(dump(tmp_path / name, *rows), **chosen).posts.ids))

    assert posts("a dump") == posts("cs.stackexchange.com") == every
    assert posts("math.stackexchange.com") == every - {"3"}
    (tmp_path / "lab" / "Topics").mkdir(parents=True)
    assert posts("lab") == every - {"3"}
    assert posts("lab", until="none") == every
    assert posts("a dump", until="2017") == {"1"}
    with pytest.raises(InputError, match="until=17: expected a year, or none"):
        posts("a dump", until="17")
    with pytest.raises(InputError, match=r"none of the 3 rows .* \(3 posts after 2016 were left"):
        posts("a dump", until="2016")


def test_the_years_and_the_site_are_those_that_are_given(tmp_path: Path) -> None:
    data = dump(tmp_path / "some", question(1, 2017), answer(2, 1, 2018), answer(3, 1, 2019))
    where = ("task1", "--data", data, "--indexes", tmp_path / "indexes")
    chosen = ("--until", "2018", "--site", "cs.example.org")
    arqmath("index", *where, *chosen)
    said = refused("search", "task1", "word", *where[1:])
    assert "site: cs.example.org, until: 2018" in said
    found = printed("search", "task1", "word", *where[1:], *chosen)
    assert "https://cs.example.org/a/2" in found
    assert "/a/3" not in found
    everything = ("--until", "none", "--site", "cs.example.org")
    arqmath("index", *where, *everything)
    found = printed("search", "task1", "word", *where[1:], *everything)
    assert "https://cs.example.org/a/3" in found


LINK = "&lt;a href=&quot;https://{}/q/{}/7&quot;&gt;"


@pytest.mark.parametrize(
    ("name", "links", "link"),
    [
        ("cs.stackexchange.com", [], "https://cs.stackexchange.com/a/2"),
        ("mathoverflow.net", [], "https://mathoverflow.net/a/2"),
        ("redes", [("ai.stackexchange.com", 1)] * 3, "https://ai.stackexchange.com/a/2"),
        ("redes", [("ai.stackexchange.com", 1)] * 2, "answer 2"),
        ("redes", [("ai.stackexchange.com", 99)] * 9, "answer 2"),  # posts of another site
        ("redes", [("ai.stackexchange.com", 1), ("cs.stackexchange.com", 1)] * 3, "answer 2"),
        ("redes", [("example.org", 1)] * 3, "answer 2"),
    ],
)
def test_where_a_post_is(
    name: str, links: list[tuple[str, int]], link: str, tmp_path: Path
) -> None:
    body = "".join(LINK.format(*link) for link in links)
    data = dump(tmp_path / name, question(1, 2020, body), answer(2, 1, 2020))
    assert CollectionFiles(data).place(Post("2", 2, "")) == link
    assert CollectionFiles(data, site="x.org").place(Post("2", 2, "")) == "https://x.org/a/2"


def test_answers_for_other_engines(tmp_path: Path) -> None:
    data = dump(tmp_path / "cs.stackexchange.com", question(1, 2020, "Is it?"), answer(2, 1, 2020))
    (document,) = arq.Collection(data, tmp_path / "indexes").documents("task1")
    assert document["docno"] == "2"
    assert document["text"] == "word $x+y$"
    assert document["fields"]["contents"] == ["word"]
    assert "+~x" in document["fields"]["body_operators"]
    assert document["fields"]["title_text"] == ["t"]


def test_questions_without_answers_serve_task_2(tmp_path: Path) -> None:
    data = dump(tmp_path / "asked", question(1, 2020, "Is $x+y$ even?"))
    where = ("--data", data, "--indexes", tmp_path / "indexes")
    assert "Task 2 finds the formulas of questions" in refused("index", "task1", *where)
    arqmath("index", "task2", *where)
    assert "question 1" in printed("search", "task2", "$x+y$", *where)


def test_inspect_speaks_of_what_is_there(tmp_path: Path) -> None:
    data = dump(tmp_path / "cs", question(1, 2020), answer(2, 1, 2020))
    said = printed("inspect", data)
    assert "Posts.xml" in said
    assert "missing" not in said
    (data / "Topics").mkdir()
    assert "missing" in printed("inspect", data)


@pytest.mark.parametrize("name", ["cs.stackexchange.com.7z", "DATA.zip", "x.tar.gz"])
def test_an_archive_is_to_be_unpacked(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match="an archive; unpack it and give the unpacked data"):
        CollectionFiles(tmp_path / name)


def test_a_document_type_is_named(tmp_path: Path) -> None:
    dump(tmp_path, question(1, 2020))
    text = (tmp_path / "Posts.xml").read_text(encoding="utf-8")
    (tmp_path / "Posts.xml").write_text(f"<!DOCTYPE posts>{text}", encoding="utf-8")
    with pytest.raises(InputError, match=r"declares a DTD, .* remove <!DOCTYPE …>"):
        _ = CollectionFiles(tmp_path).posts


@pytest.mark.slow
@pytest.mark.parametrize(("name", "within"), [(QUANTUM, 250), (GENAI, 20)])
def test_threads_of_a_real_dump_lead_to_each_other(
    name: str, within: int, shared: Path, tmp_path: Path
) -> None:
    """A crawl of all pages finds every post, and every link to a post of the dump leads to it."""
    data = shared / "data" / "se-sites" / name
    rows = [row for _, row in parsed_rows(data / "Posts.xml", "posts") if isinstance(row, dict)]
    posts = {row["Id"] for row in rows if row["PostTypeId"] in "12"}
    questions = {row["Id"] for row in rows if row["PostTypeId"] == "1"}
    arqmath("threads", *sorted(questions), "--data", data, "-o", tmp_path / "pages")
    anchors, links = set(), list[tuple[str, str]]()
    outside = 0
    for page in (tmp_path / "pages").glob("[0-9]*.html"):
        tree = LexborHTMLParser(page.read_text(encoding="utf-8"))
        anchors |= {f"{page.name}#{one.attributes['id']}" for one in tree.css("[id]")}
        links += [(page.name, str(a.attributes.get("href"))) for a in tree.css(".post a")]
        for span in tree.css(".post .outside"):
            found = re.search(
                rf"{re.escape(name)}/(?:q|a|questions)/(\d+)[^#\]]*(?:#(\d+))?", span.text()
            )
            outside += bool(found and (found[2] or found[1]) in posts)
    shown = {found[1] for one in anchors if (found := re.search(r"#post-(\d+)$", one))}
    assert shown == posts
    assert len(links) >= within  # by another count of the links in bodies
    assert all((page + href if href.startswith("#") else href) in anchors for page, href in links)
    assert outside == 0


def test_a_directory_of_dumps_is_refused_and_each_is_named(tmp_path: Path) -> None:
    for name in ("b.org", "a.org"):
        dump(tmp_path / "release" / name, question(1, 2020), answer(2, 1, 2020))
    message = refused("index", "task1", "--data", tmp_path / "release", "--indexes", tmp_path)
    assert f"give one of these directories, such as {tmp_path / 'release' / 'a.org'}" in message
    assert "Posts.xml is not here, but in a.org, b.org;" in message


@pytest.mark.parametrize(("name", "words"), [(QUANTUM, "qubit"), (GENAI, "prompt")])
def test_the_search_page_of_a_real_dump(
    name: str, words: str, shared: Path, tmp_path: Path
) -> None:
    data = shared / "data" / "se-sites" / name
    arqmath("index", "task1", "--data", data, "--indexes", tmp_path, "--engine", "flat")
    with running(open_site(data, tmp_path)) as address:

        def fetch(path: str) -> str:
            with urlopen(address + path) as answer:  # noqa: S310
                return str(answer.read().decode())

        tree = LexborHTMLParser(fetch(f"/?q={words}&task=task1"))
        pages = {str(a.attributes["href"]) for a in tree.css("a[href^='/posts/']")}
        assert f"https://{name}/a/" in tree.html
        assert f" on {name}</a>" in tree.html
        assert pages
        for page in sorted(pages)[:3]:
            assert re.search(rf"\b{words}", fetch(page.partition("#")[0]), re.IGNORECASE)


def test_topics_of_duplicates_need_links(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "se-sites" / GENAI
    message = refused(
        "topics", "duplicates", "--data", data, "-o", tmp_path / "made", "--indexes", tmp_path
    )
    assert "there is no PostLinks file" in message
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_duplicates_of_a_real_dump_are_made_run_and_scored(shared: Path, tmp_path: Path) -> None:
    data, made = shared / "data" / "se-sites" / QUANTUM, tmp_path / "made"
    where = ("--data", data, "--indexes", tmp_path / "indexes")
    arqmath("topics", "duplicates", "-o", made, *where)
    arqmath("index", "task1", "--engine", "flat", *where)
    runs = ("--runs", tmp_path / "runs", "--variant", "both", "--engine", "flat")
    arqmath("run", "task1", "--topics", made / "topics_train.xml", *runs, *where)
    (run,) = (tmp_path / "runs").rglob("*-both-P.tsv")
    scores = tmp_path / "scores.json"
    arqmath("eval", run, "--qrels", made / "qrels_train.tsv", "--json", scores, *where)
    (score,) = json.loads(scores.read_text())
    assert score["nDCG"] > 0.5  # one answer in a thousand is relevant


def test_a_link_to_an_answer_leads_to_the_answer() -> None:
    assert linked_post("/questions/1/title/2") == ("", "2")
    assert linked_post("/questions/1/title") == ("", "1")
    assert linked_post("https://a.org/q/1") == ("a.org", "1")
