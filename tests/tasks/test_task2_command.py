"""Task 2 by the command line program: index, runs and search on the sample."""

from __future__ import annotations

import json
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from program import arqmath, refused
from run_rows import read_run
from shared_indexes import store

from arqmath_bm25.collection.formulas import COLUMNS, read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.published import official
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.sample_data import SAMPLE
from configs import edited

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from arqmath_bm25.collection.layout import Representation

RUNS = "runs/arqmath-sample"
PRIMARY = "bm25arq-task2-layout-auto-both-P"


def done(*arguments: object, cwd: Path) -> str:
    with chdir(cwd):
        result = arqmath(*arguments)
    assert result.stderr == ""
    return result.stdout


def failed(*arguments: object, cwd: Path) -> str:
    with chdir(cwd):
        return refused(*arguments)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sample's indexes and runs."""
    path = tmp_path_factory.mktemp("work")
    output = done("index", "task2", "--engine", "flat", cwd=path)
    assert "1,432 formulas read" in output
    assert "0 lost" in output
    done("run", "task2", cwd=path)
    return path


def test_the_index_says_what_became_of_every_row(workplace: Path) -> None:
    manifest = json.loads((store(workplace / "indexes", "task2") / "manifest.json").read_text())
    counts = manifest["counts"]
    assert counts["rows"] == counts["instances"] + counts["formulas of comments"] == 1432
    assert done("index", "task2", cwd=workplace).count("up to date") == 2  # that of Task 1 as well


def test_runs_have_official_names_columns_and_places(workplace: Path) -> None:
    rows = {row.formula_id: row for row in read_formulas(Layout(SAMPLE).formulas())}
    for year in YEARS:
        for name in (PRIMARY, "bm25arq-task2-layout-auto-math-A"):
            path = workplace / RUNS / year / f"{name}.tsv"
            assert path.with_name(f"{path.name}.manifest.json").is_file()
            text = path.read_text(encoding="utf-8")
            assert all(len(line.split("\t")) == 6 for line in text.splitlines())
            ranks: dict[str, int] = {}
            scores: dict[str, float] = {}
            visual: set[tuple[str, str]] = set()
            for row in read_run(path, "task2"):
                assert rows[row.doc_id].post_id == row.post_id
                assert rows[row.doc_id].type != "comment"
                assert row.rank == ranks.get(row.topic_id, 0) + 1 <= 1000
                assert row.score < scores.get(row.topic_id, float("inf"))
                assert row.tag == name
                ranks[row.topic_id], scores[row.topic_id] = row.rank, row.score
                visual.add((row.topic_id, rows[row.doc_id].visual_id))
            assert len(ranks) == 7
            assert len(visual) == len(text.splitlines())


def test_runs_are_the_same_each_time_and_in_trec_form(workplace: Path) -> None:
    path = workplace / RUNS / "2021" / f"{PRIMARY}.tsv"
    before = path.read_bytes()
    done("run", "task2", "--topics", 2021, "--jobs", 1, cwd=workplace)
    assert path.read_bytes() == before
    options = ("--topics", 2021, "--format", "trec", "--variant", "both", "--runs", "trec")
    done("run", "task2", *options, cwd=workplace)
    trec = (workplace / "trec/arqmath-sample/2021" / f"{PRIMARY}.trec").read_text()
    lab = [line.split("\t") for line in before.decode().splitlines()]
    expected = [[topic, "Q0", formula, *rest] for topic, formula, _, *rest in lab]
    assert [line.split("\t") for line in trec.splitlines()] == expected


def test_search_shows_formulas_with_their_posts(workplace: Path) -> None:
    output = done("search", "task2", r"\sqrt2+\sqrt3", "--depth", 2, cwd=workplace)
    assert output.startswith(r"  1  \sqrt2+\sqrt3" + "\n")
    assert "\n  2  " in output
    assert "question 1" in output or "answer 1" in output
    with_words = done("search", "task2", r"irrational $\sqrt2+\sqrt3$", cwd=workplace)
    assert r"\sqrt2+\sqrt3" in with_words
    assert "No formula" in done("search", "task2", r"\unheard", cwd=workplace)


def test_bad_input_is_one_message(workplace: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "missing file" in failed("index", "task2", "--data", "empty", cwd=tmp_path)
    assert "there is no index" in failed("run", "task2", cwd=tmp_path)
    assert "the configuration has math, both" in failed(
        "run", "task2", "--variant", "text", cwd=workplace
    )
    topics = Layout(SAMPLE).topics("task1", "2021")
    message = failed("run", "task2", "--topics", topics, cwd=workplace)
    assert "expected a topic file of Task 2" in message
    config = tmp_path / "other.yaml"
    config.write_text(edited("task2", ("patterns: [3, 4]", "patterns: [4, 3]")), encoding="utf-8")
    message = failed("index", "task2", "--config", config, cwd=workplace)
    assert "patterns: the first number must not exceed the second" in message
    config.write_text(edited("task2", ("layout: [2, 3]", "layout: [2, 2]")), encoding="utf-8")
    message = failed("run", "task2", "--config", config, cwd=workplace)
    assert "this index was built with other analysis settings: layout: [2, 3]" in message


TOPIC = (
    '<Topic number="B.{0}"><Formula_Id>q_{0}</Formula_Id><Latex>{1}</Latex><Title>?</Title>'
    "<Question>?</Question><Tags>t</Tags></Topic>"
)


def write_mathml(data: Path, source: Representation, formulas: Iterable[str], query: str) -> None:
    """Write formulas as files of `source`, and a topic of 2020 with a formula in LaTeX."""
    markup = [f'<math alttext="{latex}" class="ltx_Math"><mi>?</mi></math>' for latex in formulas]
    rows = [f"{n}\t7\t5\tanswer\t\t\t{n}\t\t{formula}" for n, formula in enumerate(markup, 1)]
    files = {
        f"Formulas/{source}_representation_v3/1.tsv": ["\t".join(COLUMNS["v3"]), *rows],
        official("topics", "task2")["2020"]: [f"<Topics>{TOPIC.format(1, query)}</Topics>"],
    }
    for name, lines in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def configured(path: Path, source: Representation) -> Path:
    path.write_text(edited("task2", ("source: latex ", f"source: {source} ")), encoding="utf-8")
    return path


def first_hits(runs: Path) -> dict[str, str]:
    (run,) = runs.rglob("*-math-A.tsv")
    rows = (line.split("\t") for line in run.read_text(encoding="utf-8").splitlines())
    return {row[0]: row[1] for row in rows if row[3] == "1"}


@pytest.mark.parametrize("source", ["slt", "opt"])
def test_files_of_mathml_are_searched_by_the_latex_of_the_topics(
    tmp_path: Path, source: Representation
) -> None:
    data = tmp_path / "data"
    write_mathml(data, source, ["a+b", "a-b", "ab", r"\sin c"], "b+a")
    options = ("--data", data, "--config", configured(tmp_path / f"{source}.yaml", source))
    assert "4 formulas read" in done("index", "task2", "--engine", "flat", *options, cwd=tmp_path)
    done("run", "task2", *options, cwd=tmp_path)
    assert first_hits(tmp_path / "runs") == {"B.1": "1"}  # addition commutes
