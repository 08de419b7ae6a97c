"""The choice of the engine that searches an index of this machine."""

from pathlib import Path

from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.system import memory
from arqmath_bm25.engines.engine import EngineName, Searcher, flat_directory
from arqmath_bm25.engines.lucene.search import LuceneSearcher


def open_searcher(index: Path, k1: float, b: float, engine: EngineName = "auto") -> Searcher:
    """Open an index for an engine; only `lucene` starts a JVM.

    `auto` takes flat postings where there are any that fit into half of the memory, or no other.
    Raises NoIndexError if there is nothing for the engine.
    """
    flat = flat_directory(index)
    if engine == "auto":
        engine = "flat" if flat.is_dir() and (fits(flat) or not index.is_dir()) else "lucene"
    if not (flat if engine == "flat" else index).is_dir():
        raise NoIndexError(
            f"{index}: this index was not built for the engine {engine}",
            index.parent.parent.name,
            engine,
        )
    if engine == "lucene":
        return LuceneSearcher(index, k1, b)
    from arqmath_bm25.engines.flat import FlatSearcher  # loads SciPy, which builds do without

    return FlatSearcher(index, k1, b)


def fits(flat: Path) -> bool:
    """Return whether flat postings fit into half of this machine's memory."""
    return sum(file.stat().st_size for file in flat.glob("*")) <= memory() / 2
