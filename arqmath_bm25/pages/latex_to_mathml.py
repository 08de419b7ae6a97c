r"""LaTeX → MathML, which browsers draw by themselves; the LaTeX itself where that fails.

latex2mathml makes the tree. It is written out here and not by the library, which unescapes what it
has written, so that `\text{<script>…}` would be a script. Only elements and attributes of MathML
Core are kept; `\href`, `\style` and `\class` lose their arguments.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from html import unescape
from typing import TYPE_CHECKING, Final

from latex2mathml.converter import convert_to_element

from arqmath_bm25.analysis.safe_html import plain

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CACHED: Final = 1 << 14  # formulas; half of all are repeats
_MAX_LATEX: Final = 5_000  # characters that are rendered
# Macros can be made to grow without end, and posts hardly define any.
_DEFINITIONS: Final = re.compile(r"\\(?:[egx]?def|(?:re)?newcommand|newenvironment|let)\b")
_NUMBERED: Final = re.compile(r"(\\(?:begin|end)\{(?:align|equation|gather|multline|alignat))\}")

_ELEMENTS: Final = frozenset(
    "menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace "
    "msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none".split()
)
_ATTRIBUTES: Final = {
    name: re.compile(pattern)
    for names, pattern in {
        "accent accentunder displaystyle fence": "true|false",
        "largeop movablelimits separator stretchy symmetric": "true|false",
        "columnalign": "(?:(?:left|center|right) ?)+",
        "form": "prefix|infix|postfix",
        "linethickness": "0(?:px|em|pt)?",
        "lspace rspace width": r"-?[0-9]{0,2}(?:\.[0-9]{1,4})?(?:em|ex|pt|px)",
        # The library gives \binom brackets of 2.047em; without, they are as high as they need to.
        "mathsize minsize maxsize": r"(?!2\.047)[0-3](?:\.[0-9]{1,4})?em",
        "notation": "[a-z]+(?: [a-z]+)*",
        "scriptlevel": "[0-3]",
    }.items()
    for name in names.split()
}
# Posts of the lab have `&amp;` between the columns of tables: it was escaped once too often.
_AMPERSAND: Final = re.compile(r"&(?:\\displaystyle\s*)?amp;")
_PLACES: Final = {"msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
# mathvariant has left MathML; Unicode has the letters. What is not in this table stays as it is.
_ALPHABETS: Final = {
    "bold": "BOLD", "double-struck": "DOUBLE-STRUCK", "fraktur": "FRAKTUR", "script": "SCRIPT",
    "bold-fraktur": "BOLD FRAKTUR", "bold-italic": "BOLD ITALIC", "bold-script": "BOLD SCRIPT",
    "monospace": "MONOSPACE", "sans-serif": "SANS-SERIF",
}  # fmt: skip
_UPRIGHT: Final = re.compile(r"&#x000[46][1-9A-F];|&#x000[57][0-9A];")  # so it writes \mathrm{d}
_NAME: Final = re.compile("[A-Za-z]{2,}")
_IDENTIFIERS: Final = frozenset("∞∅∠")
_DIGITS: Final = "ZERO ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE".split()


@lru_cache(maxsize=_CACHED)
def render(latex: str, display: bool = False) -> str:
    """Return a formula as a `<math>` element, or as `<code>` where it cannot be read.

    Nothing raises, and nothing in the LaTeX can become an element or attribute of its own.
    """
    if not latex.strip() or len(latex) > _MAX_LATEX or _DEFINITIONS.search(latex):
        return _as_code(latex)
    try:
        readable = _AMPERSAND.sub("&", _NUMBERED.sub(r"\1*}", latex))
        root = convert_to_element(readable, display="block" if display else "inline")
        children = "".join(map(_write, root))
    except Exception:  # of many kinds, whatever its parser trips over in broken LaTeX
        return _as_code(latex)
    style = ' display="block"' if display else ""
    return f'<math{style} title="{plain(latex)}">{children}</math>'


def _as_code(latex: str) -> str:
    return f'<code class="latex">{plain(latex)}</code>'


def _write(element: Element) -> str:
    parts = list(map(_write, element))
    if len(parts) > (places := _PLACES.get(element.tag, len(parts))):
        base = len(parts) - places + 1  # `\binom nk^2` has its base in several parts
        parts[:base] = [f"<mrow>{''.join(parts[:base])}</mrow>"]
    children = "".join(parts)
    text = unescape(element.text or "")  # the library writes symbols as entities
    if element.tag not in _ELEMENTS:
        return plain(text) + children
    variant = element.get("mathvariant", "")
    if variant in _ALPHABETS:
        text = "".join(_letter(c, _ALPHABETS[variant]) for c in text)
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in _ATTRIBUTES and _ATTRIBUTES[name].fullmatch(value)
    )
    tag = element.tag
    if tag == "mi" and _NAME.fullmatch(text):
        tag, attributes = "mo", f'{attributes} lspace="0.17em" rspace="0.17em"'  # ln x, not lnx
    elif tag == "mo" and text in _IDENTIFIERS:
        tag = "mi"  # else browsers put the space of an operator around it
    if variant == "normal" or (element.tag == "mi" and _UPRIGHT.fullmatch(element.text or "")):
        attributes += ' mathvariant="normal"'  # the one value that browsers still heed
    return f"<{tag}{attributes}>{plain(text)}{children}</{tag}>"


@cache
def _letter(character: str, alphabet: str) -> str:
    if not character.isascii() or not character.isalnum():
        return character
    if character.isdigit():
        names = [f"MATHEMATICAL {alphabet} DIGIT {_DIGITS[int(character)]}"]
    else:
        case = "CAPITAL" if character.isupper() else "SMALL"
        # Letters that Unicode had before it had alphabets keep their old names: ℝ, ℬ, ℭ.
        older = alphabet.replace("FRAKTUR", "BLACK-LETTER")
        names = [
            f"{start}{name} {case} {character.upper()}"
            for start, name in (("MATHEMATICAL ", alphabet), ("", older))
        ]
    for name in names:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return character
