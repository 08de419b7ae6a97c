"""The stores of a task: which are of other files or settings, and what is removed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.core.manifest import MANIFEST, Manifest
from arqmath_bm25.core.stores import outdated, remove_former, stores
from arqmath_bm25.core.writing import Source

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = "1" * 16, "2" * 16
NOW, BEFORE = Source("a.tex", 5, "now"), Source("a.tex", 4, "before")


def add(folder: Path, name: str, source: Source = NOW) -> Path:
    store = folder / name
    store.mkdir(parents=True)
    Manifest("docs", {}, True, {}, [source], {}, {}, 0.0).write(store)
    return store


def test_stores_of_other_files_are_removed_and_those_of_these_files_stay(tmp_path: Path) -> None:
    kept = add(tmp_path, f"flat-{FIRST}")
    add(tmp_path, f"flat-{SECOND}", BEFORE)
    remove_former(tmp_path, [NOW])
    assert stores(tmp_path) == [kept]


def test_engines_share_a_content_and_another_content_is_outdated(tmp_path: Path) -> None:
    asked = add(tmp_path, f"flat-{FIRST}")
    add(tmp_path, f"lucene-{FIRST}")
    other = add(tmp_path, f"flat-{SECOND}")
    (tmp_path / f".lucene-{SECOND}.building").mkdir()
    found = [index.path for index in outdated(asked)]
    assert found == [other, tmp_path / f"lucene-{SECOND}"]


def test_an_index_of_version_0_4_is_outdated(tmp_path: Path) -> None:
    asked = add(tmp_path, f"flat-{FIRST}")
    (tmp_path / MANIFEST).write_text('{"files": {"posts.npy": [3, ""], "/etc": [0, ""]}}')
    (tmp_path / "posts.npy").write_text("old")
    (index,) = outdated(asked)
    assert index.path == tmp_path / MANIFEST
    index.remove()
    assert list(tmp_path.iterdir()) == [asked]
