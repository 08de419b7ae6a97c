r"""Markdown as the HTML of a post (markup): CommonMark by markdown-it, and marks of its dialects.

MyST and Jupyter Book, Quarto and pandoc, bookdown, Obsidian, mkdocs, Hugo, GitHub: directives and
divs of statements become statements (`markdown_blocks`), roles and references have no words, LaTeX
is read as in its source. A mark that none of them knows stays text. Formulas, code and marks within
lines are cut before the parser sees the text, so that mathematics shapes no block. Dollars are
those of pandoc; in notebooks and in texts with a directive or role of MyST (`loose`) blanks may
stand within them.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from functools import cached_property, lru_cache
from html import escape, unescape
from itertools import islice
from typing import TYPE_CHECKING, Any

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.dollars import is_money
from arqmath_bm25.analysis.latex_html import (
    MATH_ENVIRONMENT,
    command_end,
    end_of_environment,
    latex_line,
)
from arqmath_bm25.analysis.markdown_blocks import (
    ATTRIBUTE,
    HEADING,
    Blocks,
    Cuts,
    plain_values,
)
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.reading import parse_json

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

_KEPT_TAGS = frozenset(markup.TABLE["tags"].split())
_LONGEST = 6_000  # characters of a formula
_LONGEST_CODE = 2_000

_FRONT_MATTER = expression(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\n"
    r"(?P<values>(?>(?:(?!(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z))[^\n]*\n)*))"
    r"(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)"
)
_TITLE_BLOCK = expression(  # of pandoc
    r"\A%[ \t]++([^\n]++)\n(?>(?:[ \t][^\n]++\n)*)%[^\n]*+\n(?>(?:[% \t][^\n]++\n)*)(?=\n)"
)
_END_OF_JSON = expression(r"^\}[ \t]*$", re.MULTILINE)
_ENDS = 9  # lines that may end it, as tables within it may not be indented
_MYST = expression(r"^[ \t>]*(?:`{3,}|:{3,}|~{3,})\{[a-z]|\{[a-z][a-z:.-]*\}`", re.MULTILINE)
_TASK = expression(r"\A\[([ xX])\](?=\s)")
_PANDOC = expression(r"^\(@[\w-]*\)[ \t]|^:::|\{#|\\@ref\(|^```\{|^bibliography:", re.MULTILINE)

# Formulas.
_OPENING = expression(rf"\$\$|\$(?P<ticks>`)?|\\\\?[(\[]|{MATH_ENVIRONMENT}")
_CLOSING = {"(": ")", "[": "]"}
_DOLLAR = expression(r"(?<!\\)(?>(?:\\\\)*)\$")
_EQUATION_LABEL = expression(
    r"[ \t]{0,99}(?:\(([^()\s]{1,99})\)|\{#([\w:.-]{1,99})[^{}\n]{0,300}\})[ \t]{0,99}$",
    re.MULTILINE,
)
_LABEL_OF_BOOKDOWN = expression(r"\(\\#([\w:-]{1,99})\)")
_BLANK_LINE = expression(r"\n[ \t>]*\n")
_QUOTES = expression(r"(?:[ \t]{0,9}>){0,99}")
# Of a display on lines of its own: what stands before it, and the end of its last line.
_BEFORE = expression(r"^(?: {0,3}>){0,9} {0,3}\Z", re.MULTILINE)
_AFTER = expression(r"[ \t]{0,99}(?:(\n)(?! {4}|\t)|\n|\Z)|[ \t.,;:]{0,99}\n")
_LONGEST_INDENT = 60

# Comments; addresses and tags, which stay; code; marks of dialects; what may begin a formula.
_VALUE = r"(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'<>]++)"
_TAG = rf"</?[A-Za-z][\w-]*+(?:\s++[\w:-]++(?:={_VALUE})?){{0,32}}\s*+/?>"
_PLACE = expression(
    # With what it may begin, as each of the branches costs time at every letter.
    r"(?=[<{*\[`!\\$@%(:]|[ \t]\^|(?:im|ex)port)(?:"
    r"(?P<link>(?<=\])\((?:\{[{%][^{}\n]{1,300}[%}]\}[^(){}\s]{0,300}){1,3}\))"
    # Abbreviations and contents of mkdocs, contents and tags of Jekyll, names of captions of
    # bookdown, icons, imports and exports of MDX.
    r"|(?P<comment><!--.*?(?:-->|\Z)|\{/\*.{0,999}?\*/\}|^\*\[[^\]\n]{1,99}\]:[^\n]*"
    r"|^\[(?:TOC|\[_TOC_\])\][ \t]*$|^(?:\* TOC\n)?\{:[\w. ]{1,99}\}[ \t]*$|\{%[^{}\n]{0,300}%\}"
    r"|^\(ref:[\w-]{1,99}\)[ \t]|(?<![\w:]):[a-z][a-z0-9_+-]{1,40}:(?![\w:`])"
    r"|^export (?:const \w+ ?=|(?:default )?function\b|default \w+;?$)[^\n]*(?:\n[^\n]+)*"
    r"|^import [\w{}*, \t]{1,200} from ['\"][^'\"\n]{1,200}['\"];?[ \t]*$)"
    rf"|(?P<verbatim>{_TAG}|<[a-z][a-z0-9+.-]{{1,20}}:[^<>\s]*>"
    r"|(?<=\])\([^()\s]{1,999}"
    r"|(?:(?<=^)|(?<=^ )|(?<=^  )|(?<=^   ))\[[^\]\n]{1,200}\]:[ \t]*(?:https?:|[/.#<])[^\n]*)"
    r"|(?P<code>`+)"
    r"|(?P<mark>(?<!\w)(?P<embed>!?)\[\[(?=[^\[\]\n|]*[^\W\d_])(?!\s)(?P<target>[^\[\]\n|]{1,300}?)"
    r"(?:\\?\|(?P<text>[^\[\]\n]{0,300}))?\]\]"
    r"|\{(?P<role>[A-Za-z][\w:.+-]{0,40})\}(?P<ticks>`{1,3})(?!`)(?P<content>[^`]{1,2000})(?P=ticks)"
    rf"|\{{:?[ \t]?[#.][A-Za-z][\w:.-]*(?:[ \t]+{ATTRIBUTE}){{0,9}}[ \t]*\}}"
    rf"|(?<=[\])`])\{{[: \t]{{0,3}}{ATTRIBUTE}(?:[ \t]+{ATTRIBUTE}){{0,9}}[ \t]*\}}"
    r"|\{\{[<%] *(?P<shortcode>katex|math|latex)\b(?P<values>[^{}\n/]{0,99})[%>]\}\}"
    r"(?P<latex>(?>(?:(?!\{\{)[^$]){1,2000}))\{\{[<%] */(?P=shortcode) *[%>]\}\}"
    r"|\{\{[<%#][^{}\n]{0,300}\}\}"
    r"|(?P<example>\(@[\w-]{0,60}\))"
    r"|%%[^\n]{0,999}?%%"
    r"|\\@ref\((?P<label>[^()\n]{1,200})\)|\(?\\#(?P<of_bookdown>[a-z]+:[\w-]+)\)"
    rf"|(?<!\w)@(?P<reference>(?:{'|'.join(markup.TABLE['prefixes'].split())})-[\w-]+)"
    r"|\[(?P<cites>(?:[^\[\]@\n]{0,99}[^\w\[\]@])?@\w[^\[\]\n]{0,300})\](?![\[(])"
    r"|[ \t]\^[A-Za-z0-9][\w-]{3,40}$"
    r"|(?<![\w/])@(?P<key>[A-Za-z][\w:.-]{0,99}[0-9]{2}[a-z]?)(?![\w@])(?: \[[^\[\]\n]{0,60}\])?)"
    r"|(?P<formula>[$\\]))",
    re.DOTALL | re.MULTILINE,
)

# Marks that go without their text: highlights, insertions, spans with attributes.
_SPAN = "\ue013"  # attributes after a bracket
_AROUND = expression(
    rf"(?<![!\]\\])\[([^\[\]]{{1,300}})\]{_SPAN}|{_SPAN}"
    r"|(?<![=^\w])(==|\^\^)(?=[^\s=^])([^=^\n]{1,300})(?<=\S)\2(?![=\w])"
)
_RAW = expression(r"\{=[a-z]+\}")  # of pandoc, after code
_ROW = expression(r"^[ \t>]*\|[^\n]*\Z", re.MULTILINE)
_LONGEST_ROW = 500
_ENTITY = expression(r"&(?:lt|gt|amp);")

_TARGET = expression(r"[^\s\"'<>%{}()]+")  # in a shortcode

# HTML within Markdown.
_HTML = expression(
    r"<(?P<silent>script|style|svg|iframe|textarea|noscript)\b.*?(?:</(?P=silent)>|\Z)"
    r"|<[?!][^<>]*>|<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*+)"
    r"(?P<attributes>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>|(?P<signs>[$\\]+)",
    re.DOTALL | re.IGNORECASE,
)
_HTML_ATTRIBUTE = expression(
    r"\b(href|src|alt)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE
)


def markdown_html(text: str, loose: bool = False) -> str:
    """Return Markdown as HTML; with `loose`, formulas may have blanks next to their dollars."""
    text = markup.PRIVATE.sub(" ", text)
    lines = _Lines(text, loose)
    _, begin = front_matter(text)
    blocks = Blocks(text[begin:], lines.cuts, begin, lines.loose)
    html = _reader().render(lines.without_marks(blocks.commonmark()), {"cuts": lines.cuts})
    return lines.cuts.html(html)


def markdown_line(text: str) -> str:
    """Return a line of Markdown, such as a title, as HTML."""
    text = markup.PRIVATE.sub(" ", text)
    lines = _Lines(text, loose=False)
    html = _reader().renderInline(lines.without_marks(text), {"cuts": lines.cuts})
    return lines.cuts.html(html)


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the values of the front matter in YAML, TOML or JSON, and where it ends."""
    values: Any = None
    if text.startswith("{\n"):
        for line in islice(_END_OF_JSON.finditer(text), _ENDS):
            with suppress(ValueError):
                values = parse_json(text[: line.end()])
                if values:
                    return values, line.end()
    front = _FRONT_MATTER.match(text)
    if front is None:
        block = _TITLE_BLOCK.match(text)
        if block is None or _MYST.search(text):
            return {}, 0
        return {"title": block[1]}, block.end()
    try:
        if front["mark"] == "+++":
            values = tomllib.loads(front["values"])
        else:
            from arqmath_bm25.core.configuration import from_yaml  # pydantic loads slowly

            values = from_yaml(front["values"])
    except ValueError:  # such as "title: Sets: a primer"
        values = plain_values(front["values"])
    if not isinstance(values, dict) or not values:
        return {}, 0
    return values, front.end()


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    reader = MarkdownIt("commonmark", {"xhtmlOut": False}).enable(["table", "strikethrough"])
    reader.use(footnote_plugin, move_to_end=False).use(deflist_plugin)
    reader.core.ruler.after("inline", "tasks", _draw_boxes)
    for name, write in _WRITERS.items():
        reader.add_render_rule(name, write)
    return reader


def _draw_boxes(state: StateCore) -> None:
    """Draw the box of an item that is a task, which is no word of it."""
    for item, inline in zip(state.tokens, state.tokens[2:], strict=False):
        if item.type != "list_item_open" or not inline.children:
            continue
        text = inline.children[0]
        text.content = _TASK.sub(lambda mark: "☐" if mark[1] == " " else "☑", text.content)


class _Lines:
    """Cuts formulas, code and marks of dialects out of lines."""

    def __init__(self, text: str, loose: bool) -> None:
        self.cuts = Cuts()
        self.loose = loose
        if "`" in text or ":::" in text or "~~~" in text:
            self.loose = loose or _MYST.search(text) is not None
        self._text = text

    @cached_property
    def _has_citations(self) -> bool:
        return _PANDOC.search(self._text) is not None

    def without_marks(self, text: str) -> str:
        """Return a text in which no sign of a formula, of code or of a dialect is left."""
        parts: list[str] = []
        done = 0
        while True:
            place = _PLACE.search(text, done)
            if place is None:
                break
            begin, end = place.span()
            kind = place.lastgroup
            written = place[0]
            if kind == "comment":
                written = ""
            elif kind == "link":
                names = _TARGET.findall(written.partition("|")[0])
                written = f"(#{_note(''.join(names[-1:]))})"
            elif kind == "code":
                written, end = self._code(text, begin, end)
            elif kind == "mark":
                written, end = self._mark(place)
            elif kind == "formula":
                written, end = self._formula(text, begin)
            parts += text[done:begin], written
            done = end
        written = "".join([*parts, text[done:]])
        if _SPAN in written or "==" in written or "^^" in written:
            written = _AROUND.sub(r"\1\3", written)
        return written

    def _code(self, text: str, begin: int, end: int) -> tuple[str, int]:
        ticks = text[begin:end]
        closing = re.compile(rf"(?<!`){ticks}(?!`)").search(text, end, end + _LONGEST_CODE)
        if closing is None or _BLANK_LINE.search(text, end, closing.start()):
            return ticks, end
        raw = _RAW.match(text, closing.end())
        if raw is not None:
            return "", raw.end()
        code = self.cuts.source(text[end : closing.start()])
        if "\\|" in code and _ROW.search(text, max(0, begin - _LONGEST_ROW), begin):
            code = code.replace("\\|", "|")
        code = code.strip() or code
        return self.cuts.cut(f"<code>{escape(code)}</code>", code), closing.end()

    def _formula(self, text: str, begin: int) -> tuple[str, int]:
        found = formula_at(text, begin, self.loose)
        if found is None:
            end = command_end(text, begin)
            if end > begin:
                command = self.cuts.source(text[begin:end])
                return self.cuts.cut(latex_line(command), command), end
            end = begin + 1 + (text[begin] == "\\")
            return text[begin:end], end

        latex, display, end = found
        latex = _ENTITY.sub(lambda entity: unescape(entity[0]), self.cuts.source(latex))
        if "\n" in latex and ">" in latex:
            quotes = _QUOTES.match(text, text.rfind("\n", 0, begin) + 1)
            depth = 0
            if quotes:
                depth = quotes[0].count(">")
            latex = re.sub(rf"\n(?:[ \t]*>){{0,{depth}}}", "\n", latex)
        labels = _LABEL_OF_BOOKDOWN.findall(latex)
        html = markup.formula(_LABEL_OF_BOOKDOWN.sub("", latex), display)
        label = _EQUATION_LABEL.match(text, end)
        if display and label is not None:
            labels.append(label[1] or label[2])
            end = label.end()
        written = self.cuts.cut("".join(map(markup.place, labels)) + html, text[begin:end])
        if not display:
            return written, end

        line = _BEFORE.search(text, max(0, begin - _LONGEST_INDENT), begin)
        after = _AFTER.match(text, end)
        if line is not None and after is not None:
            written = f"\n{line[0]}{written}"
            if after[1]:
                written += f"\n{line[0].rstrip()}"
        return written, end

    def _mark(self, mark: re.Match[str]) -> tuple[str, int]:
        """Return the replacement of a mark and its end; an unknown one keeps its first sign."""
        role = (mark["role"] or "").rpartition(":")[2].rstrip("*")
        cites = mark["cites"] or mark["key"] or mark["example"]
        is_unknown = role not in markup.NAMES["roles"] if mark["role"] else cites
        if is_unknown and not (cites and self._has_citations):
            return mark[0][0], mark.start() + 1

        label = mark["label"] or mark["reference"]
        written = ""
        if mark["latex"]:
            written = self.cuts.cut(markup.formula(mark["latex"], "display" in mark["values"]))
        elif mark["of_bookdown"]:
            written = self.cuts.cut(markup.place(mark["of_bookdown"]))
        elif label:
            prefix, _, name = label.partition(":")
            if prefix in markup.STATEMENTS:  # bookdown adds it to labels of statements
                label = name
            written = self.cuts.cut(markup.reference(label))
        elif mark["target"] and not mark["embed"]:
            note = _note(mark["target"])
            text = mark["text"]
            if text is None:
                text = self.cuts.cut(markup.plain(note), note)
            opening = self.cuts.cut(f'<a href="#{escape(note)}">')
            written = f"{opening}{self.without_marks(text)}{self.cuts.cut('</a>')}"
        elif role:
            written = self.cuts.cut(markup.role(role, mark["content"]), mark["content"])
        elif mark[0][0] == "{" and mark.string[mark.start() - 1 : mark.start()] == "]":
            written = _SPAN
        return written, mark.end()


def _note(target: str) -> str:
    """Return the name of the note, or of its own heading, that a link leads to."""
    note, _, heading = target.strip().partition("#")
    return note.rpartition("/")[2].removesuffix(".md").removesuffix(".html") or heading


# Formulas


def formula_at(text: str, begin: int, loose: bool) -> tuple[str, bool, int] | None:
    """Return the formula that begins at a place, whether it is displayed, and where it ends."""
    opening = _OPENING.match(text, begin)
    if opening is None:
        return None
    mark = opening[0]
    start = opening.end()
    limit = start + _LONGEST
    if opening["name"]:
        before, stop = end_of_environment(text, opening["name"], start, limit)
        if before == stop:
            return None
        return text[begin:stop], True, stop

    closing = mark
    if mark == "$`":
        closing = "`$"
    elif mark[-1] != "$":
        closing = mark[:-1] + _CLOSING[mark[-1]]
    stop = text.find(closing, start, limit)
    if mark == "$":
        dollar = _DOLLAR.search(text, start, limit)
        stop = -1
        if dollar:
            stop = dollar.end() - 1
    latex = text[start:stop]
    if stop < 0 or not latex.strip():
        return None
    if mark == "$":
        if _BLANK_LINE.search(latex) or is_money(text, start, stop):
            return None
        has_blank = latex[0].isspace() or latex[-1].isspace()
        if not loose and (has_blank or text[stop + 1 : stop + 2].isdecimal()):
            return None
    return latex, mark == "$$" or mark[-1] == "[", stop + len(closing)


# HTML


def _write_text(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return markup.plain(tokens[number].content)


def _write_heading(_: Any, tokens: Any, number: int, *__: Any) -> str:
    token = tokens[number]
    level = int(token.tag[1])
    if token.nesting < 0:
        return f"</h{min(level + 1, 6)}>\n"
    place = HEADING.search(tokens[number + 1].content)
    if place is None or token.level > 0:
        return f'<h{min(level + 1, 6)} class="inner">'
    whole = markup.heading(level, place[3], "", int(place[1]), int(place[2]))
    return whole.partition("</")[0]


def _write_code(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    token = tokens[number]
    code = env["cuts"].source(token.content)
    if token.type == "code_inline":
        return f"<code>{escape(code)}</code>"
    return markup.code_block(code.rstrip("\n"))


def _write_note(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """Write a reference to a footnote, the edge of a footnote, or one within a line."""
    token = tokens[number]
    if token.nesting < 0:
        return "</div>\n"
    if "label" not in token.meta:
        note = env["footnotes"]["list"][token.meta["id"]]["tokens"]
        return f" ({renderer.renderInline(note, options, env)})"
    sign = env["footnotes"]["refs"][f":{token.meta['label']}"] + 1
    mark = f"<sup>{markup.generated(str(sign))}</sup>"
    return f"<div>{mark}" if token.nesting else mark


def _write_image(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """Write a picture; one that is a paragraph has a caption."""
    token = tokens[number]
    alt = escape(token.content)
    caption = ""
    if len(tokens) == 1 and " " in token.content:
        alt = ""
        caption = f"<br>{renderer.renderInline(token.children, options, env)}"
    return f'<img src="{escape(token.attrs["src"])}" alt="{alt}">{caption}'


def _write_html(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return _HTML.sub(_kept_element, tokens[number].content)


def _kept_element(element: re.Match[str]) -> str:
    """Return an element that a post may have; the text of others stays."""
    if element["signs"]:
        return markup.plain(element["signs"])
    name = (element["name"] or "").lower()
    if name not in _KEPT_TAGS:
        return " "
    if element["end"]:
        return f"</{name}>"
    kept = "".join(
        f' {key.lower()}="{escape(unescape(first or second or third))}"'
        for key, first, second, third in _HTML_ATTRIBUTE.findall(element["attributes"])
    )
    return f"<{name}{kept}>"


_WRITERS: dict[str, Any] = {
    "text": _write_text,
    "heading_open": _write_heading,
    "heading_close": _write_heading,
    "fence": _write_code,
    "code_block": _write_code,
    "code_inline": _write_code,
    "footnote_ref": _write_note,
    "footnote_reference_open": _write_note,
    "footnote_reference_close": _write_note,
    "image": _write_image,
    "html_inline": _write_html,
    "html_block": _write_html,
}
