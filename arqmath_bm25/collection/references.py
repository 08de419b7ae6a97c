"""Statements with their references, from which it can be learnt what a new statement needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """A theorem, or any text that refers to others. It may be referred to itself, by its id."""

    statement_id: str
    text: str  # prose with `$…$` around formulas
    references: tuple[str, ...]  # ids, each once; empty where they are not known
