"""The documents of a collection that a run may return.

Task 1 answers of the collection, not questions. Task 2 formulas of titles, questions and answers,
not of comments, none with issue `d` or `dv` (not found in the posts), each with the post that holds
it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.runs.formula_ids import COMMENT, DELETED, FormulaIds, id_numbers

if TYPE_CHECKING:
    from arqmath_bm25.collection.posts import PostTable


class Fault(NamedTuple):
    """Why a row may not be returned; `rule` names it in the findings."""

    rule: str
    message: str


# From the document and the post of a row to the reason why it may not be returned.
Eligible = Callable[[str, str], Fault | None]


def eligible_answers(posts: PostTable) -> Eligible:
    """Return the check for answers of a collection."""
    # This loads lxml, for which scoring need not wait.
    from arqmath_bm25.collection.posts import ANSWER

    # Runs return the same posts again and again.
    @cache
    def fault(doc_id: str, post_id: str = "") -> Fault | None:
        post = posts.read(doc_id)
        if post is None or post.post_id != doc_id:
            return Fault("unknown id", f"the collection has no post {doc_id}")
        if post.post_type != ANSWER:
            return Fault("question id", f"post {doc_id} is a question; expected an answer")
        return None

    return fault


def eligible_formulas(ids: FormulaIds) -> Eligible:
    """Return the check for formulas of a formula index that occur in posts."""

    def fault(doc_id: str, post_id: str) -> Fault | None:
        rows = ids.find(id_numbers([doc_id, post_id]))
        row, swapped_row = rows.tolist()
        post, post_of_swapped = map(str, ids.post[rows])

        fits = row >= 0 and post == post_id
        fits_swapped = swapped_row >= 0 and post_of_swapped == doc_id
        if fits_swapped and not fits:
            where = f"column 2 has the post, {doc_id}, column 3 the formula, {post_id}"
            return Fault("swapped columns", f"{where}; swap them")

        if row < 0:
            return Fault("unknown id", f"the formula index has no formula {doc_id}")
        if ids.flags[row] & DELETED:
            return Fault("deleted formula", f"formula {doc_id} has issue d: no post holds it")
        if ids.flags[row] & COMMENT:
            return Fault("comment formula", f"formula {doc_id} stands in a comment")

        if post != post_id:
            where = f"formula {doc_id} is in post {post}"
            return Fault("post of formula", f"{where}; the row has {post_id or 'none'}")

        return None

    return fault
