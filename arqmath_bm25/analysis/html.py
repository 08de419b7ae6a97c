r"""A title or body → prose and formulas, in reading order.

The lab's posts, the archive dump and the topics mark mathematics in different ways; one set of
rules reads them all:

1. `<span class="math-container" id="7">X</span>` is a formula. X is between `$` or `$$` (topics,
   archive dump) or bare (the lab's posts). Spans are cut out *before* the HTML is parsed,
   because some posts and the 2021/22 topics hold bare `<` in them, and `< span="">` where such a
   `<` once swallowed the closing tag. Entities in X are unescaped once. Nested spans are one
   formula.
2. A bare span of one small letter between small letters (`con<span…>t</span>radictory`) is a known
   defect of the lab's files, not a formula: the letter returns to its word. A letter on one side
   proves nothing: `<span…>n</span>th`, `sup<span…>E</span>`, `on<span…>m</span>` are formulas.
3. In the rest of the text, formulas without id are those that MathJax finds on the sites' pages:
   `$X$`, `$$X$$`, `\[X\]`, `\\(X\\)` and environments of mathematics; also `\(X\)`, which LaTeX and
   language models write. A formula ends at the first end delimiter outside braces, or if all are
   within braces, at the first. It crosses no tag, no block and no other formula, but formulas
   inside an environment belong to it, written as `$X$`. A delimiter without a partner is text, as
   is everything in `<code>` and `<pre>`; `\$` is a dollar sign.
   A site may have other delimiters (`Delimiters`): `escaped` is `\$X\$` in place of `$X$`, as on
   electronics.stackexchange.com, where `$` is a dollar sign; `spans` reads rule 1 alone; `none`
   finds no mathematics, and spans are text; `latex` and `markdown` are sources (`sources`), whose
   text is read by `read_title`. `auto` detects the kind of each text; under `auto_latex` one that
   could be LaTeX is.
4. A `<` that begins no HTML tag is text (`a<b` in posts that the lab unescaped once too often).

Bodies are then read as a browser reads them (HTML5, by lexbor): block elements separate words,
inline elements do not. Titles are plain text with math. Nearly all bodies are plain: they have only
the markup of the site's editor, and removing the tags gives the text of the parser in less time.
"""

import re
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from typing import Any, Final, Literal, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.dollars import is_money
from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.formal import FORMAL, formal_words
from arqmath_bm25.analysis.kinds import Kind, is_foreign, kind_of
from arqmath_bm25.analysis.latex_html import MATH_ENVIRONMENT, latex_html, latex_line
from arqmath_bm25.analysis.macros import expanded_formulas
from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.analysis.sources import (
    BLOCK_END,
    CODE_BACKSLASH,
    CODE_DOLLAR,
    SourceName,
    hide_math,
)
from arqmath_bm25.core.lazy import expression

ChosenDelimiters = Literal["mathjax", "escaped", "spans", "none", "latex", "markdown", "auto"]
Delimiters = ChosenDelimiters | Literal["auto_latex"]  # what most texts are decides the last
OWN_KIND: Final = ("auto", "auto_latex")  # each text is read by its own kind


class Formula(NamedTuple):
    """A formula as its author wrote it, without delimiters."""

    latex: str
    formula_id: str | None  # the span's id: a formula instance (posts) or q_N (topics)
    is_display: bool = False  # on a line of its own: between $$ or \[ and \], or an environment


class Content(NamedTuple):
    """Prose and formulas in reading order; in prose, blanks are single, a newline ends a block."""

    pieces: tuple[str | Formula, ...]

    @property
    def prose(self) -> str:
        """The words with formulas and block ends replaced by one blank."""
        words = " ".join(piece for piece in self.pieces if isinstance(piece, str))
        return " ".join(words.split())

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas in reading order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Formula))

    @property
    def text(self) -> str:
        """Everything on one line, with dollars around the formulas."""
        return " ".join(self.marked().split())

    def marked(self, mark: str = "$") -> str:
        """Return the text unchanged, with a mark on both sides of each formula."""
        return self.written(partial(_between, mark), str)

    def written(self, formula: Callable[[Formula], str], prose: Callable[[str], str]) -> str:
        """Return everything as one text, each piece by the writer of its kind."""
        written = []
        for piece in self.pieces:
            if isinstance(piece, Formula):
                written.append(formula(piece))
            else:
                written.append(prose(piece))
        return "".join(written)

    def split(self, ends: re.Pattern[str]) -> list[list[str | Formula]]:
        """Return the pieces of each part, of which one ends where the pattern occurs in prose."""
        parts: list[list[str | Formula]] = [[]]
        for piece in self.pieces:
            if isinstance(piece, Formula):
                parts[-1].append(piece)
                continue
            first, *others = ends.split(piece)
            parts[-1].append(first)
            for other in others:
                parts.append([other])
        return parts


def _between(mark: str, formula: Formula) -> str:  # mypyc compiles no lambda in such a class
    return f"{mark}{formula.latex}{mark}"


# Private-use characters pass the HTML parser unchanged. They are first removed from the input,
# and so are surrogates, which no parser accepts.
_MARK = "\ue000"  # before and after the number of a formula
_TAG_END = "\ue002"  # an inline tag, which ends a formula but no word
_PRIVATE = expression(r"[\ue000-\uf8ff]")
_SURROGATE = expression(r"[\ud800-\udfff]")
_NUMERIC_ENTITY = expression(r"&#(?:x0*+([0-9a-f]++)|0*+([0-9]++));?", re.IGNORECASE)

# A formula of another program: MathML, a script of MathJax 2, a picture of Wikipedia, or code.
_OF_OTHER_PROGRAMS = expression(
    r"</(?:[a-z]{1,9}:)?math\s*+>|<script\s[^<>]*\bmath/tex|<img\s[^<>]*\bmwe-math"
    r'|<code class="latex">',
    re.IGNORECASE,
)
_SPAN = expression(r'<span\s+class="math-container"(?:\s+id="([^"<>]*)")?\s*>(?:([^<]*+)</span>)?')
_LEADING_DOLLARS = expression(r"^\${1,2}")
_TRAILING_DOLLARS = expression(r"(?<!\\)(?:\\\\)*(\${1,2})$")
_SPAN_END = expression(r'</span>|< span="">')
_EDGE = expression(rf"(?P<open><span\b[^<>]*>)|(?P<close>{_SPAN_END.pattern})")

_BLOCK = (
    "p|div|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|table|thead|tbody|tr|td|th|details|summary"
)
_INLINE = "a|abbr|b|cite|code|del|em|i|img|ins|kbd|q|s|small|span|strike|strong|sub|sup|tt|u|var"
_SILENT = "script|style"  # elements whose text is not prose
# No tag has so many attributes; without a limit, time would not be linear.
_ATTRIBUTES = r"""(?>(?:\s++[\w:-]++=(?:"[^"]*+"|'[^']*+')){0,32})"""
_TAG_OR_LESS = expression(
    rf"<(?:(?P<name>{_BLOCK}|{_INLINE}|{_SILENT}){_ATTRIBUTES}\s*+/?>"
    r"|/(?P<end>[a-z][^\s<>/]*+)[^>]*+(?:>|\Z)|!--)?",
    re.IGNORECASE,
)
_BLOCK_TAG = expression(rf"<(?=/?(?:{_BLOCK})\b)", re.IGNORECASE)
_INLINE_TAG = expression(rf"<(?=/?(?:{_INLINE})\b)", re.IGNORECASE)
_CODE_EDGE = expression(r"(<(?:code|pre)\b|</(?:code|pre)>)", re.IGNORECASE)
_HAS_SILENT = expression(rf"<(?:{_SILENT})\b", re.IGNORECASE)
# These elements have no end tag, or end where the next one of their kind begins.
_NOT_NESTED = frozenset("br hr img p li dt dd tr td th thead tbody".split())
_MAX_DEPTH: Final = 100  # Parsers take quadratic time for nested elements.

# The markup of a plain body. Tables are not plain, since a parser moves text out of them.
_PLAIN_BLOCK = expression(
    rf"</?(?:p|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|div){_ATTRIBUTES}\s*+/?>"
)
_PLAIN_INLINE = expression(rf"</?(?:{_INLINE}){_ATTRIBUTES}\s*+/?>")
_OTHER_ENTITY = expression("&(?!(?:lt|gt|amp|quot|nbsp);)")

_MARKED = expression(rf"{_MARK}(?P<mark>[0-9]{{1,9}}){_MARK}")
_MAY_BE_MATH = expression(rf"[$\\{_TAG_END}{CODE_DOLLAR}{CODE_BACKSLASH}]")
_NO_DOLLAR = r"(?<!\\)(?>(?:\\\\)*)\\\$"  # an odd number of backslashes: no delimiter


def _starts(dollars: str) -> re.Pattern[str]:
    return expression(
        rf"{_MARKED.pattern}|(?P<delimiter>\\\\\(|\\\(|\\\[|{dollars})|{MATH_ENVIRONMENT}|{_NO_DOLLAR}"
    )


_START: Final = _starts(r"\$\$?")
_SPANS: Final = expression(rf"{_MARKED.pattern}(?P<delimiter>)(?P<name>)")
_OTHER_STARTS: Final[dict[Delimiters, re.Pattern[str]]] = {
    "escaped": _starts(r"\\\$|\$\$"),
    "spans": _SPANS,
    "none": _SPANS,
}
_DISPLAYS: Final = ("$$", r"\[", r"\begin{")
_END_OF = {
    "$": "$",
    r"\$": r"\$",
    "$$": "$$",
    r"\[": r"\]",
    r"\(": r"\)",
    r"\\(": r"\\)",
}
_TOKEN = expression(
    rf"\\end\{{([A-Za-z]+\*?)\}}|\\\\\)|\\[^\n{_MARK}{_TAG_END}]|[${{}}\n{_MARK}{_TAG_END}]"
)
# What stands between two dollars, where its braces are in pairs.
_ATOM = rf"(?:[^$\\{{}}\n{_MARK}{_TAG_END}]++|\\[^\n{_MARK}{_TAG_END}])"
_IN_BRACES = rf"\{{(?>(?:{_ATOM}|\{{(?>{_ATOM}*)\}})*)\}}"
_UP_TO_DOLLAR: Final = expression(rf"(?<=\$)(?>(?:{_ATOM}|{_IN_BRACES})*)(?=\$)")
_PARAGRAPH: Final = expression(r"\n\s*\n")
BLOCK: Final = expression("\n")  # the end of a block in prose
_ENDS_TRIED: Final = 100  # end delimiters for each start, so that time is linear
_BLANKS = expression(f" ?(?:{_TAG_END} ?)+")


def read_body(html: str, delimiters: Delimiters = "mathjax") -> Content:
    """Read an HTML body. Any string is read; nothing raises."""
    if delimiters in OWN_KIND and is_foreign(html):
        html = as_post(html).body
    return _read_post(html, delimiters)


def _read_post(html: str, delimiters: Delimiters) -> Content:
    text, formulas = cut_spans(html)
    if "$" in text or "\\" in text:
        text = _hide_code(text)

    if "$" in text or "\\" in text:
        text = _INLINE_TAG.sub(_TAG_END + "<", escape_bare_less(text))
    else:
        blocks = _PLAIN_BLOCK.sub(BLOCK_END, text)
        plain = _PLAIN_INLINE.sub("", blocks)
        if "<" not in plain and not _OTHER_ENTITY.search(plain):
            return _split(unescape(plain), formulas, delimiters)
        text = escape_bare_less(text)

    tree = LexborHTMLParser(_BLOCK_TAG.sub(BLOCK_END + "<", text))
    if tree.body is None:
        return _split("", formulas, delimiters)
    if _HAS_SILENT.search(text):
        tree.strip_tags(_SILENT.split("|"))
    return _split(tree.body.text(), formulas, delimiters)


def _hide_code(html: str) -> str:
    """Replace characters in `<code>…</code>` and `<pre>…</pre>` that could begin mathematics."""
    parts = _CODE_EDGE.split(html)  # Text and edges alternate.
    last_edges = {edge.lower(): position for position, edge in enumerate(parts) if position % 2}
    closing = ""  # the edge that ends the open code

    for position, part in enumerate(parts):
        if closing:
            parts[position] = hide_math(part)
            if part.lower() == closing:
                closing = ""
        elif position % 2:
            end = f"</{part[1:].lower()}>"
            if last_edges.get(end, 0) > position:
                closing = end

    return "".join(parts)


def read_title(title: str, delimiters: Delimiters = "mathjax") -> Content:
    """Read a title: plain text that may hold math spans or dollars, or a line of a source."""
    if delimiters in OWN_KIND:
        return read_text(title, delimiters=delimiters)
    if delimiters == "latex" or delimiters == "markdown":
        if "\n" in title:
            return read_text(title, delimiters)
        if delimiters == "latex":
            return read_source(latex_line(title))
        from arqmath_bm25.analysis.markdown_html import markdown_line  # loads the parser

        return read_source(markdown_line(title))

    text, formulas = cut_spans(title)
    return _split(unescape(text), formulas, delimiters)


def source_html(text: str, kind: SourceName, loose: bool = False) -> str:
    """Return LaTeX or Markdown as the HTML of a post."""
    if kind == "latex":
        return latex_html(text)
    from arqmath_bm25.analysis.markdown_html import markdown_html  # loads the parser

    return markdown_html(text, loose)


def read_source(html: str) -> Content:
    """Read the HTML of a source, without the ends of blocks at both edges."""
    pieces = list(_read_post(html, "mathjax").pieces)
    for position, edge in ((0, str.lstrip), (-1, str.rstrip)):
        if pieces and isinstance(pieces[position], str):
            pieces[position] = edge(str(pieces[position]))
    return Content(tuple(piece for piece in pieces if piece))


def read_text(text: str, kind: Kind | None = None, delimiters: Delimiters = "auto") -> Content:
    """Read a text of any kind; by default the kind is detected."""
    if kind is None:
        kind = kind_of(text, delimiters == "auto_latex")
    if kind == "latex" or kind == "markdown":
        return read_source(source_html(text, kind))
    if kind in FORMAL:
        return Content((formal_words(text, kind=kind),))
    if kind == "html":
        return _read_post(as_post(text).body, delimiters)
    if kind == "post":
        return _read_post(text, delimiters)

    blocks = _PARAGRAPH.sub(BLOCK_END, _clean(text))
    return _split(blocks, [], delimiters)


def expand_macros(content: Content, preamble: str = "") -> Content:
    """Return a post, or a part of it, with its macros expanded."""
    before = [formula.latex for formula in content.formulas]
    after = expanded_formulas(before, preamble)
    if after is before:
        return content

    latex = iter(after)
    pieces: list[str | Formula] = []
    for piece in content.pieces:
        if isinstance(piece, Formula):
            pieces.append(piece._replace(latex=next(latex)))
        else:
            pieces.append(piece)
    return Content(tuple(pieces))


def without_macros(content: Content) -> Content:
    """Return a text with its macros expanded and without the formulas that define them."""
    pieces = []
    for piece in expand_macros(content).pieces:
        is_definition = isinstance(piece, Formula) and not piece.latex
        if not is_definition:
            pieces.append(piece)
    return Content(tuple(pieces))


def as_body(content: Content) -> str:
    """Return the HTML of a post with the same prose and formulas, a paragraph for each block."""
    written = content.written(
        lambda formula: markup.formula(formula.latex, formula.is_display), markup.plain
    )
    paragraphs = []
    for block in written.split("\n"):
        if block.strip():
            paragraphs.append(f"<p>{block}</p>")
    return "".join(paragraphs)


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return _SURROGATE.sub("\ufffd", _PRIVATE.sub(" ", text))


def cut_spans(html: str) -> tuple[str, list[Formula]]:
    """Replace every math span by a numbered mark (rules 1 and 2), which `split_math` finds."""
    html = _clean(html)
    if "math-container" not in html and _OF_OTHER_PROGRAMS.search(html):
        html = as_post(html).body
    text = html.replace("\0", " ").replace("\r", " ").replace("\n", " ")
    if "&#" in text:
        text = _NUMERIC_ENTITY.sub(_clean_entity, text)

    pieces = _SPAN.split(text)  # text, id (or None) and content of a formula, text, …
    if None in pieces[2::3]:
        pieces = _split_at_closing(text)

    formulas: list[Formula] = []
    for position in range(2, len(pieces), 3):
        inner = pieces[position]
        if "&" in inner:
            inner = unescape(inner)
        inner = inner.strip()
        latex = inner
        if "$" in inner:  # cut-off topics have delimiters on one side only
            latex = _LEADING_DOLLARS.sub("", inner)
            closing = _TRAILING_DOLLARS.search(latex)
            if closing:
                latex = latex[: closing.start(1)]
            latex = latex.strip()

        if len(inner) == 1 and _is_in_word(pieces[position - 2], inner, pieces[position + 1]):
            pieces[position] = inner
        else:
            pieces[position] = f"{_MARK}{len(formulas)}{_MARK}"
            is_display = inner.startswith(_DISPLAYS)
            formulas.append(Formula(latex, pieces[position - 1] or None, is_display))
    del pieces[1::3]
    return "".join(pieces), formulas


def _is_in_word(before: str, letter: str, after: str) -> bool:
    around = before[-1:], letter, after[:1]
    return all(each.islower() and each.isalpha() for each in around)


def _split_at_closing(text: str) -> list[str | Any]:
    """Split at spans as `_SPAN.split` does, but match each with its own closing tag."""
    pieces: list[str | Any] = []
    has_end = True  # whether any is in the rest of the text
    done = 0
    for span in _SPAN.finditer(text):
        if span.start() < done:
            continue

        before = text[done : span.start()]
        inner = span[2]
        done = span.end()
        if inner is None:
            end, done = closing_edge(_EDGE, text, span.end(), deepest=_MAX_DEPTH)
            if end == done:  # It is never closed, so it ends at the next closing tag, if any.
                end = done = span.end()
                nearest = None
                if has_end:
                    nearest = _SPAN_END.search(text, done)
                has_end = nearest is not None
                if nearest is not None:
                    end, done = nearest.span()
            inner = _EDGE.sub("", text[span.end() : end])
        pieces += before, span[1], inner
    return [*pieces, text[done:]]


def escape_bare_less(html: str) -> str:
    """Write every `<` that begins no HTML tag as an entity (rule 4).

    Elements within _MAX_DEPTH others lose their tags, so that any parser takes linear time.
    """
    stack: list[str] = []

    def written(tag: re.Match[str]) -> str:
        name, end = tag["name"], tag["end"]
        if name and name.lower() not in _NOT_NESTED:
            if len(stack) == _MAX_DEPTH:
                return " "
            stack.append(name.lower())
        elif end:
            if stack and stack[-1] == end.lower():
                stack.pop()
            return f"</{end}>"  # a closing tag has no attributes
        elif tag[0] == "<":
            return "&lt;"
        return tag[0]

    return _TAG_OR_LESS.sub(written, html)


def _clean_entity(entity: re.Match[str]) -> str:
    """Replace the number of a private-use character by a blank, one of no character by U+FFFD."""
    digits = entity[1] or entity[2]
    if len(digits) > 8:
        return "\ufffd"  # as `unescape` does, which fails on thousands of digits

    base = 10
    if entity[1]:
        base = 16
    if 0xE000 <= int(digits, base) < 0xF900:
        return " "
    return entity[0]


def _split(text: str, formulas: list[Formula], delimiters: Delimiters) -> Content:
    """Split parsed text at marks and at raw math (rule 3)."""
    text = " ".join(text.split()).replace(BLOCK_END, "\n")
    return Content(tuple(split_math(text, formulas, delimiters)))


def split_math(
    text: str, formulas: list[Formula], delimiters: Delimiters
) -> Iterator[str | Formula]:
    """Yield prose and formulas of parsed text: marks of `cut_spans`, and raw math (rule 3)."""
    if _MAY_BE_MATH.search(text) is None and delimiters != "none":
        is_mark = False  # Prose and marks alternate.
        for part in _MARKED.split(text):
            if is_mark:
                yield formulas[int(part)]
            elif part:
                yield part
            is_mark = not is_mark
        return

    done = end = 0
    ends = _Ends(text, delimiters)
    pattern = _OTHER_STARTS.get(delimiters, _START)
    while True:
        start = pattern.search(text, end)
        if start is None:
            break

        end = start.end()
        delimiter = start["delimiter"]
        if start["mark"]:
            formula = formulas[int(start["mark"])]
        elif delimiter or start["name"]:
            span = ends.of(delimiter, start["name"], end)
            if span is None:
                continue
            content = text[start.start() : span[1]]
            if delimiter:
                content = text[end : span[0]]
            if _MARK in content:
                content = _MARKED.sub(
                    lambda mark: f"${formulas[int(mark['mark'])].latex}$", content
                )
            is_display = delimiter in _DISPLAYS or bool(start["name"])
            formula = Formula(_restored(content).strip(), None, is_display)
            end = span[1]
        else:
            continue

        before = _prose(text[done : start.start()])
        if before:
            yield before
        if delimiters == "none":
            yield formula.latex
        else:
            yield formula
        done = end

    rest = _prose(text[done:])
    if rest:
        yield rest


class _Ends:
    """Positions of closing delimiters in a text, and limits that no formula crosses."""

    def __init__(self, text: str, delimiters: Delimiters) -> None:
        self._has_money = delimiters in OWN_KIND
        self._text = text
        # For each kind of delimiter or limit: begin, end, and the position of the innermost open
        # brace, -1 for none. Few texts need them.
        self._positions: dict[str, list[tuple[int, int, int]]] = {}

    def _find_positions(self) -> None:
        self._positions = defaultdict(list)
        braces = [-1]
        for token in _TOKEN.finditer(self._text):
            begin, end = token.span()
            if token[0] == "{":
                braces.append(begin)
            elif token[0] == "}":
                if len(braces) > 1:
                    braces.pop()
            else:
                self._positions[token[1] or token[0]].append((begin, end, braces[-1]))
                if token[0] == "$" and self._text.startswith("$", end):
                    self._positions["$$"].append((begin, end + 1, braces[-1]))

    def of(self, delimiter: str | None, name: str | None, begin: int) -> tuple[int, int] | None:
        """Return the span of the delimiter that ends the formula whose content starts at begin.

        A formula opens with a delimiter or with an environment of that name.
        """
        # Most formulas end at the next dollar, which is found without the positions.
        if delimiter == "$":
            content = _UP_TO_DOLLAR.match(self._text, begin)
            if content is not None:
                end = content.end()
                if self._has_money and is_money(self._text, begin, end):
                    return None
                return end, end + 1

        if not self._positions:
            self._find_positions()
        limit = self._next("\n", begin)
        kind = name or ""
        if delimiter:
            kind = _END_OF[delimiter]
            limit = min(limit, self._next(_MARK, begin), self._next(_TAG_END, begin))

        positions = self._positions.get(kind, [])
        first = bisect_left(positions, (begin, 0, 0))
        candidates = positions[first : first + _ENDS_TRIED]
        within = [candidate for candidate in candidates if candidate[0] < limit]
        if not within:
            return None
        if delimiter == "$" and self._has_money and is_money(self._text, begin, within[0][0]):
            return None

        for candidate in within:
            innermost_brace = candidate[2]
            if innermost_brace < begin:
                return candidate[:2]
        return within[0][:2]

    def _next(self, kind: str, begin: int) -> int:
        """Return the next position of a kind, or one beyond any text."""
        positions = self._positions.get(kind, [])
        number = bisect_left(positions, (begin, 0, 0))
        if number == len(positions):
            return sys.maxsize
        return positions[number][0]


def _prose(text: str) -> str:
    text = text.replace(r"\$", "$")
    if _TAG_END in text:
        text = _BLANKS.sub(lambda blanks: " " if " " in blanks[0] else "", text)
    return _restored(text)


def _restored(text: str) -> str:
    text = text.replace(CODE_DOLLAR, "$")
    text = text.replace(CODE_BACKSLASH, "\\")
    return text.replace(_TAG_END, "")
