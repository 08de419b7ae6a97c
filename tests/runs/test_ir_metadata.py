"""The manifest beside a run is a file of the standard ir_metadata."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from program import arqmath

from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.runs.run_writing import ir_metadata
from arqmath_bm25.tasks import configured
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

# The first level that the standard's overview lists, and what its checklists want below.
PARTS = {
    "platform": {"software"}, "research goal": {"venue"},
    "implementation": {"executable", "source"},
    "method": {"automatic", "score ties", "indexing", "retrieval"},
    "actor": {"team", "role"}, "data": {"test collection"},
}  # fmt: skip


def test_a_manifest_is_read_as_the_standard_s_tools_read_it(tmp_path: Path) -> None:
    run = ("run", "task1", "--topics", "2021", "--variant", "both", "--runs", tmp_path / "runs")
    for command in (("index", "task1", "--engine", "flat"), run):
        arqmath(*command, "--indexes", tmp_path)
    (path,) = tmp_path.rglob("*-both-P.tsv.manifest.json")
    told: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert told["schema-version"] == 0.1
    assert told["tag"] == path.name.removesuffix(".tsv.manifest.json")
    assert {part: set(told[part]) for part in PARTS} == PARTS
    assert f"arqmath_bm25=={__version__}" in told["platform"]["software"]["retrieval toolkit"]
    assert told["implementation"]["executable"]["cmd"] == (
        "arqmath-bm25 run task1 --topics 2021 --variant both --depth 1000 --format lab"
    )
    assert told["method"]["indexing"]["stemmer"] == "english"
    first, second = told["method"]["retrieval"]
    assert (first["method"], first["params"]["k1"], first["params"]["b"]) == ("bm25", 1.2, 0.75)
    assert second["reranks"] == first["name"] == "both"
    assert told["actor"] == {"team": "bm25arq", "role": "experimenter"}
    collection = told["data"]["test collection"]
    files = "\n".join(file["sha256"] for file in told["collection"])
    assert collection == {
        "name": SAMPLE.name, "sha256": hashlib.sha256(files.encode()).hexdigest(),
        "topics": "Topics_Task1_2021_V1.1.xml",
    }  # fmt: skip
    assert len(told["index"]) == 64
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert str(SAMPLE.parent) not in text
    before = path.read_bytes()
    arqmath(*run, "--indexes", tmp_path, "--jobs", "1", "--overwrite")
    assert path.read_bytes() == before


def test_a_run_of_task_3_names_the_ranking_of_task_1() -> None:
    task1 = configured("task1").settings.model_dump(mode="json")
    task3 = configured("task3").settings.model_dump(mode="json")
    ranked = ir_metadata("task1", "name", "command", task1, "both", {})["method"]
    extracted = ir_metadata("task3", "name", "command", task3, "both", {})["method"]
    assert extracted == ranked
    assert extracted["indexing"]["stemmer"] == "english"


def test_parameters_of_fields_are_told_beside_the_weights_of_fields() -> None:
    settings = {
        "analysis": {},
        "bm25": {"k1": 0.9, "b": 0.4, "fields": {"operators": {"k1": 2, "b": 1}}},
        "variants": {"math": {"fields": {"contents": 1, "operators": 1}, "context": 0}},
    }
    told = ir_metadata("task2", "name", "command", settings, "math", {})
    assert told["method"]["retrieval"][0]["params"] == {
        "fields": {"contents": 1, "operators": 1},
        "context": 0,
        "k1": 0.9,
        "b": 0.4,
        "bm25 of fields": {"operators": {"k1": 2, "b": 1}},
    }


@pytest.mark.parametrize(
    ("variant", "method", "params"),
    [
        ("text", "bm25", {"contents": 1, "k1": 0.9, "b": 0.4}),
        ("near", "ridge", {"method": "ridge", "profile": 0.2}),
    ],
)
def test_what_ranked_is_told(variant: str, method: str, params: dict[str, Any]) -> None:
    settings = {
        "analysis": {}, "bm25": {"k1": 0.9, "b": 0.4},
        "variants": {"text": {"contents": 1}, "near": {"method": "ridge", "profile": 0.2}},
    }  # fmt: skip
    for made in (settings, {"ranking": settings}):
        told = ir_metadata("nlps", "name", "command", made, variant, {})
        assert told["method"]["retrieval"] == [
            {"name": variant, "method": method, "params": params}
        ]
        assert told["research goal"] == {"venue": {"name": "TextGraphs-16"}}
