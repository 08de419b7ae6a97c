"""Hits as the search page and its JSON interface show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from markupsafe import Markup

from arqmath_bm25.analysis.excerpts import beginning, excerpt
from arqmath_bm25.analysis.html import BLOCK, Content, read_body, read_title, without_macros
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.records import Hit, Json, Part
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.tasks.task import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arqmath_bm25.pages.folder_files import FolderFiles
    from arqmath_bm25.pages.web.search_query import SearchQuery

# Lengths in characters: of the heading of an untitled document, of a text in a JSON answer, of a
# passage on the page of results, and of a text that becomes a query for similar ones.
_HEADING = 100
_TEXT = 300
_PASSAGE = 220
_SIMILAR_QUERY = 400


@dataclass(frozen=True)
class Result:
    """A hit with its records, and the parts of its score if they are asked for."""

    hit: Hit
    found: Found
    parts: list[Part] | None

    @property
    def thread(self) -> str:
        """The id of the thread that has the hit, or of the document that it is."""
        if self.found.question:
            return self.found.question.post_id
        return self.hit.doc_id


def shown_hit(
    result: Result,
    query: SearchQuery,
    writer: PostWriter,
    collection: CollectionFiles,
    prefix: str,
    files: FolderFiles | None,
) -> dict[str, Any]:
    """Return the values that the page of a query shows of a hit; paths begin with `prefix`."""
    hit = result.hit
    found = result.found
    title = heading(hit.doc_id, found)
    content = content_of(found)
    passage = writer.passage(content, _PASSAGE)
    formula = Markup()
    if found.formula:
        formula = writer.formula(found.formula, display=True)

    page = prefix + page_of(hit, found, query)
    if files and found.document and found.document.is_pdf:
        page = files.source(found.document) or page
    link = web_address(found, collection)
    return {
        "hit": hit,
        "parts": result.parts,
        "title": writer.content(title),
        "passage": writer.content(passage),
        "formula": formula,
        "post": found.post,
        "question": found.question,
        "tags": tags_of(found),
        "place": getattr(found.document, "place", ""),
        "page": page,
        "link": link,
        "site": urlsplit(link).hostname,
        "like": query_like(content),
    }


def answer(
    query: str,
    task: str,
    variant: str,
    suggestion: str,
    counts: Mapping[str, int],
    results: Iterable[Result],
    before: int = 0,
) -> Json:
    """Return the answer of /api/search and, as JSON, of `search`; `counts` are of labels."""
    return {
        "query": query,
        "task": task,
        "variant": variant,
        "suggestion": suggestion or None,
        "counts": dict(sorted(counts.items())),
        "results": [
            {"rank": rank, **_as_json(result)} for rank, result in enumerate(results, before + 1)
        ],
    }


def _as_json(result: Result) -> Json:
    """Return a hit for the JSON interface, with dollars around formulas."""
    hit = result.hit
    found = result.found
    if found.post:
        text = beginning(found.body, _TEXT, found.delimiters).text
    else:
        text = excerpt(content_of(found), _TEXT).text

    row: Json = {
        "score": hit.score,
        "post_id": getattr(found.post, "post_id", None),
        "question_id": getattr(found.question, "post_id", None),
        "title": heading(hit.doc_id, found).text,
        "text": text,
        "formula_id": getattr(found.formula, "formula_id", None),
        "latex": getattr(found.formula, "latex", None),
        "doc_id": hit.doc_id,
        "file": getattr(found.document, "file", None) or None,
        "line": getattr(found.document, "line", None) or None,
        "url": getattr(found.document, "url", None),
        "parts": None,
    }
    if result.parts is not None:
        row["parts"] = []
        for part in result.parts:
            row["parts"].append({**part._asdict(), "terms": dict(part.terms)})
    return row


def content_of(found: Found) -> Content:
    """Return the text of a hit with its macros expanded."""
    if found.document:
        html = found.document.body(found.delimiters)
        return without_macros(read_body(html, found.delimiters))

    if found.body:
        return read_body(found.body, found.delimiters)
    return read_title(found.text)


def heading(doc_id: str, found: Found) -> Content:
    """Return the title of a question or document, or how an untitled document begins."""
    if found.title:
        return read_title(found.title, found.delimiters)
    if found.post:
        return Content(("(no question)",))
    if found.document:
        first, *_ = _blocks(content_of(found))
        return excerpt(first, _HEADING)

    return Content((doc_id,))


def query_like(content: Content) -> str:
    """Return a query for texts that are similar to this one: its beginning."""
    start = excerpt(content, _SIMILAR_QUERY)
    return start.text.removesuffix("…")


def tags_of(found: Found) -> tuple[str, ...]:
    """Return the tags of a question or document."""
    return getattr(found.document or found.question, "tags", ())


def web_address(found: Found, collection: CollectionFiles) -> str:
    """Return the address of a hit on the web; empty if it is unknown."""
    if found.post:
        return collection.link(found.post)
    if found.document and is_web_address(found.document.url or ""):
        return str(found.document.url)
    return ""


def is_web_address(url: str) -> bool:
    """Return whether an address of a document may become a link: a script must not."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False

    return parts.scheme in ("http", "https") and bool(parts.hostname)


def page_of(hit: Hit, found: Found, query: SearchQuery) -> str:
    """Return the path of the page that shows all of a hit, with the query marked."""
    parameters = {"q": query.q, "task": query.task}
    if found.post is None:
        doc_id = quote(hit.doc_id, safe="")
        return f"/documents/{doc_id}?{urlencode(parameters)}"

    if found.formula:
        parameters["formula"] = found.formula.formula_id or ""
    post_id = found.post.post_id
    return f"/posts/{post_id}?{urlencode(parameters)}#post-{post_id}"


def _blocks(content: Content) -> list[Content]:
    """Return the paragraphs of a text that are not empty."""
    blocks = [Content(tuple(pieces)) for pieces in content.split(BLOCK)]
    return [block for block in blocks if block.text] or [Content(("(empty)",))]
