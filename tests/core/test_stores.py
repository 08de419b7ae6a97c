"""The stores of a task: which are of other files or settings, and what is removed of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arqmath_bm25.core.manifest import MANIFEST, Manifest, digest_of
from arqmath_bm25.core.stores import keep, outdated, remove_unless_open, stores, why_unusable
from arqmath_bm25.core.writing import Source, contents

FIRST, SECOND = "1" * 16, "2" * 16
NOW, BEFORE = Source("a.tex", 5, "now"), Source("a.tex", 4, "before")


def add(folder: Path, name: str, source: Source = NOW) -> Path:
    store = folder / name
    store.mkdir(parents=True)
    Manifest("docs", {}, None, {}, [source], {}, {}, 0.0).write(store)
    return store


def test_a_store_is_not_removed_while_it_is_open(tmp_path: Path) -> None:
    first = add(tmp_path, f"flat-{FIRST}")
    second = add(tmp_path, f"flat-{SECOND}", BEFORE)
    user: set[str] = set()
    keep(first, user)
    assert [remove_unless_open(store) for store in (first, second)] == [False, True]
    assert stores(tmp_path) == [first]
    del user
    assert remove_unless_open(first)


def test_engines_share_a_content_and_another_content_is_outdated(tmp_path: Path) -> None:
    asked = add(tmp_path, f"flat-{FIRST}")
    add(tmp_path, f"lucene-{FIRST}")
    other = add(tmp_path, f"flat-{SECOND}")
    (tmp_path / f".lucene-{SECOND}.building").mkdir()
    assert outdated(asked) == [other, tmp_path / f"lucene-{SECOND}"]


RECIPE = {"analysis version": 7, "chosen": {"until": 2018}, "settings": {"stemmer": "english"}}
LINKS = Source("links.xml", 9, "links")


@pytest.mark.parametrize(
    ("recipe", "sources", "reason"),
    [
        ({}, [NOW], None),
        ({"analysis version": 6}, [NOW], "built with an older analysis"),
        ({"chosen": {"until": 2019}}, [NOW], "built with another until"),
        ({"settings": {}}, [NOW], "built with other analysis settings"),
        ({}, [BEFORE], r"other data \(a\.tex has other content\)"),
        ({}, [LINKS], r"other data \(from links\.xml, which is not there\)"),
        ({}, [], r"other data \(without a\.tex\)"),
    ],
)
def test_an_index_says_by_what_it_does_not_serve(
    recipe: dict[str, Any], sources: list[Source], reason: str | None
) -> None:
    made = Manifest("docs", {}, None, {**RECIPE, **recipe}, sources, {}, {}, 0.0)
    said = made.stale_reason(RECIPE, [NOW])
    if reason is None:
        assert said is None
    else:
        assert said is not None
        assert re.search(reason, said)


def test_files_in_another_order_are_other_data() -> None:
    made = Manifest("docs", {}, None, {}, [LINKS, NOW], {}, {}, 0.0)
    said = made.stale_reason({}, [NOW, LINKS])
    assert said == "this index was built from other data (in another order)"
    assert replace(made, sources=[NOW, LINKS]).stale_reason({}, [NOW, LINKS]) is None


def test_a_store_says_why_it_cannot_be_used(tmp_path: Path) -> None:
    store = tmp_path / f"flat-{FIRST}"
    assert why_unusable(store, {}, [NOW]) == f"{tmp_path}: there is no index"
    store.mkdir()
    assert why_unusable(store, {}, [NOW]) == f"{store / MANIFEST}: this file is missing"

    (store / "postings").write_bytes(b"12345")
    renamed = str(why_unusable(add(tmp_path, f"flat-{SECOND}").with_name("flat-0"), {}, [NOW]))
    assert f"flat-{SECOND} (renamed since it was built)" in renamed
    Manifest("docs", {}, None, {}, [NOW], contents(store), {}, 0.0).write(store)
    assert why_unusable(store, {}, [NOW]) is None
    assert "built from other data" in str(why_unusable(store, {}, [BEFORE]))
    for content, damage in (
        (b"1234", "postings has 4 bytes, 5 were written"),
        (b"12346", "postings has other content than was written"),
    ):
        (store / "postings").write_bytes(content)
        assert why_unusable(store, {}, [NOW]) == f"{store}: this index is damaged: {damage}"
    (store / "postings").unlink()
    assert str(why_unusable(store, {}, [NOW])).endswith("postings is missing")
    (store / MANIFEST).write_text("{}")
    assert "damaged (it has other content" in str(why_unusable(store, {}, [NOW]))


@pytest.mark.parametrize("version", ["0.4.0", "0.5.0"])
def test_an_index_of_another_version_is_named_and_not_opened(version: str, tmp_path: Path) -> None:
    store = tmp_path / f"flat-{FIRST}"
    store.mkdir()
    Manifest("docs", {}, True, {}, [NOW], {}, {}, 0.0, version).write(store)
    said = f"{store}: this index was built by version {version}, which reads it; this is"
    assert str(why_unusable(store, {}, [NOW])).startswith(said)
    assert said in str(why_unusable(tmp_path / "flat-0123456789abcdef", {}, [NOW]))


def test_the_order_of_settings_does_not_matter() -> None:
    assert digest_of({"k1": 1.2, "b": 0.75}) == digest_of({"b": 0.75, "k1": 1.2})
    assert digest_of({"k1": 1.2, "b": 0.75}) != digest_of({"k1": 0.75, "b": 1.2})
