"""An index of this program as a PyTerrier transformer: a frame of topics in, one of results out.

Import it before anything uses Java. A process starts one JVM, with all the jars that it will ever
have: this sees to it that Anserini's is among PyTerrier's, and that the Java is new enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyterrier as pt

from arqmath_bm25.engines.lucene.jvm import prepare

if TYPE_CHECKING:
    import pandas as pd

    from arqmath_bm25.api import Index

prepare()
if not pt.java.started():  # both jars bring a logger; PyTerrier sets the level of Terrier's
    pt.java.add_option("-Dslf4j.provider=ch.qos.logback.classic.spi.LogbackServiceProvider")
    pt.java.add_option("-Dslf4j.internal.verbosity=WARN")


class Retriever(pt.Transformer):  # type: ignore[misc]  # PyTerrier's classes are untyped
    """Ranks by one variant of an index, by the primary one without.

    Example: `Retriever(collection.index("task1"), variant="both")`
    """

    def __init__(self, index: Index, variant: str | None = None, depth: int = 1000) -> None:
        self.index = index
        self.variant = variant
        self.depth = depth

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """Return the `depth` best documents of every topic: its columns, docno, score, rank from 0.

        A topic is qid with query, text with `$…$` around its formulas, or with title, question and
        tags as `collection.topics` has them. Ties are ordered as trec_eval orders them.
        """
        pt.validate.query_frame(topics, extra_columns=["query"])
        run = self.index.run(topics, variant=self.variant, depth=self.depth)
        results = topics.merge(run[["qid", "docno", "score"]], on="qid")
        return results.assign(rank=results.groupby("qid", sort=False).cumcount())

    def __repr__(self) -> str:
        return f"Retriever({self.index!r}, variant={self.variant!r}, depth={self.depth})"
