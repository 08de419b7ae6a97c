"""What is published: which file a task reads, and whether a copy can be that file."""

from __future__ import annotations

import gzip
import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.fetching import read_source
from arqmath_bm25.collection.layout import QRELS
from arqmath_bm25.collection.published import (
    CATALOGUE,
    PARTS,
    PublishedFile,
    check,
    check_form,
    has_hash,
    needed,
)
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

JUDGED = QRELS["task1"]["2020"]
LINKS = "Collection/PostLinks.V1.3.xml"
JUDGMENTS = b"A.1\t0\t1234\t2\r\nA.1\t0\t1235\t0\r\n"


@pytest.mark.parametrize("served", [b"a\nb\n", b"a\r\nb\r\n"])
@pytest.mark.parametrize("published", [b"a\nb\n", b"a\r\nb\r\n", b"a\r\nb\n"])
def test_line_ends_do_not_make_another_file_of_it(
    published: bytes, served: bytes, tmp_path: Path
) -> None:
    digest = hashlib.sha256(published).hexdigest()[:16]
    (tmp_path / "qrels").write_bytes(served)
    mixed = published == b"a\r\nb\n"  # no rule leads back to it
    assert has_hash(tmp_path / "qrels", digest) is not mixed


@pytest.mark.parametrize("path", [JUDGED, LINKS, "Topics/x.xml", "Topics/x.tsv", "Posts.zip"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n<!DOCTYPE html><html>Log in first</html>",
        b"\xef\xbb\xbf<html><body>Log in first</body></html>",
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"></html>',
        b'{"error": "quota"}',
        gzip.compress(JUDGMENTS, mtime=0),
        "<Topics></Topics>".encode("utf-16"),
        b"A.1 Q0 1234 1 0.5 run",
    ],
)
def test_something_else_than_the_file_is_refused(path: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(content)
    with pytest.raises(InputError, match=r"not the published .*: it (begins with|is empty).*expec"):
        check_form(path, tmp_path / "copy")


def test_every_published_file_has_a_form(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    paths = {file.path for file in CATALOGUE}
    for archive in filter(None, (file.archive for file in CATALOGUE)):
        single = len(archive.members) == 1
        paths |= {archive.target if single else f"{archive.target}/{archive.members[-1]}"}
    for path in paths:
        with pytest.raises(InputError, match="it is empty; expected"):
            check_form(path, tmp_path / "empty")


def test_judgments_are_taken_whatever_their_grades_and_line_ends_are(tmp_path: Path) -> None:
    for whole in (JUDGMENTS, JUDGMENTS.rstrip(), b"B.1\t0\t7\t2.0\n"):
        (tmp_path / "qrels").write_bytes(whole)
        check_form(JUDGED, tmp_path / "qrels")


@pytest.mark.parametrize("cut", [1, 3, 4, 9, 11])
def test_judgments_that_end_within_a_row_are_refused(cut: int, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(JUDGMENTS.rstrip()[:-cut])
    with pytest.raises(InputError, match=r"qrels.* is cut off: it ends with"):
        check_form(JUDGED, tmp_path / "qrels")


def test_a_size_far_from_the_published_one_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "links.xml"
    copy.write_bytes(b"<postlinks>" + b" " * 1_000_000 + b"</postlinks>")
    file = PublishedFile(LINKS, "links", frozenset(), size=2_000_000)
    with pytest.raises(InputError, match=r"it has 1\.0 MB, expected about 2\.0 MB"):
        check(file, copy)


def test_the_real_files_are_what_is_published(lite: Path) -> None:
    here = [file for file in CATALOGUE if file.sha256 and (lite / file.path).is_file()]
    assert len(here) == 17
    for file in here:
        check(file, lite / file.path)


def test_the_real_subset_has_the_form_of_the_whole(lite: Path) -> None:
    paths = [file.path for file in CATALOGUE if (lite / file.path).is_file()]
    paths += ["Collection/Posts.V1.3.xml", "Formulas/slt_representation_v3/1.tsv"]
    for path in paths:
        check_form(path, lite / path)
    assert len(paths) == 17 + 3 + 2 + 2  # without a known hash: two topics, qrels; links, comments


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
    with pytest.raises(InputError, match=re.escape(f"--from {source}:")):
        read_source(source)
