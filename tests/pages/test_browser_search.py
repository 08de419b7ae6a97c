"""The search page and documents in a real browser: typing, keys, sizes; nothing runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from browsing import (
    CSS,
    MATHML,
    Keys,
    attacked,
    check,
    complaints,
    copied,
    drawn,
    refused,
    shown,
    until,
    webdriver,
)
from hostile_collection import ATTACK, write_collection, write_folder
from lecturer import write_notes
from serving import build_indexes, documents_site, folder_site, open_site, running
from test_folder_files import PNG

from arqmath_bm25.cli import app
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow

QUERY = r"Why does $\sum \frac1n$ diverge?"
NOTES = "https://notes.uni.example/pythagoras"
PROOF = r"""Let $a$, $b$ and $c$ be the sides of a right triangle. Then
$$a^2 + b^2 = c^2 \tag{1}$$
holds.

By (1), \[c = \sqrt{a^2 + b^2}.\]"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    refers = {"url": NOTES, "references": ["long"]}
    rows = [
        {"id": "thm/1", "title": "Pythagoras", "text": PROOF, "tags": ["geometry"], **refers},
        {"id": "long", "text": "A triangle, as " + "a long word of prose " * 300},
    ]
    with running(documents_site(tmp_path_factory.mktemp("docs"), rows)) as address:
        yield address


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


def test_searching_shows_drawn_results(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    box = browser.switch_to.active_element  # one can type at once
    box.send_keys(r"Why does $\frac{1}{n}$")
    preview = browser.find_element(CSS, "#preview")
    until(browser, lambda _: preview.is_displayed())
    (fraction,) = drawn(browser, "#preview mfrac")
    assert fraction["space"] == MATHML
    assert fraction["height"] > 8
    box.send_keys(" diverge?", Keys.ENTER)
    until(browser, lambda b: b.find_elements(CSS, ".result"))
    assert len(shown(browser, ".hits-of-thread > li")) == 10
    assert all(e["height"] > 4 and e["space"] == MATHML for e in drawn(browser, ".result math"))
    assert "diverge" in " ".join(shown(browser, ".result mark")).lower()
    box = browser.switch_to.active_element
    assert box.get_property("selectionStart") == len(box.get_property("value"))
    browser.find_element(CSS, ".result h3 a").click()
    until(browser, lambda b: "/posts/" in b.current_url)
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
    browser.refresh()  # without hits that are on their way for what was pasted
    browser.find_element(CSS, ".hit-link").send_keys(Keys.ENTER)
    until(browser, lambda b: "/posts/" in b.current_url)
    by_key = browser.find_element(CSS, ".post math[tabindex]")
    browser.execute_script("arguments[0].focus()", by_key)
    copied(browser, by_key, "#again", lambda: webdriver.ActionChains(browser).send_keys(Keys.ENTER))
    assert complaints(browser) == []


def test_the_link_of_a_document_is_copied(browser: Chrome, documents: str) -> None:
    browser.get(f"{documents}/documents/thm%2F1?q=triangle")
    link = browser.find_element(CSS, ".copy")
    link.send_keys(Keys.ENTER)
    status = browser.find_element(CSS, ".copied")
    until(browser, lambda _: status.text)
    assert status.text == f"Copied: {documents}/documents/thm%2F1"
    again = browser.find_element(CSS, "#again")
    again.clear()
    again.send_keys(Keys.CONTROL, "v")
    assert again.get_property("value") == f"{documents}/documents/thm%2F1"
    assert complaints(browser) == []


def test_the_keyboard_alone_searches_filters_opens_copies_and_goes_back(
    browser: Chrome, tmp_path: Path
) -> None:
    def go_to(selector: str) -> None:
        """Press the key TAB until an element has the focus, and then ENTER."""
        for _ in range(40):
            webdriver.ActionChains(browser).send_keys(Keys.TAB).perform()
            if browser.execute_script(
                "return document.activeElement.matches(arguments[0])", selector
            ):
                break
        webdriver.ActionChains(browser).send_keys(Keys.ENTER).perform()

    notes = write_notes(tmp_path / "notes")
    with running(folder_site(notes, tmp_path / "indexes")) as address:
        browser.get(address)
        webdriver.ActionChains(browser).send_keys("function", Keys.ENTER).perform()
        until(browser, lambda b: b.find_elements(CSS, ".filters a"))
        all_hits = len(browser.find_elements(CSS, ".result"))
        go_to(".filters a[href*='type%3Atheorem']")
        until(browser, lambda b: "type%3Atheorem" in b.current_url)
        theorems = browser.find_elements(CSS, ".result")
        assert 0 < len(theorems) < all_hits

        go_to(".hit-link")
        until(browser, lambda b: "/documents/" in b.current_url)
        document = browser.current_url
        go_to(".copy")
        status = browser.find_element(CSS, ".copied")
        until(browser, lambda _: status.text)
        assert status.text == f"Copied: {document.partition('?')[0]}"
        browser.back()
        until(browser, lambda b: "type%3Atheorem" in b.current_url)
        assert len(browser.find_elements(CSS, ".result")) == len(theorems)
        assert complaints(browser) == []


def test_results_come_while_one_types_and_keys_lead_through_them(
    browser: Chrome, search_page: str
) -> None:
    browser.get(search_page)
    box = browser.switch_to.active_element
    box.send_keys("series")
    until(browser, lambda b: b.find_elements(CSS, ".result"))
    assert browser.switch_to.active_element == box
    assert "q=series" in browser.current_url
    links = browser.find_elements(CSS, ".hit-link")
    keys = webdriver.ActionChains(browser)
    keys.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP).perform()
    assert browser.switch_to.active_element == links[1]
    webdriver.ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert browser.switch_to.active_element == box
    webdriver.ActionChains(browser).send_keys(Keys.ARROW_DOWN, Keys.ENTER).perform()
    until(browser, lambda b: "/posts/" in b.current_url)
    browser.back()  # to what was found, not to the empty page
    until(browser, lambda b: b.find_elements(CSS, ".result"))
    assert complaints(browser) == []


def test_the_page_says_that_answers_are_of_a_newer_index(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    newer = browser.find_element(CSS, "#newer")
    browser.switch_to.active_element.send_keys("series")
    until(browser, lambda b: b.find_elements(CSS, ".result"))
    assert not newer.is_displayed()
    browser.execute_script("arguments[0].dataset.index = 'flat-former'", newer)
    browser.switch_to.active_element.send_keys(" limit")
    until(browser, lambda _: newer.is_displayed())
    assert newer.text == "A file was saved; answers are new."


def test_a_hit_that_one_has_gone_to_stays(browser: Chrome, search_page: str) -> None:
    browser.get(f"{search_page}/?q=series")
    browser.switch_to.active_element.send_keys(" integral", Keys.ARROW_DOWN)
    hit = browser.switch_to.active_element
    assert "hit-link" in hit.get_attribute("class")
    browser.execute_async_script("setTimeout(arguments[0], 2000)")  # far above the pause
    assert browser.switch_to.active_element == hit
    hit.send_keys(Keys.ENTER)
    until(browser, lambda b: "/posts/" in b.current_url)


@pytest.mark.parametrize(("width", "height", "hits"), [(1400, 900, 4), (390, 844, 4)])
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
        until(browser, lambda b: b.find_elements(CSS, ".result"))
        browser.find_element(CSS, "a[rel=next]").click()
        until(browser, lambda b: "page=2" in b.current_url)
        assert len(browser.find_elements(CSS, ".hits-of-thread > li")) == 10
        browser.find_element(CSS, ".options summary").click()
        assert not browser.find_element(CSS, "#palette").is_displayed()
        browser.find_element(CSS, ".hit-link").click()
        until(browser, lambda b: "/posts/" in b.current_url)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_formulas_are_found_where_they_stand(browser: Chrome, search_page: str) -> None:
    browser.get(search_page)
    browser.find_element(CSS, ".options summary").click()
    browser.find_element(CSS, "input[value=task2]").click()
    browser.find_element(CSS, "#q").send_keys(r"\binom nk")
    preview = browser.find_element(CSS, "#preview")
    until(browser, lambda _: preview.is_displayed())
    browser.find_element(CSS, "#q").send_keys(Keys.ENTER)
    until(browser, lambda b: b.find_elements(CSS, ".result"))
    assert all(element["height"] > 8 for element in drawn(browser, ".result .formula math"))
    browser.find_element(CSS, ".result h3 a").click()
    until(browser, lambda b: "/posts/" in b.current_url)
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
        until(browser, lambda _: preview.is_displayed())
        assert attacked(browser) is None
        browser.find_element(CSS, "form button:not([type=button])").click()
        until(browser, lambda b: b.find_elements(CSS, ".result"))
        assert attacked(browser) is None
        for post in (1, 2, 3, 4):
            browser.get(f"{address}/posts/{post}?q=series")
            assert attacked(browser) is None
            assert browser.find_element(CSS, "h1").is_displayed()
        assert refused(browser) == []


def test_no_script_of_a_file_or_its_name_runs(browser: Chrome, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "notes")
    with running(folder_site(folder, tmp_path / "indexes")) as address:
        browser.get(f"{address}/?q=series&depth=20")
        links = [link.get_attribute("href") for link in browser.find_elements(CSS, ".hit-link")]
        assert len(links) == 6
        for link in (browser.current_url, *links):
            browser.get(str(link))
            assert attacked(browser) is None
            assert browser.find_element(CSS, "h1").size["height"] > 0  # no style of a file hid it
            assert complaints(browser) == []


def test_pages_on_disk_open_and_their_links_lead_on(
    browser: Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "a.png").write_bytes(PNG)
    (notes / "b.md").write_text("# Groups\n\nA group.\n\n## Order\n\nIts order $n$.\n")
    (notes / "sub/a.md").write_text("# Rings\n\nA [ring](../b.md#order) ![r](../a.png)\n")
    monkeypatch.chdir(tmp_path)
    app(["--quiet", "export", "notes", "-o", "site"], standalone_mode=False)
    for name in ("index.html", "b.md.html", "sub_a.md.html"):
        check(browser, (tmp_path / "site" / name).as_uri())
    assert browser.execute_script("return document.images[0].naturalWidth") == 1
    browser.find_element(CSS, ".post a").click()
    until(browser, lambda _: browser.current_url.endswith("b.md.html#order"))
    assert refused(browser) == []
