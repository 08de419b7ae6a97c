"""The reference for ingestion: the pipeline as people write it, with BeautifulSoup on lxml.

What counts as prose and as a formula is ruled by the docstring of analysis/html.py. The rules that
come before HTML (math spans, bare `<`) and after it (dollars in text) are those of the package,
called by their names; what lies between, reading HTML, is BeautifulSoup's: which elements there
are, what is in them, and what text they have. Threads are read, terms made and documents composed
as the package does, so that a comparison of both is one of reading HTML.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from bs4.element import NavigableString

from arqmath_bm25.analysis.html import (
    Content,
    cut_spans,
    escape_bare_less,
    read_title,
    split_math,
)
from arqmath_bm25.analysis.sources import hide_math
from arqmath_bm25.tasks.document_fields import NOTHING, document_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.collection.posts import Post, PostTable

_BLOCKS: Final = (
    "p div br hr li ul ol dl dt dd blockquote pre h1 h2 h3 h4 h5 h6 table thead tbody tr td th "
    "details summary"
).split()
_BLOCK_END = "\ue010"  # a private-use character, as nobody writes it


def read_body(html: str) -> Content:
    """Read an HTML body by the rules of analysis/html.py."""
    text, formulas = cut_spans(html)
    soup = BeautifulSoup(escape_bare_less(text), "lxml")
    for silent in soup(["script", "style"]):
        silent.decompose()
    for code in soup(["code", "pre"]):
        for string in code.find_all(string=True):
            string.replace_with(NavigableString(hide_math(string)))
    for block in soup(_BLOCKS):
        block.insert_before(_BLOCK_END)
        block.insert_after(_BLOCK_END)
    prose = " ".join(soup.get_text().split()).replace(_BLOCK_END, "\n")
    return Content(tuple(split_math(prose, formulas)))


def write_documents(table: PostTable, analyzer: Analyzer, path: Path) -> None:
    """Write the documents of documents/answers.py as JSON lines."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for document in _documents(table, analyzer):
            file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


def _documents(table: PostTable, analyzer: Analyzer) -> Iterator[dict[str, str]]:
    for thread in table.threads():
        context = {}
        if thread.answers and thread.question:
            context = _context(thread.question, analyzer)
        for answer in thread.answers:
            terms = analyzer(read_body(answer.body))
            yield {
                "id": answer.post_id,
                "contents": terms.words.terms or NOTHING.terms,
                "body_math": terms.math.terms,
                "body_operators": terms.operators.terms,
                **context,
            }


def _context(question: Post, analyzer: Analyzer) -> dict[str, str]:
    title, body = analyzer(read_title(question.title or "")), analyzer(read_body(question.body))
    fields = document_fields(title, body, question.tags, analyzer, "question")
    return {field: bag.terms for field, bag in fields.items()}
