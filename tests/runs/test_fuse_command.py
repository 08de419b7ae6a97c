"""`arqmath-bm25 fuse` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from program import arqmath, refused
from run_rows import read_run

from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from pathlib import Path

OFFICIAL = "Team-task1-rrf-auto-both-A.tsv"


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs; the second in TREC's form, with CRLF, ranks that lie and a repeated document."""
    first, second = tmp_path / "a.tsv", tmp_path / "b.txt"
    first.write_text("A.1\t11\t1\t9\ta\nA.1\t12\t2\t5\ta\nA.2\t11\t1\t9\ta\n")
    second.write_text("A.1 Q0 13 1 1 b\r\nA.1 Q0 12 9 7 b\r\nA.1 Q0 13 2 99 b\r\n")
    return first, second


def test_the_fused_run_is_valid_and_bears_its_file_name(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    output = tmp_path / "new" / OFFICIAL
    result = arqmath("fuse", *runs, "--output", output)
    assert result.output == (f"{output}: 2 topics, 4 rows, from 2 runs; not in every run: A.2\n")
    rows = list(read_run(output))
    assert [(row.topic_id, row.doc_id, row.rank) for row in rows] == [
        ("A.1", "12", 1),  # 1/62 + 1/61
        ("A.1", "11", 2),  # 1/61
        ("A.1", "13", 3),  # 1/62: of a repeated document the first row counts
        ("A.2", "11", 1),
    ]
    assert rows[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert {row.tag for row in rows} == {"Team-task1-rrf-auto-both-A"}
    assert Run.read(output, "task1", strict=True).faults().by_rule() == []


def test_a_run_says_what_it_was_made_of(runs: tuple[Path, Path], tmp_path: Path) -> None:
    output = tmp_path / OFFICIAL
    arqmath("fuse", *runs, "-o", output, "--method", "weighted", "--weights", "1,0.3")
    manifest = json.loads(output.with_name(f"{output.name}.manifest.json").read_text())
    assert (manifest["method"], manifest["weights"]) == ("weighted", [1.0, 0.3])
    assert [run["name"] for run in manifest["runs"]] == [run.name for run in runs]


def test_weights_depth_and_format(runs: tuple[Path, Path], tmp_path: Path) -> None:
    output = tmp_path / "fused.trec"
    options = ("--method", "weighted", "--weights", "0.5,2", "--depth", 1, "--format", "trec")
    arqmath("fuse", *runs, "-o", output, *options)
    assert output.read_text() == "A.1\tQ0\t12\t1\t2\tfused\nA.2\tQ0\t11\t1\t0.5\tfused\n"


def test_task_2_keeps_the_posts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("B.1\t71\t11\t1\t9\ta\nB.1\t72\t12\t2\t5\ta\n")
    second.write_text("B.1\t72\t12\t1\t9\tb\nB.1\t73\t11\t2\t5\tb\n")
    output = tmp_path / "Team-task2-rrf-auto-both-A.tsv"
    arqmath("fuse", first, second, "-o", output)
    rows = [(row.doc_id, row.post_id) for row in read_run(output, "task2")]
    assert rows == [("72", "12"), ("71", "11"), ("73", "11")]
    assert Run.read(output, "task2", strict=True).faults().by_rule() == []


def test_task_2_runs_without_posts_or_with_other_posts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("B.1\t71\t11\t1\t9\ta\n")
    second.write_text("B.1\tQ0\t73\t1\t9\tb\n")
    output = tmp_path / "fused.trec"
    assert "of which post formula 73 is; a run in TREC" in refused(
        "fuse", first, second, "-o", output
    )
    arqmath("fuse", first, second, "-o", output, "--format", "trec")
    assert [row.doc_id for row in read_run(output, "task2")] == ["73", "71"]
    second.write_text("B.1\t71\t12\t1\t9\tb\n")
    message = refused("fuse", first, second, "-o", tmp_path / "other.tsv")
    assert f"{second}: formula 71 is of post 12, in {first} of post 11" in message


def test_bad_input_is_one_message_and_writes_nothing(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = runs
    output = tmp_path / OFFICIAL
    formulas, answers, later = (
        tmp_path / name
        for name in ("T-task2-x-auto-math-A.tsv", "T-task3-x-auto-both-extract-A.tsv", "later.tsv")
    )
    formulas.write_text("B.1\t71\t11\t1\t9\ta\n")
    answers.write_text("A.1\t1\t9\ta\tpost 1\tSo.\n")
    later.write_text("A.301\t11\t1\t9\ta\n")
    same_answers = tmp_path / "T-task3-y-auto-both-extract-A.tsv"
    same_answers.write_bytes(answers.read_bytes())
    before = sorted(tmp_path.iterdir())
    assert "one run alone" in refused("fuse", first, "-o", output)
    assert "no such run file" in refused("fuse", first, tmp_path / "absent.tsv", "-o", output)
    assert f"{formulas}: a run of task2, {first} of task1" in refused(
        "fuse", first, formulas, "-o", output
    )
    assert "nothing to fuse" in refused("fuse", answers, same_answers, "-o", output)
    assert f"{later}: no topic in common with {first}" in refused(
        "fuse", first, later, "-o", output
    )
    assert "3 weights for 2 runs" in refused("fuse", *runs, "-o", output, "--weights", "1,2,3")
    for weights in ("1;2", "1,", "-1,1", "0,0", "nan,1", "inf,1", "1e9,1"):
        assert f"--weights {weights}: expected" in refused(
            "fuse", *runs, "-o", output, "--weights", weights
        )
    assert "this is a directory" in refused("fuse", *runs, "-o", tmp_path)
    assert "would overwrite a run" in refused("fuse", *runs, "-o", second)
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_is_fused_and_compared_once(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Patterns of a shell overlap: `*math*` matches a team called so."""
    first, second = runs
    again = first.parent / ".." / first.parent.name / first.name
    for command in (("fuse", first, second, again, "-o", tmp_path / "c.tsv"),
                    ("compare", first, second, first)):  # fmt: skip
        assert "this run is given twice; name each run once" in refused(*command)
    assert not (tmp_path / "c.tsv").exists()
