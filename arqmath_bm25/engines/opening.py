"""Which engine searches an index of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.engine import flat_place
from arqmath_bm25.engines.flat import FlatSearcher
from arqmath_bm25.engines.lucene.search import LuceneSearcher

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.engines.engine import EngineName, Searcher


def open_searcher(index: Path, k1: float, b: float, engine: EngineName = "auto") -> Searcher:
    """Open a Lucene index, or what was made of it; only the engine `lucene` starts a JVM.

    `auto` takes flat postings where there are any that fit into half of the memory. Raises
    InputError if there are none and they are asked for.
    """
    if engine == "lucene" or (engine == "auto" and not _fits(flat_place(index))):
        return LuceneSearcher(index, k1, b)
    if not flat_place(index).is_dir():
        raise InputError(
            f"{index}: there are no flat postings beside this index; `index --engine flat` writes "
            "them"
        )
    return FlatSearcher(index, k1, b)


def _fits(flat: Path) -> bool:
    """Tell whether there are flat postings that fit into half of this machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return flat.is_dir() and sum(file.stat().st_size for file in flat.iterdir()) <= memory / 2
