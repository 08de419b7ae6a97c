"""What all tasks share that rank documents by fields of words and formulas.

A kind of them says where its documents come from: they are the user's own (document_retrieval.py),
or answers, with the context of their thread (answers/).
"""

from collections.abc import Callable, Collection, Sequence
from itertools import chain

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.formal import FORMAL, formula_words, query_words
from arqmath_bm25.analysis.html import (
    Content,
    Delimiters,
    Formula,
    as_body,
    read_body,
    read_title,
)
from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.core.records import Hit, HitLists, PartLists, Topic
from arqmath_bm25.engines.engine import Query
from arqmath_bm25.tasks.queries import build_query, field_parts
from arqmath_bm25.tasks.settings import FieldSettings
from arqmath_bm25.tasks.task import IndexedTask, Ranker, SearchedIndex


class DocumentTask(IndexedTask):
    """Ranks documents by weighted fields (document_fields.py)."""

    example = r"Why does $\sum \frac{1}{n}$ diverge?"


class FieldRanker(Ranker):
    """Ranks documents by weighted fields."""

    def __init__(
        self,
        index: SearchedIndex,
        settings: FieldSettings,
        read: Callable[[Topic], Topic] | None = None,
    ) -> None:
        """Queries are made of topics as `read` returns them, by default as they are."""
        self._read = read
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)
        self._searcher = index.searcher()

    def rank(
        self,
        topics: Sequence[Topic],
        variant: str,
        depth: int,
        candidates: Sequence[Sequence[str]] | None = None,
    ) -> HitLists:
        """Yield the `depth` best documents of every topic.

        With `candidates` the search returns these documents of each topic, and no others.
        """
        queries = self._queries(topics, variant)
        excluded = list(map(self._excluded, topics))
        if candidates is None:
            wanted = depth + max(map(len, excluded), default=0)
            rankings = self._searcher.search_many(queries, wanted)
        else:
            rankings = map(self._searcher.score, queries, candidates)

        for hits, left_out in zip(rankings, excluded, strict=True):
            allowed = [hit for hit in hits if hit.doc_id not in left_out]
            yield allowed[:depth]

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> HitLists:
        """Rank given documents of each topic; InputError that names all unknown ones."""
        self._searcher.check_ids(list(dict.fromkeys(chain.from_iterable(candidates))))
        most = max(map(len, candidates), default=0)
        return self.rank(topics, variant, most, candidates)

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return what each field contributes to each score."""
        (query,) = self._queries([topic], variant)
        explained = self._searcher.explain(query, [hit.doc_id for hit in hits])
        return list(map(field_parts, explained))

    def _excluded(self, topic: Topic) -> Collection[str]:
        """Return the ids of documents that may not be returned for a topic."""
        return topic.excluded

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        if self._read:
            topics = list(map(self._read, topics))
        analyzer = self._analyzer
        weights = self._settings.weights(variant)
        settings = self._settings.query
        return [build_query(each, analyzer, weights, settings, self._searcher) for each in topics]


def as_formal(topic: Topic, delimiters: Delimiters, keep_formulas: bool) -> Topic:
    """Return a topic with names split and formulas as words; a formal one stays as it is.

    With `keep_formulas`, formulas are also searched for as formulas.
    """
    title = topic.title
    if kind_of(title) not in FORMAL:
        content = _content_as_formal(read_title(title, delimiters), keep_formulas)
        title = content.marked()
    question = _content_as_formal(read_body(topic.question, delimiters), keep_formulas)
    return topic._replace(title=title, question=as_body(question))


def _content_as_formal(content: Content, keep_formulas: bool) -> Content:
    pieces = list[str | Formula]()
    for piece in content.pieces:
        if isinstance(piece, str):
            pieces.append(f" {query_words(piece)} ")
            continue
        if keep_formulas:
            pieces.append(piece)
        pieces.append(f" {formula_words(piece.latex)} ")
    return Content(tuple(pieces))
