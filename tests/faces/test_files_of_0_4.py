"""Files that version 0.4.0 wrote, and its script and calls, are taken by this version.

The files in written_by_0_4/ are of the bundled sample; the scores are what `eval` of 0.4.0 printed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from program import arqmath, json_of, refused

OLD = Path(__file__).parent / "written_by_0_4"
RANKED = OLD / "bm25arq-task1-bm25-auto-both-P.tsv"

# docs/USAGE.md of 0.4.0, "The same in Python", and what it printed.
SCRIPT = """
import arqmath_bm25 as arq

documents = [
    {"id": "pythagoras", "text": "In a right triangle $a^2+b^2=c^2$."},
    {"id": "area", "text": "The area of a triangle is half of its base times its height."},
]
mine = arq.Collection.of(documents, "mine")
with mine.index("docs", engine="flat") as index:
    print(len(index), "area" in index, index.document_frequency("triangl")["contents"].item())
    hits = index.search(["right triangle", "$x^2+y^2=z^2$"], k=1)  # qid "1" and "2"
    run = index.run([{"qid": "sides", "query": "sides of a right triangle"}])
qrels = {"sides": {"pythagoras": 1}}  # or arq.read_qrels("mine/qrels/test.tsv")
found = arq.evaluate(run, qrels, measures=["AP", "P@1"])
print({name: found[name] for name in ("AP", "P@1")})
"""
PRINTED = "2 True 2\n{'AP': 1.0, 'P@1': 1.0}\n"


@pytest.mark.parametrize(
    ("name", "ndcg", "judged"),
    [
        (RANKED.name, 0.774323219883026, 0.9333333333333332),
        ("bm25arq-task1-bm25-auto-text-A.tsv", 0.5996866200413242, 0.8666666666666667),
        ("bm25arq-task2-layout-auto-both-P.tsv", 0.772398493323089, 0.7333333333333334),
        ("fused.tsv", 0.7993035399159208, 0.8796296296296297),
    ],
)
def test_a_run_has_the_same_scores(name: str, ndcg: float, judged: float) -> None:
    (found,) = json_of("eval", OLD / name)

    assert found["ndcg_prime"] == pytest.approx(ndcg, abs=1e-12)
    assert found["judged_at_10"] == pytest.approx(judged, abs=1e-12)


def test_a_run_is_valid_and_goes_into_reports_pools_and_fusions(tmp_path: Path) -> None:
    runs = sorted(OLD.glob("*task1*.tsv"))
    arqmath("validate", *runs)
    arqmath("report", *runs, "-o", tmp_path / "report")
    pages = list((tmp_path / "report" / "runs").glob("*.html"))
    assert any("query k3" in page.read_text() for page in pages)  # `saturation` in its manifest
    arqmath("pool", *runs, "--depth", 2, "-o", tmp_path / "batch.csv")
    arqmath("fuse", *runs, "-o", tmp_path / "fused.tsv")
    assert (tmp_path / "fused.tsv").read_bytes() == (OLD / "fused.tsv").read_bytes()


@pytest.mark.parametrize("name", [RANKED.name, "fused.tsv"])
def test_a_run_is_verified_by_the_version_that_wrote_it(name: str) -> None:
    assert "version 0.4.0 wrote it, and can verify the run" in refused("verify", OLD / name)


def test_calls_are_taken(tmp_path: Path) -> None:
    places = ("--indexes", tmp_path / "indexes")
    arqmath("index", "task1", "--engine", "flat", "--overwrite", *places)
    config = ("--config", OLD / "task1.yaml")
    arqmath("run", "task1", "--topics", 2021, *config, *places, "--runs", tmp_path / "runs")
    run = next((tmp_path / "runs").rglob("*both-P.tsv"))
    arqmath("eval", run, "--json", tmp_path / "scores.json", "--per-topic", tmp_path / "topics.csv")
    arqmath("search", "task1", "Why does $x^2$ converge?", "--depth", 2, *places)


def test_the_script_of_the_guide_prints_the_same(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == PRINTED
