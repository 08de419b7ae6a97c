"""The index of premise selection: what it is made of, and when it serves."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.stores import why_unusable
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.premises.premise_selection import PremiseSelection
from experiments.tuning.coordinate_search import changed

if TYPE_CHECKING:
    from pathlib import Path

A, B, C, D = (f"28685985635914523459309806228640732355{n}" for n in range(4))
PREMISES = {
    A: "Lagrange: the order of a subgroup",
    B: "Lagrange interpolation for $x^2$",
    C: "Homology $y + 1$",
    D: "Cohomology",
}
TRAIN = {"77": {"text": "Sylow subgroups", "premises": [A, D]}}
TASK = configured("nlps")


def collection(path: Path, train: dict[str, object] = TRAIN) -> CollectionFiles:
    """Write a knowledge base and a training set."""
    path.mkdir(exist_ok=True)
    (path / "knowledge_base.json").write_text(json.dumps(PREMISES))
    (path / "train_set.json").write_text(json.dumps(train))
    return CollectionFiles(path, path / "indexes")


def built(found: CollectionFiles) -> OpenIndex:
    ensure(IndexContent.of(TASK, found), HERE)
    return OpenIndex.of(TASK, found)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> OpenIndex:
    return built(collection(tmp_path_factory.mktemp("nlps")))


def ranked(index: OpenIndex, text: str, statement_id: str = "5", depth: int = 9) -> list[str]:
    (hits,) = index.rank([Topic(statement_id, text)], "ridge", depth)
    return [hit.doc_id for hit in hits]


def test_a_statement_is_no_premise_of_its_own(index: OpenIndex) -> None:
    ids = ranked(index, "On Lagrange", statement_id=B)
    assert sorted(ids) == [A, B, C, D]
    assert ids[-1] == B  # last, but there: the shared task counts premises


def test_the_list_is_cut_at_the_depth(index: OpenIndex) -> None:
    assert ranked(index, "Sylow subgroups", depth=2) == ranked(index, "Sylow subgroups")[:2]


def test_what_training_statements_cite_comes_first(index: OpenIndex, tmp_path: Path) -> None:
    assert set(ranked(index, "Sylow", depth=2)) == {A, D}
    other = built(collection(tmp_path, {"78": {"text": "Sylow subgroups", "premises": [C, "404"]}}))
    assert set(ranked(other, "Sylow", depth=2)) == {C, "404"}


def test_no_engine_has_anything_to_do_with_it(tmp_path: Path) -> None:
    """Neither a JVM nor documents: only what was fitted."""
    index = built(collection(tmp_path))
    assert sorted(path.name for path in index.directory.iterdir()) == ["manifest.json", "model"]


def test_the_manifest_tells_what_was_indexed(index: OpenIndex) -> None:
    manifest = Manifest.read(index.directory)
    assert manifest is not None
    counts = {"documents": 4, "training statements": 1, "premises that these cite": 2}
    assert manifest.counts == counts
    assert TASK.account(counts) == (
        "4 premises indexed, 1 training statements, 2 premises that these cite"
    )
    content = IndexContent.of(TASK, index.collection)
    assert why_unusable(index.directory, content.recipe, content.sources) is None
    other = changed(TASK.settings, analysis__text__stop_words=False)
    recipe = PremiseSelection(other).recipe
    reason = why_unusable(index.directory, recipe, content.sources)
    assert reason == f"{index.directory}: this index was built with other analysis settings"


def test_its_bytes_depend_on_no_version_of_python(index: OpenIndex) -> None:
    """The headers of a zip, as NumPy's .npz is one, are others since Python 3.11.4."""
    files = [path for path in index.directory.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if zipfile.is_zipfile(path)]


def test_an_index_of_other_files_is_not_used(index: OpenIndex, tmp_path: Path) -> None:
    with pytest.raises(NoIndexError, match="there is no index"):
        OpenIndex.open(CollectionFiles(index.collection.layout.data, tmp_path), "nlps")
    other = collection(tmp_path / index.collection.name, {"9": {"text": "x", "premises": [A]}})
    other = replace(other, indexes=index.collection.indexes)
    with pytest.raises(NoIndexError, match=r"train_set\.json has other content"):
        OpenIndex.open(other, "nlps")


def test_a_training_set_without_premises_is_no_training_set(tmp_path: Path) -> None:
    masked = {"77": {"text": "Sylow subgroups", "premises": []}}
    with pytest.raises(InputError, match="no statement names premises; is this a test set"):
        built(collection(tmp_path, masked))
    assert not list((tmp_path / "indexes").rglob("manifest.json"))
