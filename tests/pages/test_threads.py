"""Thread pages: what stands on them, where their links lead, and that nothing on them runs."""

from __future__ import annotations

import csv
import re
import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import pytest
from hostile_collection import ATTACK, MATH, TAGS, row, write_collection
from lxml import etree
from program import arqmath
from selectolax.lexbor import LexborHTMLParser
from serving import Client, build_indexes, open_site, running

from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.threads import ThreadReader, write_threads

if TYPE_CHECKING:
    from pathlib import Path

FORMULA = re.compile(r'<span class="math-container" id="(\d+)">')


def rows(path: Path | None) -> list[dict[str, str]]:
    return [dict(found.attrib) for found in etree.parse(path).getroot()]  # type: ignore[misc]


def page(directory: Path, thread: int) -> LexborHTMLParser:
    return LexborHTMLParser((directory / f"{thread}.html").read_text(encoding="utf-8"))


def dump(data: Path, name: str, *found: dict[str, object]) -> None:
    written = (" ".join(f"{k}={quoteattr(str(v))}" for k, v in one.items()) for one in found)
    text = "".join(f"<row {attributes}/>\n" for attributes in written)
    path = data / "Collection" / f"{name}.V1.3.xml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<{name.lower()}>\n{text}</{name.lower()}>\n", encoding="utf-8")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample") / "threads"
    posts = [one["Id"] for one in rows(Layout(SAMPLE).posts())]
    result = arqmath("threads", *posts, "-o", directory)
    assert result.output == f"{directory / 'index.html'}: 90 threads\n"
    return directory


def test_every_post_comment_and_formula_has_its_anchor(sample: Path) -> None:
    layout = Layout(SAMPLE)
    posts = rows(layout.posts())
    comments = rows(layout.dump("Comments"))
    thread = {one["Id"]: one.get("ParentId", one["Id"]) for one in posts}
    expected: dict[str, set[str]] = {number: set() for number in thread.values()}
    for kind, found in (("post", posts), ("comment", comments)):
        for one in found:
            anchors = expected[thread[one["PostId" if kind == "comment" else "Id"]]]
            anchors.add(f"{kind}-{one['Id']}")
            text = one.get("Title", "") + one.get("Body", "") + one.get("Text", "")
            anchors |= {f"formula-{number}" for number in FORMULA.findall(text)}
    assert sum(map(len, expected.values())) > 1_000
    for number, anchors in expected.items():
        ids = [node.attributes["id"] for node in page(sample, int(number)).css("[id]")]
        assert len(ids) == len(set(ids))
        assert {one for one in ids if one and "-" in one} == anchors
        assert all(
            page(sample, int(number)).css(f"#{anchor} > math, #{anchor} > code")
            for anchor in anchors
            if anchor.startswith("formula")
        )


def test_a_thread_of_the_sample(sample: Path) -> None:
    tree = page(sample, 10027)
    articles = tree.css("article")
    assert [one.attributes["id"] for one in articles] == [
        "post-10027", "post-10068", "post-10105", "post-10115"
    ]  # fmt: skip
    hints = [" ".join(one.css_first(".hint").text().split()) for one in articles]
    assert hints[0] == "10027 · score 10 · Dario B. · 2011-02-14"
    assert hints[2] == "10105 · score 5 · user231 · 2011-02-16"
    nobody = page(sample, 11323).css_first("#post-11337 .hint")  # its author has gone
    assert " ".join(nobody.text().split()) == "11337 · score 22 · 2012-03-21"
    assert [bool(one.css(".badge")) for one in articles] == [False, True, False, False]
    assert [one.text() for one in tree.css(".tag")] == ["calculus", "inequality", "trigonometry"]


def test_a_thread_begins_with_a_list_of_its_answers(sample: Path) -> None:
    tree = page(sample, 10027)
    answers = tree.css("nav.answers li")
    assert [" ".join(one.text().split()) for one in answers][1] == "Answer 2 by user231 score 5"
    assert [one.css_first("a").attributes["href"] for one in answers] == [
        "#post-10068", "#post-10105", "#post-10115"
    ]  # fmt: skip
    assert ["accepted" in one.text() for one in answers] == [True, False, False]
    assert all(nav.text().strip() for nav in tree.css("nav"))
    headings = [one.tag for one in tree.css("h1, h2, article > h3")]
    assert headings == ["h1", "h2", "h2", "h3", "h3", "h3"]
    for article in tree.css("article"):
        assert article.css_first("a[href='#main']").text() == "Back to top"


PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")


def test_no_formula_of_the_sample_holds_a_mark_of_the_program(sample: Path) -> None:
    pages = sorted(sample.glob("*.html"))
    assert len(pages) == 91
    for path in pages:
        assert not PRIVATE.search(path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_no_formula_of_a_real_post_holds_a_mark_of_the_program(lite: Path) -> None:
    """Neither as it is indexed nor as it is drawn, unless its author wrote one."""
    formulas = 0
    for one in rows(Layout(lite).posts()):
        if not PRIVATE.search(one["Body"]):
            content = read_body(one["Body"])
            formulas += len(content.formulas)
            assert not PRIVATE.search("".join(f.latex for f in content.formulas)), one["Id"]
            assert not PRIVATE.search(PostWriter().body(one["Body"])), one["Id"]
    assert formulas > 50_000


def test_links_between_threads(sample: Path) -> None:
    shown = page(sample, 19824).css("section li")
    assert [one.text().partition(":")[0] for one in shown] == ["duplicate of 12644"]
    assert shown[0].css_first("a").attributes["href"] == "12644.html#post-12644"
    back = page(sample, 12644).css_first("section li")
    assert back.text().startswith("has the duplicate 19824")
    linked = [one.text().partition(":")[0] for one in page(sample, 12491).css("section li")]
    assert linked == ["linked from 19672", "linked from 19976"]


def test_the_same_threads_give_the_same_bytes(sample: Path, tmp_path: Path) -> None:
    arqmath("threads", "10027", "-o", tmp_path / "one")
    arqmath("threads", "10115", "10027", "-o", tmp_path / "two")
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two
    assert one["10027.html"] == (sample / "10027.html").read_bytes()


SITE = "https://math.stackexchange.com"


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        (f"{SITE}/questions/1/any-title", "1.html#post-1"),
        (f"{SITE}/questions/1", "1.html#post-1"),
        ("http://math.stackexchange.com/q/1/77", "1.html#post-1"),
        (f"{SITE}/a/2/77", "1.html#post-2"),
        ("//math.stackexchange.com/questions/1/any-title/2#2", "1.html#post-2"),
        ("/questions/1/any-title#2", "1.html#post-2"),
        (f"{SITE}/questions/1/any?noredirect=1#comment5_1", "1.html#post-1"),
        (f"{SITE}/questions/5/not-written", None),
        (f"{SITE}/questions/99/not-there", None),
        (f"{SITE}/questions/{'9' * 40}", None),
        (f"{SITE}/users/1", None),
        ("https://math.stackexchange.com.example.org/q/1", None),
        ("https://example.org/?u=https://math.stackexchange.com/q/1", None),
    ],
)
def test_links_lead_to_pages_or_nowhere(target: str, leads: str | None, tmp_path: Path) -> None:
    posts = [
        row(1, 1, f'<p>See <a href="{target}">this <b>post</b></a> &lt;b&gt; $x<y$.</p>'),
        row(2, 2, "<p>An answer.</p>", ParentId=1),
        row(5, 1, "<p>Another.</p>"),
    ]
    (tmp_path / "Posts.xml").write_text(f"<posts>\n{''.join(posts)}</posts>\n", encoding="utf-8")
    collection = CollectionFiles(tmp_path, tmp_path / "indexes", site="math.stackexchange.com")
    write_threads(ThreadReader(collection), ["1"], tmp_path / "pages")
    post = page(tmp_path / "pages", 1).css_first(".post")
    assert [a.attributes["href"] for a in post.css("a")] == ([leads] if leads else [])
    assert "<b>post</b>" in (post.html or "")
    assert "&lt;b&gt;" in (post.html or "")
    shown = post.css_first(".outside")
    assert shown is None if leads else shown.text() == f"this post [{target}]"
    assert len(post.css("math")) == 1


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    data = write_collection(tmp_path / "data")
    who = {"UserId": 7, "CreationDate": f'"><script>{ATTACK}</script>'}
    comments: list[dict[str, object]] = [
        {"Id": number, "PostId": post, "Text": f"{TAGS} {MATH} [x](javascript:{ATTACK})", **who}
        for number, post in ((1, 1), (2, 2), (3, 4), (4, 99))
    ]
    dump(data, "Comments", *comments, {"Id": 'x"y', "PostId": 1, "Text": "broken"})
    dump(data, "Users", {"Id": 7, "DisplayName": TAGS})
    dump(data, "PostLinks", {"PostId": 1, "RelatedPostId": 99, "LinkTypeId": 3})
    return data


def test_nothing_runs_and_nothing_is_asked_for(hostile: Path, tmp_path: Path) -> None:
    result = arqmath("threads", 3, "--data", hostile, "-o", tmp_path / "pages")
    assert "left out: Comments.V1.3.xml: 1 rows without Id, PostId or Text" in result.output
    tree = page(tmp_path / "pages", 1)
    assert len(tree.css("li[id^=comment]")) == 3
    assert tree.css_first("section li").text() == "duplicate of 99 (not in the collection)"
    names = {node.tag for node in tree.css("*")}
    assert not names & {"script", "img", "svg", "iframe", "style", "object", "form", "input"}
    for node in tree.css("*"):
        assert not [name for name in node.attributes if name.startswith("on") or name == "src"]
    targets = [a.attributes["href"] or "" for a in tree.css("a")]
    assert all(re.fullmatch(r"#[\w-]+|\d+\.html#post-\d+|index\.html", one) for one in targets)
    ids = [node.attributes["id"] for node in tree.css("[id]")]
    assert len(ids) == len(set(ids))
    policy = tree.css_first("meta[http-equiv]").attributes["content"] or ""
    assert policy.startswith("default-src 'none'; style-src")
    assert "script-src" not in policy


def test_the_posts_of_a_batch(tmp_path: Path) -> None:
    run = tmp_path / "run.tsv"
    batch = tmp_path / "batch.csv"
    answers = [one["Id"] for one in rows(Layout(SAMPLE).posts()) if one["PostTypeId"] == "2"][:2]
    run.write_text(
        "".join(f"A.201\t{doc}\t{n}\t{9 - n}\tx\n" for n, doc in enumerate(answers, 1)), "utf-8"
    )
    arqmath("pool", run, "--task", "task1", "-o", batch)
    arqmath("threads", "--pool", batch, "-o", tmp_path / "pages")
    written = (tmp_path / "pages").glob("*.html")
    text = "".join(file.read_text(encoding="utf-8") for file in written)
    assert all(f'id="post-{doc}"' in text for doc in answers)
    with batch.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["topic_id", "post"], ["A.1", "1"]])
    with pytest.raises(InputError, match=r"batch\.csv: row 1: no column post_1"):
        arqmath("threads", "--pool", batch, "-o", tmp_path / "other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "new"], "threads of which posts"),
        (["5", "-o", "new"], r"no question or answer 5; expected ids"),
        (["010027", "-o", "new"], "no question or answer 010027"),
        (["10027", "-o", "there"], "there: this exists and holds no threads"),
    ],
)
def test_what_cannot_be_written(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/kept").touch()
    with pytest.raises(InputError, match=message):
        arqmath("threads", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_formulas_of_a_page_come_back_in_as_html(tmp_path: Path) -> None:
    collection = CollectionFiles(SAMPLE)
    threads = [thread for thread in islice(collection.posts.threads(), 20) if thread.question]
    ids = [thread.question.post_id for thread in threads if thread.question]
    write_threads(ThreadReader(collection), ids, tmp_path / "pages")
    formulas = 0
    for post_id, thread in zip(ids, threads, strict=True):
        posts = [read_body(post.body) for post in (thread.question, *thread.answers) if post]
        expected = Counter(formula.latex.strip() for post in posts for formula in post.formulas)
        html = (tmp_path / "pages" / f"{post_id}.html").read_text(encoding="utf-8")
        read = Counter(formula.latex.strip() for formula in read_body(html).formulas)
        assert not expected - read
        formulas += expected.total()
    assert formulas > 100


def test_the_search_page_shows_threads(hostile: Path, tmp_path: Path) -> None:
    with running(open_site(hostile, build_indexes(hostile, tmp_path))) as address:
        client = Client(address)
        answer = client.get("/threads/3")
        tree = LexborHTMLParser(answer.text)
        assert [one.attributes["id"] for one in tree.css("article")] == [
            f"post-{number}" for number in (1, 2, 3, 4)
        ]
        assert len(tree.css("li[id^=comment]")) == 3
        assert ATTACK not in "".join(script.text() for script in tree.css("script"))
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert client.get("/posts/3").text == answer.text
        assert [client.get(f"/threads/{one}").status for one in ("99", "9" * 40, "x")] == [404] * 3


@pytest.mark.slow
@pytest.mark.nightly
def test_all_threads_of_the_real_subset_in_three_minutes(lite: Path, tmp_path: Path) -> None:
    posts = rows(Layout(lite).posts())
    begin = time.process_time()
    reader = ThreadReader(CollectionFiles(lite, tmp_path))
    assert write_threads(reader, [one["Id"] for one in posts], tmp_path / "pages") == 2_769
    assert time.process_time() - begin < 180  # CPU seconds, whatever else the machine does
    articles = sum(
        file.read_text(encoding="utf-8").count("<article ")
        for file in (tmp_path / "pages").glob("*.html")
    )
    assert articles == len(posts)
