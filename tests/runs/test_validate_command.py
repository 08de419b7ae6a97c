"""`arqmath-bm25 validate` as a user meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from program import arqmath, json_of, refused

from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

OFFICIAL = "Team-task1-bm25-auto-both-P.tsv"

NOT = "ids were not looked up: --data does"


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    path = tmp_path / OFFICIAL
    path.write_text("A.1\t10068\t1\t2.0\tx\nA.1\t10105\t2\t1.0\tx\n")
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    path.write_text("A.1 10068 1 1.0 x\nA.1 10068 2 1.0 x\nA.1 10027 3 0.5 x\n")
    return path


def test_a_valid_run_prints_one_line(valid: Path) -> None:
    result = arqmath("validate", valid)
    assert result.output == f"{valid}: valid (task1, 1 topic, 2 rows; {NOT})\n"


def test_topics_of_an_experiment_and_queries_of_ones_own_are_valid(tmp_path: Path) -> None:
    """`D.ID` is a question of the collection (experiments topics); of one's own any id is good."""
    experiment, own = tmp_path / OFFICIAL, tmp_path / "both.trec"
    experiment.write_text("D.17\t10068\t1\t2.0\tx\nD.4\t10105\t1\t1.0\tx\n")
    assert "valid (task1, 2 topics, 2 rows" in arqmath("validate", experiment).output
    own.write_text("D.x\tQ0\tthm/1\t1\t2.0\tx\nwhy?\tQ0\tη3\t1\t1.0\tx\n")
    assert "valid (docs, 2 topics, 2 rows" in arqmath("validate", own).output
    experiment.write_text("D.x\t10068\t1\t2.0\tx\n")
    said = arqmath("validate", experiment, status=1).output
    assert "topic: row 1: topic is 'D.x'" in said


def test_errors_give_status_1_and_name_rows(faulty: Path) -> None:
    result = arqmath("validate", faulty, status=1)
    assert "not valid, errors of 1 rule, warnings of 2 rules" in result.output
    assert "duplicate: row 2: 10068 is in topic A.1 already" in result.output


def test_of_each_rule_a_few_rows_are_printed_and_the_rest_counted(tmp_path: Path) -> None:
    run = tmp_path / OFFICIAL
    run.write_text("".join(f"A.1\t{10 + i}\t{i}\t{-i}\tx\r\n" for i in range(1, 41)))
    result = arqmath("validate", run)
    assert result.output.count("CRLF") == 3
    assert "and 37 more of this rule" in result.output


def test_documents_and_topics_are_looked_up_in_data(faulty: Path) -> None:
    result = arqmath("validate", faulty, "--data", SAMPLE, status=1)
    assert "question id: row 3: post 10027 is a question" in result.output
    assert "missing topic" in result.output
    result = arqmath("validate", faulty, "--data", SAMPLE, "--topics", "2021", status=1)
    assert "unknown topic: row 1: A.1, here and in 2 more rows" in result.output


def test_json_goes_to_stdout_alone(faulty: Path) -> None:
    (report,) = json_of("validate", faulty, status=1)
    assert (report["task"], report["rows"], report["errors"]) == ("task1", 3, 1)
    (error,) = [found for found in report["findings"] if found["level"] == "error"]
    assert (error["rule"], error["count"], error["examples"][0]["row"]) == ("duplicate", 1, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--topics", "2020"], "--data"),
        (["--topics", "2020", "--data", "/nowhere"], "DATA=/nowhere"),
    ],
)
def test_what_cannot_be_done_is_said(valid: Path, options: list[str], message: str) -> None:
    assert message in refused("validate", valid, *options)
