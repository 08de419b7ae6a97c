"""Topic-formula TSVs: every formula of the topics of a year, as LaTeX, SLT or OPT.

Columns are found by the header: id, topic_id, thread_id, type, and last the formula, whose name is
`formula`, but `slt` or `opt` in those files of 2020. Ids (q_1, q_2, …) begin anew each year; topics
are those of Task 1 (A.n), of which the ones of Task 2 (B.n) are copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.collection.formulas import header, read_rows
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_IDS: Final = ("id", "topic_id", "thread_id", "type")
_FORMULA: Final = frozenset(("formula", "latex", "slt", "opt"))


class TopicFormula(NamedTuple):
    """One formula of a topic."""

    formula_id: str  # q_N, unique within a year
    topic_id: str  # A.1 … A.400
    thread_id: str  # of the question, which is not in the collection
    type: str  # title or question; body in 2022
    formula: str  # LaTeX or MathML, as the file has it


def read_topic_formulas(path: Path) -> Iterator[TopicFormula]:
    """Yield the formulas of a file, in its order.

    Raises InputError for a missing file, an unknown header, bytes that are not UTF-8, and a row
    with another number of columns than the header.
    """
    names = header(path, "file of topic formulas")
    formula = next((name for name in names if name in _FORMULA), "")
    if not formula or not set(names).issuperset(_IDS):
        raise InputError(
            f"{path}: row 1: not the header of topic formulas: found {' '.join(names)[:80]!r}, "
            f"expected {', '.join(_IDS)}, formula between TABs"
        )
    places = [names.index(name) for name in (*_IDS, formula)]
    for row in read_rows(path, len(names)):
        yield TopicFormula(*(row[place].strip() for place in places))
