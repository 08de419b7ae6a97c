"""Inputs broken at random places are read with every row accounted for, or refused by name."""

from __future__ import annotations

import dataclasses
import gzip
import re
from pathlib import Path

import pytest
from fuzz_inputs import KINDS, fault, outcome

UNPACKED = [name for name in KINDS if KINDS[name].row and name not in ("posts", "links")]


@pytest.mark.parametrize("name", KINDS)
def test_every_outcome_is_a_reading_or_a_refusal(name: str, tmp_path: Path) -> None:
    for number in range(40):
        how, what = fault(name, number, 0, tmp_path)
        assert how in ("read", "refused"), (number, what)


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].row])
def test_a_lost_row_would_be_seen(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    path = tmp_path / "input"
    path.write_bytes(kind.content)
    assert outcome(kind, path) == ("read", "")
    blind = dataclasses.replace(kind, read=lambda _: set())
    how, lost = outcome(blind, path)
    assert how == "rows lost"
    assert len(lost.split()) >= len(re.findall(kind.row, kind.content.decode()))


@pytest.mark.parametrize("name", UNPACKED)
def test_what_gzip_packed_is_read_alike(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    packed = gzip.compress(kind.content)
    results = []
    for number, content in enumerate((kind.content, packed)):
        path = tmp_path / f"{number}"
        path.write_bytes(content)
        results.append(kind.read(path))
    assert results[0] == results[1]
    path.write_bytes(packed[:-9])
    assert outcome(kind, path) == ("refused", "")


@pytest.mark.parametrize("name", ["posts", "links"])
def test_dumps_are_to_be_unpacked_first(name: str, tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml.gz"
    path.write_bytes(gzip.compress(KINDS[name].content))
    with pytest.raises(Exception, match=r"Posts\.xml\.gz: this is a gzip archive; unpack it first"):
        KINDS[name].read(path)
