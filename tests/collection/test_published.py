"""What is published: which file a task reads, and whether a copy can be that file."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.fetching import origin_of
from arqmath_bm25.collection.published import (
    CATALOGUE,
    PARTS,
    PublishedFile,
    check,
    has_hash,
    needed,
    official,
)
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

JUDGED = official("qrels", "task1")["2020"]
LINKS = "Collection/PostLinks.V1.3.xml"


@pytest.mark.parametrize("served", [b"a\nb\n", b"a\r\nb\r\n"])
@pytest.mark.parametrize("published", [b"a\nb\n", b"a\r\nb\r\n", b"a\r\nb\n"])
def test_line_ends_do_not_make_another_file_of_it(
    published: bytes, served: bytes, tmp_path: Path
) -> None:
    digest = hashlib.sha256(published).hexdigest()[:16]
    (tmp_path / "qrels").write_bytes(served)
    mixed = published == b"a\r\nb\n"  # no rule leads back to it
    assert has_hash(tmp_path / "qrels", digest) is not mixed


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it is empty"),
        (b"\n<!DOCTYPE html><html>Log in first</html>", "it is a web page"),
        (b"<HTML><body>Log in first</body></HTML>", "it is a web page"),
    ],
)
def test_a_web_page_in_place_of_the_file_is_refused(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    (tmp_path / "copy").write_bytes(content)
    with pytest.raises(InputError, match=f"not the published .*: {fault}"):
        check(PublishedFile(JUDGED, "qrels", frozenset()), tmp_path / "copy")


def test_a_size_far_from_the_published_one_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "links.xml"
    copy.write_bytes(b"<postlinks>" + b" " * 1_000_000 + b"</postlinks>")
    file = PublishedFile(LINKS, "links", frozenset(), size=2_000_000)
    with pytest.raises(InputError, match=r"it has 1\.0 MB, expected about 2\.0 MB"):
        check(file, copy)


def test_the_real_files_are_what_is_published(lite: Path) -> None:
    here = [file for file in CATALOGUE if file.sha256 and (lite / file.path).is_file()]
    assert len(here) == 11
    for file in here:
        check(file, lite / file.path)


def test_each_task_has_what_it_reads() -> None:
    assert {file.part for file in CATALOGUE} == set(PARTS)
    assert {f.part for f in needed(PARTS, "task3")} == {
        "topics", "qrels", "posts", "links", "activity"
    }  # fmt: skip
    assert len(needed(["topics"], "task1")) == len(needed(["topics"], "task2")) == 3
    assert len(needed(["topics"], None)) == 6


@pytest.mark.parametrize(
    "source",
    ["ftp://site/data", "http:///data", "http://[::1/", "https://a:x/", "file:///tmp", "absent"],
)
def test_sources_are_web_addresses_or_folders(source: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{source}:")):
        origin_of(source)
