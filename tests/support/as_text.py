"""Documents as the JSON lines that Lucene gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import Document


def as_text(document: Document) -> dict[str, str]:
    fields = {**document.own, **document.shared}
    return {"id": document.doc_id} | {field: bag.terms for field, bag in fields.items()}
