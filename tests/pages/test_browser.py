"""Reports and the search page in a real browser: formulas have a size, filters work, nothing runs.

Needs Chromium and its driver (Debian: chromium, chromium-driver), selenium and axe-core-python.
"""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

import pytest
from hostile_collection import ATTACK, write_collection, write_runs
from judging_day import write_batch
from lxml import etree
from serving import build_indexes, documents_site, open_site, running
from test_judging_site import serving
from test_threads import rows

from arqmath_bm25.cli.pages import report, threads
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.judging.judge import read_annotations
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.pages.threads import ThreadReader, write_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver import Chrome

NO_SELENIUM = "selenium is not installed: .venv/bin/pip install selenium"
webdriver = pytest.importorskip("selenium.webdriver", reason=NO_SELENIUM)
WebDriverWait = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait
Keys = webdriver.Keys
WebDriverException = pytest.importorskip("selenium.common").WebDriverException

pytestmark = pytest.mark.slow

CSS = "css selector"
MATHML = "http://www.w3.org/1998/Math/MathML"
# The last five keep it from asking the network at its start.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--force-prefers-reduced-motion"  # pages on disk appear at once
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium here; on Debian: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    chrome.set_page_load_timeout(30)
    chrome.set_script_timeout(100)
    yield chrome
    chrome.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of the sample with two runs made of its judgments."""
    directory = tmp_path_factory.mktemp("report")
    qrels = read_qrels(Layout(SAMPLE).qrels("task1", "2021"))
    unjudged = next(doc for doc in qrels["A.201"] if doc not in qrels["A.203"])
    runs = []
    for name, sign in (("good", 1), ("bad", -1)):
        rows = [
            f"{topic}\t{doc}\t1\t{sign * grade}\t{name}\n"
            for topic, grades in qrels.items()
            for doc, grade in grades.items()
        ]
        rows.append(f"A.203\t{unjudged}\t1\t-9\t{name}\n")  # else it looks like a prime run
        runs.append(directory / f"{name}.tsv")
        runs[-1].write_text("".join(rows))
    report(runs, directory / "site", indexes=directory, depth=5, baseline=runs[0])
    return directory / "site"


QUERY = r"Why does $\sum \frac1n$ diverge?"
NOTES = "https://notes.uni.example/pythagoras"
PROOF = r"""Let $a$, $b$ and $c$ be the sides of a right triangle. Then
$$a^2 + b^2 = c^2 \tag{1}$$
holds.

By (1), \[c = \sqrt{a^2 + b^2}.\]"""


@pytest.fixture(scope="module")
def search_page(sample_indexes: Path) -> Iterator[str]:
    with running(open_site(SAMPLE, sample_indexes)) as address:
        yield address


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rows = [
        {"id": "thm/1", "title": "Pythagoras", "text": PROOF, "tags": ["geometry"], "url": NOTES},
        {"id": "long", "text": "A triangle, as " + "a long word of prose " * 300},
    ]
    with running(documents_site(tmp_path_factory.mktemp("docs"), rows)) as address:
        yield address


@pytest.fixture(scope="module")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    post = next(iter(read_qrels(Layout(SAMPLE).qrels("task1", "2021"))["A.203"]))
    directory = tmp_path_factory.mktemp("threads")
    threads(directory / "site", [post], indexes=directory, threads=1)
    return next(path for path in (directory / "site").glob("*.html") if path.stem != "index")


def drawn(browser: Chrome, selector: str) -> list[dict[str, Any]]:
    """Return name space and size of every element that is shown."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => ({space: e.namespaceURI,"
        " width: e.getBoundingClientRect().width, height: e.getBoundingClientRect().height}))",
        selector,
    )


def attacked(browser: Chrome) -> object:
    return browser.execute_script("return window.attacked ?? null")


def complaints(browser: Chrome) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def refused(browser: Chrome) -> list[str]:
    """Return what the content security policy had to stop: nothing should have got that far."""
    return [message for message in complaints(browser) if "Content Security Policy" in message]


def shown(browser: Chrome, selector: str) -> list[str]:
    return [e.text for e in browser.find_elements(CSS, selector) if e.is_displayed()]


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


@contextmanager
def phone(browser: Chrome) -> Iterator[None]:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def scheme(browser: Chrome, name: str) -> Iterator[None]:
    media = {"features": [{"name": "prefers-color-scheme", "value": name}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def check(browser: Chrome, address: str) -> None:
    """A page is for everyone, light and dark, on a desk and on a phone."""
    for name in ("light", "dark"):
        with scheme(browser, name):
            check_once(browser, address)
            with phone(browser):
                check_once(browser, address)


def check_once(browser: Chrome, address: str) -> None:
    """No rule of axe is broken, at any level, and nothing is too wide."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    browser.get(address)
    WebDriverWait(browser, 10).until(lambda _: browser.find_element(CSS, "h1").is_displayed())
    browser.execute_script((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    width = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


@pytest.mark.parametrize(
    "name", ["index.html", "topics/A.203.html", "runs/1.html", "runs/2.html", "thread", "threads"]
)
def test_pages_on_disk_are_for_everyone(
    browser: Chrome, site: Path, thread: Path, name: str
) -> None:
    threads_of = {"thread": thread, "threads": thread.with_name("index.html")}
    check(browser, threads_of.get(name, site / name).as_uri())


@pytest.mark.parametrize(
    "path",
    [
        "",
        "?q=series+%24%5Cfrac1n%24",
        "?q=%24%5Cfrac1n%24&task=task2&page=2",
        "?q=zzzz",
        "posts/{}",
        "threads/{}",
        "posts/1",  # which is not there
    ],
)
def test_pages_that_are_served_are_for_everyone(
    browser: Chrome, search_page: str, path: str
) -> None:
    post = next(iter(read_qrels(Layout(SAMPLE).qrels("task1", "2021"))["A.203"]))
    check(browser, f"{search_page}/{path.format(post)}")
    missing = path == "posts/1"
    assert all(missing and "404" in complaint for complaint in complaints(browser))


@pytest.mark.parametrize(
    "path",
    ["?q=triangle+%24a%5E2%24", "documents/thm%2F1?q=triangle", "documents/long", "documents/no"],
)
def test_pages_of_documents_are_for_everyone(browser: Chrome, documents: str, path: str) -> None:
    check(browser, f"{documents}/{path}")
    missing = path == "documents/no"
    assert all(missing and "404" in complaint for complaint in complaints(browser))


def jumps(browser: Chrome, address: str) -> float:
    """Return the cumulative layout shift of a first visit."""
    moving = {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", moving)
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.get(address)
    shift: float = browser.execute_async_script(
        """const done = arguments[0]; let sum = 0;
        new PerformanceObserver(list => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        document.fonts.ready.then(() => setTimeout(() => done(sum), 500));"""
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    return shift


def test_a_first_visit_does_not_jump(
    browser: Chrome, site: Path, thread: Path, search_page: str
) -> None:
    pages = [site / "index.html", site / "topics" / "A.203.html", site / "runs" / "1.html", thread]
    addresses = [page.as_uri() for page in pages]
    addresses += [search_page, f"{search_page}/?q=series+%24%5Cfrac1n%24"]
    shifts = {address: jumps(browser, address) for address in addresses}
    assert max(shifts.values()) < 0.1, shifts


def test_a_day_of_judging_with_the_keyboard(browser: Chrome, tmp_path: Path) -> None:
    batch, results = write_batch(tmp_path / "batch.csv", 30), tmp_path / "labels.csv"
    keys = dict(zip("3210", GRADE_OF_LABEL, strict=False))
    for first, last in ((0, 17), (17, 30)):  # the server is killed in between
        with serving(batch, results) as (address, _):
            check(browser, address)
            assert jumps(browser, address) < 0.1
            for n in range(first, last):
                assert (
                    browser.find_element(CSS, "h1").text
                    == f"Topic {n // 10 + 1} of 3, hit {n % 10 + 1} of 10"
                )
                press(browser, "3210"[n % 4])
                if n == 5:  # a slip of the finger
                    press(browser, "u")
                    press(browser, "3210"[n % 4])
            check(browser, address)  # the last time, all is judged
    labels = [notes[0].label for notes in read_annotations([results]).values()]
    assert labels == [keys["3210"[n % 4]] for n in range(30)]
    assert complaints(browser) == []


def test_a_label_that_is_not_saved_is_said(browser: Chrome, tmp_path: Path) -> None:
    def said(key: str, words: str) -> None:
        browser.find_element(CSS, "body").send_keys(key)
        WebDriverWait(browser, 10).until(
            lambda _: words in browser.find_element(CSS, "[role=alert]").text
        )

    batch, results = write_batch(tmp_path / "batch.csv", 3), tmp_path / "labels.csv"
    with serving(batch, results) as (address, server):
        browser.get(address)
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(address)
        press(browser, "3")
        browser.set_window_size(1400, 900)
        undo = browser.find_element(CSS, "[data-key=u]")
        assert (
            browser.execute_script("return arguments[0].getBoundingClientRect().bottom", undo) < 900
        )
        browser.close()
        browser.switch_to.window(first)
        said("0", "This hit has the label High already")
        browser.refresh()
        server.kill()
        server.wait()
        said("3", "The server has gone, and this label is not saved")
    assert [notes[0].label for notes in read_annotations([results]).values()] == ["High"]
    browser.get("about:blank")
    complaints(browser)  # of the server that has gone


def press(browser: Chrome, key: str) -> None:
    """Press a key, and wait for the next page."""
    body = browser.find_element(CSS, "body")
    body.send_keys(key)
    WebDriverWait(browser, 10).until(lambda _: gone(body))


def gone(element: Any) -> bool:
    try:
        element.is_enabled()
    except WebDriverException:
        return True
    return False


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
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".documents"))
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


def test_a_hundred_topics_are_three_screens_of_a_phone_at_most(
    browser: Chrome, tmp_path: Path
) -> None:
    topics = "".join(
        f'<Topic number="A.{n}"><Title>Series {n}</Title><Question>Why?</Question></Topic>'
        for n in range(1, 101)
    )
    (tmp_path / "topics.xml").write_text(f"<Topics>{topics}</Topics>")
    run = tmp_path / "run.tsv"
    run.write_text("".join(f"A.{n}\t11337\t1\t5\tx\n" for n in range(1, 101)))
    report([run], tmp_path / "out", indexes=tmp_path, topics=tmp_path / "topics.xml")
    with phone(browser):
        browser.get((tmp_path / "out" / "index.html").as_uri())
        (table,) = drawn(browser, ".scroll:has(.topics)")
        assert table["height"] <= 3 * 740
        assert len(browser.find_elements(CSS, ".topics tbody tr")) == 100


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
    WebDriverWait(browser, 10).until(lambda b: b.title.startswith(topic))
    browser.find_element(CSS, ".hit .heading a").click()
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".documents details[open]"))
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
    collection = Collection(lite, tmp_path)
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


def test_searching_shows_drawn_results(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    box = browser.switch_to.active_element  # one can type at once
    box.send_keys(r"Why does $\frac{1}{n}$")
    preview = browser.find_element(CSS, "#preview")
    WebDriverWait(browser, 10).until(lambda _: preview.is_displayed())
    (fraction,) = drawn(browser, "#preview mfrac")
    assert fraction["space"] == MATHML
    assert fraction["height"] > 8
    box.send_keys(" diverge?", Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
    assert len(shown(browser, ".hits-of-thread > li")) == 10
    assert all(e["height"] > 4 and e["space"] == MATHML for e in drawn(browser, ".result math"))
    assert "diverge" in " ".join(shown(browser, ".result mark")).lower()
    box = browser.switch_to.active_element
    assert box.get_property("selectionStart") == len(box.get_property("value"))
    browser.find_element(CSS, ".result h3 a").click()
    WebDriverWait(browser, 10).until(lambda b: "/posts/" in b.current_url)
    assert drawn(browser, ".post math")
    assert complaints(browser) == []


def test_formulas_are_written_by_buttons(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    box = browser.switch_to.active_element
    box.send_keys("why ")
    browser.find_element(CSS, ".options summary").click()
    browser.find_element(CSS, "button[aria-label=fraction]").click()
    box.send_keys("1")
    assert box.get_property("value") == r"why $\frac{1}{}$"
    assert complaints(browser) == []


def test_formulas_are_copied(browser: Chrome, search_page: str) -> None:
    browser.get(f"{search_page}/?q=%24%5Cfrac1n%24")
    by_click = browser.find_element(CSS, ".text math")
    copied(browser, by_click, "#q", lambda: webdriver.ActionChains(browser).click(by_click))
    browser.find_element(CSS, ".hit-link").send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda b: "/posts/" in b.current_url)
    by_key = browser.find_element(CSS, ".post math[tabindex]")
    browser.execute_script("arguments[0].focus()", by_key)
    copied(browser, by_key, "#again", lambda: webdriver.ActionChains(browser).send_keys(Keys.ENTER))
    assert complaints(browser) == []


def copied(browser: Chrome, formula: Any, box: str, act: Callable[[], Any]) -> None:
    """Check that an act copies the LaTeX of a formula, which can then be pasted into a box."""
    latex = formula.get_attribute("title")
    act().perform()
    status = browser.find_element(CSS, ".copied")
    WebDriverWait(browser, 10).until(lambda _: status.text)
    assert status.text == f"Copied: {latex}"
    field = browser.find_element(CSS, box)
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_property("value") == latex


def test_results_come_while_one_types_and_keys_lead_through_them(
    browser: Chrome, search_page: str
) -> None:
    browser.get(search_page)
    box = browser.switch_to.active_element
    box.send_keys("series")
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
    assert browser.switch_to.active_element == box
    assert "q=series" in browser.current_url
    links = browser.find_elements(CSS, ".hit-link")
    keys = webdriver.ActionChains(browser)
    keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP).perform()
    assert browser.switch_to.active_element == links[1]
    webdriver.ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert browser.switch_to.active_element == box
    webdriver.ActionChains(browser).send_keys(Keys.ARROW_DOWN, Keys.ENTER).perform()
    WebDriverWait(browser, 10).until(lambda b: "/posts/" in b.current_url)
    browser.back()  # to what was found, not to the empty page
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
    assert complaints(browser) == []


@pytest.mark.parametrize(("width", "height", "hits"), [(1400, 900, 4), (390, 844, 1)])
def test_results_are_in_sight(
    browser: Chrome, search_page: str, width: int, height: int, hits: int
) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(f"{search_page}/?{urlencode({'q': QUERY})}")
        tops, bottoms = (
            browser.execute_script(
                "return [...document.querySelectorAll(arguments[0])]"
                ".map(hit => hit.getBoundingClientRect()[arguments[1]])",
                selector, side,
            )
            for selector, side in ((".result", "top"), (".hits-of-thread > li", "bottom"))
        )  # fmt: skip
        assert tops[0] <= 200
        assert sum(bottom <= height for bottom in bottoms) >= hits
        for _ in range(3):
            webdriver.ActionChains(browser).send_keys(Keys.TAB).perform()
        assert browser.switch_to.active_element == browser.find_element(CSS, ".hit-link")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_search_page_works_without_scripts(browser: Chrome, search_page: str) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(search_page)
        browser.find_element(CSS, "#q").send_keys("series", Keys.ENTER)
        WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
        browser.find_element(CSS, "a[rel=next]").click()
        WebDriverWait(browser, 10).until(lambda b: "page=2" in b.current_url)
        assert len(browser.find_elements(CSS, ".hits-of-thread > li")) == 10
        browser.find_element(CSS, ".options summary").click()
        assert not browser.find_element(CSS, "#palette").is_displayed()
        browser.find_element(CSS, ".hit-link").click()
        WebDriverWait(browser, 10).until(lambda b: "/posts/" in b.current_url)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_formulas_are_found_where_they_stand(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    browser.find_element(CSS, ".options summary").click()
    browser.find_element(CSS, "input[value=task2]").click()
    browser.find_element(CSS, "#q").send_keys(r"\binom nk")
    preview = browser.find_element(CSS, "#preview")
    WebDriverWait(browser, 10).until(lambda _: preview.is_displayed())
    browser.find_element(CSS, "#q").send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
    assert all(element["height"] > 8 for element in drawn(browser, ".result .formula math"))
    browser.find_element(CSS, ".result h3 a").click()
    WebDriverWait(browser, 10).until(lambda b: "/posts/" in b.current_url)
    assert len(drawn(browser, "mark.found")) >= 1


def test_no_script_of_a_post_or_a_query_runs_on_the_search_page(
    browser: Chrome, tmp_path: Path
) -> None:
    data = write_collection(tmp_path / "data")
    with running(open_site(data, build_indexes(data, tmp_path / "indexes"))) as address:
        browser.get(address)
        hostile = rf"series $\text{{<img src=x onerror={ATTACK}>}}$ <script>{ATTACK}</script>"
        browser.find_element(CSS, "#q").send_keys(hostile)
        preview = browser.find_element(CSS, "#preview")
        WebDriverWait(browser, 10).until(lambda _: preview.is_displayed())
        assert attacked(browser) is None
        browser.find_element(CSS, "form button:not([type=button])").click()
        WebDriverWait(browser, 10).until(lambda b: b.find_elements(CSS, ".result"))
        assert attacked(browser) is None
        for post in (1, 2, 3, 4):
            browser.get(f"{address}/posts/{post}?q=series")
            assert attacked(browser) is None
            assert browser.find_element(CSS, "h1").is_displayed()
        assert refused(browser) == []
