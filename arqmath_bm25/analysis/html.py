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
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

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


# Formulas, dollars in code and block ends pass the HTML parser as private-use characters, which are
# removed from the input first.
_MARK, _CODE_DOLLAR, _BLOCK_END = "\ue000", "\ue001", "\ue002"
_CLEAN = str.maketrans(dict.fromkeys((_MARK, _CODE_DOLLAR, _BLOCK_END, "\0", "\r", "\n"), " "))

_SPAN = re.compile(r'<span\s+class="math-container"(?:\s+id="([^"<>]*)")?\s*>')
_LEADING_DOLLARS = re.compile(r"^\${1,2}")
_TRAILING_DOLLARS = re.compile(r"(?<!\\)((?:\\\\)*)\${1,2}$")
_EDGE = re.compile(r'(<span\b[^<>]*>)|</span>|< span="">')

_BLOCK = (
    "p|div|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|table|thead|tbody|tr|td|th|details|summary"
)
_INLINE = "a|abbr|b|cite|code|del|em|i|img|ins|kbd|q|s|small|span|strike|strong|sub|sup|tt|u|var"
_SILENT = "script|style"  # their text is not prose
_ATTRIBUTE = r"""\s+[\w:-]+=(?:"[^"]*"|'[^']*')"""
_BARE_LESS = re.compile(
    rf"<(?!/[a-z]|!--|(?:{_BLOCK}|{_INLINE}|{_SILENT})(?:{_ATTRIBUTE})*\s*/?>)", re.IGNORECASE
)
_BLOCK_TAG = re.compile(rf"<(?=/?(?:{_BLOCK})\b)", re.IGNORECASE)
_CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_HAS_SILENT = re.compile(rf"<(?:{_SILENT})\b", re.IGNORECASE)

# What a plain body is made of; in tables, a parser moves text about.
_PLAIN_SPAN = re.compile(r'<span class="math-container"(?: id="([^"<>]*)")?>([^<]*)</span>')
_PLAIN_BLOCK = re.compile(
    rf"</?(?:p|br|hr|li|ul|ol|dl|dt|dd|blockquote|pre|h[1-6]|div)(?:{_ATTRIBUTE})*\s*/?>"
)
_PLAIN_INLINE = re.compile(rf"</?(?:{_INLINE})(?:{_ATTRIBUTE})*\s*/?>")
_LESS = "\ue003"  # stands for a `<` that is text, while there is markup
_RESERVED = re.compile(f"[{_MARK}-{_LESS}]")
_OTHER_ENTITY = re.compile("&(?!(?:lt|gt|amp|quot|nbsp);)")

_TEXT = rf"(?:[^$\\\n{_MARK}]|\\[^\n{_MARK}])+"
_MATH = re.compile(
    rf"{_MARK}(?P<mark>\d+){_MARK}"
    rf"|(?<!\\)\$\$(?P<display>{_TEXT})\$\$"
    rf"|(?<!\\)\$(?P<inline>{_TEXT})\$"
    r"|(?P<environment>\\begin\{(?P<name>[A-Za-z]+\*?)\}.{0,20000}?\\end\{(?P=name)\})"
)


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
        text = _CODE.sub(lambda code: code[0].replace("$", _CODE_DOLLAR), text)
    text = escape_bare_less(text)
    tree = LexborHTMLParser(_BLOCK_TAG.sub(_BLOCK_END + "<", text))
    if _HAS_SILENT.search(text):
        tree.strip_tags(_SILENT.split("|"))
    return _split(tree.body.text() if tree.body else "", formulas)


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
    while span := _SPAN.search(text, done):
        end, after = _closing(text, span.end())
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
    """Write every `<` that begins no HTML tag as an entity (rule 4)."""
    return _BARE_LESS.sub("&lt;", html)


def _closing(text: str, start: int) -> tuple[int, int]:
    """Find the closing tag of the span whose content starts at `start`: its begin and end."""
    depth = 1
    first: tuple[int, int] | None = None
    for edge in _EDGE.finditer(text, start):
        depth += 1 if edge[1] else -1
        if not edge[1]:
            first = first or edge.span()
        if depth == 0:
            return edge.span()
    return first or (start, start)  # unbalanced: the nearest end, else the tag alone goes


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
    done = 0
    for math in _MATH.finditer(text):
        if math.start() > done:
            yield _prose(text[done : math.start()])
        if math["mark"] is not None:
            # A mark is only ever written by cut_spans, but hostile entities can spell one.
            number = int(math["mark"])
            if number < len(formulas):
                yield formulas[number]
        elif math["environment"] is not None:
            yield Formula(math["environment"], None)
        else:
            yield Formula((math["display"] or math["inline"]).strip(), None)
        done = math.end()
    if done < len(text):
        yield _prose(text[done:])


def _prose(text: str) -> str:
    return text.replace(r"\$", "$").replace(_CODE_DOLLAR, "$")
