"""`verify` follows a run to its data, and names the first link that breaks."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml
from program import arqmath, printed, refused

from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, an index, two runs and their fusion."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(SAMPLE, place / "data")
    where = ("--data", place / "data", "--indexes", place / "indexes", "--engine", "flat")
    arqmath("index", "task1", *where)
    runs = place / "runs"
    variants = ("--variant", "text", "--variant", "math")
    arqmath("run", "task1", *where, "--runs", runs, "--topics", "2020", *variants)
    for run in runs.rglob("*-auto-*"):
        run.rename(place / run.name.replace("bm25arq-task1-", ""))
    text, math = sorted(place.glob("*.tsv"), reverse=True)
    arqmath("fuse", text, math, "-o", place / "fused.tsv", "--task", "task1")
    return place


def verified(place: Path, run: str, call: Callable[..., str] = printed) -> str:
    (path,) = place.glob(f"*{run}*.tsv")
    return call("verify", path, "--data", place / "data", "--indexes", place / "indexes")


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def rebuild(place: Path) -> None:
    config = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))
    config["analysis"]["text"] = {"stemmer": "porter"}
    (place / "mine.yaml").write_text(yaml.safe_dump(config))
    where = ("--data", place / "data", "--indexes", place / "indexes", "--engine", "flat")
    arqmath("index", "task1", *where, "--config", place / "mine.yaml", "--prune")


def other_data(place: Path, rebuilt: bool) -> None:
    posts = place / "data" / "Collection" / "Posts.V1.3.xml"
    posts.write_bytes(posts.read_bytes().replace(b"diverge", b"DIVERGE", 1))
    if rebuilt:
        where = ("--data", place / "data", "--indexes", place / "indexes", "--engine", "flat")
        arqmath("index", "task1", *where, "--prune")


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "run": (
        lambda place: change(next(place.glob("*-text-*.tsv"))),
        "text-A.tsv: not the file that its manifest describes",
    ),
    "manifest": (
        lambda place: next(place.glob("*-text-*.json")).unlink(),
        "text-A.tsv: no manifest is beside it",
    ),
    "index": (
        lambda place: change(next(place.rglob("posts.npy"))),
        ": this index is damaged: posts.npy has",
    ),
    "settings": (rebuild, "(this index was built with other analysis settings"),
    "data": (
        lambda place: other_data(place, rebuilt=False),
        "built from other data (Posts.V1.3.xml has other content)",
    ),
    "data of the run": (
        lambda place: other_data(place, rebuilt=True),
        ": built from other data than",
    ),
    "topics": (
        lambda place: change(next(place.rglob("Task1*/ARQMath-1/Topics/*.xml"))),
        "no topic file is the one of",
    ),
}


@pytest.mark.parametrize("run", ["-text-", "fused"])
def test_a_run_is_followed_to_its_data(made: Path, run: str) -> None:
    assert "as it was made" in verified(made, run)


@pytest.mark.parametrize("link", BREAKS)
def test_the_first_link_that_breaks_is_named(
    made: Path, tmp_path: Path, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path / "made")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # knows of no other copy
    break_it, message = BREAKS[link]
    break_it(tmp_path / "made")
    for run in ("-text-", "fused"):
        said = verified(tmp_path / "made", run, refused)
        wanted = message
        if run == "fused" and link == "run":
            wanted = "text-A.tsv: not the run of which fused.tsv was fused"
        assert wanted in said


def test_a_manifest_of_another_form_is_refused(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "made")
    (path,) = (tmp_path / "made").glob("*-text-*.json")
    content = json.loads(path.read_text())
    for changed in ({"collection": [5]}, {"topics": "x"}):
        path.write_text(json.dumps(content | changed))
        assert "not a manifest of this version" in verified(tmp_path / "made", "-text-", refused)
