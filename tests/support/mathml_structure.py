r"""What a formula says, whoever wrote its MathML: rows, scripts, fractions, roots, tables, letters.

MathJax and our pages choose different elements for the same drawing: `mrow` or none, `mathvariant`
or Unicode letters, one minus sign or another. Two formulas are equal here if a reader sees the same
symbols in the same places. Spaces, colours, sizes, frames and strokes are left out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable

_INVISIBLE: Final = {"mspace", "mphantom", "none", "mprescripts", "annotation", "maligngroup"}
_ALPHABETS: Final = {
    "DOUBLE-STRUCK": "bb",
    "SCRIPT": "cal",
    "FRAKTUR": "frak",
    "BLACK-LETTER": "frak",
}
_SAME: Final = {
    ord(character): same
    for line in """
        - −‐–
        * ∗⁎
        | ∣❘
        || ∥‖
        < ⟨〈
        > ⟩〉
        : ∶
        . ·⋅‧
        ... …
        .... ⋯
        \\ ∖⧵
        ' ′’‘
        '' ″"”
        \'\'\' ‴
        := ≔
        ~ ˜∼\u0303
        ^ ˆ\u0302
        _ ¯‾―\u0332\u0305\u0304
        / ∕⁄
        Δ ∆△
        ∇ ▽
        ⟂ ⊥
        ■ ◼
        □ ◻
        `` “
        ` ˋ
        o ˚∘
        → ⃗⇀
        φ ϕ
        ε ϵ
        θ ϑ
    """.strip().splitlines()
    for same, characters in [line.split()]
    for character in characters
} | dict.fromkeys(map(ord, "\u200b\u2060\u2061\u2062\u2063\u2064\ufe00\ufe01"), "")


def structure(mathml: str) -> str:
    """Return the canonical form of a `<math>` element."""
    root = etree.fromstring(re.sub(r' xmlns="[^"]*"', "", mathml))
    return re.sub(" +", " ", _row(root)).strip()


def _row(elements: Iterable[etree._Element]) -> str:
    return " ".join(filter(None, map(_written, elements)))


def _written(element: etree._Element) -> str:
    tag = element.tag
    if tag in _INVISIBLE:
        return ""
    if tag in ("mi", "mn", "mo", "ms", "mtext"):
        return _characters("".join(element.itertext()), element.get("mathvariant", ""))
    if tag == "mfrac":
        name = "atop" if element.get("linethickness", "").startswith("0") else "frac"
        return f"{name}({_parts(element)})"
    if tag == "msqrt":
        return f"root({_row(element)})"
    if tag in ("mroot", "mmultiscripts"):
        return f"{tag[1:]}({_parts(element)})"
    if tag in ("msub", "msup", "msubsup", "munder", "mover", "munderover"):
        return _scripts(element)
    if tag == "mtable":
        return f"table({_table(element)})"
    return _row(element)


def _characters(text: str, variant: str) -> str:
    letters = []
    for character in text:
        name = unicodedata.name(character, "")
        alphabet = next((_ALPHABETS[word] for word in _ALPHABETS if word in name), "")
        alphabet = alphabet or next(
            (_ALPHABETS[word] for word in _ALPHABETS if word in variant.upper()), ""
        )
        if not character.isalnum():
            alphabet = ""
        plain = (
            unicodedata.normalize("NFKC", character)
            if alphabet or "MATHEMATICAL" in name
            else character
        )
        plain = plain.translate(_SAME)
        letters += [f"{alphabet}.{plain}" if alphabet else plain]
    # A stroke through a sign is a character of its own, or one with it.
    parts = unicodedata.normalize("NFD", "".join(letters)).translate(_SAME)
    return " ".join(re.findall(r"(?:bb|cal|frak)\.\S|\S", parts))


def _parts(element: etree._Element) -> str:
    return "|".join(_written(child) for child in element)


def _scripts(element: etree._Element) -> str:
    base, *scripts = (_written(child) for child in element)
    tag = element.tag
    if tag == "msup" and scripts[0] and not scripts[0].replace("'", "").strip():
        return f"{base} {scripts[0]}"  # a prime stands beside or above
    low = {"msub": "sub", "msubsup": "sub", "munder": "under", "munderover": "under"}.get(tag)
    high = {"msup": "sup", "msubsup": "sup", "mover": "over", "munderover": "over"}.get(tag)
    named = list(zip(filter(None, (low, high)), scripts, strict=True))
    if not any(scripts):
        return base
    return "".join(("{", base, *(f" {name} {{{script}}}" for name, script in named if script), "}"))


def _table(element: etree._Element) -> str:
    rows = []
    for row in element:
        cells = [cell for cell in row if cell.get("class") not in ("label", "side")]
        label = [cell for cell in row if cell.get("class") == "label"]
        if row.tag == "mlabeledtr":
            label, cells = cells[:1], cells[1:]
        written = [_row(cell) for cell in cells]
        while written and not written[-1]:
            written.pop()
        rows.append(" & ".join(written) + "".join(f" tag({_row(cell)})" for cell in label))
    while rows and not rows[-1]:
        rows.pop()
    return " \\\\ ".join(rows)
