"""The search page and its JSON interface: what they find, and what they refuse."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from serving import Client, open_site, page, running
from waiting import wait_until

import arqmath_bm25 as arq
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.cli.tasks import search
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.web.search_pages import MAX_QUERY, SearchPages
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.post_filter import NONE_PASSES

if TYPE_CHECKING:
    from pathlib import Path

QUERY = r"Why does $\sum_{n=2}^\infty \frac{1}{n \ln n}$ diverge?"


@pytest.fixture(scope="module")
def expected(indexes: Path) -> list[tuple[str, float]]:
    index = OpenIndex.open(CollectionFiles(SAMPLE, indexes), "task1")
    return [(hit.doc_id, hit.score) for hit in index.search(QUERY, "both", 5)]


def test_answers_are_those_of_the_ranker(client: Client, expected: list[tuple[str, float]]) -> None:
    answer = client.get("/api/search", q=QUERY, depth=5).json()
    assert (answer["query"], answer["task"], answer["variant"]) == (QUERY, "task1", "both")
    assert [(r["post_id"], pytest.approx(r["score"])) for r in answer["results"]] == expected
    assert [r["rank"] for r in answer["results"]] == [1, 2, 3, 4, 5]
    assert r"$\sum_{n=2}^\infty" in answer["results"][0]["title"]


def test_formulas_are_found_with_and_without_dollars(client: Client) -> None:
    found = [
        client.get("/api/search", q=q, task="task2", depth=3).json()["results"]
        for q in (r"$\binom nk$", r"\binom nk")
    ]
    assert found[0] == found[1]
    assert "binom" in found[0][0]["latex"]
    assert found[0][0]["formula_id"].isdecimal()


def test_the_page_shows_results_as_links_with_drawn_formulas(
    client: Client, expected: list[tuple[str, float]]
) -> None:
    tree = LexborHTMLParser(client.get("/", q=QUERY, depth=5).text)
    posts = CollectionFiles(SAMPLE).posts
    threads: dict[str, list[str]] = {}  # in the order of their best answers
    for doc, _ in expected:
        threads.setdefault(posts.read(doc).parent_id, []).append(doc)
    assert len(threads) < len(expected)  # else nothing is tested
    results = tree.css(".result")
    assert [
        [
            re.search(r"\d+", link.attributes["href"])[0]
            for link in result.css(".hits-of-thread a[href^='/posts/']")
        ]
        for result in results
    ] == list(threads.values())
    links = [link.attributes["href"] for link in tree.css(".result h3 a")]
    best = [f"/posts/{docs[0]}" for docs in threads.values()]
    assert [link.partition("?")[0] for link in links] == best
    for result, (question, docs) in zip(results, threads.items(), strict=True):
        asked = posts.read(question)
        assert [tag.text() for tag in result.css(".tag")] == list(asked.tags)
        assert f"{asked.score} vote" in result.css_first(".hint").text()
        assert asked.creation_date[:10] in result.css_first(".hint").text()
        for item, doc in zip(result.css(".hits-of-thread > li"), docs, strict=True):
            assert bool(item.css(".badge")) == (asked.accepted_answer_id == doc)
            assert f"answer {posts.read(doc).score} vote" in item.css_first(".hint").text()
    assert results[0].css(".badge")
    assert tree.css(".result h3 math")
    assert "diverge" in {mark.text().lower() for mark in tree.css("mark")}
    assert tree.css_first("#q").attributes["value"] == QUERY
    post = LexborHTMLParser(client.get(links[0]).text)
    assert links[0].endswith(f"#post-{expected[0][0]}")
    for shown in (next(iter(threads)), expected[0][0]):
        assert post.css(f"#post-{shown} math")
    assert "diverge" in {mark.text().lower() for mark in post.css("mark")}
    assert tree.css_first("a[rel='noopener noreferrer']").attributes["href"] == (
        f"https://math.stackexchange.com/a/{expected[0][0]}"
    )


@pytest.mark.parametrize("task", ["task1", "task2"])
def test_a_link_beside_a_result_tells_why_it_has_its_score(client: Client, task: str) -> None:
    tree = LexborHTMLParser(client.get("/", q=QUERY, task=task, depth=3).text)
    assert not tree.css("#why")
    link = tree.css(".result .hint a[href$='#why']")[1].attributes["href"]
    tree = LexborHTMLParser(client.get(link.partition("#")[0]).text)
    (why,) = tree.css("details#why[open]")
    document = re.search(r"explain=(\d+)", link)[1]
    answer = client.get("/api/search", q=QUERY, task=task, depth=3, explain=document).json()
    first, explained, _ = answer["results"]
    assert (first["parts"], explained["doc_id"]) == (None, document)
    assert sum(part["score"] for part in explained["parts"]) == pytest.approx(explained["score"])
    lines = [item.text(deep=False).split() for item in why.css("li")]
    assert [[line[0], line[1].rstrip(":")] for line in lines] == [
        [f"{part['score']:.3f}", part["name"]] for part in explained["parts"]
    ]
    terms = explained["parts"][0]["terms"]
    assert [code.text() for code in why.css_first("li").css("code")][:12] == list(terms)[:12]


def test_the_preview_draws_what_is_typed(client: Client) -> None:
    html = client.get("/api/preview", q=r"is $\frac{a}{b}$ <b>5").json()["html"]
    assert html.startswith("is <math")
    assert html.endswith("</math> &lt;b&gt;5")


def test_the_preview_draws_formulas_alone_as_the_task_reads_them(client: Client) -> None:
    def html(**parameters: object) -> str:
        return str(client.get("/api/preview", **parameters).json()["html"])

    assert html(q=r"\binom nk", task="task2").startswith("<math")
    assert "<math" in html(q=r"expand \binom nk", task="task1")
    assert html(q="<b>series</b>") == ""


def test_the_page_shows_formulas_that_nobody_marked_and_lets_one_change_them(
    client: Client,
) -> None:
    tree = LexborHTMLParser(client.get("/", q="solve x^2=2 & more", task="task1").text)
    assert tree.css_first("#found .advice").text().startswith("Read as a formula: ")
    assert tree.css_first(".advice math").attributes["title"] == "x^2=2"
    assert tree.css_first("#preview math") is not None
    changed = parse_qs(urlsplit(tree.css_first(".advice a").attributes["href"]).query)
    assert changed["q"] == ["solve $x^2=2$ & more"]
    assert changed["task"] == ["task1"]
    again = LexborHTMLParser(client.get("/", q=changed["q"][0], task="task1").text)
    assert again.css_first("#found .advice") is None
    assert [each.text() for each in again.css(".result h3")] == [
        each.text() for each in tree.css(".result h3")
    ]


def test_tags_and_years_narrow_a_search(client: Client) -> None:
    def found(**parameters: object) -> list[str]:
        answer = client.get("/api/search", q="series", **parameters)
        return [result["post_id"] for result in answer.json()["results"]]

    posts = CollectionFiles(SAMPLE).posts
    everything = [posts.read(post) for post in found(depth=100)]
    assert 3 < len(everything) < 100
    for tag, year in (("sequences-and-series", None), ("", 2013), ("Sequences-and-Series ", 2013)):
        expected = [
            post.post_id
            for post in everything
            if (not tag or "sequences-and-series" in CollectionFiles(SAMPLE).question_of(post).tags)
            and (
                year is None
                or CollectionFiles(SAMPLE).question_of(post).creation_date[:4] == "2013"
            )
        ]
        narrow = {"tag": tag} if year is None else {"tag": tag, "year": year}
        assert found(depth=100, **narrow) == expected
        assert found(depth=2, **narrow) == expected[:2]
    assert found(tag="no-such-tag") == []
    assert "No post that holds a term" in client.get("/", q="series", tag="no-such-tag").text
    both = found(depth=100, tag="sequences-and-series, convergence-divergence")
    assert both == [
        post
        for post in found(depth=100, tag="sequences-and-series")
        if post in found(depth=100, tag="convergence-divergence")
    ]


def test_tags_and_years_choose_from_the_whole_ranking(
    indexes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A post far down the ranking is found, in each task, by the library and the command."""
    monkeypatch.setattr(
        "arqmath_bm25.tasks.open_index.FIRST_SEARCHED", 3
    )  # what is looked at first
    collection = arq.Collection(SAMPLE, indexes)
    for task, query in (("task1", "the number"), ("task2", "$x$")):
        index = collection.index(task)
        key = "docno" if task == "task1" else "post_id"
        hits = index.run([{"qid": "1", "query": query}])
        questions = [collection.question_of(collection.post(post)) for post in hits[key]]
        rows = list(zip(hits["docno"], questions, strict=True))
        last = questions[-1]
        tags, year = last.tags, int(last.creation_date[:4])
        expected = [
            docno
            for docno, question in rows
            if set(tags) <= set(question.tags) and question.creation_date[:4] == str(year)
        ]
        assert rows[-1][0] in expected
        assert not set(expected) & set(hits["docno"][:3])
        found = index.search(query, 1000, tags=tags, years=[year])
        assert list(found["docno"]) == expected
        assert list(index.search(query, 1, tags=tags, years=[year])["docno"]) == expected[:1]
        capsys.readouterr()
        search(task, query, data=SAMPLE, indexes=indexes, depth=1, tag=list(tags), year=[year])
        assert (
            collection.place(collection.post(_post(hits, expected[0]))) in capsys.readouterr().out
        )
    search("task1", query, data=SAMPLE, indexes=indexes, tag=["no-such-tag"])
    assert capsys.readouterr().out == f"{NONE_PASSES}\n"


def _post(hits: Any, docno: str) -> str:
    row = hits[hits["docno"] == docno].iloc[0]
    return str(row.get("post_id", docno))


def test_pages_follow_one_another_in_one_ranking(client: Client) -> None:
    everything = client.get("/api/search", q="the number", depth=30).json()["results"]
    pages = [
        client.get("/api/search", q="the number", depth=10, page=page).json()["results"]
        for page in (1, 2, 3)
    ]
    assert [result for page in pages for result in page] == everything
    tree = LexborHTMLParser(client.get("/", q="the number", page=2, tag="", year="").text)
    assert tree.css_first("#results").text() == "Results 11–20"
    first, third = (link.attributes["href"] for link in tree.css(".pages a"))
    assert LexborHTMLParser(client.get(third).text).css_first("#results").text() == "Results 21–30"
    before = LexborHTMLParser(client.get(first).text)
    assert [link.text() for link in before.css(".pages a")] == ["Next"]
    assert "no results on page 99" in client.get("/", q="the number", page=99).text


def test_the_page_says_what_it_holds_and_how_to_begin(client: Client, indexes: Path) -> None:
    tree = LexborHTMLParser(client.get("/").text)
    index = OpenIndex.open(CollectionFiles(SAMPLE, indexes), "task1")
    answers = index.manifest.counts["documents"]
    assert f"{SAMPLE.name}: {answers:,} answers, " in tree.css_first(".lead").text()
    links = [link.attributes["href"] for link in tree.css(".examples a")]
    assert len(links) == 2  # one for each task
    assert tree.css(".examples math")
    assert all(client.get(link).status == 200 for link in links)
    assert LexborHTMLParser(client.get(links[1]).text).css(".result")


def test_an_answer_leads_to_others_like_it(client: Client) -> None:
    first = LexborHTMLParser(client.get("/", q=QUERY).text).css(".hits-of-thread > li")[0]
    (more,) = [link for link in first.css("a") if link.text() == "more like this"]
    similar = LexborHTMLParser(client.get(more.attributes["href"]).text)
    found = similar.css(".hits-of-thread a[href^='/posts/']")
    here = first.css_first("a[href^='/posts/']").attributes["href"].partition("?")[0]
    assert here in [link.attributes["href"].partition("?")[0] for link in found]


def test_a_snippet_has_the_sentence_that_matches() -> None:
    filler = "Nothing of this kind is said here at all. " * 20
    body = read_body(f"<p>{filler}</p><p>Then $a^2+b^2=c^2$ holds. {filler} A prime follows.</p>")
    for query, wanted in (("$a^2 + b^2$", "… Then $a^2+b^2=c^2$"), ("primes", "… A prime")):
        assert PostWriter([read_title(query)]).passage(body, 100).text.startswith(wanted)
    assert PostWriter([read_title("zzz")]).passage(body, 100).text.startswith("Nothing of")


def test_formulas_that_hold_the_one_asked_for_are_marked() -> None:
    query = read_title("$x^2 + y^2$")
    writer = PostWriter([query])
    assert writer.title("$x^2+y^2 = z^2$").startswith("<mark><math")
    assert "<mark" not in writer.title("$x^2 - y^2$ and $x$")
    assert writer.shares([read_title("$x^2+y^2 = z^2$")]) == (0, 1)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        (f"/api/search?q={'a' * 100_000}", 413, "100,000 characters"),
        (f"/api/preview?q={'a' * (MAX_QUERY + 1)}", 413, "5,001 characters"),
        (f"/?q={'a' * 100_000}", 413, "100,000 characters"),
        ("/api/search", 422, "q: type words or formulas to search for."),
        ("/api/search?q=a&depth=0", 422, "depth: "),
        ("/api/search?q=a&depth=101", 422, "depth: "),
        ("/api/search?q=a&depth=many", 422, "depth: "),
        ("/api/search?q=a&task=task9", 422, "There is no index of task9"),
        (
            "/api/search?q=a&task=task2&variant=text",
            422,
            "no ranking text. Choose math or both.",
        ),
        ("/api/search?q=a&deph=3", 422, "deph: "),
        ("/api/search?q=a&year=soon", 422, "year: "),
        ("/api/search?q=a&year=1999", 422, "year: expected a year from 2000 on"),
        ("/api/search?q=a&page=0", 422, "page: "),
        ("/posts/1", 404, "There is no post 1"),
        ("/posts/123456789012345678901234567890", 404, "There is no post"),
        ("/posts/x", 404, "There is no post x"),
        (f"/posts/{'9' * 5000}", 404, "There is no post 999"),
        ("/static/nothing.js", 404, "There is no such file"),
    ],
)
def test_what_cannot_be_answered_is_said_to_be_so(
    client: Client, path: str, status: int, message: str
) -> None:
    answer = client.get(path)
    assert answer.status == status
    assert message in answer.text
    kind = "application/json" if path.startswith("/api/") else "text/html"
    assert answer.headers["content-type"].startswith(kind)


def test_the_first_year_is_2000(client: Client) -> None:
    assert client.get("/api/search", q="a", year=2000).status == 200


def test_the_longest_query_is_answered(client: Client) -> None:
    assert client.get("/api/preview", q="a" * MAX_QUERY).status == 200


def test_formulas_that_were_found_are_displayed_and_lead_to_their_places(client: Client) -> None:
    asked = {"q": r"$\binom nk$", "task": "task2"}
    found = client.get("/api/search", **asked).json()["results"]
    tree = page(client, "/", **asked)
    links = [urlsplit(link.attributes["href"]) for link in tree.css(".hit-link")]
    assert len(links) > 1  # one for each thread
    places = {(f"/posts/{hit['post_id']}", f"post-{hit['post_id']}") for hit in found}
    formulas = {hit["formula_id"] for hit in found}
    for link in links:
        assert (link.path, link.fragment) in places
        assert parse_qs(link.query)["formula"][0] in formulas
    assert len(tree.css('.result math[display="block"]')) >= 10


def test_a_text_of_a_json_answer_has_at_most_300_characters(client: Client) -> None:
    results = client.get("/api/search", q="the number", depth=100).json()["results"]
    lengths = [len(result["text"].removesuffix(" …").replace("$", "")) for result in results]
    assert 250 < max(lengths) <= 300


def test_searches_beyond_those_that_wait_are_refused_for_now(
    indexes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.pages.web.search_pages._MAX_WAITING", 1)
    site = open_site(SAMPLE, indexes)  # two threads
    with running(site) as address, ThreadPoolExecutor(3) as clients:
        client = Client(address)
        post = client.get("/api/search", q="the number").json()["results"][0]["post_id"]
        with site._reading:  # Pages of posts wait for it.
            waiting = [clients.submit(client.get, f"/posts/{post}") for _ in range(3)]
            wait_until(lambda: site._threads.statistics().tasks_waiting == 1, every=0.01)
            refused = client.get("/api/search", q="the number")
        assert [answer.result().status for answer in waiting] == [200] * 3

    assert refused.status == 503
    assert refused.headers["retry-after"] == "2"
    assert "Too many searches at once; try again." in refused.text


@pytest.mark.parametrize(
    "query", ["\x00", "$", "$$", "$\\frac{$", "<b>", "zzzzqqq", "  ", "$x$" * 900]
)
def test_any_query_that_is_short_enough_is_answered(client: Client, query: str) -> None:
    for path in ("/", "/api/search", "/api/preview"):
        for task in ("task1", "task2"):
            known = {} if path == "/api/preview" else {"task": task}
            assert client.get(path, q=query, **known).status == 200


def test_premises_are_searched_too(tmp_path: Path) -> None:
    collection = CollectionFiles(indexes=tmp_path)
    ensure(IndexContent.of(configured("nlps"), collection), HERE)
    site = SearchPages({"nlps": OpenIndex.open(collection, "nlps")}, threads=1)
    with running(site) as address:
        asked: dict[str, Any] = {"q": "normal subgroup", "task": "nlps"}
        found = Client(address).get("/api/search", **asked).json()
        assert found["results"][0]["post_id"] is None
        assert "group" in found["results"][0]["text"]
        assert Client(address).get("/", **asked).status == 200
        asked |= {"explain": found["results"][0]["doc_id"], "variant": "tfidf"}
        assert "of the method ridge" in (refused := Client(address).get("/", **asked)).text
        assert refused.status == 422


def test_results_while_typing_are_those_of_the_page(client: Client) -> None:
    live = client.get("/api/results", q=QUERY, task="task1").json()["html"]
    whole = page(client, "/", q=QUERY, task="task1")
    results = [result.html for result in LexborHTMLParser(live).css(".result")]
    assert results == [result.html for result in whole.css(".result")]
    assert results
    assert client.get("/api/results", q="a", depth=0).status == 422
