"""The manifest beside a run tells its collection and settings, and never stops anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.runs.run_writing import Provenance, provenance

if TYPE_CHECKING:
    from pathlib import Path

LAYOUT = Layout(SAMPLE)
NOTHING = Provenance(None, None, {}, "", manual=False)


def beside(run: Path, **content: object) -> Path:
    run.with_name(f"{run.name}.manifest.json").write_text(json.dumps(content))
    return run


def test_collection_and_settings_are_told(tmp_path: Path) -> None:
    run = beside(
        tmp_path / "run.tsv",
        settings={"bm25": {"b": 0.75}}, variant="both", data=str(SAMPLE),
        topics={"name": LAYOUT.topics("task1", "2021").name},
    )  # fmt: skip
    assert provenance(run) == Provenance(SAMPLE, None, {"bm25": {"b": 0.75}}, "both", manual=False)
    now = beside(tmp_path / "now.tsv", data={"test collection": {"source": str(tmp_path)}})
    assert provenance(now) == Provenance(tmp_path, None, {}, "", manual=False)
    mine = beside(tmp_path / "mine.tsv", data=str(tmp_path), topics={"name": "mine.xml"})
    assert provenance(mine) == Provenance(tmp_path, None, {}, "", manual=False)


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
    name = LAYOUT.topics("task1", "2020").name
    run = beside(tmp_path / "r.tsv", data=f"/{'x' * 5000}", topics={"name": name})
    assert provenance(run) == NOTHING
    assert provenance(tmp_path / "other.tsv") == NOTHING
