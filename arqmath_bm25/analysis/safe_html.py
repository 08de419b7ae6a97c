"""Posts and topics as HTML that is safe to show.

A post is anybody's HTML. Its formulas are cut out first (some hold bare `<`), by the rules of
`html`; nh3 (the Ammonia sanitiser) parses the rest as a browser would and keeps a short list of
elements and attributes, so that no script, handler, form control or foreign frame can pass. Then
formulas and prose are inserted in the form of the caller: as MathML, or for MathJax.
"""

import re
from collections.abc import Callable
from html import escape, unescape

import nh3

from arqmath_bm25.analysis.html import (
    Content,
    Delimiters,
    Formula,
    cut_spans,
    escape_bare_less,
    read_title,
    split_math,
)
from arqmath_bm25.analysis.sources import hide_math
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import read_table

# Writes a formula as HTML, which is not sanitised again. The second argument says whether it is
# displayed.
FormulaWriter = Callable[[Formula, bool], str]

_TABLE = read_table(__file__)
_SANITISER = nh3.Cleaner(
    tags=set(_TABLE["tags"].split()),
    clean_content_tags=set(_TABLE["without_content"].split()),
    attributes={"*": set(), "a": {"href"}, "img": {"src", "alt"}},
    url_schemes={"http", "https"},
    link_rel="noopener noreferrer nofollow",
)
_TAG = expression(r'(<[^<>"]*(?:"[^"]*"[^<>"]*)*>)')
_CODE = expression(r"<(/?)(?:code|pre)\b")
_PRE_EDGE = expression(r"(</?pre\b)", re.IGNORECASE)
_LINE_END = "\u2028"  # of a line of code, as `cut_spans` makes blanks of the others
_BLOCK = expression(r"</?(?:p|div|br|li|dd|td|blockquote)\b")
_AND = "\ue006"  # It replaces an `&` in text, for which nh3 takes more than linear time.
_UNPRINTABLE = expression("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ue000-\uf8ff\ufffe\uffff]")


def plain(text: str) -> str:
    """Escape text for HTML, without characters that cannot be displayed."""
    return escape(_UNPRINTABLE.sub("", text))


def safe_body(
    html: str, formula: FormulaWriter, prose: Callable[[str], str] = plain,
    delimiters: Delimiters = "mathjax",
) -> str:  # fmt: skip
    """Return a body as harmless, well-formed HTML; `formula` and `prose` write its pieces.

    Code is not given to `prose`. Any string is read; nothing raises.
    """
    edges = _PRE_EDGE.split(html)  # Text and edges alternate.
    for position in range(2, len(edges), 2):
        if not edges[position - 1].startswith("</"):
            edges[position] = edges[position].replace("\n", _LINE_END)
    text, formulas = cut_spans("".join(edges))
    pieces = _TAG.split(escape_bare_less(text.replace(_AND, "")))
    pieces[::2] = [between.replace("&", _AND) for between in pieces[::2]]
    clean = _SANITISER.clean("".join(pieces))

    # Tags and texts alternate, so each text is between two tags.
    tokens = ["", *_TAG.split(clean), ""]
    parts = []
    code = 0
    for position in range(1, len(tokens), 2):
        before, content, after = tokens[position - 1 : position + 2]
        # The character is replaced, not removed: nh3 takes `java\ue006script:` for a harmless
        # address, and without the character it would be a script.
        parts.append(_UNPRINTABLE.sub("\ufffd", before))
        content = unescape(content.replace(_AND, "&")).replace(_LINE_END, "\n")
        edge = _CODE.match(before)
        if edge is not None:
            code += -1 if edge[1] else 1
        if code:
            parts.append(_write(hide_math(content), formulas, formula, plain, delimiters))
        else:
            begins_block = _BLOCK.match(before) is not None
            is_block = begins_block and _BLOCK.match(after) is not None
            parts.append(_write(content, formulas, formula, prose, delimiters, is_block))
    return "".join(parts)


def safe_title(
    title: str, formula: FormulaWriter, prose: Callable[[str], str] = plain,
    delimiters: Delimiters = "mathjax",
) -> str:  # fmt: skip
    """Return a title, which is plain text with math, as HTML."""
    return read_title(title, delimiters).written(lambda piece: formula(piece, False), prose)


def _write(
    text: str, formulas: list[Formula], formula: FormulaWriter, prose: Callable[[str], str],
    delimiters: Delimiters, is_block: bool = False,
) -> str:  # fmt: skip
    """Write the text between two tags; a formula that fills a block is displayed."""
    content = Content(tuple(split_math(text, formulas, delimiters)))
    is_block &= len(content.formulas) == 1 and not content.prose.strip(" .,;:")
    return content.written(lambda piece: formula(piece, is_block or piece.is_display), prose)
