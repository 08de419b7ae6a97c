"""make bench: the parts of it on tiny collections, and what its figures rest on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from comparison import ingest, plot, soup
from comparison.children import ChildError, run_module, watch
from comparison.growth import Build, Line, Step, report
from comparison.peers import overlap
from comparison.results import Goal, Part, Table, write
from generation.files import write_collection

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.tasks import configured

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    directory = tmp_path_factory.mktemp("generated") / "generated"
    write_collection(directory, 500_000, seed=1, slt=False, advance=lambda _: None)
    return Layout(directory)


@pytest.mark.slow
def test_beautifulsoup_and_the_package_write_the_same_documents(
    made: Layout, tmp_path: Path
) -> None:
    found = ingest.beside_soup(made, [], tmp_path, repeats=1)
    (row,) = found.tables[1].rows
    assert row["answers with their questions"] > 100
    assert row["differ"] == 0


def test_beautifulsoup_and_the_package_read_the_same_terms_in_real_posts(lite: Path) -> None:
    analyzer = Analyzer(configured("task1").settings.analysis)
    posts = PostTable.scan(Layout(lite).posts())
    for thread in posts.part(0, 800).threads():
        for post in (*filter(None, [thread.question]), *thread.answers):
            assert analyzer(read_body(post.body)) == analyzer(soup.read_body(post.body))


@pytest.mark.parametrize(
    "html",
    [
        "<p>a<b>b</b>c</p><p>d</p>e<br>f",
        '<p>x <span class="math-container" id="1">a < b</span> and a<b, $c$ or \\$5</p>',
        "<p>$a</p><p>b$ <code>$x$</code></p><pre><code>$y$\n$z$</code></pre>",
        "<script>x</script><style>y</style><ul><li>one<li>two</ul>",
    ],
)
def test_beautifulsoup_follows_the_rules(html: str) -> None:
    assert soup.read_body(html).prose == read_body(html).prose
    assert soup.read_body(html).formulas == read_body(html).formulas


def test_a_difference_is_told_with_its_place() -> None:
    told = ingest.difference({"id": "7", "contents": "a b c"}, {"id": "7", "contents": "a c"})
    assert told == "answer 7, contents, term 1: `b c`, but `c`"


def test_memory_of_a_program_and_of_its_child_is_seen() -> None:
    hold = "import time; kept = b'x' * {size}; time.sleep(1)"
    child = hold.format(size=100_000_000)
    program = (
        f"import subprocess, sys; kept = b'x' * 50_000_000; "
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    seconds, peaks = watch([sys.executable, "-c", program])
    assert seconds > 1
    assert 100e6 < peaks.descendant < 150e6
    assert 150e6 < peaks.together < 250e6


def test_a_program_that_fails_is_told_with_its_message() -> None:
    with pytest.raises(ChildError, match=r"No module named comparison\.nothing") as raised:
        run_module("comparison.nothing")
    assert raised.value.reason.endswith("No module named comparison.nothing")


def test_a_line_is_fitted() -> None:
    line = Line.fit([1, 2, 3], [12, 22, 32])
    assert line.at(4.1) == pytest.approx(43)
    assert line.r2 == pytest.approx(1)
    assert Line.fit([1, 2, 3], [1, 3, 1]).r2 == pytest.approx(0)


def test_overlap_is_that_of_the_first_ten() -> None:
    ours = [list("abcdefghijXYZ"), [], list("ab")]
    theirs = [list("abcdeXYZUVfgh"), list("ab"), list("bc")]
    assert overlap(ours, theirs) == pytest.approx((0.5 + 0.5) / 2)


def test_builds_become_tables_goals_and_a_plot(tmp_path: Path) -> None:
    steps = [
        Step(size, Build(60 * size, 900, 100, 1000, 5000), Build(120 * size, 800, 90, 10, 50))
        for size in (0.1, 1.0)
    ]
    picture = tmp_path / "2020-01-01.svg"
    plot.draw(steps, picture)
    page = write(tmp_path, "2020-01-01", {"CPU": "fast"}, [report(steps, picture)])
    text = page.read_text()
    assert "| minutes for both builds at 4.1 GB | 12.3 | ≤ 15 | yes |" in text
    assert f"({picture.name})" in text
    assert picture.read_text().count("<svg ") == 3
    kept = json.loads(page.with_suffix(".json").read_text())
    assert kept["tables"][0]["title"] == "Goals"
    assert kept["tables"][1]["rows"][0]["bytes/answer"] == 5


def test_values_that_were_not_measured_are_shown_as_such(tmp_path: Path) -> None:
    table = Table("T", [{"engine": "one", "ms": 1234.5}, {"engine": "other", "ms": None}], "Note.")
    goal = Goal("times", 1.9, 1.8, at_least=True)
    page = write(tmp_path, "2020-01-01", {}, [Part([table], [goal])])
    assert "| engine | ms |\n| --- | ---: |\n| one | 1,234 |\n| other | – |" in page.read_text()
    assert "| times | 1.90 | ≥ 1.80 | yes |" in page.read_text()


@pytest.mark.slow
def test_everything_runs_without_the_peers(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, BENCHMARKS / "bench.py", "--sizes", "0.0003,0.0006"),
            *("--sample", "0.001", "--repeats", "1", "--work", tmp_path / "work"),
            *("--results", tmp_path / "results", "--peers", tmp_path / "absent"),
        ],
        check=True,
        env={"PATH": "", "ARQMATH_SHARED": str(tmp_path)},
    )
    (page,) = (tmp_path / "results").glob("*.md")
    assert "Tantivy: not installed. PyTerrier: not installed." in page.read_text()
    kept = json.loads(page.with_suffix(".json").read_text())
    titles = [table["title"] for table in kept["tables"]]
    assert titles[0] == "Goals"
    assert "Engines on generated-0.001" in titles
    assert page.with_suffix(".svg").is_file()
