"""Damaged indexes: told when they are opened where that is cheap, by `check` always."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.cli import tasks
from arqmath_bm25.cli.check import check
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.tasks.index import Index

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "prime numbers $x^2$"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes")
    tasks.index("task2", indexes=place)
    return place


def files(indexes: Path) -> list[Path]:
    """Return the files of both indexes that decide a ranking."""
    every = sorted(path for path in indexes.rglob("*") if path.is_file() and path.stat().st_size)
    return [path for path in every if path.name != "manifest.json"]


def found(indexes: Path) -> list[tuple[str, float]]:
    hits = Index.open(Collection(indexes=indexes), "task2").search(QUERY, "both", 50)
    return [(hit.doc_id, hit.score) for hit in hits]


def test_a_file_that_is_missing_cut_longer_or_anothers_is_told_when_opened(
    indexes: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "indexes"
    for at, original in enumerate(files(indexes)):
        for kind in ("missing", "cut", "longer", "another's"):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(indexes, copy)
            path = copy / original.relative_to(indexes)
            content = path.read_bytes()
            other = files(indexes)[at - 1].read_bytes()
            path.unlink()
            if kind != "missing":
                new = {"cut": content[:-1], "longer": content + b"\0", "another's": other}[kind]
                path.write_bytes(new)
            if len(other) == len(content) and kind == "another's":
                continue
            with pytest.raises(NoIndexError, match=f"damaged: .*{path.name}"):
                found(copy)


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 300))]
)
def test_a_flipped_bit_is_found_by_check_and_never_ends_in_a_traceback(
    indexes: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    copy = tmp_path / "indexes"
    shutil.copytree(indexes, copy)
    path = chance.choice(files(copy))
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    index = copy / SAMPLE.name / path.relative_to(copy).parts[1]
    with pytest.raises(InputError, match=f"{path.name} has other content than was written"):
        check(index)
    try:
        found(copy)
    except InputError as error:
        assert str(path.parent) in str(error) or str(index) in str(error)  # noqa: PT017


def test_a_sound_index_is_said_to_be_so(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index in (indexes / SAMPLE.name).iterdir():
        if index.is_dir():
            check(index)
            assert "all as they were written" in capsys.readouterr().out
    with pytest.raises(InputError, match="there is no index"):
        check(indexes)
