"""Where the official files lie, and what is said of one that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.layout import Dump, Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def test_the_sample_and_the_real_subset_have_every_task1_file(lite: Path) -> None:
    assert Layout(SAMPLE).years("task1", "qrels") == Layout(SAMPLE).years("task1") == YEARS
    assert Layout(lite).years("task1") == YEARS
    assert Layout(lite).years("task1", "qrels") == ("2020", "2021")
    assert Layout(lite).posts().name == "Posts.V1.3.xml"


def test_a_raw_dump_is_found_too(tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").touch()
    assert Layout(tmp_path).posts() == tmp_path / "Posts.xml"
    assert Layout(tmp_path).dump("Votes") is None
    kinds: tuple[Dump, ...] = ("Comments", "Votes", "Users", "Tags", "PostLinks")
    for name in kinds:
        (tmp_path / f"{name}.xml").touch()
    (tmp_path / "Collection").mkdir()
    (tmp_path / "Collection" / "Votes.V1.2.xml").touch()
    dump = Layout(tmp_path)
    found = [
        dump.dump("Comments"),
        dump.dump("Votes"),
        dump.dump("Users"),
        dump.dump("Tags"),
        dump.dump("PostLinks"),
    ]
    assert [path.name for path in found if path] == [
        "Comments.xml", "Votes.V1.2.xml", "Users.xml", "Tags.xml", "PostLinks.xml"
    ]  # fmt: skip
    assert Layout(tmp_path).years("task1") == ()


def test_what_is_missing_is_named_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing file .Collection/Posts.V1.3.xml.*published at"):
        Layout(tmp_path).posts()
    with pytest.raises(InputError, match=r"Topics_V2\.0\.xml"):
        Layout(tmp_path).topics("task1", "2020")
    with pytest.raises(InputError, match="no such file or directory"):
        Layout(tmp_path / "absent")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"unknown kind of file\. Expected documents: a \.jsonl"):
        Layout(tmp_path / "file")
