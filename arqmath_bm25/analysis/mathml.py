r"""Presentation MathML, as LaTeXML wrote it for the lab's SLT files, → what `latex.read` returns.

The same formula gives the same symbols and marks from both sources, so that everything after this
is shared. MathML is read tag by tag, not as XML: in the lab's files entities were unescaped once
too often, so that bare `<` and `&` stand in the text and in `alttext`, and some of it is LaTeXML's
error output (`<merror>…\foo…</merror>`) or is not closed. Rules of repair:

* `alttext` is cut out; a `<` that begins no tag of MathML is text; other tags are passed over;
* an end tag closes what is open inside its element, and is ignored if there is none; what is open
  in the end is closed;
* of elements deeper than 64 the tags are passed over; an argument that is missing is empty.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis import latex_table as table
from arqmath_bm25.analysis.latex import CELL, CLOSE, OPEN, ROW, SUB, SUPER, TABLE, TABLE_END
from arqmath_bm25.analysis.mathml_table import ACCENTS, SYMBOLS
from arqmath_bm25.analysis.text import normalize

_ALTTEXT = ' alttext="'
_ALTTEXT_END = re.compile(r'"(?=\s+[a-z:]+="|\s*/?>)')
_ANNOTATION = re.compile(r"<annotation\b.*?(?:</annotation(?:-xml)?>|\Z)", re.DOTALL)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>math|semantics|mrow|m[ions]|mtext|mspace|msup|msub|msubsup|munder|mover"
    r"|munderover|mmultiscripts|mprescripts|none|mfrac|msqrt|mroot|mtable|mtr|mlabeledtr|mtd|mstyle"
    r"|mpadded|mphantom|menclose|merror|mfenced)\b(?P<attributes>[^<>]*?)(?P<empty>/?)>"
)
_LEAVES: Final = frozenset(("mi", "mo", "mn", "ms", "mtext"))
_MAX_DEPTH: Final = 64
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065)) | {0x200B: None}
_MATHEMATICAL: Final = "\U0001d400"  # from here on letters have their font, Greek ones too: 𝜋
_SCRIPTS: Final = {
    "msub": (SUB,), "msup": (SUPER,), "msubsup": (SUB, SUPER),
    "munder": (SUB,), "mover": (SUPER,), "munderover": (SUB, SUPER),
}  # fmt: skip
_BELOW: Final = {"bar": "underline", "overbrace": "underbrace"}  # accents that stand under
_FENCES: Final = frozenset(("()", "[]", "||", "VertVert"))


class _Element(NamedTuple):
    name: str
    attributes: str
    parts: list[list[str]]  # what its children were read as
    text: list[str]


def read(mathml: str) -> tuple[list[str], str]:
    """Return the symbols and marks of one formula, and the words in it; any string is read."""
    mathml = without_alttext(mathml)
    if "<annotation" in mathml:
        mathml = _ANNOTATION.sub("", mathml)
    words: list[str] = []
    stack = [_Element("math", "", [], [])]
    done = 0
    for tag in _TAG.finditer(mathml):
        if tag.start() > done:
            stack[-1].text.append(mathml[done : tag.start()])
        done = tag.end()
        name = tag["name"]
        if not tag["end"]:
            if tag["empty"]:
                stack[-1].parts.append([])
            elif len(stack) < _MAX_DEPTH:
                stack.append(_Element(name, tag["attributes"], [], []))
        elif any(element.name == name for element in stack[1:]):
            while True:
                element = stack.pop()
                stack[-1].parts.append(_content(element, stack[-1].name, words))
                if element.name == name:
                    break
    stack[-1].text.append(mathml[done:])
    while len(stack) > 1:
        element = stack.pop()
        stack[-1].parts.append(_content(element, stack[-1].name, words))
    return _row(stack[0].parts), " ".join(words)


def without_alttext(markup: str) -> str:
    """Cut the LaTeX out of a formula, in which `<`, `>` and quotes stand as they are."""
    before, alttext, after = markup.partition(_ALTTEXT)
    if alttext and (end := _ALTTEXT_END.search(after)):
        return before + after[end.end() :]
    return markup


def _content(element: _Element, around: str, words: list[str]) -> list[str]:
    """Read an element whose children have been read."""
    name, attributes, parts, text = element
    if name in _LEAVES:
        content = "".join(text)
        if around == "merror":  # LaTeXML did not know the command
            return latex.read(content)[0]
        if name != "mtext":
            return list(read_leaf(name, content))
        words.append(unescape(content))
        return []
    if name in _SCRIPTS:
        return _scripts(name, parts)
    if name == "mfrac":
        flat = 'linethickness="0' in attributes
        return ["binom" if flat else "frac", *_braced(parts, 0), *_braced(parts, 1)]
    if name == "msqrt":
        return ["sqrt", OPEN, *_row(parts), CLOSE]
    if name == "mroot":
        index = parts[1] if len(parts) > 1 else []
        return ["sqrt", "[", *index, "]", *_braced(parts, 0)]
    if name == "mmultiscripts":
        return _multiscripts(parts)
    if name == "mtable":
        return _table(parts, 'columnspacing="0pt"' in attributes)
    if name in ("mtr", "mlabeledtr"):
        return [
            item for number, part in enumerate(parts) for item in (*[CELL] * (number > 0), *part)
        ]
    if name == "mprescripts":
        return [_PRESCRIPTS]
    if name in ("mphantom", "mspace", "none"):
        return []
    return _row(parts)


_PRESCRIPTS: Final = "mprescripts"


def _braced(parts: list[list[str]], number: int) -> list[str]:
    return [OPEN, *(parts[number] if number < len(parts) else ()), CLOSE]


def _row(parts: list[list[str]]) -> list[str]:
    r"""Join what stands side by side, as LaTeX writes it.

    The fences around a binomial coefficient or a matrix, and those of `\pmod`, go with their
    command; a table after a lone `{` is that of `cases`.
    """
    parts = [part for part in parts if part]
    if len(parts) == 3 and len(parts[0]) == len(parts[2]) == 1:
        head, fences = parts[1][0], parts[0][0] + parts[2][0]
        if (head == "mod" and fences == "()") or (
            head in ("binom", "matrix") and fences in _FENCES and _is_one(parts[1])
        ):
            return parts[1]
    if len(parts) == 2 and parts[0] == ["{"] and parts[1][0] == "matrix":
        return ["cases", *parts[1][1:]]
    return [item for part in parts for item in part]


def _is_one(items: list[str]) -> bool:
    return items[-1] in (CLOSE, TABLE_END)


def _scripts(name: str, parts: list[list[str]]) -> list[str]:
    base = parts[0] if parts else []
    if name in ("mover", "munder") and len(parts) == 2 and len(parts[1]) == 1:
        accent = ACCENTS.get(parts[1][0])
        if accent:
            if name == "munder":
                accent = _BELOW.get(accent, accent)
            return [accent, OPEN, *base, CLOSE]
    items = list(base)
    for number, script in enumerate(_SCRIPTS[name], 1):
        if number < len(parts) and parts[number]:
            items += (script, *_braced(parts, number))
    return items


def _multiscripts(parts: list[list[str]]) -> list[str]:
    """Write scripts behind their base, prescripts before it without one."""
    base = parts[0] if parts else []
    before: list[str] = []
    after: list[str] = []
    into, number = after, 0
    for part in parts[1:]:
        if part == [_PRESCRIPTS]:
            into, number = before, 0
            continue
        if part:
            into += (SUPER if number % 2 else SUB, OPEN, *part, CLOSE)
        number += 1
    return [*before, *base, *after]


def _table(parts: list[list[str]], aligned: bool) -> list[str]:
    if aligned:  # align, eqnarray: layout of the page, not a symbol
        return [item for part in parts for item in part if item != CELL]
    return ["matrix", TABLE, *_joined(ROW, parts), TABLE_END]


def _joined(mark: str, parts: list[list[str]]) -> list[str]:
    return [item for part in parts for item in (mark, *part)][1:]


@lru_cache(maxsize=1 << 14)
def read_leaf(name: str, text: str) -> tuple[str, ...]:
    """Return the symbols that the text of an element `mi`, `mo` or `mn` is read as."""
    text = normalize("NFC", unescape(text).translate(_INVISIBLE).strip())
    if text in SYMBOLS:
        return (SYMBOLS[text],)
    if text in ACCENTS:
        return (text,)
    if len(text) == 1:
        if alphabet := _alphabet(text):
            letter = alphabet + unicodedata.normalize("NFKC", text)
            return (table.SYNONYMS.get(letter, letter),)
        if text.isascii() and not text.isalnum():
            return (text,)
        if text >= _MATHEMATICAL:
            text = unicodedata.normalize("NFKC", text)
            if text in SYMBOLS:
                return (SYMBOLS[text],)
    elif name != "mn":
        word = normalize("NFKC", text).replace(" ", "")
        if word.isalpha():
            return (cut(table.SYNONYMS.get(word, word)),)
    return tuple(latex.read(text)[0])


def cut(symbol: str) -> str:
    """Return what of a symbol fits into a term: MAX_TOKEN bytes."""
    return symbol.encode()[: latex.MAX_TOKEN].decode(errors="ignore")


def _alphabet(character: str) -> str:
    name = unicodedata.name(character, "")
    if "DOUBLE-STRUCK" in name:
        return "bb"
    if name.startswith(("MATHEMATICAL SCRIPT", "MATHEMATICAL BOLD SCRIPT", "SCRIPT")):
        return "cal"
    return "frak" if "FRAKTUR" in name or name.startswith("BLACK-LETTER") else ""
