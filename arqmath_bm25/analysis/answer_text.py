r"""Task 3 answers: plain text of at most 1,200 characters with `$…$` and `$$…$$` mathematics.

The form is that of the ARQMath-3 guidelines. `\$` is a dollar sign. The lab warns of an odd number
of other dollars; any dollar that belongs to no formula counts here, which takes in every odd one.
Dollars inside LaTeX (`\text{if $x$}`) would end the formula for the lab's scripts, which pair
dollars as they come; they are written `\(x\)`, which TeX and MathJax read alike.

A newline ends a paragraph, until `one_line` makes the text fit into a run file.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from arqmath_bm25.analysis.html import Formula, read_body

MAX_ANSWER: Final = 1200  # Unicode characters

_PIECE: Final = re.compile(
    r"\$\$(?:\\.|\$[^$\\]*\$|[^$\\])+?\$\$"  # `$$…$$`, in which `\text{$…$}` may stand
    r"|\$(?:\\.|[^$\\])+\$"
    r"|\\.|.",
    re.DOTALL,
)

# What LaTeXML left in the collection's formulas: error marks, and tables whose cells are formulas.
_ERROR_MARK: Final = re.compile(r"\\qvar@construct\{[^{}]*\}|\\par\b")
_STRAY_ENTITY: Final = re.compile(r"(^|&)(\$?(?:\\displaystyle\s*)?)amp;")
_CELLS: Final = re.compile(r"\\@@eqnarray(.*)", re.DOTALL)
_INNER_MATH: Final = re.compile(r"((?:\\.|[^$\\])*)\$((?:\\.|[^$\\])*)\$", re.DOTALL)
_DOLLAR: Final = re.compile(r"(\\.)|\$", re.DOTALL)
_DISPLAYED: Final = re.compile(r"\\begin\{(?:align|alignat|eqnarray|equation|gather|multline)\*?\}")

_LIST_TAG: Final = re.compile(r"<(/?)(ol|ul|li)(?:\s+start=\"(\d{1,4})\")?>", re.IGNORECASE)

_STOPS: Final = (".", "!", "?")
_STOP: Final = re.compile(r"\n+|[.!?]+[\"')\]”’]*(?=[^\S\n]+[^\sa-z])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:[a-z]\.)*[a-z]|\b(?:cf|eq|eqn|fig|prop|resp|thm|vs)|(?:^|\n)\d+)\Z", re.IGNORECASE
)


def answer_text(body: str) -> str:
    r"""Return the HTML body of a post as a text with a line for each paragraph.

    Items of lists begin with `-` or their number. Links, quotes and code leave their text, images
    nothing. A formula that is a paragraph of its own is displayed, every other one is inline.
    """
    lines: list[list[str | Formula]] = [[]]
    for piece in read_body(_with_item_marks(body)).pieces:
        if isinstance(piece, Formula):
            lines[-1].append(piece)
        else:
            first, *others = piece.split("\n")
            lines[-1].append(first)
            lines.extend([other] for other in others)
    return "\n".join(filter(None, map(_line, lines)))


def _with_item_marks(body: str) -> str:
    """Put a hyphen or the number before every list item."""
    numbers: list[int | None] = []  # of the lists that are open: the next number, None in <ul>

    def mark(tag: re.Match[str]) -> str:
        closing, name, start = tag.groups()
        if name.lower() == "li":
            if closing or not numbers:
                return tag[0]
            number = numbers[-1]
            if number is None:
                return f"{tag[0]}- "
            numbers[-1] = number + 1
            return f"{tag[0]}{number}. "
        if not closing:
            numbers.append(int(start or 1) if name.lower() == "ol" else None)
        elif numbers:
            numbers.pop()
        return tag[0]

    return _LIST_TAG.sub(mark, body)


def _line(pieces: list[str | Formula]) -> str:
    """Write one paragraph; a blank where a dollar would touch a backslash or another dollar."""
    words = "".join(piece for piece in pieces if isinstance(piece, str))
    alone = sum(isinstance(piece, Formula) for piece in pieces) == 1 and not re.search(r"\w", words)
    line = ""
    for piece in pieces:
        if isinstance(piece, str):
            part = re.sub(r"(\\?)\$", lambda m: r"\ \$" if m[1] else r"\$", piece)
        else:
            part = _delimited(piece.latex, alone)
        if part.startswith("$") and line.endswith(("$", "\\")):
            line += " "
        line += part
    return " ".join(line.split())


def _delimited(latex: str, display: bool) -> str:
    """Put dollars around LaTeX, and none inside; nothing around nothing."""
    latex = _STRAY_ENTITY.sub(r"\1\2", _ERROR_MARK.sub("", latex))
    latex = _CELLS.sub(_as_table, latex)
    latex = _INNER_MATH.sub(r"\1\\(\2\\)", latex)
    latex = _DOLLAR.sub(lambda found: found[1] or r"\$", latex).strip()
    if not latex:
        return ""
    if latex.endswith("\\"):
        latex += " "  # lest it escape the dollar
    mark = "$$" if display or _DISPLAYED.match(latex) else "$"
    return f"{mark}{latex}{mark}"


def _as_table(found: re.Match[str]) -> str:
    cells = _DOLLAR.sub(lambda dollar: dollar[1] or "", found[1])
    return rf"\begin{{array}}{{rcl}}{cells}\end{{array}}"


def one_line(text: str) -> str:
    """Return a text with single blanks for all white space, as a column of a run file holds it."""
    return " ".join(text.split())


def unpaired_dollars(text: str) -> list[int]:
    """Return the positions of the dollars that neither begin nor end a formula."""
    return [piece.start() for piece in _PIECE.finditer(text) if piece[0] == "$"]


def sentences(text: str) -> list[str]:
    """Cut a text after its sentences and paragraphs; the parts put together are the text."""
    hidden = _PIECE.sub(_hide, text)
    parts: list[str] = []
    done = 0
    for stop in _STOP.finditer(hidden):
        if stop[0] != "." or not _ABBREVIATION.search(hidden, done, stop.start()):
            parts.append(text[done : stop.end()])
            done = stop.end()
    return [*parts, text[done:]] if done < len(text) else parts


def _hide(piece: re.Match[str]) -> str:
    """Return letters in the place of a formula, but for a full stop at its end."""
    if len(piece[0]) == 1:
        return piece[0]
    last = piece[0].rstrip("$ ")[-1:]
    return "X" * (len(piece[0]) - 1) + (last if last in _STOPS else "X")


def shorten(text: str, limit: int = MAX_ANSWER) -> str:
    r"""Cut a text to `limit` characters, with every dollar outside a formula written as `\$`.

    The cut is at the end of a sentence if that keeps half of what the limit allows, else of a word
    or formula; only a word that is longer than the limit is cut itself.
    """
    pieces = [r"\$" if piece[0] == "$" else piece[0] for piece in _PIECE.finditer(text)]
    whole = "".join(pieces)
    if len(whole) <= limit:
        return whole
    end = 0
    for sentence in sentences(whole):
        if end + len(sentence.rstrip()) > limit:
            break
        end += len(sentence)
    if end < limit / 2:
        end = _last_word(pieces, limit)
    return whole[:end].rstrip()


def _last_word(pieces: list[str], limit: int) -> int:
    """Return where the last word or formula within `limit` ends, else the last character."""
    end = word = anywhere = 0
    for piece, following in pairwise([*pieces, " "]):
        end += len(piece)
        if end > limit:
            break
        anywhere = end
        if following.isspace() or following.startswith("$") or len(piece) > 2:
            word = end
    return word or anywhere
