"""Weighted fielded BM25 over an index, and nothing else: terms in, ids and scores out.

A query is a map from field to weighted terms. It goes to Lucene as one XML document (Lucene's
CoreParser), and the hits come back as one string: per-object calls through pyjnius would cost more
than the search. Hits are ordered by score, ties by descending id, by Lucene itself, so that the cut
at k, the order, and with it trec_eval's view do not depend on how the index was built.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from arqmath_bm25.lucene.jvm import detach_thread, java_cast, java_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    Query = Mapping[str, Mapping[str, float]]  # field → term → weight of the term


class Hit(NamedTuple):
    """One document of a ranking."""

    doc_id: str
    score: float  # a 32-bit float, as Lucene computes it


_HIT = re.compile(r"doc=\d+ score=(\S+) shardIndex=\S+ fields=\[[^,]+, \[([0-9a-f ]+)\]\]")


class Searcher:
    """An open index. Thread-safe; starts the JVM."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        directory = java_class("org.apache.lucene.store.FSDirectory").open(
            java_class("java.nio.file.Paths").get(str(index))
        )
        reader_class = java_class("org.apache.lucene.index.DirectoryReader")
        self._reader = reader_class.open(java_cast("org.apache.lucene.store.Directory", directory))
        searcher_class = java_class("org.apache.lucene.search.IndexSearcher")
        searcher_class.setMaxClauseCount(1 << 20)  # a long question has thousands of n-grams
        self._searcher = searcher_class(self._reader.getContext())
        similarity = java_class("org.apache.lucene.search.similarities.BM25Similarity")(k1, b)
        self._searcher.setSimilarity(similarity)
        sort_field = java_class("org.apache.lucene.search.SortField")
        types = java_class("org.apache.lucene.search.SortField$Type")
        descending_id = sort_field("id", types.STRING_VAL, True)
        self._order = java_class("org.apache.lucene.search.Sort")(
            sort_field.FIELD_SCORE, descending_id
        )
        analyzer = java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
        self._parser = java_class("org.apache.lucene.queryparser.xml.CoreParser")(
            "contents", analyzer
        )
        self._stream = java_class("java.io.ByteArrayInputStream")
        self._arrays = java_class("java.util.Arrays")

    @property
    def count(self) -> int:
        """Number of documents."""
        return int(self._reader.numDocs())

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        xml = _query_xml(query)
        if not xml:
            return []
        parsed = self._parser.parse(self._stream(xml.encode()))
        found = self._searcher.search(parsed, k, self._order, True)
        return _read_hits(self._arrays.toString(found.scoreDocs))

    def search_many(self, queries: Iterable[Query], k: int, threads: int) -> Iterator[list[Hit]]:
        """Search for all queries with `threads` at a time; results come in the order of queries."""
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(lambda query: self._search_detached(query, k), queries)

    def _search_detached(self, query: Query, k: int) -> list[Hit]:
        try:
            return self.search(query, k)
        finally:
            detach_thread()

    def close(self) -> None:
        """Close the index."""
        self._reader.close()


def _query_xml(query: Query) -> str:
    clauses = [
        f'<Clause occurs="should"><TermQuery fieldName={quoteattr(field)} '
        f'boost="{weight:.9g}">{escape(term)}</TermQuery></Clause>'
        for field, terms in query.items()
        for term, weight in terms.items()
        if weight > 0
    ]
    return f"<BooleanQuery>{''.join(clauses)}</BooleanQuery>" if clauses else ""


def _read_hits(text: str) -> list[Hit]:
    # ids are BytesRefs, printed as hexadecimal bytes: "[33 32 30]" is 320.
    return [
        Hit(bytes.fromhex(doc_id).decode(), float(score)) for score, doc_id in _HIT.findall(text)
    ]
