"""Twenty questions to the search of the documentation, written before they were asked.

A line of `docs_questions.tsv` has a question and the pages that answer it. `make docs` makes the
site, without which there is nothing to ask.
"""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

pytestmark = pytest.mark.slow

SITE: Final = Path(__file__).parents[2] / "site"
QUESTIONS: Final = [
    line.split("\t")
    for line in Path(__file__).with_name("docs_questions.tsv").read_text().splitlines()
]
ASK: Final = """
const [question, done] = arguments;
const box = document.querySelector(".md-search__input");
document.querySelector("[data-md-toggle=search]").checked = true;
box.focus();
box.value = question;
const ask = () => box.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
const look = () => {
  const found = [...document.querySelectorAll(".md-search-result__item > a")];
  if (found.length) done(found.slice(0, 3).map(link => new URL(link.href).pathname));
  else setTimeout(look, 100);
};
setTimeout(ask, 300);
setTimeout(look, 400);
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (SITE / "search/search_index.json").is_file():
        pytest.skip("no site of the documentation here: make docs")
    served = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}/"
    served.shutdown()
    served.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    from browsing import chrome  # skips where selenium is missing

    with chrome(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_questions_are_answered_by_one_of_the_first_three_pages(
    browser: Chrome, address: str
) -> None:
    missed = {}
    for question, pages in QUESTIONS:
        browser.get(address)
        found = browser.execute_async_script(ASK, question)
        names = [path.strip("/") or "index" for path in found]
        if not set(names) & set(pages.split()):
            missed[question] = names
    assert len(missed) <= 3, missed
