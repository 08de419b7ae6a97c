"""The records that pass from room to room: a topic, a hit of a ranking, a part of its score."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class Topic(NamedTuple):
    """One question to be answered; in Task 2 with the formulas that are searched for."""

    topic_id: str  # A.1 … A.400, B.1 … B.400, D.ID, or the id of a statement (NLPS)
    title: str  # plain text with math spans, or with `$…$`
    question: str = ""  # HTML
    tags: tuple[str, ...] = ()
    formula_id: str = ""  # Task 2: q_N, unique within a year
    formulas: tuple[str, ...] = ()  # Task 2: LaTeX without dollars; one but for free queries
    excluded: tuple[str, ...] = ()  # documents that are not to be returned
    own_thread: str = ""  # the question of the collection that this topic is

    @property
    def latex(self) -> str:
        """The one formula that a topic of Task 2 asks for; nothing in other tasks."""
        return self.formulas[0] if self.formulas else ""


class Hit(NamedTuple):
    """One document of a ranking."""

    doc_id: str  # post (Tasks 1 and 3), formula (Task 2), premise (NLPS)
    score: float  # of an engine, a 32-bit float
    post_id: str = ""  # Task 2: the post that holds the formula
    visual_id: str = ""  # Task 2: what the formula looks like
    text: str = ""  # Task 3: the answer


class Part(NamedTuple):
    """The share of one kind of evidence in the score of a hit, which is the sum of its parts."""

    name: str  # a field, a variant that was fused, or evidence as the configuration names it
    score: float
    terms: tuple[tuple[str, float], ...] = ()  # of a field: its terms with theirs, greatest first

    def best_terms(self, number: int) -> list[tuple[str, float]]:
        """Return the terms with the largest shares, and the share of all others together."""
        best = list(self.terms[:number])
        rest = self.terms[number:]
        if rest:
            best.append((f"{len(rest)} more", sum(score for _, score in rest)))
        return best


HitLists = Iterator[list[Hit]]  # of several topics, in their order
PartLists = list[list[Part]]  # of several hits
Json = dict[str, Any]  # an object of JSON
