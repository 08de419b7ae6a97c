r"""Task 3 answers: plain text of at most 1,200 characters with `$…$` and `$$…$$` mathematics.

The form is that of the ARQMath-3 guidelines. `\$` is a dollar sign. The lab warns of an odd number
of other dollars; any dollar that belongs to no formula counts here, which takes in every odd one.
Dollars inside LaTeX (`\text{if $x$}`) would end the formula for the lab's scripts, which pair
consecutive dollars; they are written `\(x\)`, which means the same to TeX and MathJax.

A newline ends a paragraph, until `one_line` makes the text fit into a run file.
"""

import re
from itertools import pairwise

from arqmath_bm25.analysis.html import BLOCK, Formula, read_body
from arqmath_bm25.core.labs import MAX_ANSWER
from arqmath_bm25.core.lazy import expression

_PIECE = expression(
    r"\$\$(?:\\.|\$[^$\\]*\$|[^$\\])+?\$\$"  # `$$…$$`, in which `\text{$…$}` may stand
    r"|\$(?:\\.|[^$\\])+\$"
    r"|\\.|.",
    re.DOTALL,
)

# LaTeXML left error marks in the collection's formulas, and tables whose cells are formulas.
_ERROR_MARK = expression(r"\\qvar@construct\{[^{}]*\}|\\par\b")
_STRAY_ENTITY = expression(r"(^|&)(\$?(?:\\displaystyle\s*)?)amp;")

_DOLLAR = expression(r"(\\.)|\$", re.DOTALL)
_DISPLAYED = expression(r"\\begin\{(?:align|alignat|eqnarray|equation|gather|multline)\*?\}")

_LIST_TAG = expression(r"<(/?)(ol|ul|li)(?:\s+start=\"(\d{1,4})\")?>(?:\s*<p>)?", re.IGNORECASE)

_STOPS = (".", "!", "?")
# A line that begins with a small letter or a displayed formula is no new paragraph.
_STOP = expression(r"\n+(?![a-z])|(?<![.!?])[.!?]++[\"')\]”’]*+(?=[^\S\n]++[^\sa-z])")
_ABBREVIATION = expression(
    r"(?:\b(?:[a-z]\.)*[a-z]|\b(?:cf|eq|eqn|fig|prop|resp|thm|vs)|\A\d+)\Z", re.IGNORECASE
)
_LONGEST_ABBREVIATION = 20  # characters, with room to spare


def answer_text(body: str) -> str:
    r"""Convert the HTML body of a post to text with a line for each paragraph.

    Items of lists begin with `-` or their number. Links, quotes and code become their text, images
    are dropped. A formula that fills a paragraph is displayed, every other one is inline.
    """
    content = read_body(_with_item_marks(body))
    return "\n".join(filter(None, map(_line, content.split(BLOCK))))


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
    prose = [piece for piece in pieces if isinstance(piece, str)]
    has_words = re.search(r"\w", "".join(prose)) is not None
    display = len(pieces) - len(prose) == 1 and not has_words

    line = ""
    for piece in pieces:
        if isinstance(piece, str):
            part = piece.replace("$", r"\$").replace(r"\\$", r"\ \$")
        else:
            part = _delimited(piece.latex, display)

        if part.startswith(("$", r"\$")) and line.endswith(("$", "\\")):
            line += " "
        line += part

    return " ".join(line.split())


def _delimited(latex: str, display: bool) -> str:
    """Put dollars around LaTeX, and other delimiters inside; empty LaTeX stays empty."""
    latex = _ERROR_MARK.sub("", latex)
    latex = _STRAY_ENTITY.sub(r"\1\2", latex)
    latex, is_table, cells = latex.partition(r"\@@eqnarray")
    if is_table:
        cells = _DOLLAR.sub(r"\1", cells)
        latex += rf"\begin{{array}}{{rcl}}{cells}\end{{array}}"

    pairs = _DOLLAR.findall(latex).count("") // 2
    marks = iter([r"\(", r"\)"] * pairs + [r"\$"])
    latex = _DOLLAR.sub(lambda dollar: dollar[1] or next(marks), latex).strip()
    if not latex:
        return ""
    # A backslash at the end would escape the dollar.
    if latex.endswith("\\"):
        latex += " "
    if display or _DISPLAYED.match(latex):
        return f"$${latex}$$"
    return f"${latex}$"


def one_line(text: str) -> str:
    """Return a text with single blanks for all white space, as in a column of a run file."""
    return " ".join(text.split())


def unpaired_dollars(text: str) -> list[int]:
    """Return the positions of the dollars that neither begin nor end a formula."""
    return [piece.start() for piece in _PIECE.finditer(text) if piece[0] == "$"]


def sentences(text: str) -> list[str]:
    """Cut a text after its sentences and paragraphs; the parts put together are the text."""
    hidden = _PIECE.sub(_hide, text)
    parts = []
    done = 0
    for stop in _STOP.finditer(hidden):
        before = hidden[max(done, stop.start() - _LONGEST_ABBREVIATION) : stop.start()]
        if stop[0] != "." or not _ABBREVIATION.search(before):
            parts.append(text[done : stop.end()])
            done = stop.end()

    if done < len(text):
        parts.append(text[done:])
    return parts


def _hide(piece: re.Match[str]) -> str:
    """Replace a formula by letters, lower case if displayed; a final full stop stays.

    So formulas are parts of sentences, and a full stop within a formula ends no sentence.
    """
    if len(piece[0]) == 1:
        return piece[0]

    letter = "X"
    if piece[0].startswith("$$"):
        letter = "x"
    last = piece[0].rstrip("$ ")[-1:]
    if last not in _STOPS:
        last = letter
    return letter * (len(piece[0]) - 1) + last


def shorten(text: str, limit: int = MAX_ANSWER) -> str:
    r"""Cut a text to `limit` characters, with every dollar outside a formula written as `\$`.

    The cut is at the end of a sentence if that keeps half of what the limit allows, else of a
    formula on the same condition, else of a word; only a word longer than the limit is cut itself.
    """
    pieces = []
    for piece in _PIECE.finditer(text):
        if piece[0] == "$":
            pieces.append(r"\$")
        else:
            pieces.append(piece[0])

    whole = "".join(pieces)
    if len(whole) <= limit:
        return whole
    end = 0
    for sentence in sentences(whole):
        if end + len(sentence.rstrip()) > limit:
            break
        end += len(sentence)
    if end >= limit / 2:
        return whole[:end].rstrip()

    done = formula = word = anywhere = 0
    for part, following in pairwise([*pieces, " "]):
        done += len(part)
        if done > limit:
            break
        anywhere = done
        if len(part) > 2:
            formula = word = done
        elif following.isspace() or following.startswith("$"):
            word = done
    end = word or anywhere
    if formula >= limit / 2:
        end = formula
    return whole[:end].rstrip()
