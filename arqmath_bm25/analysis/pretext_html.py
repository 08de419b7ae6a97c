"""PreTeXt as the HTML of a post (markup): sections, statements with their proofs, formulas."""

import re
from collections import Counter
from typing import Any

from lxml import etree

from arqmath_bm25.analysis import markup
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

_TABLE: dict[str, Any] = read_table(__file__)
_DIVISIONS = names_in(_TABLE["divisions"])
_DROPPED = names_in(_TABLE["dropped"])
_STATEMENTS = names_in(_TABLE["statements"]) | markup.STATEMENTS.keys()
_INLINE: dict[str, str] = _TABLE["inline"]
_BLOCKS: dict[str, str] = _TABLE["blocks"]
_SIGNS = {r"\amp": "&", r"\lt": "<", r"\gt": ">"}
_SIGN = expression(r"\\(?:amp|lt|gt)(?![A-Za-z])")
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_DEEPEST = 5  # level of headings


def pretext_html(text: str) -> tuple[str, str]:
    """Return a PreTeXt source as HTML, and the LaTeX of its macros.

    Raises ValueError if it is no XML or no PreTeXt.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"no XML: {error}") from None
    name = etree.QName(root).localname
    if root.find("targets") is not None:  # project.ptx
        raise ValueError("the settings of a project")
    if name not in ("pretext", "mathbook") and name not in _DIVISIONS | _STATEMENTS:
        raise ValueError(f"no PreTeXt: it begins with <{name}>")
    macros = "\n".join(map(_text, root.iter("macros")))
    return _PretextWriter().html(root, 0), macros


class _PretextWriter:
    """Writes elements; statements without an id are numbered."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def html(self, element: Any, level: int) -> str:
        """Return an element as HTML, without the text after it."""
        name = element.tag
        if not isinstance(name, str) or name in _DROPPED:
            return ""
        if name in ("m", "me", "men", "md", "mdn"):
            return self._formula(element, level)
        if name == "xref":
            targets = element.get("ref") or element.get("first") or ""
            references = map(markup.reference, re.split(r"[\s,]+", targets.strip()))
            return "".join(references) + self._inner(element, level)
        if name in _DIVISIONS:
            title = self._title(element)
            if title:
                level = min(level + 1, _DEEPEST)
                title = markup.heading(level, element.get(_XML_ID, ""), title)
            return title + self._inner(element, level)
        if name == "proof" or name in _STATEMENTS:
            self._count[name] += 1
            label = element.get(_XML_ID) or element.get("label") or f"{name}-{self._count[name]}"
            title = self._title(element)
            opening, after = markup.statement(name, label, title)
            return f"{opening}{title}{after}{self._inner(element, level)}</div>\n"
        if name == "title":
            is_written = element.getparent().tag in _DIVISIONS | _STATEMENTS
            return "" if is_written else f"<strong>{self._inner(element, level)}</strong> "

        inner = self._inner(element, level)
        if name == "fn":
            return f" ({inner})"
        if name in _INLINE:
            return f"<{_INLINE[name]}>{inner}</{_INLINE[name]}>"
        if name in _BLOCKS:
            return f"<{_BLOCKS[name]}>{inner}</{_BLOCKS[name]}>\n"
        return inner or _TABLE["characters"].get(name, "")

    def _formula(self, element: Any, level: int) -> str:
        """Return a formula, or those between the words that interrupt its rows."""
        written: list[str] = []
        rows: list[str] = []
        for child in element:
            if child.tag == "intertext":
                written += _aligned(rows), f" {self._inner(child, level)} "
                rows = []
            elif child.tag == "mrow":
                rows.append(_text(child))
        if rows:
            return "".join([*written, _aligned(rows)])
        return markup.formula(_latex(_text(element)), element.tag != "m")

    def _inner(self, element: Any, level: int) -> str:
        """Return the content of an element as HTML."""
        written = [markup.plain(element.text or "")]
        for child in element:
            written.append(self.html(child, level))
            written.append(markup.plain(child.tail or ""))
        return "".join(written)

    def _title(self, element: Any) -> str:
        title = element.find("title")
        if title is None:
            return ""
        return " ".join(self._inner(title, 0).split())


def _text(element: Any) -> str:
    return "".join(element.itertext())


def _aligned(rows: list[str]) -> str:
    """Return rows as one formula."""
    lines = r"\\".join(rows)
    return markup.formula(_latex(rf"\begin{{aligned}}{lines}\end{{aligned}}"), True)


def _latex(text: str) -> str:
    return _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)
