"""Topics of all tasks and years: `<Topics><Topic number="A.1">…`; Task 2 names a formula in each.

Titles and questions are kept as the HTML that the file holds; `analysis.html` reads their spans,
which keep their dollars here, lack ids now and then, and hold bare `<` in 2021 and 2022. Elements
in them are HTML that was not escaped, and are kept unchanged. Comments are skipped, CDATA
is text; a file that declares a DTD, and with it perhaps entities, is refused.
"""

from pathlib import Path

from lxml import etree

from arqmath_bm25.collection.posts import read_tags
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import read_bytes
from arqmath_bm25.core.records import Topic

_REQUIRED = ("Title", "Question")
_PARTS = (*_REQUIRED, "Tags", "Formula_Id", "Latex")


def read_topics(path: Path) -> tuple[Topic, ...]:
    """Read every topic of a file, in file order.

    Raises InputError for a missing file, broken XML (with the line), a DTD, a file without topics
    or with other elements, a topic without number, title or question or with two of them, and a
    number that occurs twice.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(read_bytes(path, "topic file"), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(
            f"{path}: not a topic file: {' '.join(str(error).split())[:200]}"
        ) from error

    if root.getroottree().docinfo.internalDTD is not None:
        raise InputError(f"{path}: the file declares a DTD; remove <!DOCTYPE …>")
    if root.tag != "Topics":
        raise InputError(f"{path}: not a topic file: expected <Topics>, found <{root.tag[:60]}>")

    topics = {}

    for element in root:
        topic = _topic(element, f"{path}: line {element.sourceline}")
        if topic.topic_id in topics:
            raise InputError(
                f"{path}: line {element.sourceline}: topic {topic.topic_id} comes twice; remove "
                "one of the two"
            )

        topics[topic.topic_id] = topic

    if not topics:
        raise InputError(f"{path}: the file has no topics; expected <Topic number=...> elements")
    return tuple(topics.values())


def _topic(element: etree._Element, where: str) -> Topic:
    """Read a <Topic>; InputError, which begins with `where`, if a part is missing or repeated."""
    if element.tag != "Topic":
        raise InputError(f"{where}: expected <Topic>, found <{element.tag[:60]}>")
    number = element.get("number", "").strip()
    if not number:
        raise InputError(f'{where}: <Topic> without a number, such as number="A.1"')

    for name in _PARTS:
        count = len(element.findall(name))
        if count > 1:
            raise InputError(f"{where}: topic {number} has {count} elements <{name}>; expected one")

        if count == 0 and name in _REQUIRED:
            raise InputError(f"{where}: topic {number} has no <{name}>; expected one")

    formula_id = _text(element, "Formula_Id")
    latex = _text(element, "Latex")
    formulas: tuple[str, ...] = ()
    if formula_id and latex:
        formulas = (latex,)
    return Topic(
        number,
        _markup(element, "Title"),
        _markup(element, "Question"),
        read_tags(_text(element, "Tags")),
        formula_id,
        formulas,
    )


def _text(topic: etree._Element, name: str) -> str:
    """Return the text of a child of that name, stripped; "" if there is no such child."""
    child = topic.find(name)
    if child is None:
        return ""
    return "".join(map(str, child.itertext())).strip()


def _markup(topic: etree._Element, name: str) -> str:
    """Return the HTML in the child of that name: its text, which is escaped, and its elements."""
    child = topic.find(name)
    assert child is not None  # noqa: S101  # it was counted
    parts = [child.text or ""]
    for element in child:
        parts += (etree.tostring(element, encoding="unicode", with_tail=False), element.tail or "")
    return "".join(parts)
