"""A report says what the evaluation says, shows what the runs returned, and is whole or absent."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hostile_collection import RUN_ID, write_collection, write_runs
from hostile_collection import row as post_row
from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.cli.pages import report
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.pages.report.site import page_names
from arqmath_bm25.pages.threads import ThreadReader, write_threads
from arqmath_bm25.runs.short_names import short_names

if TYPE_CHECKING:
    from pathlib import Path

QRELS = read_qrels(Layout(SAMPLE).qrels("task1", "2021"))
UNJUDGED = next(doc for doc in QRELS["A.203"] if doc not in QRELS["A.201"])


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def page(path: Path) -> LexborHTMLParser:
    return LexborHTMLParser(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run in the order of the judgments, best first, and one the other way round."""
    directory = tmp_path_factory.mktemp("runs")
    found = []
    for name, sign in (("good", 1), ("bad", -1)):
        lines = [
            f"{topic}\t{doc}\t1\t{sign * grade + number / 1000}\t{name}"
            for topic, grades in QRELS.items()
            for number, (doc, grade) in enumerate(grades.items())
        ]
        lines.append(f"A.201\t{UNJUDGED}\t1\t-9\t{name}")  # else it looks like a prime run
        found.append(write(directory / f"{name}.tsv", lines))
    weights = {"both": {"contents": 1.0, "title_math": 0.075}}
    settings = {"bm25": {"b": 0.75}, "variants": weights, "latex": {"ngrams": [1, 3]}}
    manifest = json.dumps({"variant": "both", "settings": settings})
    (directory / "good.tsv.manifest.json").write_text(manifest)
    return found


@pytest.fixture(scope="module")
def site(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site") / "report"
    report(runs, directory, indexes=directory.parent / "indexes", depth=3, baseline=runs[0])
    return directory


def test_the_weakest_run_is_the_baseline(runs: list[Path], tmp_path: Path) -> None:
    report(runs, tmp_path / "report", indexes=tmp_path, depth=3)
    overview = page(tmp_path / "report" / "index.html")
    assert "compared with bad" in overview.css_first("#differences ~ .scroll caption").text()
    assert overview.css_first("#differences ~ .scroll tbody td").text().startswith("+")
    named = tmp_path / "named"
    report(runs, named, indexes=tmp_path, depth=3, baseline=runs[0])
    caption = page(named / "index.html").css_first("#differences ~ .scroll caption")
    assert "compared with good" in caption.text()
    with pytest.raises(InputError, match="not among the runs"):
        report(runs, tmp_path / "none", indexes=tmp_path, baseline=tmp_path / "other.tsv")


def test_scores_are_those_of_the_evaluation(site: Path, runs: list[Path]) -> None:
    rows = page(site / "index.html").css("#scores ~ .scroll tbody tr")
    for row, run in zip(rows, runs, strict=True):
        expected = Evaluator(CollectionFiles(SAMPLE, site)).score(run).score.averages()
        keys = ("ndcg_prime", "map_prime", "p10_prime", "bpref", "judged_at_10")
        numbers = [cell.text(strip=True) for cell in row.css("td")]
        assert numbers == [f"{expected[key]:.4f}" for key in keys]
    assert float(numbers[0]) < 1  # the bad run is the second


def test_the_overview_has_its_charts_tests_and_manifests(site: Path) -> None:
    overview = page(site / "index.html")
    assert len(overview.css("figure.bars svg")) == 1
    assert len(overview.css("figure.bars svg a")) == len(QRELS)  # the good run wins everywhere
    assert len(overview.css("figure.lines svg")) == 2
    losses = overview.css_first("#differences ~ .scroll tbody tr")
    assert [cell.text() for cell in losses.css("td")][2:5] == ["0", "0", str(len(QRELS))]
    verdict = overview.css_first(".verdict").text()
    assert f"better on {len(QRELS)} topics, worse on 0" in " ".join(verdict.split())


def own_report(place: Path, unjudged: str) -> LexborHTMLParser:
    """Report `first` (relevant documents at ranks 1, 2, 3) and `second` (none, 1, 1) of topics.

    `unjudged` comes after these.
    """
    topics = "".join(
        f'<Topic number="{n}"><Title>Series</Title><Question>Why?</Question></Topic>' for n in "123"
    )
    answers = list(QRELS["A.201"])[:3]
    relevant, *others = answers
    rankings = {
        "first": [answers, [others[0], relevant], [*others, relevant]],
        "second": [others, [relevant], [relevant]],
    }
    runs = [
        write(place / f"{name}.tsv", [
            f"{topic}\t{doc}\t1\t{-rank}\t{name}"
            for topic, docs in enumerate(of_topics, 1)
            for rank, doc in enumerate([*docs, *filter(None, [unjudged])])
        ])
        for name, of_topics in rankings.items()
    ]  # fmt: skip
    qrels = [f"{n}\t0\t{doc}\t{3 * (doc == relevant)}" for n in "123" for doc in answers]
    report(
        runs, place / "out", indexes=place, task="task1",
        topics=write(place / "topics.xml", [f"<Topics>{topics}</Topics>"]),
        qrels=write(place / "qrels.tsv", qrels),
    )  # fmt: skip
    return page(place / "out" / "index.html")


def test_a_verdict_says_what_speaks_against_it(tmp_path: Path) -> None:
    """nDCG′ of one relevant document is 1 / log2(1 + rank): (1 + .6309 + .5) / 3 to 2 / 3.

    MAP′ is (1 + 1/2 + 1/3) / 3 to 2/3; of bpref, a document that is not relevant takes all.
    """
    overview = own_report(tmp_path, UNJUDGED)
    verdict = " ".join(overview.css_first(".verdict p").text().split())
    assert verdict == (
        "first has the best nDCG′ 0.7103. It is 0.0436 above second (p = 1.0000, which may be "
        "chance): better on 1 topic, worse on 2, so on more than it is better. MAP′ and bpref say "
        "the opposite."
    )
    assert len(overview.css("td.best")) == 5  # three of them of the first run


def test_no_run_is_the_best_where_scores_say_nothing(tmp_path: Path) -> None:
    overview = own_report(tmp_path, "")
    assert "as in a prime run" in overview.css_first(".notes").text()
    assert "best" not in overview.css_first(".verdict").text()
    assert "best" not in overview.css_first("#scores ~ .hint").text()
    assert not overview.css("td.best")


def settings_of(tree: LexborHTMLParser, kind: str = ":not(.differing)") -> dict[str, list[str]]:
    rows = tree.css(f"table.settings{kind} tbody tr")
    return {row.css_first("th").text(): [cell.text() for cell in row.css("td")] for row in rows}


def test_the_letters_of_the_labs_are_explained_where_they_stand(
    runs: list[Path], tmp_path: Path
) -> None:
    named = []
    for run, letter in zip(runs, "PA", strict=True):
        name = f"T-task1-x-auto-{run.stem}-{letter}.tsv"
        named.append(write(tmp_path / name, run.read_text().splitlines()))
    report(named, tmp_path / "out", indexes=tmp_path, depth=3)
    overview = page(tmp_path / "out" / "index.html").css_first("#scores ~ .hint").text()
    assert "-P is a primary run, -A an alternate one." in overview
    (reasons,) = page(tmp_path / "out" / "runs" / "1.html").css(".failures li")
    assert reasons.text() == "None"


def test_every_run_has_a_page_with_its_settings(site: Path) -> None:
    assert settings_of(page(site / "runs" / "1.html")) == {
        "variant": ["both"],
        "bm25 b": ["0.75"],
        "weight of contents": ["1.0"],
        "weight of title_math": ["0.075"],
        "latex ngrams": ["1, 3"],
    }
    assert "no manifest" in page(site / "runs" / "2.html").css_first("main").text()


def test_a_run_page_says_what_differs_from_the_baseline(tmp_path: Path) -> None:
    runs = []
    for name, b, weights in (("one", 0.75, {"tags": 1.0}), ("two", 0.4, {"tags": 1.0, "text": 2})):
        (tmp_path / name).mkdir()
        runs.append(write(tmp_path / name / "run.tsv", [f"A.201\t{UNJUDGED}\t1\t9\t{name}"]))
        variants = {"both": weights, "text": {"text": b}}
        settings = {"bm25": {"k1": 1.2, "b": b}, "variants": variants, "path": f"{tmp_path}/c.yaml"}
        manifest = {"variant": "both", "settings": settings, "data": f"{SAMPLE}"}
        (tmp_path / name / "run.tsv.manifest.json").write_text(json.dumps(manifest))
    report(runs, tmp_path / "out", indexes=tmp_path)
    tree = page(tmp_path / "out" / "runs" / "2.html")
    assert settings_of(tree, ".differing") == {
        "bm25 b": ["0.4", "0.75"],
        "weight of text": ["2", "–"],
    }
    for path in (tmp_path / "out").rglob("*.html"):
        assert str(tmp_path) not in path.read_text()
        assert str(SAMPLE) not in path.read_text()


def test_topics_without_anything_relevant_are_parted_by_the_reason(tmp_path: Path) -> None:
    """Of topic A.1 nothing relevant exists, A.2 has it nowhere, A.3 after ten others, A.4 first."""
    answers = list(QRELS["A.201"])[:12]
    relevant, *others = answers
    wanted = {"A.1": "999999999", "A.2": relevant, "A.3": relevant, "A.4": relevant}
    hits = {"A.1": others, "A.2": others, "A.3": [*others, relevant], "A.4": [relevant]}
    topics = "".join(
        f'<Topic number="{n}"><Title>Series</Title><Question>Why?</Question></Topic>' for n in hits
    )
    lines = [
        f"{topic}\t{doc}\t1\t{-rank}\tx"
        for topic, docs in hits.items()
        for rank, doc in enumerate([*docs, UNJUDGED])
    ]
    qrels = [
        f"{topic}\t0\t{doc}\t{3 * (doc == wanted[topic])}"
        for topic in hits
        for doc in {*others, wanted[topic]}
    ]
    report(
        [write(tmp_path / "run.tsv", lines)], tmp_path / "out", indexes=tmp_path,
        topics=write(tmp_path / "topics.xml", [f"<Topics>{topics}</Topics>"]),
        qrels=write(tmp_path / "qrels.tsv", qrels),
    )  # fmt: skip
    told = page(tmp_path / "out" / "index.html").css_first(".verdict").text()
    assert " ".join(told.split()) == (
        "1 of 4 topics has nothing relevant in the collection. Other topics without a relevant "
        "document among the first ten judged ones: run: not retrieved 1 · ranked low 1"
    )
    reasons = page(tmp_path / "out" / "runs" / "1.html").css(".failures li")
    assert [[link.text() for link in one.css("a")] for one in reasons] == [
        ["A.1"],
        ["A.2"],
        ["A.3"],
    ]


def test_reports_of_own_documents_name_them_by_id_and_first_words(tmp_path: Path) -> None:
    """Long ids are shown with the hit; of more than 100 topics 10 hits of a run are."""
    long = "a" * 60
    words = "The triangle $ABC$ has an area that everybody knows, and more that nobody does."
    documents = [{"id": f"{long}{n}", "text": f"{words} {n}"} for n in range(30)]
    queries = [{"id": f"q{n}", "text": "the triangle and its area"} for n in range(100)]
    queries.append({"id": "q100", "text": "the triangle " + "of side $a$ " * 100 + "and last"})
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    lines = [f"q{q} Q0 {long}{n} {n + 1} {30 - n} x" for q in range(101) for n in range(30)]
    run = write(tmp_path / "run.trec", lines)
    qrels = write(tmp_path / "qrels.txt", [f"q{q} 0 {long}3 1" for q in range(101)])
    report([run], tmp_path / "out", data=tmp_path, indexes=tmp_path, qrels=qrels)
    topic = page(tmp_path / "out" / "topics" / "q7.html")
    hits = topic.css(".hits li")
    assert len(hits) == 10
    heading = hits[3].css_first(".heading").text()
    assert heading == "The triangle ABC has an area that everybody knows, and …"
    assert hits[3].css(".heading math")
    assert f"{long}3" in hits[3].css_first(".hint").text()
    assert topic.css_first("h1").text().split() == ["q7"]
    assert "the triangle and its area" in topic.css_first(".question .post").text()

    # A long question is cut in the table of all topics, but found by each of its words.
    row = page(tmp_path / "out" / "index.html").css_first("tr[data-item^='q100 ']")
    assert row.css_first(".clamp").text().endswith(" …")
    assert 1 <= len(row.css(".clamp math")) <= 20
    assert row.attributes["data-item"].strip().endswith("and last")
    whole = page(tmp_path / "out" / "topics" / "q100.html").css_first(".question .post")
    assert len(whole.css("math")) == 100


def test_posts_lead_to_their_threads_where_these_are(runs: list[Path], tmp_path: Path) -> None:
    """Only two answers of a topic have pages; its other posts have no link to one."""
    answers = list(QRELS["A.201"])[:2]
    collection = CollectionFiles(indexes=tmp_path / "indexes")
    threads, place = tmp_path / "the threads", tmp_path / "report"
    write_threads(ThreadReader(collection), answers, threads)
    report(runs, place, indexes=tmp_path / "indexes", depth=1000, thread_pages=threads)
    found = page(place / "topics" / "A.201.html").css("a[href*='threads/']")
    leads = [str(link.attributes["href"]).partition("#") for link in found]
    assert {anchor for _, _, anchor in leads} >= {f"post-{answer}" for answer in answers}
    assert {(place / "topics" / unquote(file)).resolve() for file, _, _ in leads} == {
        threads / f"{collection.post(answer).parent_id}.html" for answer in answers
    }


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) == 1 + len(QRELS) + 2
    for path in pages:
        tree = page(path)
        for element in tree.css("a[href], link[href], script[src]"):
            target = element.attributes.get("href") or element.attributes.get("src") or ""
            if target.startswith("https://"):
                continue
            file, _, anchor = target.partition("#")
            linked = (path.parent / file).resolve() if file else path
            assert linked.is_file(), (path, target)
            if anchor:
                assert page(linked).css_first(f'[id="{anchor}"]'), (path, target)


def test_a_page_shows_the_best_of_each_run_with_their_relevance(site: Path) -> None:
    topic, grades = next(iter(QRELS.items()))
    tree = page(site / "topics" / f"{topic}.html")
    assert tree.css_first("html").attributes["lang"] == "en"
    good, bad = tree.css("section.run")
    words = {3: "High", 2: "Medium", 1: "Low", 0: "Not relevant"}
    best = sorted(grades.values(), reverse=True)
    for column, order in ((good, best), (bad, best[::-1])):
        assert [b.text() for b in column.css("li .badge")] == [words[g] for g in order[:3]]
    relevant = [doc for doc, grade in grades.items() if grade >= 2]
    rows = tree.css(".documents tbody tr")
    shown = [row.css_first("details").attributes["id"] for row in rows]
    assert sorted(shown[: len(relevant)]) == sorted(f"doc-{doc}" for doc in relevant)
    assert tree.css(".post math")
    assert tree.css(".documents mark")


def test_a_page_tells_which_documents_moved(site: Path) -> None:
    topic, grades = next(iter(QRELS.items()))
    order = sorted(grades, key=lambda doc: (grades[doc], list(grades).index(doc)), reverse=True)
    ties = {doc: number / 1000 for number, doc in enumerate(grades)}
    other = sorted(grades, key=lambda doc: (-grades[doc] + ties[doc], doc), reverse=True)
    for row in page(site / "topics" / f"{topic}.html").css(".documents tbody tr"):
        doc = row.css_first("details").attributes["id"].removeprefix("doc-")
        before, now = order.index(doc) + 1, other.index(doc) + 1
        assert [cell.text() for cell in row.css("td.rank")] == [f"{before}", f"{now}"]
        move = f"▲ {before - now}" if now < before else f"▼ {now - before}" if now > before else "="
        assert row.css_first("td.move").text() == move


def test_posts_are_whole_as_long_as_there_is_room(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.pages.report.site._ROOM", 1)
    report(runs, tmp_path / "small", indexes=tmp_path, depth=3)
    for path in (tmp_path / "small" / "topics").iterdir():
        for details in page(path).css("details"):
            assert "This is how it begins" in details.text()


def test_posts_are_cut_by_their_own_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula is one more character of MathML than fits, if that were what is counted."""
    formula = r'<p><span class="math-container">\frac12</span></p>'
    monkeypatch.setattr("arqmath_bm25.pages.report.site._ROOM", len(formula))
    data = tmp_path / "data"
    bodies = {"1": "<p>Why?</p>", "2": formula, "3": "<p>More</p>"}
    rows = [post_row(int(n), 1 if n == "1" else 2, body, ParentId=1) for n, body in bodies.items()]
    write_collection(data)
    write(data / "Collection" / "Posts.V1.3.xml", ["<posts>", *rows, "</posts>"])
    run = write(tmp_path / "run.tsv", ["A.201\t2\t1\t9\tx", "A.201\t3\t2\t8\tx"])
    report([run], tmp_path / "out", data=data, indexes=tmp_path)
    tree = page(tmp_path / "out" / "topics" / "A.201.html")
    whole = {
        doc: "This is how it begins" not in tree.css_first(f"#doc-{doc}").text() for doc in "23"
    }
    assert whole == {"2": True, "3": False}


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["T-task1-x-auto-both-P", "T-task1-x-auto-text-A"], ["both-P", "text-A"]),
        (["T-task1-x-auto-both-A", "T-task1-x-auto-text-A"], ["both", "text"]),
        (["runs/2020/T-x.tsv", "runs/2021/T-x.tsv"], ["2020", "2021"]),
        (["a", "a-b"], ["a", "a-b"]),
        (["a-b", "a-b-c"], ["b", "b-c"]),
        (["-", "--", "a"], ["-", "--", "a"]),
        (["one-run"], ["one-run"]),
    ],
)
def test_runs_have_short_names(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short


def test_nothing_is_asked_of_the_network_and_no_script_is_inline(site: Path) -> None:
    for path in [site / "index.html", *(site / "topics").iterdir()]:
        text = path.read_text(encoding="utf-8")
        tree = page(path)
        scripts = [script.attributes for script in tree.css("script")]
        assert [script["src"].rpartition("/")[2] for script in scripts] == ["report.js"]
        assert not tree.css("img, iframe, style, [style], [onclick], [onerror]")
        assert "default-src 'none'" in text
        assert not re.search(r'(?:src|href)="(?:http:)?//', text)


def test_without_judgments_a_report_has_no_scores(runs: list[Path], tmp_path: Path) -> None:
    data = write_collection(tmp_path / "data")
    next(data.rglob("qrel_*")).unlink()
    run = write(tmp_path / "run.tsv", ["A.201\t2\t1\t5\tx", "A.202\t9\t1\t5\tx"])
    report([run], tmp_path / "out", data=data, indexes=tmp_path)
    overview = page(tmp_path / "out" / "index.html")
    assert "No judgments" in overview.css_first(".lead").text()
    assert not overview.css("#scores")
    assert "1 of the posts" in overview.css_first(".notes").text()  # there is no post 9
    assert not page(tmp_path / "out" / "topics" / "A.201.html").css(".badge")
    missing = page(tmp_path / "out" / "topics" / "A.202.html")
    (shown,) = missing.css(".documents td.words")
    assert shown.text(strip=True) == "Post 9 is not in the collection"


def test_the_curve_of_precision_is_of_the_documents_that_its_title_names(tmp_path: Path) -> None:
    # Of six documents the third is relevant; four or five have no judgment.
    rows = [f"A.201\t{post}\t{n}\t{-n}\tx" for n, post in enumerate((9, 8, 3, 7, 4, 5), 1)]
    run = write(tmp_path / "run.tsv", rows)
    data = write_collection(tmp_path / "data")
    for judged, title, precision in (
        (["A.201 0 3 2"], "at eleven levels of recall", "0.333"),
        (["A.201 0 4 0", "A.201 0 3 2"], "judged documents only", "1.000"),
    ):
        qrels = write(tmp_path / "qrels", judged)
        report([run], tmp_path / title, data=data, indexes=tmp_path, qrels=qrels)
        overview = (tmp_path / title / "index.html").read_text("utf-8")
        _, _, chart = overview.partition("Interpolated precision")
        assert chart.partition("<")[0].partition('"')[0].endswith(title)
        assert f": {precision}</title>" in chart.partition("</circle>")[0]


def test_runs_of_two_years_have_the_scores_of_their_years(tmp_path: Path) -> None:
    runs, expected = [], []
    for year in ("2020", "2021"):
        qrels = read_qrels(Layout(SAMPLE).qrels("task1", year))
        for name, sign in (("good", 1), ("bad", -1)):
            (tmp_path / year).mkdir(exist_ok=True)
            lines = [
                f"{topic}\t{doc}\t1\t{sign * grade + number / 1000}\t{name}"
                for topic, grades in qrels.items()
                for number, (doc, grade) in enumerate(grades.items())
            ]
            runs.append(write(tmp_path / year / f"{name}.tsv", lines))
            expected.append(
                Evaluator(CollectionFiles(SAMPLE, tmp_path)).score(runs[-1]).score.averages()
            )
    report(runs, tmp_path / "report", indexes=tmp_path / "indexes", depth=3)
    overview = page(tmp_path / "report" / "index.html")
    rows = overview.css("#scores ~ .scroll tbody tr")
    assert [row.css_first("td").text(strip=True) for row in rows] == [
        f"{found['ndcg_prime']:.4f}" for found in expected
    ]
    assert len(overview.css("#differences ~ .scroll tbody tr")) == 2  # within each year
    assert len(overview.css("figure.bars svg")) == 2
    assert "No judgments" not in overview.css_first(".lead").text()


def test_formulas_are_shown_once_for_each_way_they_look(tmp_path: Path) -> None:
    rows = [row for row in read_formulas(Layout(SAMPLE).formulas()) if row.type == "question"]
    first = rows[0]
    same = [row for row in rows if row.visual_id == first.visual_id][:2]
    other = next(row for row in rows if row.visual_id != first.visual_id)
    lines = [
        f"B.201\t{row.formula_id}\t{row.post_id}\t1\t{score}\tx"
        for score, row in zip((9, 8, 7), [*same, other], strict=len(same) == 2)
    ]
    run = write(tmp_path / "T-task2-x-auto-math-P.tsv", lines)
    report([run], tmp_path / "out", indexes=tmp_path)
    tree = page(tmp_path / "out" / "topics" / "B.201.html")
    shown = [math.attributes["title"] for math in tree.css("li .formula math")]
    assert shown == [first.latex, other.latex]
    assert tree.css("h1 mark.found, .question mark.found")  # the formula that was asked for


def test_answers_of_task_3_are_shown_with_their_math(tmp_path: Path) -> None:
    answer = "A <b>bold</b> claim: $a<b$, costs \\$5."
    run = write(
        tmp_path / "T-task3-x-auto-both-extract-P.tsv", [f"A.301\t1\t1.0\tx\tpost 7\t{answer}"]
    )
    report([run], tmp_path / "out", indexes=tmp_path)
    (shown,) = page(tmp_path / "out" / "topics" / "A.301.html").css("li .answer")
    assert shown.text() == "A <b>bold</b> claim: a<b, costs $5."
    assert shown.css_first("math").attributes["title"] == "a<b"


def test_a_hostile_collection_leaves_no_foreign_element(tmp_path: Path) -> None:
    data, runs = write_collection(tmp_path / "data"), write_runs(tmp_path)
    report(runs, tmp_path / "out", data=data, indexes=tmp_path)
    for path in (tmp_path / "out").rglob("*.html"):
        tree = page(path)
        assert len(tree.css("script")) == 1
        assert not tree.css("img, iframe, style, .bait[href], [onclick], [onerror], [onload]")
        assert not [a for a in tree.css("a") if "javascript" in (a.attributes.get("href") or "")]
    overview = page(tmp_path / "out" / "index.html")
    assert RUN_ID in overview.css_first("#scores ~ .scroll tbody th").text()


@pytest.mark.parametrize(
    ("topics", "names"),
    [
        (["A.1", "A.2"], ["A.1.html", "A.2.html"]),
        (["../x", "..", "a/b", "a b"], ["_x.html", "_.html", "a_b.html", "4-a_b.html"]),
    ],
)  # fmt: skip
def test_no_topic_can_lead_out_of_the_folder(topics: list[str], names: list[str]) -> None:
    assert list(page_names(dict.fromkeys(topics)).values()) == names


def test_topics_and_judgments_may_be_ones_own(tmp_path: Path) -> None:
    topic = '<Topic number="mine"><Title>Series</Title><Question>Why?</Question><Tags/></Topic>'
    topics = write(tmp_path / "topics.xml", [f"<Topics>{topic}</Topics>"])
    run = write(tmp_path / "run.tsv", ["mine\t11337\t1\t5\tx"])
    report([run], tmp_path / "out", indexes=tmp_path, topics=topics, task="task1")
    assert "No judgments" in page(tmp_path / "out" / "index.html").css_first(".lead").text()
    qrels = write(tmp_path / "qrels.tsv", ["mine\t0\t11337\t3"])
    ours = {"indexes": tmp_path, "topics": topics, "qrels": qrels, "task": "task1"}
    report([run], tmp_path / "out", **ours)
    (row,) = page(tmp_path / "out" / "index.html").css("#scores ~ .scroll tbody tr")
    assert row.css_first("td").text() == "1.0000"


def bad_runs(tmp_path: Path) -> dict[str, tuple[list[Path], str]]:
    write(tmp_path / "unknown.tsv", ["A.999\t11337\t1\t5\tx"])
    write(tmp_path / "foreign.tsv", ["A.201\t999999\t1\t5\tx"])
    write(tmp_path / "one.tsv", ["A.201\t11337\t1\t5\tx"])
    write(tmp_path / "two.tsv", ["B.201\t1\t2\t1\t5\tx"])
    write(tmp_path / "nlps.tsv", ["1\t2"])
    return {
        "topic": (
            [tmp_path / "unknown.tsv"],
            r"unknown.tsv: topic 'A.999' is in none of the topic",
        ),
        "posts": ([tmp_path / "foreign.tsv"], r"Posts.V1.3.xml: none of the 1 posts"),
        "tasks": ([tmp_path / "one.tsv", tmp_path / "two.tsv"], "two.tsv: a run of task2"),
        "twice": ([tmp_path / "one.tsv"] * 2, "one.tsv: this run was given twice"),
        "premises": ([tmp_path / "nlps.tsv"], "nlps.tsv: premises have no pages"),
        "absent": ([tmp_path / "none.tsv"], "none.tsv: no such run file"),
    }


@pytest.mark.parametrize("fault", ["topic", "posts", "tasks", "twice", "premises", "absent"])
def test_what_cannot_be_reported_is_told_and_nothing_is_written(fault: str, tmp_path: Path) -> None:
    runs, message = bad_runs(tmp_path)[fault]
    with pytest.raises(InputError, match=message):
        report(runs, tmp_path / "out", indexes=tmp_path)
    assert not (tmp_path / "out").exists()


def test_only_reports_are_replaced(site: Path, runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    with pytest.raises(InputError, match="no report"):
        report(runs, tmp_path / "thesis", indexes=tmp_path)
    assert os.listdir(tmp_path / "thesis") == ["chapter.tex"]  # noqa: PTH208
    (site / "topics" / "old.html").touch()
    report(runs, site, indexes=tmp_path, depth=3)
    assert not (site / "topics" / "old.html").exists()


def test_a_report_that_fails_leaves_the_old_one(
    site: Path, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = (site / "index.html").read_text()
    monkeypatch.setattr("arqmath_bm25.pages.report.site.compare", fail)
    with pytest.raises(InputError, match="the disk is full"):
        report(runs, site, indexes=tmp_path)
    assert (site / "index.html").read_text() == before
    assert [path.name for path in site.parent.iterdir()] == ["report"]
