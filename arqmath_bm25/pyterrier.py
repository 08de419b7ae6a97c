"""An index of this program as a PyTerrier transformer: a frame of topics in, one of results out.

Import it before anything uses Java. A process starts one JVM, with all the jars that it will ever
have: this sees to it that Anserini's is among PyTerrier's, and that the Java is new enough. To use
Terrier's own retrievers as well, call `pt.java.init()` first: it downloads Terrier's jars, which
nothing here needs.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyterrier as pt

from arqmath_bm25.api import Collection, Index
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.stores import ARTIFACT
from arqmath_bm25.engines.lucene.jvm import java_variables, prepare

if TYPE_CHECKING:
    import pandas as pd

with suppress(InputError):  # flat postings are searched without Java
    prepare()
    os.environ.update(java_variables())  # PyTerrier starts Java when it is first needed
    if not pt.java.started():  # both jars bring a logger; PyTerrier sets the level of Terrier's
        pt.java.add_option("-Dslf4j.provider=ch.qos.logback.classic.spi.LogbackServiceProvider")
        pt.java.add_option("-Dslf4j.internal.verbosity=WARN")


@dataclass(repr=False, unsafe_hash=True)
class Retriever(pt.Transformer):  # type: ignore[misc]  # PyTerrier's classes are untyped
    """Ranks by one variant of an index, by the primary one without.

    Example: `Retriever(collection.index("task1"), variant="both")`

    Given results instead of topics, `other >> Retriever(…)`, it scores the documents of these:
    answers of Task 1, or documents of the task `docs`; others are an InputError.
    """

    index: Index
    variant: str | None = None
    depth: int = MAX_DEPTH

    def __post_init__(self) -> None:
        """Raises InputError for a variant that the index lacks."""
        self.variant = self.index.chosen(self.variant)

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """Return the `depth` best documents of every topic: its columns, docno, score, rank from 0.

        A topic is qid with query, text with `$…$` around its formulas; with the title, question and
        tags of `collection.topics` these are searched as long as the query is still theirs. A frame
        with docno has its documents scored. Ties are ordered as trec_eval orders them.
        """
        with pt.validate.any(topics) as frame:
            frame.columns(includes=["qid", "query", "docno"], mode="candidates")
            frame.query_frame(["query"], mode="topics")

        topics = topics.assign(qid=topics["qid"].astype(str))
        if frame.mode == "candidates":
            results = self.index.score(topics, self.variant)
            return results[results["rank"] <= self.depth].assign(rank=lambda best: best["rank"] - 1)

        topics = topics.drop(columns=["score", "rank"], errors="ignore")
        run = self.index.run(topics, variant=self.variant, depth=self.depth)
        results = topics.merge(run[["qid", "docno", "score", "rank"]], on="qid")
        return results.assign(rank=results["rank"] - 1)

    def fuse_rank_cutoff(self, k: int) -> Retriever | None:
        """Return what `self % k` is: the same with less depth."""
        return Retriever(self.index, self.variant, k) if k < self.depth else None

    def __repr__(self) -> str:
        depth = f", depth={self.depth}" if self.depth != MAX_DEPTH else ""
        return f"Retriever({self.index!r}, {self.variant!r}{depth})"


class StoredIndex(pt.Artifact):  # type: ignore[misc]
    """The store of an index as an artifact: `pt.Artifact.load(index.path).retriever()`.

    DATA are looked for where they were when it was built; `load(path, data=DATA)` says where else.
    """

    ARTIFACT_TYPE = ARTIFACT["type"]
    ARTIFACT_FORMAT = ARTIFACT["format"]

    def __init__(self, path: str | Path, data: str | Path | None = None) -> None:
        """Raises InputError without an index or its DATA."""
        super().__init__(path)
        collection = Collection.of_store(self.path)
        if data is not None:
            collection = Collection(data, collection.indexes)
        self.index = Index(collection, self.path)

    def retriever(self, variant: str | None = None, depth: int = MAX_DEPTH) -> Retriever:
        """Return a retriever by one variant, the primary one without."""
        return Retriever(self.index, variant, depth)
