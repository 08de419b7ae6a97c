"""A kill at any change of a file leaves each output as it was or as it will be, and no rubbish.

The kills are injected (`killing.py`) at places that are drawn, and by `make exhaustive` at all, so
that no window between two calls is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import ended
from shared_indexes import linked

from configs import edited

pytestmark = pytest.mark.slow

INDEX = ("index", "task1", "--engine", "flat", "--jobs", "1")
RUN = ("run", "task1", "--engine", "flat", "--topics", "2021", "--jobs", "1", "--variant")
RUNS = "runs/arqmath-sample/2021/bm25arq-task1-bm25-auto"
TEXT, BOTH = f"{RUNS}-text-A.tsv", f"{RUNS}-both-P.tsv"
CHANGES = {"analysis": ("stop_words: true", "stop_words: false"), "ranking": ("k1: 1.2", "k1: 2")}
RESULTS = (
    "Input.topic_id,Input.doc_id,Input.post_1,Answer.grade_1\n"
    "A.1,7,7,High\nA.1,8,8,Low\nA.2,9,9,Medium\n"
)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Path:
    """Return a directory with indexes, runs, annotations and configurations."""
    place = tmp_path_factory.mktemp("indexed")
    linked(sample_indexes, place / "indexes")
    for name, change in CHANGES.items():
        (place / f"{name}.yaml").write_text(edited("task1", change))
    (place / "first.csv").write_text(RESULTS)
    (place / "second.csv").write_text(RESULTS.replace("High", "Low"))
    done = ended(*RUN, "text", "--variant", "both", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(
    ("earlier", "command", "output"),
    [
        (
            None,
            [*INDEX, "--config", "analysis.yaml"],
            "indexes/arqmath-sample/task1",
        ),
        (None, [*RUN, "both", "--config", "ranking.yaml", "--overwrite"], BOTH),
        (["fuse", BOTH, TEXT, "-o", "fused.tsv"], ["--k", "5"], "fused.tsv"),
        (["convert", "-o", "a.tsv.gz", TEXT], ["--format", "trec"], "a.tsv.gz"),
        (["pool", TEXT, "-o", "batch.csv", "--depth", "2"], [BOTH], "batch.csv"),
        (
            ["judge", "-o", "qrels.tsv", "second.csv"],
            ["first.csv", "--rule", "highest"],
            "qrels.tsv",
        ),
        (["report", "--depth", "3", "-o", "pages", TEXT], [BOTH], "pages"),
    ],
    ids=("index", "run", "fuse", "convert", "pool", "judge", "report"),
)
def test_a_kill_at_any_change_leaves_old_or_new(
    indexed: Path, tmp_path: Path, earlier: list[str] | None, command: list[str], output: str
) -> None:
    shutil.copytree(indexed, tmp_path / "old")
    if earlier:
        done = ended(*earlier, cwd=tmp_path / "old")
        assert done.returncode == 0, done.stderr
        command = earlier + command
    killing = [
        sys.executable,
        str(Path(__file__).parents[1] / "support" / "killing.py"),
        str(tmp_path),
    ]
    done = subprocess.run(
        [*killing, json.dumps([command, output])],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["old"]
