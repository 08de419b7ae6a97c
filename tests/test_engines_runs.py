"""Every engine writes the same run files: all tasks, years and variants."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from arqmath_bm25.cli import app
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.settings import default_config
from arqmath_bm25.engines.flat import FlatSearcher
from arqmath_bm25.engines.lucene.search import LuceneSearcher
from arqmath_bm25.tasks.index import Index

if TYPE_CHECKING:
    from pathlib import Path

    from opensearch_nodes import Nodes


def arqmath(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.output


def run_files(place: Path, engine: str, *options: object) -> dict[str, bytes]:
    """Return the bytes of all runs of all tasks, by the names of the files."""
    runs = place / f"runs of {engine} {len([*place.iterdir()])}"
    arqmath("run", "all", "--indexes", place / "indexes", "--runs", runs, "--engine", engine,
            *options)  # fmt: skip
    found = [path for path in runs.rglob("*") if path.suffix in (".tsv", ".txt")]
    return {str(path.relative_to(runs)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample")
    arqmath("index", "all", "--indexes", place / "indexes", "--engine", "flat")
    return place


def test_the_sample_by_flat_postings(sample: Path) -> None:
    expected = run_files(sample, "lucene")
    assert len(expected) > 20
    assert run_files(sample, "flat") == expected
    assert run_files(sample, "auto") == expected


def test_flat_postings_need_no_java(sample: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from arqmath_bm25.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print('jnius' in sys.modules)"
    )
    options = ("--indexes", sample / "indexes", "--runs", tmp_path)
    command = [sys.executable, "-c", code, "run", "all", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n"), done.stdout


def test_flat_postings_are_added_to_an_index_that_is_there(tmp_path: Path) -> None:
    options = ("task1", "--indexes", tmp_path)
    arqmath("index", *options)
    refused = CliRunner().invoke(app, ["search", *map(str, options), "x", "--engine", "flat"])
    assert "no flat postings" in str(refused.exception)
    assert isinstance(Index.open(Collection(indexes=tmp_path), "task1").searcher(), LuceneSearcher)
    command = [sys.executable, "-m", "arqmath_bm25", "index", *map(str, options)]  # a fresh JVM
    added = subprocess.run([*command, "--engine", "flat"], capture_output=True, check=True)
    assert b"up to date" in added.stdout
    assert isinstance(Index.open(Collection(indexes=tmp_path), "task1").searcher(), FlatSearcher)


def test_hosts_and_their_engine_belong_together() -> None:
    for options in (["--engine", "opensearch"], ["--hosts", "http://127.0.0.1:1"]):
        done = CliRunner().invoke(app, ["run", "task1", *options])
        assert "opensearch and hosts belong together" in str(done.exception)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 4])
def test_the_sample_by_opensearch(sample: Path, opensearch: Nodes, shards: int) -> None:
    cluster = ("--hosts", ",".join(opensearch.hosts))
    arqmath("index", "all", "--indexes", sample / "indexes", "--engine", "opensearch",
            "--shards", shards, *cluster)  # fmt: skip
    assert run_files(sample, "opensearch", *cluster) == run_files(sample, "lucene")


@pytest.mark.slow
def test_a_cluster_that_has_other_documents_is_refused(opensearch: Nodes, tmp_path: Path) -> None:
    cluster = ("--engine", "opensearch", "--hosts", ",".join(opensearch.hosts))
    options = ("task1", "--indexes", tmp_path, *cluster)
    arqmath("index", *options)
    assert "1  " in arqmath("search", *options, "series")
    config = tmp_path / "other.yaml"
    text = default_config("task1").read_text()
    config.write_text(text.replace("ngrams: [1, 3]", "ngrams: [1, 2]"))
    assert config.read_text() != text
    arqmath("index", "task1", "--indexes", tmp_path, "--config", config, "--overwrite")
    refused = CliRunner().invoke(
        app, ["search", *map(str, options), "series", "--config", str(config)]
    )
    assert "other data or settings" in str(refused.exception)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "options"),
    [("arqmath-lite", ()), ("nlps", ("--topics", "dev", "--variant", "bm25"))],
)
def test_real_collections(
    shared: Path, tmp_path: Path, data: str, options: tuple[str, ...]
) -> None:
    place = ("--data", shared / "data" / data)
    arqmath("index", "all", "--indexes", tmp_path / "indexes", "--engine", "flat", *place)
    expected = run_files(tmp_path, "lucene", *place, *options)
    assert len(expected) == (18 if data == "arqmath-lite" else 1)
    assert run_files(tmp_path, "flat", *place, *options) == expected
