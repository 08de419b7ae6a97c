"""The documents of a task in a cluster: loads their blocks, and finds them again."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.engines.opensearch import cluster_index
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    add_replicas,
    counts_if_loaded,
    load_documents,
)
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.tasks.sealed_blocks import Block, Sealing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.engines.engine import Engine
    from arqmath_bm25.tasks.task import IndexedTask

BLOCKS: Final = "blocks.json"  # in a store: the list of its blocks, which a cluster has


def write_blocks(path: Path, blocks: Sequence[Block]) -> None:
    """Write the list of blocks."""
    path.write_text(json.dumps([block._asdict() for block in blocks]), encoding="ascii")


def read_blocks(path: Path) -> list[Block]:
    """Read a list of blocks; empty where there is no file."""
    if not path.is_file():
        return []
    return [Block(**block) for block in json.loads(path.read_bytes())]


def is_loaded(engine: Engine, task: IndexedTask[Any], store: Path) -> bool:
    """Return whether the cluster has the documents of a store; True for other engines.

    If the cluster has them, it is also told to make the replicas that the engine asks for.
    """
    if engine.name != "opensearch" or not task.fields:
        return True
    indexes = indexes_in_cluster(task, store)
    with closing(connect(engine.hosts)) as client:
        if not all(cluster_index.is_loaded(client, index) for index in indexes):
            return False
        for index in indexes:
            add_replicas(client, index, engine.replicas)
    return True


def sealing_for(
    engine: Engine, task: IndexedTask[Any], folder: Path, workers: Workers, keeps: bool
) -> Sealing:
    """Return what loads blocks of documents into a cluster while they are written."""
    index_of = partial(_in_cluster, task, folder)

    def counts_of(block: Block) -> dict[str, int] | None:
        with closing(connect(engine.hosts)) as client:
            return counts_if_loaded(client, index_of(block))

    def load(block: Block, parts: list[Path]) -> None:
        try:
            load_documents(engine.hosts, index_of(block), parts, engine.shards, workers)
        except InputError as error:
            # After this error the next build resumes with the documents that were written.
            raise InterruptedWorkError(str(error)) from None

    return Sealing(engine.block, counts_of, load, keeps)


def indexes_in_cluster(task: IndexedTask[Any], store: Path) -> list[ClusterIndex]:
    """Return the indexes of a cluster that have the documents of a store."""
    return [_in_cluster(task, store.parent, block) for block in read_blocks(store / BLOCKS)]


def _in_cluster(task: IndexedTask[Any], folder: Path, block: Block) -> ClusterIndex:
    """Return the index of a block, which has the same name for every collection."""
    return ClusterIndex(
        label=task.name,
        content=json.dumps([task.recipe, block.digest], sort_keys=True),
        documents=block.documents,
        fields=tuple(task.fields or ())[1:],
        k1=task.settings.bm25.k1,
        b=task.settings.bm25.b,
        by_field=task.settings.bm25.by_field,
        counts=block.counts,
        collection=folder.parent.name,
    )
