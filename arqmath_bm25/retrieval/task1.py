"""Task 1 from end to end: the index of answers, and rankings of answers for topics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import POST_TABLE, PostTable
from arqmath_bm25.documents.answers import (
    FIELDS,
    write_answer_documents,
)
from arqmath_bm25.documents.parts import clear
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import (
    DOCUMENTS,
    InputFile,
    Manifest,
    building,
    index_documents,
    read_manifest,
)
from arqmath_bm25.lucene.search import Hit, Searcher
from arqmath_bm25.progress import console, progress
from arqmath_bm25.retrieval.fusion import fuse_rankings
from arqmath_bm25.retrieval.queries import text_query, topic_query
from arqmath_bm25.runs import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.config import FusionSettings, Task1Settings
    from arqmath_bm25.runs import Variant

_LUCENE = "lucene"


def build_index(
    posts: Path,
    links: Path | None,
    index: Path,
    settings: Task1Settings,
    threads: int,
    keep_documents: bool = False,
) -> Manifest:
    """Index every answer of the dump `posts` in the directory `index`, replacing what is there.

    `links` is the PostLinks.xml that goes with it, if there is one. With `keep_documents`, what
    Lucene was given stays beside the index as JSON lines.

    Raises InputError if the dump cannot be read or Lucene did not index every document; the old
    index, if there is one, is then as it was.
    """
    began = time.monotonic()
    inputs = _inputs(posts, links)
    with building(index, settings.analysis.fingerprint, inputs) as place:
        with progress("Reading posts", posts.stat().st_size, "B") as advance:
            table = PostTable.scan(posts, threads, advance)
        table.save(place / POST_TABLE)
        documents = place / DOCUMENTS
        with progress("Analysing posts", len(table), "posts") as advance:
            written = write_answer_documents(
                table, PostLinks.read(links), settings.analysis, documents, threads, advance
            )
        with console.status("Indexing ..."):
            index_documents(documents, place / _LUCENE, FIELDS[1:], written["documents"], threads)
        clear(documents, keep_documents)
        manifest = Manifest(
            task="task1",
            analysis=settings.analysis.model_dump(mode="json"),
            fingerprint=settings.analysis.fingerprint,
            inputs=inputs,
            counts={**table.counts, **written},
            seconds=round(time.monotonic() - began, 1),
        )
        manifest.write(place)
    return manifest


def _inputs(posts: Path, links: Path | None) -> list[InputFile]:
    return [InputFile.of(path) for path in (posts, links) if path]


def why_stale(
    manifest: Manifest, posts: Path, links: Path | None, settings: Task1Settings
) -> str | None:
    """Tell why an index does not serve these settings and posts; None if it does."""
    if manifest.fingerprint != settings.analysis.fingerprint:
        return "this index was built with other analysis settings"
    if manifest.inputs != _inputs(posts, links):
        return f"this index was built from other data ({manifest.inputs[0].path})"
    return None


class Task1:
    """Ranks answers. Opens the index, and so starts the JVM."""

    def __init__(
        self, index: Path, settings: Task1Settings, posts: Path, links: Path | None
    ) -> None:
        """Open an index; InputError if there is none or it is not of these settings and posts."""
        manifest = read_manifest(index)
        if manifest is None:
            raise InputError(f"{index}: there is no index; `make index TASK=task1` builds it")
        if reason := why_stale(manifest, posts, links, settings):
            raise InputError(f"{index}: {reason}; `make index TASK=task1` builds it anew")
        self.manifest = manifest
        self._locations = index / POST_TABLE
        self._posts = posts
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._searcher = Searcher(index / _LUCENE, settings.bm25.k1, settings.bm25.b)

    def rank(
        self, topics: Sequence[Topic], name: str, depth: int, threads: int
    ) -> Iterator[tuple[Topic, list[Hit]]]:
        """Yield every topic with its `depth` best answers, in the order of the topics.

        `name` is that of a variant or of a fusion of the configuration.
        """
        if name in self._settings.fusions:
            yield from self._fuse(topics, self._settings.fusions[name], depth, threads)
            return
        weights, saturation = self._settings.weights(name), self._settings.query.saturation
        queries = [topic_query(topic, self._analyzer, weights, saturation) for topic in topics]
        hits = self._searcher.search_many(queries, depth, threads)
        yield from zip(topics, hits, strict=True)

    def _fuse(
        self, topics: Sequence[Topic], fusion: FusionSettings, depth: int, threads: int
    ) -> Iterator[tuple[Topic, list[Hit]]]:
        weights = fusion.weights or [1.0] * len(fusion.variants)
        ranked = [self.rank(topics, name, MAX_DEPTH, threads) for name in fusion.variants]
        for topic, *of_topic in zip(topics, *ranked, strict=True):
            rankings = [hits for _, hits in of_topic]
            fused = fuse_rankings(rankings, weights, fusion.method)[:depth]
            yield topic, [Hit(doc_id, score) for doc_id, score in fused]

    def search(self, text: str, variant: Variant, depth: int) -> list[Hit]:
        """Return the best answers to free text, with `$…$` around its formulas."""
        weights, saturation = self._settings.weights(variant), self._settings.query.saturation
        query = text_query(text, self._analyzer, weights, saturation)
        return self._searcher.search(query, depth)

    def posts(self) -> PostTable:
        """Open the posts that were indexed, to read what hits say."""
        return PostTable.load(self._locations, self._posts)
