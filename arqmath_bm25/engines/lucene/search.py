"""Weighted fielded BM25 over an index, and nothing else: terms in, ids and scores out.

A query is a map from field to weighted terms. It goes to Lucene as one XML document (Lucene's
CoreParser), and the hits come back as one JSON text (the jar's Jackson): a call through pyjnius for
each term or hit would cost more than the search. Lucene numbers documents; a table beside the index
maps these numbers to ids.

Hits are ordered by score, ties by descending id, so that the cut at k, the order, and with it
trec_eval's view do not depend on how the index was built. Lucene can sort like this itself, but
takes nearly twice the time. So it ranks by score alone, ties by its numbers; more than k hits are
requested, until no tie is cut, and ties are put in order here. Lucene adds the terms' 32-bit scores
in 64 bits, so their order, which may differ between segments, does not change a sum.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from arqmath_bm25.core.records import Hit
from arqmath_bm25.engines.engine import (
    FEW,
    Bm25,
    DocIds,
    DocumentCounts,
    Query,
    Scores,
    Searcher,
    TermScores,
    TermsOfFields,
    best_first,
    best_hits,
    term_scores,
    with_ties,
)
from arqmath_bm25.engines.lucene.indexing import open_reader, read_ids
from arqmath_bm25.engines.lucene.jvm import detaching, java_class, started_class

_ALL = 2**31 - 1  # documents to score before any is skipped


class LuceneSearcher(Searcher):
    """An open index. Thread-safe; starts the JVM."""

    def __init__(self, index: Path, bm25: Bm25) -> None:
        self._reader = open_reader(index)  # This starts the JVM.
        import jnius

        self._ids = read_ids(index)
        self.count = len(self._ids)
        searcher_class = java_class("org.apache.lucene.search.IndexSearcher")
        searcher_class.setMaxClauseCount(1 << 20)  # A long question has thousands of n-grams.
        self._searcher = searcher_class(self._reader.getContext())
        similarity_class = java_class("org.apache.lucene.search.similarities.BM25Similarity")
        similarity = similarity_class(bm25.k1, bm25.b)
        if bm25.by_field:
            # Lucene's own class for similarities by field is abstract.
            similarities = java_class("java.util.HashMap")()
            for field, parameters in bm25.by_field.items():
                similarities.put(field, similarity_class(*parameters))
            similarity = started_class("SimilarityByField")(similarity, similarities)
        self._searcher.setSimilarity(similarity)
        analyzer_class = java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")
        parser_class = java_class("org.apache.lucene.queryparser.xml.CoreParser")
        self._parser = parser_class("contents", analyzer_class())
        self._stream = java_class("java.io.ByteArrayInputStream")
        # (hits, after, hits to count exactly) → the collectors; a constructor since Lucene 10.
        package = "org.apache.lucene.search"
        try:
            self._collectors = java_class(f"{package}.TopScoreDocCollectorManager")
        except jnius.JavaException:
            collector_class = java_class(f"{package}.TopScoreDocCollector")
            self._collectors = collector_class.createSharedManager
        self._json = java_class("com.fasterxml.jackson.databind.ObjectMapper")()

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        xml = query_xml(query)
        if not xml or not self.count:
            return []

        terms = sum(map(len, query.values()))
        with detaching():
            best = partial(self._best, self._parse(xml), terms <= FEW)
            return with_ties(best, k)

    def _parse(self, xml: str) -> Any:
        stream = self._stream(xml.encode())
        return self._parser.parse(stream)

    def score(self, query: Query, doc_ids: Sequence[str]) -> list[Hit]:
        """Score given documents, best first; 0 for a document without any of the terms."""
        self.check_ids(doc_ids)
        scores = dict.fromkeys(doc_ids, 0.0)
        xml = query_xml(query)
        if not xml or not scores:
            return best_first(scores)

        documents = f'<TermsQuery fieldName="id">{escape(" ".join(scores))}</TermsQuery>'
        filtered = (
            f'<BooleanQuery><Clause occurs="must">{xml}</Clause>'
            f'<Clause occurs="filter">{documents}</Clause></BooleanQuery>'
        )
        with detaching():
            parsed = self._parse(filtered)
            ids, matching_scores = self._best(parsed, False, len(scores))
        for hit in best_hits(ids, matching_scores, len(ids)):
            scores[hit.doc_id] = hit.score
        return best_first(scores)

    def _best(self, query: Any, skip: bool, wanted: int) -> tuple[DocIds, Scores]:
        """Return the best documents, by descending score.

        With `skip`, Lucene skips documents that cannot be among them. With hundreds of terms, it
        takes longer to find such documents than to score every document.
        """
        wanted = min(wanted, self.count)
        counted_exactly = _ALL
        if skip:
            counted_exactly = wanted
        collectors = self._collectors(wanted, None, counted_exactly)
        best = self._searcher.search(query, collectors)

        # Its field scoreDocs, read through pyjnius, would become a list of Java objects.
        text = self._json.writeValueAsString(best)
        hits = json.loads(text)["scoreDocs"]
        numbers = np.array([hit["doc"] for hit in hits], np.intp)
        scores = np.array([hit["score"] for hit in hits], np.float32)
        return self._ids.of(numbers), scores

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
        numbers = self._ids.rows(doc_ids).tolist()
        xml = query_xml(query)
        if not xml:
            return [{} for _ in numbers]

        explained = []
        with detaching():
            parsed = self._parse(xml)
            for number in numbers:
                explanation = self._searcher.explain(parsed, number)
                text = self._json.writeValueAsString(explanation)
                explained.append(term_scores(json.loads(text)))
        return explained

    def document_counts(self, terms: TermsOfFields) -> DocumentCounts:
        """Return field → term → the number of documents that hold it, if any do."""
        term_class = java_class("org.apache.lucene.index.Term")
        counts = DocumentCounts()
        with detaching():
            for field, of_field in terms.items():
                counts[field] = {}
                for term in of_field:
                    count = int(self._reader.docFreq(term_class(field, term)))
                    if count:
                        counts[field][term] = count
        return counts

    def close(self) -> None:
        """Close the index."""
        self._reader.close()


def query_xml(query: Query) -> str:
    """Return a query in the XML of Lucene's CoreParser; an empty string if it has no term."""
    clauses = []
    for field, terms in query.items():
        name = quoteattr(field)
        for term, weight in terms.items():
            if weight > 0:
                clauses.append(
                    f'<Clause occurs="should"><TermQuery fieldName={name} '
                    f'boost="{weight:.9g}">{escape(term)}</TermQuery></Clause>'
                )
    if not clauses:
        return ""
    return f"<BooleanQuery>{''.join(clauses)}</BooleanQuery>"
