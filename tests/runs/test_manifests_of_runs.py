"""The manifest beside a run tells its collection and settings, and never stops anything."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.known_paths import known_path, note_path
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.runs.run_writing import Provenance, provenance


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


LAYOUT = Layout(SAMPLE)
NOTHING = Provenance(None, None, {}, "", manual=False)


def beside(run: Path, **content: object) -> Path:
    run.with_name(f"{run.name}.manifest.json").write_text(json.dumps(content))
    return run


def test_collection_and_settings_are_told(tmp_path: Path) -> None:
    note_path("c" * 64, SAMPLE)
    run = beside(
        tmp_path / "run.tsv",
        settings={"bm25": {"b": 0.75}}, variant="both",
        data={"test collection": {"name": "mine", "sha256": "c" * 64}},
        topics={"name": LAYOUT.topics("task1", "2021").name, "sha256": "d" * 64},
    )  # fmt: skip
    assert provenance(run) == Provenance(SAMPLE, None, {"bm25": {"b": 0.75}}, "both", manual=False)

    note_path("d" * 64, tmp_path / "run.tsv.manifest.json")
    assert provenance(run).topics == tmp_path / "run.tsv.manifest.json"


def test_a_path_in_a_manifest_is_not_followed(tmp_path: Path) -> None:
    places = {"source": str(tmp_path), "topics": str(tmp_path), "sha256": str(tmp_path)}
    run = beside(tmp_path / "run.tsv", data={"test collection": places})
    assert provenance(run) == NOTHING
    assert provenance(beside(tmp_path / "old.tsv", data=str(tmp_path))) == NOTHING


@pytest.mark.parametrize(
    "content",
    ["", "[1]", "{", "[" * 100_000, "\ud800", '{"topics": 1, "data": 2}',
     '{"settings": [], "variant": 1, "topics": {"name": "\\u0000"}, "data": "\\u0000"}',
     '{"data": {"test collection": 1}}', '{"data": {"test collection": {"source": []}}}'],
)  # fmt: skip
def test_what_is_no_manifest_tells_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.tsv.manifest.json").write_text(content, errors="surrogatepass")
    assert provenance(tmp_path / "run.tsv") == NOTHING


def test_a_collection_that_is_gone_is_not_told(tmp_path: Path) -> None:
    note_path("e" * 64, tmp_path / "gone")
    data = {"test collection": {"sha256": "e" * 64}}
    run = beside(tmp_path / "r.tsv", data=data, topics={"sha256": "unknown"})
    assert provenance(run) == NOTHING


@pytest.mark.parametrize(
    "known",
    ["", "[1]", "{", '{"f": 1}', '{"f": "\\u0000"}', '{"f": "/' + "x" * 5000 + '"}'],
)
def test_a_damaged_list_of_known_paths_names_none(tmp_path: Path, known: str) -> None:
    note_path("f", tmp_path)
    (Path(os.environ["XDG_CACHE_HOME"]) / "arqmath-bm25" / "paths.json").write_text(known)
    assert known_path("f") is None
    note_path("f", tmp_path)
    assert known_path("f") == tmp_path
