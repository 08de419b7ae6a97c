"""Judging in a real browser, by the keyboard."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import CSS, check, complaints, jumps, press, until
from judging_day import write_batch
from program import arqmath
from test_judging_site import serving

from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.evaluation.judging.judge import read_annotations

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow


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


def test_the_template_shows_the_question_beside_each_row(browser: Chrome, tmp_path: Path) -> None:
    """As Turkle fills it, though the first row of a topic alone has the question."""
    run, batch = tmp_path / "run.trec", tmp_path / "batch.csv"
    documents = [{"id": name, "text": f"The triangle {name}"} for name in "ab"]
    queries = [{"id": "q1", "text": "Which $x^2$?"}]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = [f"{json.dumps(row)}\n" for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    run.write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n")
    arqmath("pool", run, "--data", tmp_path, "--indexes", tmp_path, "-o", batch)
    page = tmp_path / "filled.html"
    for row in csv.DictReader(batch.read_text("utf-8").splitlines()):
        filled = batch.with_suffix(".html").read_text("utf-8")
        for name, value in row.items():
            filled = filled.replace("${" + name + "}", value)
        page.write_text(filled, encoding="utf-8")
        browser.get(page.as_uri())
        assert browser.find_element(CSS, ".topic h2").text.startswith("Which")
        assert len(browser.find_elements(CSS, ".topic math")) == 1
        assert len(browser.find_elements(CSS, ".hit input[type=radio]")) == len(GRADE_OF_LABEL)


def test_a_label_that_is_not_saved_is_said(browser: Chrome, tmp_path: Path) -> None:
    def said(key: str, words: str) -> None:
        browser.find_element(CSS, "body").send_keys(key)
        until(browser, lambda _: words in browser.find_element(CSS, "[role=alert]").text)

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
