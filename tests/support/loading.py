"""Loads a directory of documents into a cluster, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.core.workers import HERE
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.opensearch.cluster_index import ClusterIndex, load_documents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arqmath_bm25.core.workers import Workers


def load(
    hosts: Sequence[str],
    index: ClusterIndex,
    directory: Path,
    shards: int = 1,
    workers: Workers = HERE,
) -> None:
    """Load all JSON lines in a directory."""
    load_documents(hosts, index, sorted(directory.glob("*.jsonl")), shards, workers)


def described(
    label: str, documents: int, fields: tuple[str, ...] = (), k1: float = 1.2, content: str = "same"
) -> ClusterIndex:
    """Return an index whose name is the same for the same content and settings."""
    index = ClusterIndex("", content, documents, fields, Bm25(k1))
    return index._replace(name=f"arqmath-{label}-{index.made_of[:12]}")
