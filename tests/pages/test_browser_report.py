"""Reports and threads in a real browser: formulas have a size, filters work, nothing runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from browsing import (
    CSS,
    MATHML,
    Keys,
    attacked,
    check,
    complaints,
    drawn,
    jumps,
    phone,
    refused,
    scheme,
    shown,
    until,
)
from hostile_collection import write_collection, write_runs
from lxml import etree
from test_threads import rows

from arqmath_bm25.cli.pages import report, threads
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.pages.threads import ThreadReader, write_threads

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow


def test_formulas_are_drawn(browser: Chrome, site: Path) -> None:
    browser.get((site / "topics" / "A.203.html").as_uri())
    fractions = drawn(browser, ".post mfrac")
    assert fractions
    for element in [*drawn(browser, "h1 math"), *fractions]:
        assert element["space"] == MATHML
        assert element["width"] > 4
        assert element["height"] > 8
    assert browser.execute_script("return document.fonts.check('16px \"STIX Two Math\"', '∑')")
    (numerator, denominator) = drawn(browser, ".post mfrac:first-of-type > *")[:2]
    assert numerator["height"] + denominator["height"] <= fractions[0]["height"] + 1  # stacked
    assert complaints(browser) == []


def test_a_report_has_its_style_from_disk(browser: Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    bars = drawn(browser, "figure.bars a rect")
    assert len(bars) >= 6
    assert all(bar["width"] > 10 for bar in bars)
    colours = {
        browser.execute_script(style, f"figure.{kind}", "fill")
        for kind in ("bars a rect", "lines .color-0 circle", "lines .color-1 circle")
    }
    assert len(colours) == 3
    assert complaints(browser) == []


def test_dark_pages_are_dark(browser: Chrome, site: Path) -> None:
    def brightness(part: str) -> float:
        colour = browser.execute_script(
            f"return getComputedStyle(document.body).{part}.match(/\\d+/g).map(Number)"
        )
        return sum(colour[:3]) / 3

    for name, dark in (("light", False), ("dark", True)):
        with scheme(browser, name):
            browser.get((site / "index.html").as_uri())
            assert (brightness("backgroundColor") < brightness("color")) == dark
            assert abs(brightness("backgroundColor") - brightness("color")) > 150


@pytest.mark.parametrize(
    "name", ["index.html", "topics/A.203.html", "runs/1.html", "runs/2.html", "thread", "threads"]
)
def test_pages_on_disk_are_for_everyone(
    browser: Chrome, site: Path, thread: Path, name: str
) -> None:
    threads_of = {"thread": thread, "threads": thread.with_name("index.html")}
    check(browser, threads_of.get(name, site / name).as_uri())


def test_a_first_visit_does_not_jump(
    browser: Chrome, site: Path, thread: Path, search_page: str
) -> None:
    pages = [site / "index.html", site / "topics" / "A.203.html", site / "runs" / "1.html", thread]
    addresses = [page.as_uri() for page in pages]
    addresses += [search_page, f"{search_page}/?q=series+%24%5Cfrac1n%24"]
    # What always jumps does so each time; a machine that is busy may draw a page in two steps.
    shifts = {address: min(jumps(browser, address) for _ in range(3)) for address in addresses}
    assert max(shifts.values()) < 0.1, shifts


def test_which_run_is_better_where_it_fails_and_why(browser: Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    (verdict,) = shown(browser, ".verdict")
    assert verdict.startswith("good has the best nDCG′ 1.0000. It is 0.")
    assert "above bad (p = " in verdict
    # Sorted by the other run, the topic that it fails worst comes first.
    head = browser.find_elements(CSS, ".topics thead button")[-1]
    head.send_keys(Keys.ENTER)
    values = [float(text) for text in shown(browser, ".topics tbody td:last-child")]
    assert values == sorted(values)
    assert browser.find_elements(CSS, ".topics th")[3].get_attribute("aria-sort") == "ascending"
    head.send_keys(Keys.ENTER)
    assert shown(browser, ".topics tbody td:last-child")[0] == f"{max(values):.4f}"
    browser.find_element(CSS, ".topics a[href$='A.201.html']").send_keys(Keys.ENTER)
    until(browser, lambda b: b.find_elements(CSS, ".documents"))
    # The relevant ones are first, with their ranks, how they moved, and what they share.
    first = browser.find_elements(CSS, ".documents tbody tr")[0]
    cells = {c.get_attribute("data-label").strip(): c.text for c in first.find_elements(CSS, "td")}
    assert cells["relevance"] == "High"
    good, bad = int(cells["good"]), int(cells["bad"])
    assert good < bad
    assert cells["move"] == f"▼ {bad - good}"
    assert int(cells["words"]) > 0
    for run in ("from", "to"):  # the other way round
        browser.find_element(CSS, f"select[name={run}]").send_keys("b" if run == "from" else "g")
    assert first.find_element(CSS, ".move").text == f"▲ {bad - good}"
    first.find_element(CSS, "summary").send_keys(Keys.ENTER)
    assert first.find_element(CSS, ".post mark").is_displayed()


def test_a_phone_shows_one_run_at_a_time(browser: Chrome, site: Path) -> None:
    page = (site / "topics" / "A.203.html").as_uri()
    browser.get(page)
    assert shown(browser, ".run h3") == ["good", "bad"]
    with phone(browser):
        browser.get(page)
        assert shown(browser, ".run h3") == ["good"]
        browser.find_elements(CSS, ".tabs input")[0].send_keys(Keys.ARROW_DOWN)
        assert shown(browser, ".run h3") == ["bad"]


def test_the_first_hundred_topics_are_three_screens_of_a_phone_at_most(
    browser: Chrome, tmp_path: Path
) -> None:
    topics = "".join(
        f'<Topic number="A.{n}"><Title>Series {n}</Title><Question>Why?</Question></Topic>'
        for n in range(1, 104)
    )
    (tmp_path / "topics.xml").write_text(f"<Topics>{topics}</Topics>")
    run = tmp_path / "run.tsv"
    run.write_text("".join(f"A.{n}\t11337\t1\t5\tx\n" for n in range(1, 104)))
    report([run], tmp_path / "out", indexes=tmp_path, topics=tmp_path / "topics.xml")
    with phone(browser):
        browser.get((tmp_path / "out" / "index.html").as_uri())
        (table,) = drawn(browser, ".scroll:has(.topics)")
        assert table["height"] <= 3 * 740
        assert len(shown(browser, ".topics tbody tr")) == 100
        browser.find_element(CSS, ".scroll:has(.topics) + button").send_keys(Keys.ENTER)
        assert len(shown(browser, ".topics tbody tr")) == 103


def test_comments_stand_to_the_right_of_their_post(browser: Chrome, tmp_path: Path) -> None:
    posts = [row["Id"] for row in rows(Layout(SAMPLE).posts())]
    threads(tmp_path / "pages", posts, indexes=tmp_path, threads=1)
    page = next(p for p in sorted((tmp_path / "pages").iterdir()) if "comment-" in p.read_text())
    browser.get(page.as_uri())
    left = "return document.querySelector(arguments[0]).getBoundingClientRect().left"
    post = browser.execute_script(left, "article:has(.comments) .post")
    assert browser.execute_script(left, ".comments li") > post + 16


def test_topics_are_filtered_by_words(browser: Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    before = shown(browser, ".topics tbody th")
    assert len(before) > 3
    box = browser.find_element(CSS, "input[type=search]")
    box.send_keys("a.203")
    assert shown(browser, ".topics tbody th") == ["A.203"]
    assert shown(browser, ".filter output") == [f"1 of {len(before)} shown"]
    box.send_keys(" nosuchword")
    assert shown(browser, ".topics tbody th") == []
    box.clear()
    box.send_keys(" ", Keys.BACKSPACE)
    assert shown(browser, ".topics tbody th") == before


def test_charts_are_saved_with_their_looks(browser: Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    saved = browser.execute_script(
        """
        const saved = [];
        HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]); };
        for (const button of document.querySelectorAll("figure.chart button")) button.click();
        return saved;
        """
    )
    assert len(saved) == len(browser.find_elements(CSS, "figure.chart svg")) > 0
    for name, address in saved:
        assert re.fullmatch(r"[A-Za-z0-9-]+\.svg", name)
        kind, _, text = address.partition(",")
        assert kind == "data:image/svg+xml"
        chart = etree.fromstring(unquote(text))
        assert not chart.xpath("//@class | //@href")
        for element in chart.xpath("//*[local-name() = 'text' or local-name() = 'rect']"):
            assert element.get("fill", "").startswith("rgb")


def test_hits_are_filtered_by_relevance_with_the_keyboard(browser: Chrome, site: Path) -> None:
    browser.get((site / "topics" / "A.203.html").as_uri())
    words = set(shown(browser, ".hits .badge"))
    assert {"High", "Not relevant"} <= words
    box = browser.find_element(CSS, "input[value=not-relevant]")
    browser.execute_script("arguments[0].focus()", box)
    browser.switch_to.active_element.send_keys(Keys.SPACE)
    assert set(shown(browser, ".hits .badge")) == words - {"Not relevant"}
    assert "Not relevant" not in shown(browser, ".documents .badge")


def test_links_lead_from_page_to_page(browser: Chrome, site: Path) -> None:
    browser.get((site / "index.html").as_uri())
    bar = browser.find_element(CSS, "figure.bars a")
    topic = bar.get_attribute("aria-label").partition(":")[0]
    browser.execute_script("arguments[0].focus()", bar)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(browser, lambda b: b.title.startswith(topic))
    browser.find_element(CSS, ".hit .heading a").click()
    until(browser, lambda b: b.find_elements(CSS, ".documents details[open]"))
    assert shown(browser, "details[open] .post")
    following = browser.find_elements(CSS, "nav a[rel=next], nav a[rel=prev]")[0]
    following.click()
    assert not browser.title.startswith(topic)


def test_no_script_of_a_post_runs_in_a_report(browser: Chrome, tmp_path: Path) -> None:
    data, runs = write_collection(tmp_path / "data"), write_runs(tmp_path)
    report(runs, tmp_path / "out", data=data, indexes=tmp_path)
    for page in sorted((tmp_path / "out").rglob("*.html")):
        browser.get(page.as_uri())
        for element in browser.find_elements(CSS, ".post a, .post p"):
            if element.is_displayed() and not (element.get_attribute("href") or "").startswith("h"):
                browser.execute_script("arguments[0].click()", element)
        assert attacked(browser) is None
        assert browser.find_element(CSS, "h1").is_displayed()  # no style of a post hid it
        assert refused(browser) == []


def test_formulas_of_real_threads_are_drawn(browser: Chrome, lite: Path, tmp_path: Path) -> None:
    """Of 25 threads, with hundreds of formulas: each has a size, nothing runs or leaves."""
    collection = CollectionFiles(lite, tmp_path)
    questions = [row["Id"] for row in rows(Layout(lite).posts()) if row["PostTypeId"] == "1"]
    write_threads(ThreadReader(collection), questions[::111], tmp_path / "pages")
    formulas = 0
    for page in sorted((tmp_path / "pages").glob("*.html")):
        browser.get(page.as_uri())
        found = drawn(browser, "article math")
        assert all(formula["width"] > 0 and formula["height"] > 0 for formula in found), page
        formulas += len(found)
        assert browser.execute_script("return document.scripts.length") == 0
        asked = browser.execute_script("return performance.getEntries().map(entry => entry.name)")
        assert not [name for name in asked if name.startswith("http")]
        assert complaints(browser) == []
    assert formulas > 200
