"""What a run may return: the answers of the collection (Task 1), formulas of its posts (Task 2).

Rules of the guidelines: Task 1 takes answers, not questions. Task 2 takes formulas of titles,
questions and answers, not of comments, none with issue `d` or `dv` (not found in the posts), each
with the post that holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from arqmath_bm25.collection.posts import ANSWER
from arqmath_bm25.runs.formula_ids import COMMENT, DELETED, FormulaIds, id_number

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.posts import PostTable


class Fault(NamedTuple):
    """Why a row may not be returned; `rule` names it in the findings."""

    rule: str
    message: str
    repair: tuple[str, str] | None = None  # Task 2: the formula and post that must be meant


class Eligible(Protocol):
    """Tells which documents of one collection a run may return."""

    def fault(self, doc_id: str, post_id: str) -> Fault | None:
        """Return why this row may not be returned, None if it may."""


class EligibleAnswers:
    """The answers of a collection."""

    def __init__(self, posts: PostTable) -> None:
        self._posts = posts
        self._faults: dict[str, Fault | None] = {}  # runs return the same posts again and again

    def fault(self, doc_id: str, post_id: str = "") -> Fault | None:
        """Return why a post may not be returned."""
        if doc_id not in self._faults:
            self._faults[doc_id] = self._find(doc_id)
        return self._faults[doc_id]

    def _find(self, doc_id: str) -> Fault | None:
        post = self._posts.read(doc_id)
        if post is None or post.post_id != doc_id:
            return Fault("unknown id", f"the collection has no post {doc_id}")
        if post.post_type != ANSWER:
            return Fault("question id", f"post {doc_id} is a question; expected an answer")
        return None


class EligibleFormulas:
    """The formulas of a formula index that stand in posts."""

    def __init__(self, ids: FormulaIds) -> None:
        self.ids = ids

    @classmethod
    def of(cls, collection: Collection) -> Self:
        """Return the formulas of a collection."""
        return cls(FormulaIds.of(collection))

    def fault(self, doc_id: str, post_id: str) -> Fault | None:
        """Return why a formula may not be returned with a post."""
        at, swapped = self._find(doc_id), self._find(post_id)
        if swapped >= 0 and self._post(swapped) == doc_id and (
            at < 0 or self._post(at) != post_id
        ):  # fmt: skip
            return Fault(
                "swapped columns",
                f"column 2 has the post, {doc_id}, column 3 the formula, {post_id}; swap them",
                repair=(post_id, doc_id),
            )
        if at < 0:
            return Fault("unknown id", f"the formula index has no formula {doc_id}")
        if self.ids.flags[at] & DELETED:
            return Fault("deleted formula", f"formula {doc_id} has issue d: no post holds it")
        if self.ids.flags[at] & COMMENT:
            return Fault("comment formula", f"formula {doc_id} stands in a comment")
        if self._post(at) != post_id:
            return Fault(
                "post of formula",
                f"formula {doc_id} is in post {self._post(at)}; the row has {post_id or 'none'}",
                repair=(doc_id, self._post(at)),
            )
        return None

    def visual_id(self, formula_id: str) -> str:
        """Return the visual id of a formula that is in the index."""
        return str(self.ids.visual[self._find(formula_id)])

    def _post(self, at: int) -> str:
        return str(self.ids.post[at])

    def _find(self, formula_id: str) -> int:
        """Return the place of a formula in the index, -1 if it is not there."""
        number = id_number(formula_id)
        place = int(self.ids.find(np.array([number], np.int32))[0])
        return place if number >= 0 else -1
