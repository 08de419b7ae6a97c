"""What retrieval needs of an engine.

There is one ranking: BM25 over fields in Lucene's 32-bit arithmetic, a term's score added to the
others' in 64 bits, ties by descending id. Lucene's index is the reference, and always there; flat
postings (flat.py) may stand beside it, complete or absent, and a cluster (opensearch.py) may hold
the same documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from arqmath_bm25.records import Hit

    Query = Mapping[str, Mapping[str, float]]  # field → term → weight of the term

EngineName = Literal["auto", "lucene", "flat", "opensearch"]


class Engine(NamedTuple):
    """What searches, and where; without hosts a directory of this machine."""

    name: EngineName = "auto"
    hosts: tuple[str, ...] = ()  # URLs of an OpenSearch cluster
    shards: int = 1
    replicas: int = 0


AUTO: Final = Engine()


class TermCount(NamedTuple):
    """How often a term occurs in a field."""

    documents: int  # that hold it
    occurrences: int


class Searcher(Protocol):
    """An open index. Thread-safe."""

    @property
    def count(self) -> int:
        """Number of documents."""

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""

    def search_many(self, queries: Iterable[Query], k: int, threads: int) -> Iterator[list[Hit]]:
        """Search for all queries with `threads` at a time; results come in the order of queries."""

    def close(self) -> None:
        """Close the index."""


class LocalSearcher(Searcher, Protocol):
    """An open index of this machine, which also counts terms."""

    def term_counts(self, field: str, terms: Iterable[str]) -> dict[str, TermCount]:
        """Count those of some terms that a field holds."""


def flat_place(index: Path) -> Path:
    """Return where the flat postings of a Lucene index are, if there are any."""
    return index.with_name(f"{index.name}.flat")
