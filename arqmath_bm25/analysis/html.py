r"""A title or body → prose and formulas, in reading order.

The lab's posts, the archive dump and the topics mark mathematics in different ways; one set of
rules reads them all:

1. `<span class="math-container" id="7">X</span>` is a formula. X stands between `$` or `$$`
   (topics, archive dump) or bare (the lab's posts). Spans are cut out *before* the HTML is parsed,
   because some posts and the 2021/22 topics hold bare `<` in them, and `< span="">` where such a
   `<` once swallowed the closing tag. Entities in X are unescaped once. Nested spans are one
   formula.
2. A bare span of one small letter between small letters (`con<span…>t</span>radictory`) is a known
   defect of the lab's files, not a formula: the letter returns to its word. A letter on one side
   proves nothing: `<span…>n</span>th`, `sup<span…>E</span>`, `on<span…>m</span>` are formulas.
3. In the text that is left, `$$X$$`, `$X$` and `\begin{e}…\end{e}` are formulas without id, as
   MathJax renders them. `\$` is a dollar sign; dollars pair inside one block element, not across a
   formula, and never in `<code>` or `<pre>`; a dollar without a partner is text.
4. A `<` that begins no HTML tag is text (`a<b` in posts that the lab unescaped once too often).

Bodies are then read as a browser reads them (HTML5, by lexbor): block elements separate words,
inline elements do not. Titles are plain text with math. Nearly all bodies are plain: their markup
is the site's editor's, and taking the tags out says what the parser would, several times as fast.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import defaultdict
from html import unescape
from typing import TYPE_CHECKING, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator


class Formula(NamedTuple):
    """A formula as its author wrote it, without delimiters."""

    latex: str
    formula_id: str | None  # the span's id: a formula instance (posts) or q_N (topics)


class Content(NamedTuple):
    """Prose and formulas in reading order. In prose, space is one blank; a newline ends a block."""

    pieces: tuple[str | Formula, ...]

    @property
    def prose(self) -> str:
        """The words with formulas and block ends replaced by one blank."""
        return " ".join(" ".join(p for p in self.pieces if isinstance(p, str)).split())

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas in reading order."""
        return tuple(p for p in self.pieces if isinstance(p, Formula))

    @property
    def text(self) -> str:
        """Everything on one line, with dollars around the formulas."""
        pieces = (p if isinstance(p, str) else f"${p.latex}$" for p in self.pieces)
        return " ".join("".join(pieces).split())


# Formulas, dollars in code and block ends pass the HTML parser as private-use characters, which are
# removed from the input first; so are halves of characters, which no parser takes.
_MARK, _CODE_DOLLAR, _BLOCK_END = "\ue000", "\ue001", "\ue002"
_CLEAN = str.maketrans(
    {
        **dict.fromkeys((_MARK, _CODE_DOLLAR, _BLOCK_END, "\0", "\r", "\n"), " "),
        **dict.fromkeys(map(chr, range(0xD800, 0xE000)), "\ufffd"),
    }
)

_SPAN = re.compile(r'<span\s+class="math-container"(?:\s+id="([^"<>]*)")?\s*>')
_LEADING_DOLLARS = re.compile(r"^\${1,2}")
_TRAILING_DOLLARS = re.compile(r"(?<!\\)((?:\\\\)*)\${1,2}$")
_EDGE = re.compile(r'(<span\b[^<>]*>)|</span>|< span="">')

_BLOCK = (
    "p|div|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|table|thead|tbody|tr|td|th|details|summary"
)
_INLINE = "a|abbr|b|cite|code|del|em|i|img|ins|kbd|q|s|small|span|strike|strong|sub|sup|tt|u|var"
_SILENT = "script|style"  # their text is not prose
# A tag has fewer attributes than are allowed here; without an end, time would not be linear.
_ATTRIBUTES = r"""(?:\s++[\w:-]++=(?:"[^"]*+"|'[^']*+')){0,32}+"""
_TAG_OR_LESS = re.compile(
    rf"<(?:(?P<name>{_BLOCK}|{_INLINE}|{_SILENT}){_ATTRIBUTES}\s*+/?>"
    r"|/(?P<end>[a-z][^\s<>/]*+)[^>]*+(?:>|\Z)|!--)?",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(rf"<(?=/?(?:{_BLOCK})\b)", re.IGNORECASE)
_CODE_EDGE = re.compile(r"(<(?:code|pre)\b|</(?:code|pre)>)", re.IGNORECASE)
_HAS_SILENT = re.compile(rf"<(?:{_SILENT})\b", re.IGNORECASE)
# Elements that have no end, or end where the next one of their kind begins.
_NOT_NESTED = frozenset("br hr img p li dt dd tr td th thead tbody".split())
_MAX_DEPTH: Final = 100  # parsers take quadratic time for elements in elements

# What a plain body is made of; in tables, a parser moves text about.
_PLAIN_SPAN = re.compile(r'<span class="math-container"(?: id="([^"<>]*)")?>([^<]*)</span>')
_PLAIN_BLOCK = re.compile(
    rf"</?(?:p|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|div){_ATTRIBUTES}\s*+/?>"
)
_PLAIN_INLINE = re.compile(rf"</?(?:{_INLINE}){_ATTRIBUTES}\s*+/?>")
_LESS = "\ue003"  # stands for a `<` that is text, while there is markup
_RESERVED = re.compile(f"[\ud800-\udfff{_MARK}-{_LESS}]")
_OTHER_ENTITY = re.compile("&(?!(?:lt|gt|amp|quot|nbsp);)")

_TEXT = rf"(?:[^$\\\n{_MARK}]++|\\[^\n{_MARK}])++"
_MATH = re.compile(
    rf"{_MARK}(?P<mark>[0-9]{{1,9}}){_MARK}"
    rf"|(?<!\\)\$\$(?P<display>{_TEXT})\$\$"
    rf"|(?<!\\)\$(?P<inline>{_TEXT})\$"
    r"|\\begin\{(?P<name>[A-Za-z]+\*?)\}"
)
_END = re.compile(r"\\end\{([A-Za-z]+\*?)\}|\n")
_LONGEST_ENVIRONMENT: Final = 20_000  # characters between begin and end


def read_body(html: str) -> Content:
    """Read an HTML body. Any string is read; nothing raises."""
    return _read_plain(html) or _read_any(html)


def _read_plain(html: str) -> Content | None:
    """Read a body whose markup cannot be misunderstood; None if there may be more to it."""
    cut = _cut_plain_spans(html)
    if cut is None:
        return None
    text = _PLAIN_INLINE.sub("", _PLAIN_BLOCK.sub(_BLOCK_END, cut[0]))
    if "&" in text:
        if _OTHER_ENTITY.search(text):
            return None
        text = text.replace("&lt;", _LESS).replace("&gt;", ">").replace("&quot;", '"')
        text = text.replace("&nbsp;", " ").replace("&amp;", "&")
    if "<" in text:
        return None
    return _join_plain(text.replace(_LESS, "<"), cut[1])


def _cut_plain_spans(html: str) -> tuple[str, list[Formula]] | None:
    """Replace every math span by a mark; None if rules 1 and 2 ask for more than that."""
    if "\0" in html or not (html.isascii() or _RESERVED.search(html) is None):
        return None
    parts = _PLAIN_SPAN.split(html.replace("\n", " ").replace("\r", " "))
    texts, formulas = parts[::3], []
    for number, latex in enumerate(parts[2::3]):
        latex = (unescape(latex) if "&" in latex else latex).strip()
        if "$" in latex:
            latex = _without_dollars(latex)[0]
        elif _inside_a_word(texts[number][-1:], latex, texts[number + 1][:1]):
            return None
        formulas.append(Formula(latex, parts[3 * number + 1] or None))
    text = _MARK.join(texts)
    return None if "math-container" in text else (text, formulas)


def _join_plain(text: str, formulas: list[Formula]) -> Content | None:
    """Put formulas where the marks are; None if there may be raw math, or a mark is lost."""
    if "$" in text or "\\begin{" in text or text.count(_MARK) != len(formulas):
        return None
    text = " ".join(text.split()).replace(_BLOCK_END, "\n")
    pieces: list[str | Formula] = []
    for prose, formula in zip(text.split(_MARK), [*formulas, None], strict=True):
        pieces += filter(None, (prose, formula))
    return Content(tuple(pieces))


def _read_any(html: str) -> Content:
    """Read a body as a browser does."""
    text, formulas = cut_spans(html)
    if "$" in text and "<" in text:
        text = _hide_code_dollars(text)
    text = escape_bare_less(text)
    tree = LexborHTMLParser(_BLOCK_TAG.sub(_BLOCK_END + "<", text))
    if _HAS_SILENT.search(text):
        tree.strip_tags(_SILENT.split("|"))
    return _split(tree.body.text() if tree.body else "", formulas)


def _hide_code_dollars(html: str) -> str:
    """Put _CODE_DOLLAR for the dollars in `<code>…</code>` and `<pre>…</pre>` (rule 3)."""
    parts = _CODE_EDGE.split(html)  # text and edges by turns
    last = {edge.lower(): at for at, edge in enumerate(parts) if at % 2}
    closing = ""
    for at, part in enumerate(parts):
        if closing:
            parts[at] = part.replace("$", _CODE_DOLLAR)
            closing = "" if part.lower() == closing else closing
        elif at % 2:
            edge = f"</{part[1:].lower()}>"
            closing = edge if last.get(edge, 0) > at else ""
    return "".join(parts)


def read_title(title: str) -> Content:
    """Read a title: plain text, which may hold math spans or dollars."""
    cut = _cut_plain_spans(title)
    plain = _join_plain(unescape(cut[0]), cut[1]) if cut else None
    return plain or _read_any_title(title)


def _read_any_title(title: str) -> Content:
    text, formulas = cut_spans(title)
    return _split(unescape(text), formulas)


def cut_spans(html: str) -> tuple[str, list[Formula]]:
    """Replace every math span by a numbered mark (rules 1 and 2), which `split_math` finds."""
    text = html.translate(_CLEAN)
    formulas: list[Formula] = []
    parts: list[str] = []
    done = 0
    closing = _closing(text)
    while span := _SPAN.search(text, done):
        end, after = closing.get(span.end(), (span.end(), span.end()))
        inner = text[span.end() : end]
        latex, bare = _without_dollars(unescape(_EDGE.sub("", inner)).strip())
        parts.append(text[done : span.start()])
        before = text[span.start() - 1 : span.start()]
        if bare and _inside_a_word(before, latex, text[after : after + 1]):
            parts.append(latex)
        else:
            parts.append(f"{_MARK}{len(formulas)}{_MARK}")
            formulas.append(Formula(latex, span[1] or None))
        done = after
    parts.append(text[done:])
    return "".join(parts), formulas


def escape_bare_less(html: str) -> str:
    """Write every `<` that begins no HTML tag as an entity (rule 4).

    Elements within _MAX_DEPTH others lose their tags, so that any parser takes linear time.
    """
    stack: list[str] = []

    def written(found: re.Match[str]) -> str:
        name, end = found["name"], found["end"]
        if name and name.lower() not in _NOT_NESTED:
            if len(stack) == _MAX_DEPTH:
                return " "
            stack.append(name.lower())
        elif end:
            if stack and stack[-1] == end.lower():
                stack.pop()
            return f"</{end}>"  # what else stands in it means nothing
        return "&lt;" if found[0] == "<" else found[0]

    return _TAG_OR_LESS.sub(written, html)


def _closing(text: str) -> dict[int, tuple[int, int]]:
    """Find the closing tag of every span: its begin and end, by where the content starts.

    Of a span without one it is the nearest that follows, if any.
    """
    closing: dict[int, tuple[int, int]] = {}
    opened: list[int] = []
    edges = list(_EDGE.finditer(text))
    for edge in edges:
        if edge[1]:
            opened.append(edge.end())
        elif opened:
            closing[opened.pop()] = edge.span()
    unclosed, nearest = set(opened), None
    for edge in reversed(edges):
        if not edge[1]:
            nearest = edge.span()
        elif nearest and edge.end() in unclosed:
            closing[edge.end()] = nearest
    return closing


def _without_dollars(latex: str) -> tuple[str, bool]:
    """Strip the delimiters, which cut-off topics have on one side only; tell whether none was."""
    stripped = _TRAILING_DOLLARS.sub(r"\1", _LEADING_DOLLARS.sub("", latex))
    return stripped.strip(), stripped == latex


def _inside_a_word(before: str, latex: str, after: str) -> bool:
    return len(latex) == 1 and all(c.islower() and c.isalpha() for c in (before, latex, after))


def _split(text: str, formulas: list[Formula]) -> Content:
    """Split parsed text at marks and at raw math (rule 3)."""
    text = " ".join(text.split()).replace(_BLOCK_END, "\n")
    return Content(tuple(split_math(text, formulas)))


def split_math(text: str, formulas: list[Formula]) -> Iterator[str | Formula]:
    """Yield prose and formulas of parsed text: marks of `cut_spans`, and raw math (rule 3)."""
    done = at = 0
    ends: _Ends | None = None
    while math := _MATH.search(text, at):
        at = math.end()
        if math["name"]:
            ends = ends or _Ends(text)
            if not (end := ends.of(math["name"], at)):
                continue  # a begin without an end is prose
            at = end
        if math.start() > done:
            yield _prose(text[done : math.start()])
        if math["mark"] is not None:
            # A mark is only ever written by cut_spans, but hostile entities can spell one.
            number = int(math["mark"])
            if number < len(formulas):
                yield formulas[number]
        elif math["name"]:
            yield Formula(text[math.start() : at], None)
        else:
            yield Formula((math["display"] or math["inline"]).strip(), None)
        done = at
    if done < len(text):
        yield _prose(text[done:])


class _Ends:
    r"""Where the `\end{e}` and the line ends of a text are."""

    def __init__(self, text: str) -> None:
        self._spans: dict[str | None, list[tuple[int, int]]] = defaultdict(list)
        for end in _END.finditer(text):
            self._spans[end[1]].append(end.span())

    def of(self, name: str, begin: int) -> int:
        """Return where an environment ends whose content begins there; 0 if it does not."""
        (end, after), (line_end, _) = (self._next(kind, begin) for kind in (name, None))
        return after if end <= min(line_end, begin + _LONGEST_ENVIRONMENT) else 0

    def _next(self, kind: str | None, begin: int) -> tuple[int, int]:
        spans = self._spans.get(kind, [])
        at = bisect_left(spans, (begin, 0))
        return spans[at] if at < len(spans) else (sys.maxsize, 0)


def _prose(text: str) -> str:
    return text.replace(r"\$", "$").replace(_CODE_DOLLAR, "$")
