"""The command `fetch`, from a folder that is laid out like the site."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from program import arqmath, refused

from arqmath_bm25.collection import published
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.published import Archive, PublishedFile, official
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.tasks import TASKS, configured

if TYPE_CHECKING:
    from pathlib import Path

FORMULAS = "Formulas/latex_representation_v3"
POSTS = "Collection/Posts.V1.3.xml"
JUDGED = official("qrels", "task2")["2021"]


def run(*arguments: str) -> str:
    return arqmath("fetch", *arguments).stdout


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the sample as the site would publish it, posts and formulas zipped."""
    folder = tmp_path / "mirror"
    shutil.copytree(SAMPLE, folder)
    with ZipFile(folder / "Collection/Posts.V1.3.zip", "w", ZIP_DEFLATED) as zipped:
        zipped.write(folder / POSTS, "Posts.V1.3.xml")
    with ZipFile(folder / f"{FORMULAS}.zip", "w", ZIP_DEFLATED) as zipped:
        for tsv in sorted((folder / FORMULAS).iterdir()):
            zipped.write(tsv, f"latex_representation_v3/{tsv.name}")
    (folder / POSTS).unlink()
    shutil.rmtree(folder / FORMULAS)
    lab = frozenset({"task1", "task2"})
    small = [
        PublishedFile("Collection/Posts.V1.3.zip", "posts", lab,
                      archive=Archive(POSTS, ("Posts.V1.3.xml",), 10**6)),
        PublishedFile(f"{FORMULAS}.zip", "formulas", frozenset({"task2"}),
                      archive=Archive(FORMULAS, ("1.tsv", "2.tsv"), 10**6)),
        PublishedFile("Collection/PostLinks.V1.3.xml", "links", frozenset({"task1"})),
        PublishedFile("Collection/Votes.V1.0.xml", "links", frozenset({"task1"}), optional=True),
    ]  # fmt: skip
    monkeypatch.setattr(published, "CATALOGUE", small)
    return folder


def test_what_is_fetched_can_be_read(mirror: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    said = run("--data", str(data), "--from", str(mirror))
    assert f"{data}: 3 fetched, 0 already there" in said
    assert "Votes.V1.0.xml: not found (optional)" in said
    assert len(PostTable.scan(Layout(data).posts())) == len(PostTable.scan(Layout(SAMPLE).posts()))
    assert list(read_formulas(data / FORMULAS)) == list(read_formulas(SAMPLE / FORMULAS))
    assert not list(data.rglob("*.zip"))
    assert not list(data.rglob("*.part"))


def test_a_real_server_gives_the_same_as_a_folder(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    published.CATALOGUE.append(  # with blanks and an ampersand in its path
        PublishedFile(JUDGED, "qrels", frozenset({"task2"}))
    )
    run("--data", str(tmp_path / "copied"), "--from", str(mirror))
    handler = partial(SimpleHTTPRequestHandler, directory=str(mirror))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        said = run(
            "--data", str(tmp_path / "data"), "--from", f"http://127.0.0.1:{server.server_port}/"
        )
        server.shutdown()
        thread.join()
    assert "4 fetched, 0 already there" in said
    copied, loaded = (
        {path.relative_to(tmp_path / name): path.read_bytes()
         for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("copied", "data")
    )  # fmt: skip
    assert copied == loaded
    assert len(loaded) == 5


def test_by_default_is_fetched_what_default_configurations_read() -> None:
    """`run` and `eval` read topics and judgments, pages of threads links, the indexes all else."""
    collection = CollectionFiles()
    read = {
        str(path.relative_to(SAMPLE))
        for name in TASKS
        if name not in ("nlps", "docs")  # published elsewhere, and not at all
        for path in configured(name).index_task.sources(collection)
    }
    parts = {
        file.part
        for file in published.CATALOGUE
        if any(path == file.target or path.startswith(f"{file.target}/") for path in read)
    }
    assert {"topics", "qrels", "links"} | parts == set(published.DEFAULT_PARTS)


def test_what_is_there_is_passed_over(mirror: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    run("--data", str(data), "--from", str(mirror), "--only", "posts")
    (data / POSTS).write_text("mine")
    said = run("--data", str(data), "--from", str(mirror), "--task", "task1")
    assert f"{POSTS}: already there" in said
    assert "Collection/PostLinks.V1.3.xml: fetched" in said
    assert (data / POSTS).read_text() == "mine"
    assert not (data / FORMULAS).exists()


def test_what_the_source_lacks_does_not_keep_the_rest_away(mirror: Path, tmp_path: Path) -> None:
    (mirror / "Collection/Posts.V1.3.zip").unlink()
    said = refused("fetch", "--data", tmp_path / "data", "--from", mirror)
    assert f"{POSTS}: not found" in said
    assert "2 fetched, 0 already there" in said
    assert "mirror does not have 1 of the 4 files" in said
    assert not (tmp_path / "data" / POSTS).exists()


def test_a_damaged_archive_leaves_no_posts(mirror: Path, tmp_path: Path) -> None:
    archive = mirror / "Collection/Posts.V1.3.zip"
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"Posts\.V1\.3\.zip: damaged"):
        run("--data", str(tmp_path / "data"), "--from", str(mirror), "--only", "posts")
    assert not list((tmp_path / "data").rglob("Posts*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "posts,runs"], r"--only runs: expected any of topics, qrels, posts"),
        (["--only", "slt", "--task", "task1"], r"task1 reads nothing of --only slt"),
        (["--data", __file__, "--only", "qrels"], r"it is a file; expected a directory"),
    ],
)
def test_wrong_options_are_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)
