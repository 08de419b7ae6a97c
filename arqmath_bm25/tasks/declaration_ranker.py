"""Ranks formal declarations: queries in English or LaTeX are read as their words too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from arqmath_bm25.core.records import Topic
from arqmath_bm25.tasks.document_task import FieldRanker
from arqmath_bm25.tasks.settings import FieldSettings
from arqmath_bm25.tasks.task import OpenIndex

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Query


class DeclarationRanker(FieldRanker):
    """Ranks the documents of a collection with formal declarations."""

    def __init__(self, index: OpenIndex, settings: FieldSettings, keep_formulas: bool) -> None:
        """With `keep_formulas`, formulas of queries are also searched as formulas."""
        super().__init__(index, settings)
        self._keep_formulas = keep_formulas

    def _queries(self, topics: Sequence[Topic], variant: str) -> list[Query]:
        delimiters = self._settings.analysis.latex.delimiters
        read = [as_formal(topic, delimiters, self._keep_formulas) for topic in topics]
        return super()._queries(read, variant)


def as_formal(topic: Topic, delimiters: Delimiters, keep_formulas: bool) -> Topic:
    """Return a topic whose names are split and whose formulas are words; a formal one unchanged."""
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
