"""Documents as tasks hand them to engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arqmath_bm25.analysis.terms import Bag

_NONE: dict[str, Bag] = {}


class Document(NamedTuple):
    """A document by its fields; each of them is either `own` or `shared` in all documents."""

    doc_id: str
    own: Mapping[str, Bag]
    # What it has in common with the documents before and after it: for all of them one object.
    shared: Mapping[str, Bag] = _NONE
