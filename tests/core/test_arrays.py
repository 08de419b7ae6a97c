"""Arrays of numbers: ranges, distinct values, numbers of hashes."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from arqmath_bm25.core.arrays import (
    Numbering,
    distinct,
    load_array,
    new_array,
    ranges,
    smallest_kind,
)
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import complete


def test_hashes_are_numbered_as_they_first_come() -> None:
    numbering = Numbering()
    numbers, first = numbering.add(np.array([5, 3, 5], np.uint64))
    assert numbers.tolist() == [0, 1, 0]
    assert first.tolist() == [True, True, False]
    numbers, first = numbering.add(np.array([9, 3, 1, 9], np.uint64))  # beyond all, and before
    assert numbers.tolist() == [2, 1, 3, 2]
    assert first.tolist() == [True, False, True, False]


def test_ranges_follow_one_another() -> None:
    assert ranges(np.array([7, 2, 4]), np.array([2, 0, 3])).tolist() == [7, 8, 4, 5, 6]
    assert not len(ranges(np.array([], np.int64), np.array([], np.int64)))


def test_distinct_values_have_codes() -> None:
    values = np.array([4, 1, 4, 9], np.uint64)
    found, codes = distinct(values)
    assert sorted(found.tolist()) == [1, 4, 9]
    assert found[codes].tolist() == values.tolist()


def test_numbers_take_as_few_bytes_as_the_largest() -> None:
    largest = [0, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**40]
    assert [np.dtype(smallest_kind(number)).itemsize for number in largest] == [
        1, 1, 2, 2, 4, 4, 8, 8,
    ]  # fmt: skip
    for number in largest:
        assert np.array(number).astype(smallest_kind(number)) == number


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no file besides those that are open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_limit_of_open_files_is_named_and_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "ids.npy"
    np.save(path, np.arange(3))
    said = r"ids\.npy: too many open files; raise the limit \(`ulimit -n 1024`\)"
    with pytest.raises(InputError, match=said), no_more_files():
        load_array(path)
    with pytest.raises(InputError, match=said), no_more_files(), complete(path):
        pass
    assert load_array(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize("missing", [errno.EOPNOTSUPP, errno.EINVAL])
def test_room_need_not_be_had_in_advance(
    missing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fallocate(descriptor: int, begin: int, length: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    number = missing
    table = new_array(tmp_path / "table.npy", np.int32, (2, 3))
    table[:] = 7
    assert load_array(tmp_path / "table.npy").tolist() == [[7] * 3] * 2
    number = errno.ENOSPC
    with pytest.raises(OSError, match="No space left"):
        new_array(tmp_path / "other.npy", np.int32, (2, 3))
