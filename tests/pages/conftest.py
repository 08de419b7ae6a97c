"""What the tests of pages share: a browser, a report, a thread, a search page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from serving import Client, open_site, running
from shared_indexes import linked

from arqmath_bm25.cli.pages import report, threads
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One Chromium for all files of a worker."""
    from browsing import chrome  # skips where selenium is missing

    with chrome(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    post = next(iter(read_qrels(Layout(SAMPLE).qrels("task1", "2021"))["A.203"]))
    directory = tmp_path_factory.mktemp("threads")
    threads(directory / "site", [post], indexes=directory, threads=1)
    return next(path for path in (directory / "site").glob("*.html") if path.stem != "index")


@pytest.fixture(scope="session")
def search_page(sample_indexes: Path) -> Iterator[str]:
    with running(open_site(SAMPLE, sample_indexes)) as address:
        yield address


@pytest.fixture(scope="session")
def indexes(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Path:
    return linked(sample_indexes, tmp_path_factory.mktemp("sample") / "indexes")


@pytest.fixture(scope="session")
def client(indexes: Path) -> Iterator[Client]:
    with running(open_site(SAMPLE, indexes)) as address:
        yield Client(address)
