"""`verify` makes a run again, so whoever forges one, or its manifest, is found out."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from program import arqmath, printed, refused
from shared_indexes import store

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import write_ids
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.writing import contents
from arqmath_bm25.tasks.verification import verify_run
from arqmath_bm25.version import __version__

RunManifest = dict[str, Any]
Forged = dict[str, tuple[str, RunManifest]]  # name -> content of the run, and its manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample, two runs, and their fusion."""
    place = tmp_path_factory.mktemp("made")
    where = ("--indexes", place / "indexes", "--engine", "flat")
    arqmath("index", "task1", *where)
    variants = ("--variant", "text", "--variant", "both", "--depth", 20)
    arqmath("run", "task1", *where, "--runs", place / "runs", "--topics", "2020", *variants)
    for path in (place / "runs").rglob("*-auto-*"):
        path.rename(place / path.name.replace("bm25arq-task1-bm25-auto-", ""))
    arqmath("fuse", place / "both-P.tsv", place / "text-A.tsv", "-o", place / "fused.tsv")
    return place


def read(path: Path) -> tuple[list[list[str]], RunManifest]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return rows, json.loads(path.with_name(f"{path.name}.manifest.json").read_text())


def text(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def changed(manifest: RunManifest, *keys: str | int, to: object) -> RunManifest:
    """Return a copy of a manifest with another value at the end of some keys."""
    other = copy.deepcopy(manifest)
    part: Any = other
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = to
    return other


def other_rows(rows: list[list[str]], manifest: RunManifest) -> Forged:
    ids = [[row[0], str(10 + n), *row[2:]] for n, row in enumerate(rows)]
    swapped = [[*rows[0][:1], rows[1][1], *rows[0][2:]], [*rows[1][:1], rows[0][1], *rows[1][2:]]]
    scores = [[*row[:3], f"{float(row[3]) + 1:.9g}", row[4]] for row in rows]
    tags = [[*row[:4], "mine"] for row in rows]
    return {
        "all ids": (text(ids), manifest),
        "one id": (text([ids[0], *rows[1:]]), manifest),
        "two ids exchanged": (text([*swapped, *rows[2:]]), manifest),
        "scores": (text(scores), manifest),
        "tags": (text(tags), manifest),
        "a row less": (text(rows[:-1]), manifest),
        "a row twice": (text([*rows, rows[-1]]), manifest),
        "no rows": ("", manifest),
    }


def other_settings(rows: list[list[str]], manifest: RunManifest) -> Forged:
    forged = {}
    for value in ({"contents": 99}, {}, {"contents": -1}, {"nothing": 1}, None):
        keys = ("settings", "variants", "both")
        forged[f"weights {value}"] = (text(rows), changed(manifest, *keys, to=value))
    for k1 in (0.9, 0, "1.2", None):
        forged[f"k1 {k1}"] = (text(rows), changed(manifest, "settings", "bm25", "k1", to=k1))
    rerank = changed(manifest, "settings", "rerank", to={})
    forged["no second stage"] = (text(rows), rerank)
    return forged


def other_value(rows: list[list[str]], manifest: RunManifest) -> Forged:
    values: dict[str, list[object]] = {
        "variant": ["text", "math", "none", "", None, 5, []],
        "depth": [5, 0, -1, 10**9, "20", 20.5, None, True],
        "index": ["0" * 64, "", None],
        "tag": ["mine", "", None],
        "task": ["task2", "docs", "x", None, 5],
        "form": ["trec", "csv", None],
        "collection": [[], [{"name": "Posts.xml", "sha256": "0" * 64}], None, [5]],
        "topics": [{"name": "t.xml", "sha256": "0" * 64}, {"name": "../t", "sha256": ""}, 5, None],
        "settings": [{}, 5, [5]],
        "method": [{}, None],
        "actor": [{"team": "somebody else"}, None],
        "research goal": [{"venue": {"name": "another"}}, {}],
        "schema-version": [0.2, "0.1"],
        "run-version": [True, 2.0],  # True equals 1.0
        "built": ["0" * 64, [5], None],
    }
    forged = {}
    for key, others in values.items():
        for value in others:
            forged[f"{key} {value}"] = (text(rows), changed(manifest, key, to=value))
    return forged


def other_fusion(rows: list[list[str]], manifest: RunManifest) -> Forged:
    names: list[object] = [
        "/etc/passwd", "../both-P.tsv", "", ".", "..", "a/b", "a\0b", "x" * 300, None, 5,
        "fused.tsv", "forged.tsv",
    ]  # fmt: skip
    forged = {}
    for name in names:
        forged[f"member {str(name)[:20]}"] = (
            text(rows), changed(manifest, "runs", 0, "name", to=name)
        )  # fmt: skip
    for key, values in {
        "weights": [[1.0], [2.0, 1.0], [-1.0, 1.0], [0.0, 0.0], "1,1", None],
        "method": ["weighted", "none", None],
        "k": [1, -1, "60", True],
        "depth": [5, 0, None],
        "runs": [{}, [], None, [5, 6]],
    }.items():
        for value in values:
            forged[f"{key} {value}"] = (text(rows), changed(manifest, key, to=value))
    forged["rows"] = (text([rows[1], rows[0], *rows[2:]]), manifest)
    return forged


@pytest.mark.parametrize(
    ("run", "forge"),
    [
        ("both-P.tsv", other_rows), ("both-P.tsv", other_settings), ("both-P.tsv", other_value),
        ("fused.tsv", other_fusion),
    ],
)  # fmt: skip
def test_no_forged_run_is_accepted(made: Path, run: str, forge: Any) -> None:
    collection = CollectionFiles(None, made / "indexes")
    path = made / "forged.tsv"
    forgeries = forge(*read(made / run))
    for name, (content, manifest) in forgeries.items():
        path.write_text(content)
        described = {**manifest, "sha256": hashlib.sha256(content.encode()).hexdigest()}
        path.with_name("forged.tsv.manifest.json").write_text(json.dumps(described))
        with pytest.raises(InputError):
            verify_run(path, collection)
            pytest.fail(f"{name}: accepted")


OTHER_FILE = {"name": "a", "size": 1, "sha256": "0" * 64}
CLAIMS: dict[str, list[object]] = {
    "version": [f"{__version__}.1", 5],
    "platform": [{"software": {}}, "Fortran", None],
    "implementation": [{"executable": {"cmd": "rm -r /"}}, 5],
    "data": [{"test collection": {"name": "ARQMath"}}, [], None],
    "built": [[], [OTHER_FILE]],
    "cluster": ["arqmath-x (uuid)"],
    "seconds": [1],
    "topics.name": ["Topics_Task1_2021.xml"],
    "topics.size": [1],
    "collection.0.name": ["Posts.V9.xml"],
    "collection.0.size": [1],
    "collection.0.path": ["/etc/passwd"],
}
CLAIMS_OF_FUSION: dict[str, list[object]] = {
    "version": ["9.9.9"],
    "actor": [{"team": "somebody else"}],
    "runs.0.size": [1],
    "runs.1.path": ["/etc/passwd"],
}


@pytest.mark.parametrize(
    ("run", "claims"), [("both-P.tsv", CLAIMS), ("fused.tsv", CLAIMS_OF_FUSION)]
)
def test_what_is_not_proved_is_told_as_a_claim(
    made: Path, run: str, claims: dict[str, list[object]]
) -> None:
    """A name, a command, a machine: nothing here can prove them."""
    collection = CollectionFiles(None, made / "indexes")
    content = (made / run).read_text()
    _, manifest = read(made / run)
    path = made / "claimed.tsv"
    path.write_text(content)
    for keys, values in claims.items():
        for value in values:
            parts = [int(key) if key.isdecimal() else key for key in keys.split(".")]
            described = changed(manifest, *parts, to=value)
            path.with_name("claimed.tsv.manifest.json").write_text(json.dumps(described))
            assert parts[0] in verify_run(path, collection, quick=True).claims, (keys, value)


def test_a_depth_that_no_topic_reaches_is_a_claim(made: Path, tmp_path: Path) -> None:
    where = ("--indexes", made / "indexes", "--runs", tmp_path, "--topics", "2020")
    arqmath("run", "task1", *where, "--variant", "text")
    (path,) = tmp_path.rglob("*-text-A.tsv")
    _, manifest = read(path)
    for depth in (1000, 10**30):
        described = changed(manifest, "depth", to=depth)
        path.with_name(f"{path.name}.manifest.json").write_text(json.dumps(described))
        assert "depth" in verify_run(path, CollectionFiles(None, made / "indexes")).claims


def test_the_command_names_the_claims(made: Path) -> None:
    options = ("--indexes", made / "indexes")
    said = printed("verify", made / "both-P.tsv", *options)
    assert said.endswith(
        "ranked by the index that lies here: the same bytes; claimed, not proved: implementation"
    )
    said = printed("verify", made / "fused.tsv", "--quick", *options)
    assert "nothing was ranked again; claimed, not proved: implementation of both-P.tsv" in said


@pytest.mark.parametrize("run", ["both-P.tsv", "text-A.tsv", "fused.tsv"])
def test_a_true_run_is_accepted_under_any_name(made: Path, tmp_path: Path, run: str) -> None:
    for path in made.glob("*.tsv*"):
        shutil.copy(path, tmp_path)
    for ending in ("", ".manifest.json"):
        (tmp_path / f"{run}{ending}").rename(tmp_path / f"renamed.tsv{ending}")
    said = verify_run(tmp_path / "renamed.tsv", CollectionFiles(None, made / "indexes"))
    assert said.made.startswith(("by ", "fused from "))


@pytest.mark.parametrize("engine", ["flat", "lucene"])
def test_only_a_build_from_the_data_finds_a_forged_index_out(tmp_path: Path, engine: str) -> None:
    """Two documents' names are exchanged in the store, and its manifest is made to agree."""
    rows = [
        {"id": f"d{n}", "text": f"the group of order ${n}x$ " + "is " * n} for n in range(10, 40)
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "group of order $12x$"}')
    where = ("--data", tmp_path, "--indexes", tmp_path / "indexes")
    arqmath("index", "docs", *where, "--engine", engine)

    def run(name: str) -> Path:
        arqmath("run", "docs", *where, "--engine", engine, "--runs", tmp_path / name)
        (path,) = (tmp_path / name).rglob("both.trec")
        return path

    true = run("true")
    said = printed("verify", true, *where, "--build")
    assert "MB of disk" in said
    assert "built again from DATA: the same bytes; claimed, not proved: implementation" in said

    index = store(tmp_path / "indexes", "docs", engine)
    for path in index.rglob("*ids.text"):
        names = path.read_bytes().replace(b"d12", b"dXX").replace(b"d13", b"d12")
        path.write_bytes(names.replace(b"dXX", b"d13"))
        write_ids(path.with_suffix(""), split_names(path.read_bytes()))
    manifest = Manifest.read(index)
    assert manifest
    files = contents(index)
    del files["manifest.json"]
    replace(manifest, files=files).write(index)

    forged = run("forged")
    assert forged.read_bytes() != true.read_bytes()
    assert "ranked by the index that lies here" in printed("verify", forged, *where)
    assert "ranked again, this row is another one" in refused("verify", forged, *where, "--build")
    assert "built again from DATA: the same bytes" in printed("verify", true, *where, "--build")
    assert not list((tmp_path / "indexes").glob(".verify-*"))


def split_names(text: bytes) -> list[bytes]:
    return [text[begin : begin + 3] for begin in range(0, len(text), 3)]


def test_two_runs_that_are_fused_from_each_other_are_refused(made: Path, tmp_path: Path) -> None:
    content = (made / "fused.tsv").read_text()
    _, manifest = read(made / "fused.tsv")
    digest = hashlib.sha256(content.encode()).hexdigest()
    for name, other in (("a.tsv", "b.tsv"), ("b.tsv", "a.tsv")):
        (tmp_path / name).write_text(content)
        runs = [{"name": other, "sha256": digest}] * 2
        described = {**manifest, "runs": runs, "sha256": digest}
        (tmp_path / f"{name}.manifest.json").write_text(json.dumps(described))
    with pytest.raises(InputError, match=r"fused from a\.tsv, itself"):
        verify_run(tmp_path / "a.tsv", CollectionFiles(None, made / "indexes"))


def test_quick_compares_digests_alone(made: Path) -> None:
    collection = CollectionFiles(None, made / "indexes")
    rows, manifest = read(made / "both-P.tsv")
    content = text([[*row[:4], "mine"] for row in rows])
    path = made / "quick.tsv"
    path.write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    path.with_name("quick.tsv.manifest.json").write_text(json.dumps({**manifest, "sha256": digest}))
    assert "by" in verify_run(path, collection, quick=True).made
    with pytest.raises(InputError, match="row 1: ranked again"):
        verify_run(path, collection)
