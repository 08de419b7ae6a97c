r"""Markdown as the HTML of a post (markup): CommonMark by markdown-it, and marks of its dialects.

MyST and Jupyter Book, Quarto and pandoc, bookdown, Obsidian, mkdocs, Hugo, GitHub: directives and
divs of statements become statements, roles and references have no words, LaTeX is read as in its
source. A mark that none of them knows stays text. Dollars are those of pandoc; in notebooks and in
texts with a directive or role of MyST (`loose`) blanks may stand within them.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.dollars import is_money
from arqmath_bm25.analysis.latex_html import (
    MATH_ENVIRONMENT,
    command_end,
    definition_end,
    latex_html,
    latex_line,
)
from arqmath_bm25.core.tables import read_table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

_TABLE: Final[dict[str, Any]] = read_table(__file__)
NAMES: Final[dict[str, frozenset[str]]] = {
    kind: frozenset(names.split()) for kind, names in _TABLE["directives"].items()
}
_KEPT_TAGS: Final = frozenset(_TABLE["tags"].split())
_BAR: Final = "\ue007"  # within a formula in a table
_LONGEST: Final = 6_000  # characters of a formula
_DEEPEST: Final = 8  # directives within others

_FRONT_MATTER: Final = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\n"
    r"(?P<values>(?>(?:(?!(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z))[^\n]*\n)*))"
    r"(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)"
)
_FRONT_LINE: Final = re.compile(r"^(\w+):(.*)$", re.MULTILINE)
_MYST: Final = re.compile(r"^[ \t>]*(?:`{3,}|:{3,}|~{3,})\{[a-z]|\{[a-z][a-z:.-]*\}`", re.MULTILINE)
_PANDOC: Final = re.compile(r"^:::|\{#|\\@ref\(|^```\{|^bibliography:", re.MULTILINE)
_ROW: Final = re.compile(r"^[ \t>]*\|[^\n]*\$[^\n]*", re.MULTILINE)
_FORMULA_IN_ROW: Final = re.compile(r"(?<!\\)\$[^$\n]{1,400}\$")

# Formulas.
_OPENING: Final = re.compile(rf"\$\$|\$(?P<ticks>`)?|\\\\?[(\[]|{MATH_ENVIRONMENT}")
_OPENS_DISPLAY: Final = re.compile(rf"(?<![\\$])\$\$|\\\\?\[|{MATH_ENVIRONMENT}")
_OPENS_FORMULA: Final = re.compile(rf"{_OPENS_DISPLAY.pattern}|(?<![\\$])\$(?!\s)")
_CLOSING: Final = {"(": ")", "[": "]"}
_EQUATION_LABEL: Final = re.compile(
    r"[ \t]{0,99}(?:\(([^()\s]{1,99})\)|\{#([\w:.-]{1,99})[^{}\n]{0,300}\})[ \t]{0,99}$",
    re.MULTILINE,
)
_LABEL_OF_BOOKDOWN: Final = re.compile(r"\(\\#([\w:-]{1,99})\)")
_CODE_SPAN: Final = re.compile(r"(`{1,9})[^`\n]+\1")

# Marks within a line.
_ATTRIBUTE: Final = (
    r"(?:[#.][A-Za-z][\w:.-]{0,99}|[A-Za-z][\w-]{0,40}=(?:\"[^\"\n]{0,200}\"|[\w.%-]{1,99}))"
)
_MARK: Final = re.compile(
    r"(?<!\w)(?P<embed>!?)\[\[(?=[^\[\]\n|]*[^\W\d_])(?!\s)(?P<target>[^\[\]\n|]{1,300}?)(?:\\?\|(?P<text>[^\[\]\n]{0,300}))?\]\]"
    r"|\{(?P<role>[A-Za-z][\w:.+-]{0,40})\}(?P<ticks>`{1,3})(?!`)(?P<content>[^`]{1,2000})(?P=ticks)"
    rf"|\{{[#.][A-Za-z][\w:.-]*(?:[ \t]+{_ATTRIBUTE}){{0,9}}[ \t]*\}}"
    rf"|(?<=[\])`])\{{{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE}){{0,9}}[ \t]*\}}"
    r"|\{\{[<%][^{}\n]{0,300}[%>]\}\}"
    r"|%%[^\n]{0,999}?%%"
    r"|\\@ref\((?P<label>[^()\n]{1,200})\)|\\#(?P<of_bookdown>[a-z]+:[\w-]+)\)"
    rf"|@(?P<reference>(?:{'|'.join(_TABLE['prefixes'].split())})-[\w-]+)"
    r"|\[(?P<cites>(?:[^\[\]@\n]{0,99}[^\w\[\]@])?@[\w][^\[\]\n]{0,300})\](?![\[(])"
)
_ROLE_TEXT: Final = re.compile(r"\A!?(.*)<[^<>]*>\Z", re.DOTALL)
_HEADING_ATTRIBUTES: Final = re.compile(
    rf"[ \t]{{0,99}}\{{:?[ \t]{{0,9}}(?:-|(?:-[ \t]{{1,9}})?{_ATTRIBUTE}"
    rf"(?:[ \t]{{1,9}}(?:-|{_ATTRIBUTE})){{0,9}})[ \t]{{0,9}}\}}[ \t#]{{0,99}}\Z"
)
_ID: Final = re.compile(r"#([\w:.-]+)")
_BLOCK_ID: Final = re.compile(r"[ \t]\^[A-Za-z0-9][\w-]{3,40}\Z")

# Blocks.
_BLOCK: Final = re.compile(
    r"(?P<fence>`{3,}|~{3,}|:{3,})[ \t]*"
    r"(?:\{(?P<braces>[^{}\n]{1,300})\}|(?P<word>[A-Za-z][\w-]*)(?!\S))?"
    r"[ \t]*(?P<argument>[^\n]*)\Z"
    r"|>[ \t]?\[!(?P<callout>[\w-]{1,40})(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<callout_title>[^\n]*)\Z"
    r"|(?:!!!|\?\?\?\+?)[ \t]+(?P<admonition>[\w-]+)[\w \t-]*"
    r"(?:\"(?P<admonition_title>[^\"\n]*)\")?[ \t]*\Z"
    r"|===\+?[ \t]+\"(?P<tab>[^\"\n]*)\"[ \t]*\Z"
)
_DIV_EDGE: Final = re.compile(r"^[ \t>]*(?::{3,})[ \t]*(?P<opens>[^\s:][^\n]*)?$", re.MULTILINE)
_LATEX_EDGE: Final = re.compile(r"\\(?P<edge>begin|end)\{(?P<name>[A-Za-z]{1,40}\*?)\}")
_QUOTED: Final = re.compile(r" {0,3}> ?")
_OPTION: Final = re.compile(r"[ \t]{0,99}:(?P<key>[\w-]{1,99}):(?P<value>[^\n]*)")
_QUOTED_VALUE: Final = re.compile(r"([\w-]{1,40})[ \t]{0,9}=[ \t]{0,9}\"([^\"]*)\"")
_ANY_VALUE: Final = re.compile(r"[\w-]{1,40}[ \t]{0,9}=[ \t]{0,9}(?:\"[^\"]*\"|\S+)")
_VALUE: Final = re.compile(r"[\w-]+[ \t]*[=:][ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s,]+))")
_TARGET: Final = re.compile(r"\(([^()\s]{1,99})\)=[ \t]*\Z")
_FIRST_HEADING: Final = re.compile(r"\s*#{1,6}[ \t]+([^\n]*)\n?")

# HTML within Markdown.
_HTML: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<silent>script|style|svg|iframe|textarea|noscript)\b.*?(?:</(?P=silent)>|\Z)"
    r"|<[?!][^<>]*>|<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*+)"
    r"(?P<attributes>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>",
    re.DOTALL | re.IGNORECASE,
)
_HTML_ATTRIBUTE: Final = re.compile(
    r"\b(href|src|alt)[ \t]*=[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE
)


def markdown_html(text: str, loose: bool = False) -> str:
    """Return Markdown as HTML; with `loose` blanks may stand within dollars."""
    text = markup.PRIVATE.sub(" ", text)
    environment = _environment(text, loose)
    _, end = front_matter(text)
    text = "\n" * text.count("\n", 0, end) + text[end:]
    if "|" in text and "$" in text:
        text = _ROW.sub(_with_hidden_bars, text)
    html: str = _reader().render(text, environment)
    return html.replace(_BAR, "|")


def markdown_line(text: str, loose: bool = False) -> str:
    """Return a line of Markdown, such as a title, as HTML."""
    text = markup.PRIVATE.sub(" ", text)
    return str(_reader().renderInline(text, _environment(text, loose)))


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the values of the front matter in YAML or TOML, and where it ends."""
    front = _FRONT_MATTER.match(text)
    if front is None:
        return {}, 0
    values: Any = None
    try:
        if front["mark"] == "+++":
            values = tomllib.loads(front["values"])
        else:
            from arqmath_bm25.core.configuration import from_yaml  # pydantic loads slowly

            values = from_yaml(front["values"])
    except ValueError:  # such as "title: Sets: a primer"
        values = _plain_values(front["values"])
    if not isinstance(values, dict) or not values:
        return {}, 0
    return values, front.end()


def _with_hidden_bars(row: re.Match[str]) -> str:
    """Return a row of a table in which no bar of a formula ends a cell."""
    return _FORMULA_IN_ROW.sub(lambda formula: formula[0].replace("|", _BAR), row[0])


def _environment(text: str, loose: bool) -> dict[str, Any]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return {
        "loose": loose or _MYST.search(text) is not None,
        "pandoc": _PANDOC.search(text) is not None,
        "starts": starts,
        "depth": 0,
        "pairs": {},
    }


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    reader = MarkdownIt("commonmark", {"xhtmlOut": False}).enable(["table", "strikethrough"])
    reader.use(footnote_plugin, move_to_end=False).use(deflist_plugin)
    everywhere: Any = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    reader.block.ruler.before("fence", "display", _display, everywhere)
    reader.block.ruler.before("fence", "latex", _latex_block, everywhere)
    reader.block.ruler.before("fence", "directive", _directive, everywhere)
    reader.block.ruler.before("fence", "silent", _silent_line, everywhere)
    reader.block.ruler.before("lheading", "late display", _late_display, {"alt": ["paragraph"]})
    reader.inline.ruler.before("escape", "formula", _formula)
    reader.inline.ruler.before("escape", "mark", _mark)
    reader.inline.ruler.before("escape", "command", _command)
    reader.core.ruler.after("block", "headings", _headings)
    reader.core.ruler.after("inline", "footnotes", _footnotes)
    for name, write in _WRITERS.items():
        reader.add_render_rule(name, write)
    return reader


# Formulas


def formula_at(text: str, begin: int, end: int, loose: bool) -> tuple[str, bool, int] | None:
    """Return the formula that begins at a place, whether it is displayed, and where it ends."""
    opening = _OPENING.match(text, begin, end)
    if opening is None:
        return None
    mark = opening[0]
    start = opening.end()
    limit = min(end, start + _LONGEST)
    if opening["name"]:
        stop = _end_of_environment(text, opening["name"], start, limit)
        if stop < 0:
            return None
        return text[begin:stop], True, stop
    if mark == "$":
        return _between_dollars(text, start, limit, loose)

    closing = mark
    if mark == "$`":
        closing = "`$"
    elif mark != "$$":
        closing = mark[:-1] + _CLOSING[mark[-1]]
    stop = text.find(closing, start, limit)
    if stop < 0 or not text[start:stop].strip():
        return None
    return text[start:stop], mark == "$$" or mark[-1] == "[", stop + len(closing)


def _between_dollars(
    text: str, start: int, limit: int, loose: bool
) -> tuple[str, bool, int] | None:
    stop = text.find("$", start, limit)
    while stop > 0 and _is_escaped(text, start, stop):
        stop = text.find("$", stop + 1, limit)
    latex = text[start : max(start, stop)]
    if not latex.strip() or "\n\n" in latex or is_money(text, start, stop):
        return None
    if not loose:
        has_blank = latex[0].isspace() or latex[-1].isspace()
        if has_blank or text[stop + 1 : stop + 2].isdecimal():
            return None
    return latex, False, stop + 1


def _is_escaped(text: str, start: int, place: int) -> bool:
    """Return whether an odd number of backslashes stand before a place; two are a line's end."""
    first = place
    while first > start and text[first - 1] == "\\":
        first -= 1
    return (place - first) % 2 == 1


def _end_of_environment(text: str, name: str, start: int, limit: int) -> int:
    """Return where an environment ends, -1 if it does not."""
    depth = 1
    for edge in _LATEX_EDGE.finditer(text, start, limit):
        if edge["name"] != name:
            continue
        depth += 1 if edge["edge"] == "begin" else -1
        if depth == 0:
            return edge.end()
        if depth > _DEEPEST:
            break
    return -1


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = formula_at(state.src, state.pos, state.posMax, state.env["loose"])
    if found is None:
        return False
    latex, display, state.pos = found
    labels = _LABEL_OF_BOOKDOWN.findall(latex)
    latex = _LABEL_OF_BOOKDOWN.sub("", latex)
    label = _EQUATION_LABEL.match(state.src, state.pos, state.posMax)
    if display and label is not None:
        labels.append(label[1] or label[2])
        state.pos = label.end()
    if not silent:
        places = "".join(f'<span id="{escape(name)}"></span>' for name in labels)
        _push(state, places + markup.formula(latex, display))
    return True


def _push(state: Any, html: str) -> None:
    state.push("raw", "", 0).content = html


def _display(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a display that begins a line; blank lines may stand in it."""
    return _lines_of_display(state, first, last, silent, at_begin=True)


def _late_display(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a line in which a display begins that does not end there."""
    return _lines_of_display(state, first, last, silent, at_begin=False)


def _lines_of_display(
    state: StateBlock, first: int, last: int, silent: bool, at_begin: bool
) -> bool:
    if at_begin:
        begin = state.bMarks[first] + state.tShift[first]
        opening = _OPENS_DISPLAY.match(state.src[begin : state.eMarks[first]])
    else:
        begin, opening = _first_unclosed(state, first, last)
    if opening is None:
        return False

    place = begin + opening.end()
    found = formula_at(state.src, begin + opening.start(), len(state.src), False)
    if found is None or found[2] <= place:
        return False
    after = first
    while after < last and state.eMarks[after] < found[2]:
        is_outside = state.sCount[after] < state.blkIndent and not state.isEmpty(after)
        if is_outside or (not at_begin and state.isEmpty(after)):
            return False
        after += 1
    rest = state.src[found[2] : state.eMarks[first]].strip(" \t.,;:")
    if after >= last or (after == first and rest and not _EQUATION_LABEL.match(rest)):
        return False
    if silent:
        return True

    after = _end_of_displays(state, found[2], after, last)
    content = state.getLines(first, after + 1, state.blkIndent, False).strip()
    _push(state, "<p>")
    _push_inline(state, content, [first, after + 1])
    _push(state, "</p>\n")
    state.line = after + 1
    return True


def _first_unclosed(state: StateBlock, first: int, last: int) -> tuple[int, re.Match[str] | None]:
    """Return where a line begins, and the formula in it that ends in a later one.

    It is the line `first`, or one of those that are indented after it, at which no block begins.
    """
    number = first
    while True:
        begin = state.bMarks[number] + state.tShift[number]
        line = state.src[begin : state.eMarks[number]]
        if "$" in line or "\\" in line:
            opening = _unclosed(_CODE_SPAN.sub(lambda code: "x" * len(code[0]), line))
            if opening is not None:
                return begin, opening

        number += 1
        if number >= last or state.isEmpty(number) or not state.is_code_block(number):
            return begin, None


def _end_of_displays(state: StateBlock, stop: int, after: int, last: int) -> int:
    """Return the last line of the paragraph of a display that ends at `stop`, in line `after`.

    Another formula may begin in a line of the paragraph and end in a later one. What is indented
    after a display is no code, but the rest of its paragraph.
    """
    while True:
        rest = state.src[stop : state.eMarks[after]]
        opening = _unclosed(_CODE_SPAN.sub(lambda code: "x" * len(code[0]), rest))
        found = None
        if opening is not None:
            found = formula_at(state.src, stop + opening.start(), len(state.src), False)

        if found is not None and found[2] > state.eMarks[after]:
            end = after
            while end + 1 < last and state.eMarks[end] < found[2]:
                end += 1
            if state.eMarks[end] < found[2]:
                return after
            after = end
            stop = found[2]
        elif after + 1 < last and not state.isEmpty(after + 1) and state.is_code_block(after + 1):
            after += 1
            stop = state.bMarks[after]
        else:
            return after


def _unclosed(line: str) -> re.Match[str] | None:
    """Return the begin of a formula that does not end on its line."""
    opening = _OPENS_FORMULA.search(line)
    while opening is not None:
        found = formula_at(line, opening.start(), len(line), False)
        if found is not None:
            opening = _OPENS_FORMULA.search(line, found[2])
        elif line.find("$", opening.end()) < 0 or opening[0] != "$":
            return opening
        else:
            opening = _OPENS_FORMULA.search(line, opening.end())
    return None


def _push_inline(state: StateBlock, content: str, lines: list[int]) -> None:
    token = state.push("inline", "", 0)
    token.content = content
    token.map = lines
    token.children = []


# Marks within a line


def _mark(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "[!{%\\@":
        return False
    found = _MARK.match(state.src, state.pos, state.posMax)
    if found is None or (found["cites"] and not state.env["pandoc"]):
        return False
    if found["reference"] and state.src[max(0, state.pos - 1) : state.pos].isalnum():
        return False
    role = found["role"]
    if role and role.rpartition(":")[2].rstrip("*") not in NAMES["roles"]:
        return False

    if not silent:
        label = found["label"] or found["reference"]
        if found["of_bookdown"]:
            state.pending = state.pending.removesuffix("(")
            _push(state, f'<span id="{escape(found["of_bookdown"])}"></span>')
        elif label:
            _push(state, markup.reference(label))
        elif found["target"] and not found["embed"]:
            _push_link(state, found)
        elif role:
            _push_role(state, role, found["content"])
    state.pos = found.end()
    return True


def _push_link(state: StateInline, link: re.Match[str]) -> None:
    """Write a wiki link by its text, or else by the name of its target."""
    note, _, heading = link["target"].strip().partition("#")
    note = note.rpartition("/")[2]
    _push(state, f'<a href="#{escape(note or heading)}">')
    if link["text"] is None:
        _push(state, markup.plain(note or heading))
    else:
        end = state.posMax
        state.pos, state.posMax = link.start("text"), link.end("text")
        state.md.inline.tokenize(state)
        state.posMax = end
    _push(state, "</a>")


def _push_role(state: StateInline, role: str, content: str) -> None:
    name = role.rpartition(":")[2].rstrip("*")
    text = " ".join(content.split())
    if name == "math":
        _push(state, markup.formula(content))
    elif name in NAMES["references"]:
        target = text.rpartition("<")[2].rstrip(">")
        named = _ROLE_TEXT.match(text)
        _push(state, markup.reference(target))
        if named is not None:
            _push(state, markup.plain(named[1].rstrip()))
    elif name not in NAMES["silent_roles"]:
        named = _ROLE_TEXT.match(text)
        if named is not None:
            text = named[1].rstrip()
        state.push("text", "", 0).content = text


def _command(state: StateInline, silent: bool) -> bool:
    r"""Read a command of LaTeX, such as `\emph{so}` or `\index{group}`."""
    if state.src[state.pos] != "\\":
        return False
    end = command_end(state.src, state.pos, state.posMax)
    if end <= state.pos:
        return False
    if not silent:
        _push(state, latex_line(state.src[state.pos : end]))
    state.pos = end
    return True


# Blocks


def _silent_line(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a label of MyST, which stands before what it names, or a line without words."""
    line = _line(state, first)
    target = _TARGET.match(line)
    is_comment = state.env["loose"] and (line.startswith("% ") or line == "+++")
    end = first + 1
    if line.startswith("%%") and "%%" not in line[2:]:
        while end < last and "%%" not in _line(state, end):
            end += 1
        is_comment = end < last
        end += 1
    if target is None and not is_comment:
        return False
    if not silent:
        if target is not None:
            token = state.push("target", "", 0)
            token.content = target[1]
        state.line = end
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _latex_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    r"""Read an environment of LaTeX that is no mathematics, or the definition of a macro."""
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith("\\", begin):
        return False
    end = definition_end(state.src, begin)
    edge = _LATEX_EDGE.match(state.src, begin)
    if edge is not None and edge["edge"] == "begin":
        end = _pairs(state).get(begin, -1)
    if end <= begin:
        return False
    after = first
    while after < last and state.eMarks[after] < end:
        after += 1
    if after >= last:
        return False
    if not silent:
        token = state.push("latex", "", 0)
        token.content = state.getLines(first, after + 1, state.blkIndent, False)
        token.map = [first, after + 1]
        state.line = after + 1
    return True


def _pairs(state: StateBlock) -> dict[int, int]:
    """Map the begin of each div and environment of LaTeX to its end."""
    known: dict[int, int] | None = state.env["pairs"].get(state.src)
    if known is not None:
        return known

    pairs: dict[int, int] = {}
    opened: list[int] = []
    for edge in _DIV_EDGE.finditer(state.src):
        begin = state.src.index(":", edge.start())
        if edge["opens"]:
            opened.append(begin)
        elif opened:
            pairs[opened.pop()] = begin
    opened_environments: dict[str, list[int]] = {}
    for edge in _LATEX_EDGE.finditer(state.src):
        same = opened_environments.setdefault(edge["name"], [])
        if edge["edge"] == "begin":
            same.append(edge.start())
        elif same:
            pairs[same.pop()] = edge.end()
    state.env["pairs"][state.src] = pairs
    return pairs


def _directive(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a directive, a div, a callout or an admonition with its content."""
    line = _line(state, first)
    if line[:1] not in "`~:>!?=":
        return False
    opening = _BLOCK.match(line)
    if opening is None or state.env["depth"] >= _DEEPEST:
        return False
    name, label, title = _header(opening)
    content_end, after = _extent(state, first, last, opening)
    is_fence = line[0] in "`~"
    if after < 0 or (is_fence and not _is_read(name)):
        return False
    if silent:
        return True

    state.line = after
    lines = _content(state, first + 1, content_end, opening)
    options = 0
    if opening["braces"]:
        options, values = _options(lines)
        label = values.get("label") or values.get("name") or label
    content = "\n".join(lines[options:])
    begin = first + 1 + options
    if name == "math":
        places = ""
        if label:
            places = f'<span id="{escape(label)}"></span>'
        _push(state, f"<p>{places}{markup.formula(f'{title} {content}', True)}</p>\n")
    elif name not in NAMES["dropped"]:
        _push_directive(state, (name, label, title), content, (first, begin, after))
    return True


def _is_read(name: str) -> bool:
    """Return whether the content of a directive is Markdown, or is known to have no words."""
    return name in markup.NAMED or any(
        name in NAMES[kind] for kind in ("boxes", "math", "transparent", "dropped")
    )


def _header(opening: re.Match[str]) -> tuple[str, str, str]:
    """Return name, label and title of a directive, a div, a callout or an admonition."""
    if opening["fence"] is None:
        name = opening["callout"] or opening["admonition"] or "tab"
        title = opening["callout_title"] or opening["admonition_title"] or opening["tab"] or ""
        return name.lower(), "", title

    title = opening["argument"].strip(" \t:")
    braces = opening["braces"]
    if braces is None:
        return (opening["word"] or "").lower(), "", title
    values = dict(_QUOTED_VALUE.findall(braces))
    words = _ANY_VALUE.sub(" ", braces).replace(",", " ").split()
    names = [word.lstrip(".").rpartition(":")[2].rstrip("*") for word in words if word[0] != "#"]
    names = [name.removeprefix("callout-") for name in names]
    labels = [word[1:] for word in words if word[0] == "#"]
    name = next((name for name in names if _is_read(name)), "".join(names[:1]))
    if labels and name not in markup.NAMED:
        prefix = labels[0].partition("-")[0]
        if prefix in markup.NAMED:
            name = prefix
    if not labels and len(names) > 1 and words[0][0] not in "#.":
        labels = [names[1]]
    if name in NAMES["labelled"]:  # the argument is the label of another directive
        title = ""
    return name, "".join(labels[:1]), values.get("name") or values.get("title") or title


def _extent(state: StateBlock, first: int, last: int, opening: re.Match[str]) -> tuple[int, int]:
    """Return the line after the content of a block, and the one after the block; -1: no end."""
    mark = opening["fence"]
    after = first + 1
    if mark is None:
        indent = state.sCount[first] + 4
        while after < last:
            if opening["callout"]:
                if not _line(state, after).startswith(">"):
                    break
            elif not state.isEmpty(after) and state.sCount[after] < indent:
                break
            after += 1
        return after, after
    if mark[0] == ":":
        if not (opening["braces"] or opening["word"]):
            return -1, -1
        end = _pairs(state).get(state.bMarks[first] + state.tShift[first], -1)
        while after < last and state.bMarks[after] + state.tShift[after] < end:
            after += 1
        if after >= last or end < 0:
            return -1, -1
        return after, after + 1

    while after < last:
        if not state.isEmpty(after) and state.sCount[after] < state.blkIndent:
            return after, after
        line = _line(state, after).rstrip()
        if line.startswith(mark) and not line.strip(mark[0]):
            return after, after + 1
        after += 1
    return after, after


def _content(state: StateBlock, first: int, last: int, opening: re.Match[str]) -> list[str]:
    """Return the lines of a block without the marks before them."""
    indent = state.sCount[first - 1]
    if opening["fence"] is None and not opening["callout"]:
        indent += 4
    lines = state.getLines(first, last, indent, False).split("\n")
    if opening["callout"]:
        lines = [_QUOTED.sub("", line, count=1) for line in lines]
    return lines


def _plain_values(text: str) -> dict[str, str]:
    """Return the values of lines `key: value`."""
    return {key: value.strip() for key, value in _FRONT_LINE.findall(text)}


def _options(lines: list[str]) -> tuple[int, dict[str, str]]:
    """Return how many lines the options of a directive take, and their values."""
    values: dict[str, str] = {}
    if lines[0].strip() == "---" and "---" in map(str.strip, lines[1:]):
        end = [line.strip() for line in lines].index("---", 1)
        return end + 1, _plain_values("\n".join(lines[1:end]))
    for number, line in enumerate(lines):
        option = _OPTION.match(line)
        if option is None:
            return number, values
        values[option["key"]] = option["value"].strip()
    return len(lines), values


def _push_directive(
    state: StateBlock, header: tuple[str, str, str], content: str, lines: tuple[int, int, int]
) -> None:
    name, label, title = header
    first, begin, after = lines
    is_box = name in NAMES["boxes"]
    is_named = name in markup.NAMED and not is_box
    if is_named and not title:
        heading = _FIRST_HEADING.match(content)
        if heading is not None:
            title = heading[1]
            content = "\n" * heading[0].count("\n") + content[heading.end() :]

    end = "</div>\n"
    if is_named:
        opening = state.push("statement", "", 0)
        opening.map = [first, after]
        opening.meta = {"name": name, "label": label, "titled": bool(title)}
        _push_inline(state, title, [first, first + 1])
        _push(state, markup.end_of_title(bool(title)))
    elif is_box:
        end = "</blockquote>\n"
        _push(
            state, f"<blockquote><p><strong>{'' if title else markup.generated(name.capitalize())}"
        )
        _push_inline(state, title, [first, first + 1])
        _push(state, "</strong></p>\n")
    else:
        _push(state, f'<div><span id="{escape(label)}"></span><p>')
        _push_inline(state, title, [first, first + 1])
        _push(state, "</p>\n")

    state.env["depth"] += 1
    number = len(state.tokens)
    state.md.block.parse(content, state.md, state.env, state.tokens)
    for token in state.tokens[number:]:
        token.level += state.level + 1
        if token.map is not None:
            token.map = [line + begin for line in token.map]
    state.env["depth"] -= 1
    _push(state, end)


# The whole text


def _headings(state: StateCore) -> None:
    """Give headings their labels, which follow them or stand before them."""
    label = None
    for number, token in enumerate(state.tokens):
        if token.type == "heading_open":
            title = state.tokens[number + 1]
            attributes = _HEADING_ATTRIBUTES.search(title.content)
            if attributes is not None:
                title.content = title.content[: attributes.start()]
                named = _ID.search(attributes[0])
                if named is not None:
                    token.meta["label"] = named[1]
            if label is not None:
                token.meta["label"] = label.content
                label.hidden = True
        elif token.type == "inline":
            token.content = _BLOCK_ID.sub("", token.content)
        label = None
        if token.type == "target":
            label = token


def _footnotes(state: StateCore) -> None:
    """Move each footnote to the end of the section that refers to it first."""
    notes: dict[str, list[Any]] = {}
    others: list[Any] = []
    note: list[Any] | None = None
    for token in state.tokens:
        if token.type == "footnote_reference_open":
            note = notes.setdefault(token.meta["label"], [])
        elif token.type == "footnote_reference_close":
            note = None
        elif note is not None:
            note.append(token)
        else:
            others.append(token)
    if not notes:
        return

    state.tokens[:] = []
    asked: dict[str, int] = {}
    for token in [*others, None]:
        is_heading = token is not None and token.type == "heading_open" and token.level == 0
        if asked and (token is None or is_heading):
            for label, number in asked.items():
                state.tokens += _raw(f"<div><sup>{markup.generated(str(number))}</sup>")
                state.tokens += [*notes.pop(label, []), *_raw("</div>\n")]
            asked = {}
        if token is None:
            break
        for child in token.children or ():
            if child.type == "footnote_ref" and child.meta.get("label") in notes:
                asked.setdefault(child.meta["label"], child.meta["id"] + 1)
        state.tokens.append(token)


def _raw(html: str) -> list[Any]:
    from markdown_it.token import Token

    return [Token("raw", "", 0, content=html)]


# HTML


def _write_raw(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return str(tokens[number].content)


def _write_text(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return markup.plain(tokens[number].content)


def _write_target(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return f'<span id="{escape(tokens[number].content)}"></span>'


def _write_heading(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    token = tokens[number]
    level = min(int(token.tag[1]) + 1, 6)
    if token.nesting < 0:
        return f"</h{level}>\n"
    if token.level > 0:
        return f'<h{level} class="inner">'
    begin, end = (_place(line, env) for line in token.map)
    return markup.heading_start(level - 1, token.meta.get("label", ""), begin, end)


def _place(line: int, env: Any) -> int:
    return int(env["starts"][min(line, len(env["starts"]) - 1)])


def _write_statement(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    token = tokens[number]
    begin, end = (_place(line, env) for line in token.map)
    meta = token.meta
    return markup.statement(meta["name"], meta["label"], begin, end, meta["titled"])


def _write_latex(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    token = tokens[number]
    return latex_html(token.content, _place(token.map[0], env))


def _write_fence(_: Any, tokens: Any, number: int, *__: Any) -> str:
    token = tokens[number]
    if token.info.strip() == "math":
        return f"<p>{markup.formula(token.content, True)}</p>\n"
    lines = token.content.split("\n")
    options = 0
    if token.info.strip().startswith("{"):
        options, _values = _options(lines)
    return markup.code_block("\n".join(lines[options:]).rstrip("\n"))


def _write_code_span(_: Any, tokens: Any, number: int, *__: Any) -> str:
    return f"<code>{escape(tokens[number].content)}</code>"


def _write_note(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    return f"<sup>{markup.generated(str(tokens[number].meta['id'] + 1))}</sup>"


def _write_html(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    """Keep the elements that a post may have; formulas are found in their text."""
    written = []
    html = tokens[number].content
    done = 0
    for element in _HTML.finditer(html):
        written.append(_text_of_html(html[done : element.start()], env))
        written.append(_kept_tag(element))
        done = element.end()
    written.append(_text_of_html(html[done:], env))
    return "".join(written)


def _kept_tag(element: re.Match[str]) -> str:
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


def _text_of_html(text: str, env: Any) -> str:
    if "$" not in text and "\\" not in text:
        return text
    written = []
    done = place = 0
    while place < len(text):
        found = None
        if text[place] in "$\\":
            found = formula_at(text, place, len(text), env["loose"])
        if found is None:
            place += 1
            continue
        latex, display, end = found
        written += [
            markup.plain(unescape(text[done:place])),
            markup.formula(unescape(latex), display),
        ]
        done = place = end
    written.append(markup.plain(unescape(text[done:])))
    return "".join(written)


_WRITERS: Final = {
    "raw": _write_raw,
    "text": _write_text,
    "target": _write_target,
    "heading_open": _write_heading,
    "heading_close": _write_heading,
    "statement": _write_statement,
    "latex": _write_latex,
    "fence": _write_fence,
    "code_block": _write_fence,
    "code_inline": _write_code_span,
    "footnote_ref": _write_note,
    "html_inline": _write_html,
    "html_block": _write_html,
}
