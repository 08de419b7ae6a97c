"""Topics of Task 1 and Task 3 in all three years: `<Topics><Topic number="A.1">…`.

Titles and questions are kept as the HTML that the file holds; `analysis.html` reads their spans,
which keep their dollars here, lack ids now and then, and hold bare `<` in 2021 and 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lxml import etree

from arqmath_bm25.collection.posts import read_tags
from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Topic:
    """One question to be answered."""

    topic_id: str  # A.1 … A.400
    title: str  # plain text with math spans
    question: str  # HTML
    tags: tuple[str, ...]


def read_topics(path: Path) -> tuple[Topic, ...]:
    """Read every topic of a file, in file order.

    Raises InputError for a missing file, broken XML (with the line), a file without topics, a
    topic without number, title or question, and a number that occurs twice.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such topic file")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.parse(path, parser).getroot()
    except etree.XMLSyntaxError as error:
        raise InputError(f"{path}: not a topic file: {error.msg}") from error
    if root.tag != "Topics":
        raise InputError(f"{path}: not a topic file: expected <Topics>, found <{root.tag}>")
    topics: dict[str, Topic] = {}
    for element in root.iterfind("Topic"):
        where = f"{path}: line {element.sourceline}"
        number = element.get("number", "").strip()
        title, question = element.findtext("Title"), element.findtext("Question")
        if not number:
            raise InputError(f'{where}: <Topic> without a number; expected number="A.1"')
        if title is None or question is None:
            lacking = "Title" if title is None else "Question"
            raise InputError(f"{where}: topic {number} has no <{lacking}>")
        if number in topics:
            raise InputError(f"{where}: topic {number} stands in this file twice")
        tags = read_tags(element.findtext("Tags") or "")
        topics[number] = Topic(number, title, question, tags)
    if not topics:
        raise InputError(f"{path}: the file has no topics; expected <Topic number=...> elements")
    return tuple(topics.values())
