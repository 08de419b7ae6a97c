"""An index is known by what it was made from: stale, moved, of other settings, read once."""

from __future__ import annotations

import gc
import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from program import arqmath, printed, refused
from shared_indexes import linked, store

from arqmath_bm25.cli import tasks
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.open_index import OpenIndex

QUERY = r"Why does $\sum 1/n$ diverge?"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of answers, built with a configuration of one's own, and that of formulas."""
    place = tmp_path_factory.mktemp("indexes")
    config = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))
    config["analysis"]["latex"]["ngrams"] = [1, 2]
    config["run"]["id"] = "mine"
    (place / "mine.yaml").write_text(yaml.safe_dump(config))
    tasks.index("task1", indexes=place, config=place / "mine.yaml", engine=["lucene"])
    return place


def test_a_store_is_opened_by_its_path_with_its_own_settings(
    indexes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = store(indexes, "task1")
    message = rf"{own} \(.* settings: latex.ngrams: \[1, 2\]\); .arqmath-bm25 index"
    with pytest.raises(InputError, match=message):
        tasks.search("task1", QUERY, indexes=indexes)
    found = OpenIndex.open(CollectionFiles(indexes=indexes), str(own))
    assert found.task.settings.analysis.latex.ngrams == (1, 2)
    assert found.task.tag("both") == "bm25arq-task1-mine-auto-both-P"
    capsys.readouterr()
    tasks.search(str(own), QUERY, indexes=indexes, depth=1)
    by_path = capsys.readouterr().out
    tasks.search("task1", QUERY, indexes=indexes, config=indexes / "mine.yaml", depth=1)
    assert capsys.readouterr().out == by_path


def test_a_damaged_store_is_built_again_by_its_path_with_its_own_settings(
    indexes: Path, tmp_path: Path
) -> None:
    own = store(linked(indexes, tmp_path / "indexes"), "task1")
    before = printed("search", own, QUERY)
    damaged = own / "lucene.ids.text"
    content = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(content[1:])
    message = refused("search", own, QUERY)
    (command,) = re.findall(r"`arqmath-bm25 (.*)` builds it", message)
    assert "lucene.ids.text has" in refused("verify", own)
    arqmath(*shlex.split(command))
    assert printed("search", own, QUERY) == before
    assert "all as they were written" in printed("verify", own)


def test_a_store_that_learns_from_a_file_is_built_again_with_that_file(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "sums"}, {"id": "b", "text": "sums", "references": ["a"]}]
    for name in ("corpus.jsonl", "other.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = ("--train", tmp_path / "other.jsonl")
    data = ("--data", tmp_path / "corpus.jsonl")
    arqmath("index", "docs", *data, "--indexes", tmp_path / "indexes", *train)
    (own,) = tmp_path.glob("indexes/*/docs/flat-*")
    assert "learns from other.jsonl" in refused("index", own)
    assert "up to date" in printed("index", own, *data, *train)


def test_an_index_of_other_settings_is_built_beside(
    indexes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = linked(indexes, tmp_path / "indexes")
    own = store(copy, "task1")
    before = tree(own)
    tasks.index("task1", indexes=copy, engine=["flat"])
    built, told = capsys.readouterr().out.splitlines()
    assert "answers indexed" in built
    assert re.fullmatch(rf"{own}: of other settings or files, [\d.]+ MB; --prune removes it", told)
    collection = CollectionFiles(indexes=copy)
    tasks.index("task1", indexes=copy, config=indexes / "mine.yaml")
    assert OpenIndex.open(collection, "task1").directory != own
    assert OpenIndex.open(collection, "task1", indexes / "mine.yaml").directory == own
    assert tree(own) == before
    gc.collect()  # An index that is open keeps its files until it is collected.
    tasks.index("task1", indexes=copy, engine=["flat"], prune=True)
    assert not own.exists()
    assert store(copy, "task1").name.startswith("flat-")
    assert OpenIndex.open(collection, "task1").search(QUERY, "both", 1)


def test_two_collections_of_one_name_keep_their_indexes(tmp_path: Path) -> None:
    places = []
    for word in ("prime", "series"):
        data = tmp_path / word / "notes"
        data.mkdir(parents=True)
        (data / "corpus.jsonl").write_text(json.dumps({"id": word, "text": f"notes of {word}"}))
        places.append(data)
    indexes = tmp_path / "indexes"
    for data in (*places, *places):
        tasks.index("docs", data=data, indexes=indexes)
    assert len(list(indexes.glob("notes/docs/flat-*"))) == 2
    for data in places:
        collection = CollectionFiles(data, indexes)
        index = OpenIndex.open(collection, "docs")
        (hit,) = index.search("notes", "text", 5)
        assert hit.doc_id == data.parent.name
        assert index.task.found(hit, index).short_text == f"notes of {hit.doc_id}"


def test_an_index_of_version_0_4_is_recognised(tmp_path: Path) -> None:
    old = tmp_path / SAMPLE.name / "task1"
    old.mkdir(parents=True)
    (old / "manifest.json").write_text(json.dumps({"files": {}, "version": "0.4.0"}))
    message = (
        r"task1: this index was built by version 0\.4\.0, which reads it; this is .*index task1"
    )
    with pytest.raises(InputError, match=message):
        tasks.search("task1", QUERY, indexes=tmp_path)


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def forge(manifest: Path, changes: dict[str, object]) -> None:
    """Change a manifest as somebody who knows its form: the digest fits."""
    content = {**json.loads(manifest.read_text()), **changes}
    del content["sha256"]
    text = json.dumps(content, sort_keys=True)
    content["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    manifest.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "0.0.9"}, r"built by version 0\.0\.9, which reads it; this is "),
        ({"recipe": {"analysis version": 0}}, "built with an older analysis"),
        ({"task": 5, "recipe": "x"}, "manifest.json: damaged"),
        ({"sources": [{"name": "x"}]}, "manifest.json: damaged"),
    ],
)
def test_an_index_that_does_not_serve_says_why(
    indexes: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    shutil.copytree(indexes, tmp_path / "indexes")
    path = store(tmp_path / "indexes", "task1") / "manifest.json"
    found = json.loads(path.read_text())
    if isinstance(changes.get("recipe"), dict):
        changes = {"recipe": {**found["recipe"], **changes["recipe"]}}  # type: ignore[dict-item]
    forge(path, changes)
    with pytest.raises(InputError, match=message + r".*; `arqmath-bm25 index task1 .* builds it"):
        tasks.search("task1", QUERY, indexes=tmp_path / "indexes", config=indexes / "mine.yaml")


@pytest.mark.parametrize("sha256", [{}, {"sha256": None}, {"sha256": "0" * 64}])
def test_a_manifest_that_somebody_edited_is_refused(
    indexes: Path, tmp_path: Path, sha256: dict[str, object]
) -> None:
    shutil.copytree(indexes, tmp_path / "indexes")
    path = store(tmp_path / "indexes", "task1") / "manifest.json"
    found = json.loads(path.read_text())
    del found["sha256"], found["files"]["posts.npy"]
    path.write_text(json.dumps(found | sha256))
    with pytest.raises(InputError, match="it has other content than was written"):
        tasks.search("task1", QUERY, indexes=tmp_path / "indexes")


def test_an_index_runs_no_code_of_its_manifest(
    indexes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(indexes, tmp_path / "indexes")
    path = store(tmp_path / "indexes", "task1") / "manifest.json"
    tokens = Path(__file__).parents[2] / "configs" / "task1_tokens.yaml"
    settings = configured("task1", tokens).settings.model_dump(mode="json")
    settings["analysis"]["latex"]["tokenizer"] = "posix:system"
    forge(path, {"settings": settings, "default": False})
    monkeypatch.chdir(tmp_path)
    message = r"names the tokenizer posix:system, which would be run; .* give config=FILE"
    with pytest.raises(InputError, match=message):
        tasks.search(str(path.parent), "$touch PWNED$", indexes=tmp_path / "indexes")
    assert not (tmp_path / "PWNED").exists()


def test_a_file_among_those_of_lucene_is_named(indexes: Path, tmp_path: Path) -> None:
    shutil.copytree(indexes, tmp_path / "indexes")
    stray = store(tmp_path / "indexes", "task1") / "lucene" / "segments_7"
    stray.write_text("junk")
    with pytest.raises(InputError, match=r"lucene-\w{16}: lucene/segments_7 is not of this index"):
        tasks.search(str(stray.parents[1]), QUERY, indexes=tmp_path / "indexes")


def test_hints_repeat_the_options_that_were_given(indexes: Path, tmp_path: Path) -> None:
    data = tmp_path / "my data"
    shutil.copytree(SAMPLE, data)
    with pytest.raises(InputError) as error:
        tasks.search("task1", QUERY, data=data, indexes=indexes)
    command = f"arqmath-bm25 index task1 --data '{data}' --indexes {indexes}"
    assert str(error.value).endswith(f"there is no index; `{command}` builds it")


def test_data_and_indexes_may_be_moved(indexes: Path, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere" / SAMPLE.name
    shutil.copytree(SAMPLE, data)
    shutil.copytree(indexes, tmp_path / "moved")
    own = str(store(tmp_path / "moved", "task1"))
    found = OpenIndex.open(CollectionFiles(data, tmp_path / "moved"), own)
    assert found.search(QUERY, "both", 3)
    posts = data / "Collection" / "Posts.V1.3.xml"
    posts.write_bytes(posts.read_bytes().replace(b"diverge", b"DIVERGE", 1))
    with pytest.raises(NoIndexError, match=r"other data \(Posts\.V1\.3\.xml has other content\)"):
        OpenIndex.open(CollectionFiles(data, tmp_path / "moved"), own)


def test_of_data_under_another_name_the_index_is_named(
    sample_indexes: Path, tmp_path: Path
) -> None:
    indexes = linked(sample_indexes, tmp_path / "indexes")
    shutil.copytree(SAMPLE, tmp_path / "renamed")
    collection = CollectionFiles(tmp_path / "renamed", indexes)
    own = store(indexes, "task1", "flat", SAMPLE.name)
    said = f"{own} is of the same files, in a folder named {SAMPLE.name}; "
    with pytest.raises(NoIndexError, match=re.escape(said)):
        OpenIndex.open(collection, "task1")
    (indexes / SAMPLE.name).rename(indexes / "renamed")
    assert OpenIndex.open(collection, "task1").search(QUERY, "both", 3)


def test_an_index_that_is_removed_while_it_is_opened_says_so(indexes: Path, tmp_path: Path) -> None:
    shutil.copytree(indexes, tmp_path / "indexes")
    opened = OpenIndex.open(
        CollectionFiles(indexes=tmp_path / "indexes"), "task1", indexes / "mine.yaml"
    )
    shutil.rmtree(opened.directory)
    with pytest.raises(InputError, match=f"{opened.directory}: the index was removed meanwhile"):
        opened.search(QUERY, "both", 3)


def test_tables_are_read_once_for_all_that_use_them(
    indexes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.index("task2", indexes=indexes)  # if it is not there yet, and the default one of task1
    opened = []
    load = PostTable.load.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(PostTable, "load", classmethod(lambda *a: opened.append(1) or load(*a)))
    monkeypatch.setattr(PostTable, "scan", None)  # an index has the table
    collection = CollectionFiles(indexes=indexes)
    for name in ("task1", "task2", "task3"):
        index = OpenIndex.open(collection, name)
        for hit in index.search("prime numbers $x^2$", index.task.primary, 2):
            assert index.task.found(hit, index).post is not None
    assert opened == [1]


def test_the_path_of_a_store_is_enough_to_search_it(tmp_path: Path) -> None:
    """Its manifest says where DATA was, whatever the working directory and the options are now."""
    (tmp_path / "mine.jsonl").write_text('{"id": "1", "text": "prime ideals"}\n')
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Ideals\n\nA prime ideal.\n")
    for data in (tmp_path / "mine.jsonl", notes):
        arqmath("index", "docs", "--data", data, "--indexes", tmp_path / "i")
        (store,) = (tmp_path / "i" / data.stem / "docs").glob("flat-*")
        assert "prime" in printed("search", store, "prime")
