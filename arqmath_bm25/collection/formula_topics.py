"""Topics of Task 2: the same questions as in Task 1, and in each the formula that is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from arqmath_bm25.collection.topics import Topic, read_topics
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


class FormulaTopic(NamedTuple):
    """A question and one of its formulas."""

    topic: Topic  # B.1 … B.400
    formula_id: str  # q_N, unique within a year
    latex: str  # without dollars


def read_formula_topics(path: Path) -> tuple[FormulaTopic, ...]:
    """Read every topic of a Task 2 file, in file order.

    Raises InputError as `topics.read_topics` does, and for a topic without formula.
    """
    topics = read_topics(path)
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    elements = etree.parse(path, parser).getroot().iterfind("Topic")
    found = []
    for topic, element in zip(topics, elements, strict=True):
        formula_id, latex = element.findtext("Formula_Id"), element.findtext("Latex")
        if not formula_id or not latex:
            raise InputError(
                f"{path}: line {element.sourceline}: topic {topic.topic_id} has no <Formula_Id> or "
                "no <Latex>; expected a topic file of Task 2"
            )
        found.append(FormulaTopic(topic, formula_id.strip(), latex.strip()))
    return tuple(found)
