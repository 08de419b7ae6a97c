"""What several rooms do with arrays, and with files of them."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.errors import InputError


def ranges(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of each range, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(lengths.sum())


def load_array(path: Path) -> NDArray[Any]:
    """Map a NumPy file into memory; InputError if it is missing or damaged."""
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path}: a damaged file of an index ({' '.join(str(error).split())[:80]}); build the "
            "index again with --overwrite"
        ) from None


def new_array(path: Path, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new file as an array to write to. Raises OSError if there is no room for all of it.

    Room is made before: a disk that fills up under a map ends the process.
    """
    table = np.lib.format.open_memmap(path, "w+", kind, shape)
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return table
