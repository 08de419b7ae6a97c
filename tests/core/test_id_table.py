"""Ids of documents in files: of rows, and rows of ids; the price of an id is its own length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.manifest import CHECKSUMS

if TYPE_CHECKING:
    from pathlib import Path

IDS = ["12", "week1.tex#convergence", "é∑", "1", "https://example.org/" + "x" * 480, "123"]


def bytes_of(path: Path) -> int:
    files = path.parent.glob(f"{path.name}.*")
    return sum(file.stat().st_size for file in files if file.suffix != CHECKSUMS)


@pytest.fixture
def table(tmp_path: Path) -> IdTable:
    assert write_ids(tmp_path / "ids", (doc_id.encode() for doc_id in IDS)) == len(IDS)
    return IdTable(tmp_path / "ids")


def test_rows_and_ids_lead_to_each_other(table: IdTable) -> None:
    assert len(table) == len(IDS)
    rows = np.array([5, 0, 4, 4])
    assert table.of(rows) == [IDS[row].encode() for row in rows]
    assert table.find([*IDS, "2", "", "12 "]).tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1]
    assert table.find([]).tolist() == []


def test_there_may_be_no_documents(tmp_path: Path) -> None:
    assert write_ids(tmp_path / "ids", []) == 0
    table = IdTable(tmp_path / "ids")
    assert len(table) == 0
    assert table.find(["1"]).tolist() == [-1]


def test_a_long_id_takes_its_own_length_alone(tmp_path: Path) -> None:
    short = [str(number).encode() for number in range(10_000)]
    write_ids(tmp_path / "short", short)
    write_ids(tmp_path / "long", [*short, b"x" * 500])
    assert bytes_of(tmp_path / "long") - bytes_of(tmp_path / "short") == 500 + 2 + 8 + 2


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 3: its id is that of row 1"):
        write_ids(tmp_path / "ids", [b"a", b"b", b"a"])


@pytest.mark.parametrize("ending", ["text", "starts", "hashes", "rows"])
def test_a_file_that_is_missing_or_cut_is_named(
    table: IdTable, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"ids.{ending}"
    content = file.read_bytes()
    file.write_bytes(content[:-8])
    with pytest.raises(InputError, match=rf"damaged: ids\.{ending} has other content"):
        IdTable(tmp_path / "ids")
    file.unlink()
    with pytest.raises(InputError, match=rf"damaged: ids\.{ending} cannot be read \(No such file"):
        IdTable(tmp_path / "ids")
