"""Excerpts of a text: cut between words and formulas, never inside a formula."""

from collections.abc import Sequence

from arqmath_bm25.analysis.html import Content, Delimiters, Formula, read_body

_MARKUP = 12  # the largest ratio of a body to its text in characters; it is usually 2


def length_of(pieces: Sequence[str | Formula]) -> int:
    """Return the number of characters of some pieces; a formula has the characters of its LaTeX."""
    return len(Content(tuple(pieces)).marked(""))


def excerpt(content: Content, length: int) -> Content:
    """Cut content after about `length` characters, between words or formulas."""
    kept: list[str | Formula] = []
    left = length
    for piece in content.pieces:
        size = length_of([piece])
        is_formula = isinstance(piece, Formula)
        if size <= left or (is_formula and not kept):
            kept.append(piece)
        elif isinstance(piece, str):
            words, _, _ = piece[:left].rpartition(" ")
            kept.append(words)

        left -= size
        if left < 0:
            return Content((*kept, " …"))

    return content


def beginning(html: str, length: int, delimiters: Delimiters = "mathjax") -> Content:
    """Return about the first `length` characters of a body, without reading all of it."""
    content = read_body(html[: _MARKUP * length], delimiters)
    return excerpt(content, length)
