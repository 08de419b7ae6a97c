"""Manual runs: queries of a person in place of topics, and the name that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from run_rows import read_run

from arqmath_bm25.cli import tasks
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import manifest_path
from arqmath_bm25.evaluation.judging.pool import Depths
from arqmath_bm25.tasks.manual_queries import read_queries

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run(sample_indexes: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that runs queries, and returns the folder of the runs."""

    def run(queries: str, **options: object) -> Path:
        file = tmp_path / "queries.tsv"
        file.write_text(queries, encoding="utf-8")
        runs = tmp_path / "runs"
        given = {
            "indexes": sample_indexes,
            "runs": runs,
            "variant": ["text"],
            "threads": 1,
            **options,
        }
        tasks.run("task1", queries=file, **given)  # type: ignore[arg-type]
        return runs / "arqmath-sample"

    return run


def test_a_manual_run_ranks_by_its_queries_and_says_that_it_is_one(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same query under another topic's id finds the same answers."""
    folder = run("A.202\tharmonic series\t$\\sum 1/n$\r\nA.201\tharmonic series $\\sum 1/n$\r\n")
    path = folder / "2021" / "bm25arq-task1-bm25-manual-text-A.tsv"
    hits: dict[str, list[tuple[str, float]]] = {}
    for row in read_run(path):
        hits.setdefault(row.topic_id, []).append((row.doc_id, row.score))
    assert list(hits) == ["A.201", "A.202"]  # the order of the topic file
    assert hits["A.201"] == hits["A.202"] != []
    assert "topics have no query" in capsys.readouterr().err
    manifest = json.loads(manifest_path(path).read_text())
    assert manifest["queries"]["name"] == "queries.tsv"
    with pytest.raises(InputError, match="made with other settings or data"):
        run("A.201\tlimit")


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ("A.1\t \n", "row 1: found 'A.1' alone; expected a topic, a TAB"),
        ("\tlimit\n", "row 1: found 'limit' alone"),
        ("A.1\tlimit\nA.1\tseries\n", "row 2: a second query for topic A.1"),
        ("A.399\tlimit\n", "topic A.399 is not in"),
        ("A.1\tlimit\nA.201\tlimit\n", "topics of more than one year"),
        ("mine\tlimit\n", "'mine' is of none of the labs"),
        ("", "empty"),
    ],
)
def test_faults_name_file_and_row(
    run: Callable[..., Path], tmp_path: Path, queries: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(queries)
    assert not (tmp_path / "runs").exists()


def test_an_open_dollar_is_told(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run("A.1\tlimit $x")
    assert "topic A.1: a dollar is left open" in " ".join(capsys.readouterr().err.split())


def test_the_premises_of_the_shared_task_have_no_manual_runs(tmp_path: Path) -> None:
    file = tmp_path / "q.tsv"
    file.write_text("A.1\tlimit")
    tasks.index("nlps", indexes=tmp_path, threads=1)
    with pytest.raises(InputError, match="nlps has no manual runs"):
        tasks.run("nlps", indexes=tmp_path, runs=tmp_path, queries=file)


def test_rows_without_a_tab_are_read_too(tmp_path: Path) -> None:
    file = tmp_path / "q.tsv"
    file.write_text("B.1 $x^2$ square\n\n")
    assert read_queries(file) == {"B.1": "$x^2$ square"}


def test_manual_runs_are_pooled_as_deep_as_primary_ones() -> None:
    depths = Depths(primary=50, other=20)
    names = ("auto-both-P", "manual-both-A", "auto-both-A")
    found = [depths.for_run(Path(f"team-task1-x-{name}.tsv")) for name in names]
    assert found == [50, 50, 20]
