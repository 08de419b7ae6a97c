"""The choice of the engine that searches an index of this machine."""

from pathlib import Path

from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.engines.engine import Bm25, EngineName, Searcher, flat_directory


def open_searcher(index: Path, bm25: Bm25, engine: EngineName = "auto") -> Searcher:
    """Open an index for an engine; only `lucene` starts a JVM.

    `auto` is the engine that it was built for. Raises NoIndexError if that is another one.
    """
    flat = flat_directory(index)
    if engine == "auto":
        engine = "lucene"
        if flat.is_dir():
            engine = "flat"

    directory = index
    if engine == "flat":
        directory = flat
    if not directory.is_dir():
        raise NoIndexError(
            f"{index}: this index was not built for the engine {engine}",
            index.parent.parent.name,
            engine,
        )

    # An engine is imported when it searches, as each loads much that others do not need.
    if engine == "lucene":
        from arqmath_bm25.engines.lucene.search import LuceneSearcher

        return LuceneSearcher(index, bm25)

    from arqmath_bm25.engines.flat import FlatSearcher

    return FlatSearcher(index, bm25)
