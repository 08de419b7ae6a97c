"""The manifest beside a run tells its collection and settings, and never stops anything."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from program import arqmath, printed, refused

import arqmath_bm25 as arq
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.runs.run_writing import Provenance, provenance, write_run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


LAYOUT = Layout(SAMPLE)
NOTHING = Provenance("", "", "", None, {}, "", manual=False)


def beside(run: Path, **content: object) -> Path:
    run.with_name(f"{run.name}.manifest.json").write_text(json.dumps(content))
    return run


def test_collection_and_settings_are_told(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"my topics").hexdigest()
    run = beside(
        tmp_path / "run.tsv",
        task="docs", settings={"bm25": {"b": 0.75}}, variant="both",
        data={"test collection": {"name": "mine", "sha256": "c" * 64}},
        topics={"name": "mine.xml", "sha256": digest}, qrels={"name": "qrels.tsv"},
    )  # fmt: skip
    made_of = Provenance(
        "mine", "c" * 64, "qrels.tsv", None, {"bm25": {"b": 0.75}}, "both", manual=False
    )
    assert provenance(run) == made_of
    (tmp_path / "mine.xml").write_bytes(b"my topics")
    assert provenance(run) == made_of._replace(topics=tmp_path / "mine.xml")
    (tmp_path / "mine.xml").write_bytes(b"others")
    assert provenance(run) == made_of


def test_a_run_of_other_data_is_not_judged_by_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "mine"
    shutil.copytree(SAMPLE, data)
    posts = data / "Collection" / "Posts.V1.3.xml"
    posts.write_text(posts.read_text().replace("continuous", "contiguous"))
    for place in ((), ("--data", data)):
        arqmath("index", "task1", *place, "--engine", "flat")
        arqmath("run", "task1", *place, "--topics", "2021", "--variant", "both")
    (run,) = Path("runs/arqmath-sample/2021").glob("*.tsv")
    assert "1 run" in printed("eval", run) or "nDCG" in printed("eval", run)
    (run,) = Path("runs/mine/2021").glob("*.tsv")
    for command in ("eval", "report", "pool"):
        said = refused(command, run, *(["-o", tmp_path / "o"] if command != "eval" else []))
        assert "made of mine (SHA-256 " in said
        assert "judged by qrel_task1_2021_test.tsv; give these data with --data" in said
    assert printed("eval", run, "--data", data)


def test_a_path_in_a_manifest_is_not_followed(tmp_path: Path) -> None:
    places = {"source": str(tmp_path), "topics": str(tmp_path), "sha256": str(tmp_path)}
    run = beside(tmp_path / "run.tsv", data={"test collection": places})
    assert provenance(run).sha256 == str(tmp_path)
    assert provenance(run).topics is None
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


OTHER = "the manifest beside it describes another content (SHA-256)"


@pytest.fixture
def half_written(tmp_path: Path) -> Path:
    """Return a run whose writer was killed before its manifest got its name."""
    qrels = read_qrels(LAYOUT.qrels("task1", "2021"))
    path = tmp_path / "run.tsv"
    for k1, sign in ((0.9, 1), (1.7, -1)):
        rankings = {
            topic: [Hit(doc, sign * grade) for doc, grade in grades.items()]
            for topic, grades in qrels.items()
        }
        manifest = {
            "variant": "text",
            "settings": {"bm25": {"k1": k1}},
            "implementation": {"executable": {"cmd": "arqmath-bm25 run"}},
        }
        write_run(path, rankings.items(), "mine", "task1", "lab", manifest)
        if sign == 1:
            older = path.with_name("run.tsv.manifest.json").read_bytes()
            assert provenance(path).settings == {"bm25": {"k1": 0.9}}
    assert provenance(path).settings == {"bm25": {"k1": 1.7}}
    path.with_name("run.tsv.manifest.json").write_bytes(older)
    return path


def test_settings_of_another_content_are_not_those_of_a_run(half_written: Path) -> None:
    assert provenance(half_written) == NOTHING
    assert "manifest" not in arq.read_run(half_written).attrs


@pytest.mark.parametrize("command", ["eval", "compare", "report", "fuse", "validate"])
def test_commands_say_that_a_manifest_describes_another_content(
    command: str, half_written: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.tsv"
    other.write_bytes(half_written.read_bytes())
    arguments: list[object] = [command, half_written, other]
    if command in ("report", "fuse"):
        arguments += ["-o", tmp_path / "output"]
    said = " ".join(printed(*arguments).split())  # without the ends of lines
    assert said.count(OTHER) == 1
    if command == "report":
        for page in (tmp_path / "output" / "runs").glob("*.html"):
            text = page.read_text(encoding="utf-8")
            assert "no manifest of its content is beside this run" in text
            assert "k1" not in text


def test_nothing_is_proved_or_published_of_another_content(
    half_written: Path, tmp_path: Path
) -> None:
    said = " ".join(refused("convert", half_written, "--tira", tmp_path / "tira").split())
    assert OTHER in said
    assert "no manifest beside it says how it was made" in said
    assert not (tmp_path / "tira").exists()
    said = " ".join(refused("verify", half_written).split())
    assert "not the file that its manifest describes (another SHA-256)" in said
