r"""Blocks of the dialects of Markdown, written as paragraphs of CommonMark.

Directives of MyST, divs of Quarto and pandoc, fences of bookdown, callouts of Obsidian, admonitions
of mkdocs, environments of LaTeX and code become what stands around their content, so that the
content is read as any other Markdown. What is written already is cut from the text (`Cuts`).
"""

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.latex_html import (
    BEGINS_MATH,
    definition_end,
    end_of_environment,
    latex_html,
)
from arqmath_bm25.core.lazy import expression

_INLINE = "\ue010"  # around the number of a cut
_BLOCK = "\ue011"
_OF_HEADING = "\ue012"  # around the place and the label of a heading
_CUT = expression(
    rf"{_INLINE}(\d{{1,9}}){_INLINE}|(?:<p>)?{_BLOCK}(\d{{1,9}}){_BLOCK}(?:</p>)?"
    rf"|{_OF_HEADING}[^{_OF_HEADING}\n]{{0,200}}{_OF_HEADING}"
)
_TAG_WITH_CUT = expression(rf"<[^<>{_INLINE}]*{_INLINE}[^<>]*>")
HEADING = expression(rf"{_OF_HEADING}(\d+):(\d+):([^{_OF_HEADING}]*){_OF_HEADING}")
ATTRIBUTE = (
    r"(?:[#.][A-Za-z][\w:.-]{0,99}|[A-Za-z][\w-]{0,40}=(?:\"[^\"\n]{0,200}\"|[\w.%-]{1,99}))"
)

_PREFIX = expression(r"(?>(?:[ \t]{0,9}>)*)[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++){0,9}")
_LIST_MARK = expression(r"[^>\s]")
_OPENING = expression(
    r"(?P<fence>`{3,}(?![^\n]*`)|~{3,}|:{3,})[ \t]*"
    r"(?:\{(?P<braces>[^{}\n]{1,300})\}|(?P<word>[A-Za-z][\w-]*)(?![^\s\[]))?"
    r"[ \t]*(?P<argument>[^\n]*)\Z"
    r"|(?:!!!|\?\?\?\+?)[ \t]++(?P<admonition>[\w-]++)(?:[ \t]++[\w-]++){0,9}"
    r"[ \t]*+(?:\"(?P<title>[^\"\n]*+)\"[ \t]*+)?\Z"
    r"|===\+?[ \t]+\"(?P<tab>[^\"\n]*)\"[ \t]*\Z"
)
_CALLOUT = expression(r"\[!(?P<name>[\w-]{1,40})(?:\|[^\]\n]{0,99})?\][+-]?[ \t]*(?P<title>.*)\Z")
_BEGIN = expression(r"\\begin\{([A-Za-z]{1,40}\*?)\}")
_OPTION = expression(
    r"[ \t]{0,99}(?::(?P<key>[\w-]{1,99}):|(?:#|//|%%)\||(?P<bare>title|collapse|icon|color):)"
    r"(?P<value>[^\n]*)"
)
_HIGHLIGHT = expression(r"\{%-? (?:end)?highlight\b[^{}\n]{0,99}%\}\s*")  # of Jekyll
_SHORTCODE = expression(  # of Hugo
    r"\{\{[<%][ \t]*(?P<end>/?)(?P<name>[a-z]{1,20})(?![^\s>%])"
    r"(?P<values>[^{}\n]{0,300}?)[ \t]*[>%]\}\}\s*"
)
_FIRST_HEADING = expression(r"\A\s*#{1,6}[ \t]+([^\n]*)")
_INDENT = expression(r"\A(?: {1,4}|\t)")
# Directives whose content is Markdown, or is known to have no words.
_READ = frozenset(markup.NAMED).union(
    *(markup.NAMES[kind] for kind in ("boxes", "math", "transparent", "dropped"))
)
_MOST_OPTIONS = 40
_LONGEST = 50_000  # characters of an environment
_DEEPEST = 8  # directives within others
_PLAIN_VALUE = expression(r"^(\w+):(.*)$", re.MULTILINE)
_QUOTED_VALUE = expression(r"([\w-]{1,40})[ \t]{0,9}=[ \t]{0,9}\"([^\"]*)\"")
_ANY_VALUE = expression(r"[\w-]{1,40}[ \t]{0,9}=[ \t]{0,9}(?:\"[^\"]*\"|\S+)")
_COMMENT = expression(r"%(?!%)|\+\+\+(?: \{.*)?\Z")  # of MyST
_TARGET = expression(r"\(([^()\s]{1,99})\)=[ \t]*\Z")
_HEADING = expression(r"( {0,3}#{1,6}[ \t]+)(?:\((?:PART|APPENDIX)(?:\\\*)?\)[ \t]+)?(.*)\Z")
_PLACE_OF_NOTE = expression(r"(?<!\s)\s{1,99}\^[A-Za-z0-9-]{1,99}\s{0,99}\Z")
_GRID = expression(r"\A\+(?:[-=:]{2,}\+)+[ \t]*\Z")  # a line of a grid table of pandoc
_UNDERLINE = expression(r"\A {0,3}(?:=+|-+)[ \t]*\Z")
_ATTRIBUTES = expression(
    rf"[ \t]{{0,99}}\{{:?[ \t]{{0,9}}(?:-|(?:-[ \t]{{1,9}})?{ATTRIBUTE}"
    rf"(?:[ \t]{{1,9}}(?:-|{ATTRIBUTE})){{0,9}})[ \t]{{0,9}}\}}[ \t#]{{0,99}}\Z"
)
_ID = expression(r"#([\w:.-]+)")


class Cuts:
    """Parts of a text that are HTML already; a mark replaces each of them."""

    def __init__(self) -> None:
        self._html: list[str] = []
        self._sources: list[str] = []

    def cut(self, html: str, source: str = "", mark: str = _INLINE) -> str:
        """Return the mark for a part."""
        self._html.append(html)
        self._sources.append(source)
        return f"{mark}{len(self._html) - 1}{mark}"

    def set_html(self, cut: str, html: str) -> None:
        """Set the HTML of a part."""
        self._html[int(cut[1:-1])] = html

    def source(self, text: str) -> str:
        """Return a text with the sources of its parts."""
        if text.isascii():  # no mark is ASCII
            return text
        return _CUT.sub(partial(_part, self._sources), text)

    def html(self, html: str) -> str:
        """Return HTML with its parts; within a tag, with their sources."""
        html = _TAG_WITH_CUT.sub(lambda tag: self.source(tag[0]), html)
        return _CUT.sub(partial(_part, self._html), html)


def _part(parts: list[str], cut: re.Match[str]) -> str:
    number = cut[1] or cut[2]
    if number is None:
        return ""
    return parts[int(number)]


@dataclass
class _Open:
    """A directive, a div or an admonition that is not closed yet."""

    mark: str  # its fence; "" of an admonition
    name: str
    label: str
    title: str
    line: int  # in which it begins
    indent: int = 0  # of the content of an admonition
    prefix: str = ""  # before its lines
    cut: str = ""  # the mark of its begin
    end: str = ""  # HTML


class Blocks:
    """Writes a text without the blocks that CommonMark does not know."""

    def __init__(self, text: str, cuts: Cuts, offset: int, loose: bool) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._cuts = cuts
        self._loose = loose
        lengths = (len(line) + 1 for line in self._lines)
        self._starts = list(accumulate(lengths, initial=offset))
        if "{{" in text or "{%" in text:
            self._lines = list(map(_with_divs, self._lines))
        self._written: list[str] = []
        self._opened: list[_Open] = []
        self._label = ""  # of the next heading
        self._divs = self._ends_of_divs()

    def commonmark(self) -> str:
        """Return the text."""
        number = 0
        while number < len(self._lines):
            number = self._block(number)
        self._close(0, len(self._lines))
        return "\n".join(self._written)

    def _ends_of_divs(self) -> dict[int, int]:
        """Map the line in which each div begins to that in which it ends."""
        ends = {}
        opened = []
        for number, line in enumerate(self._lines):
            edge = line.lstrip(" \t>")
            if not edge.startswith(":::"):
                continue
            if edge.strip(" \t:"):
                opened.append(number)
            elif opened:
                ends[opened.pop()] = number
        return ends

    def _block(self, number: int) -> int:
        """Write the block that begins in a line, or else the line; return the line after it."""
        line = self._lines[number]
        if self._opened and line.strip():
            spread = line.expandtabs(4)
            indent = len(spread) - len(spread.lstrip())
            while self._opened and self._opened[-1].indent > indent:
                self._close(len(self._opened) - 1, number)

        line = self._without_indent(line)
        rest = _PREFIX.sub("", line, count=1)
        before = line.removesuffix(rest)
        after = 0
        if rest.startswith("\\"):
            after = self._latex(number, before, rest)
        elif rest[:1] in ("`", "~", ":", "!", "?", "="):
            opening = _OPENING.match(rest)
            if opening is not None:
                after = self._directive(number, before, opening)
        if not after and rest:
            after = self._mark(number, before, rest)
        if not after:
            self._written.append(line)
            after = number + 1
        return after

    def _without_indent(self, line: str) -> str:
        """Return a line without the indentation of the admonitions around it."""
        for opened in self._opened:
            if opened.indent:
                line = _INDENT.sub("", line, count=1)
        return line

    def _write(self, before: str, block: str) -> None:
        """Write a block as a paragraph."""
        blank = _LIST_MARK.sub(" ", before).rstrip()
        self._written += [blank, f"{before}{block}", blank]

    def _content(self, first: int, last: int, before: str) -> list[str]:
        """Return lines of a block without the marks before them."""
        blanks = len(before) - before.rfind(">") - 1
        marks = re.compile(rf"(?:[ \t]*>){{0,{before.count('>')}}}[ \t]{{0,{blanks}}}")
        lines = map(self._without_indent, self._lines[first:last])
        return [marks.sub("", line, count=1) for line in lines]

    # Directives

    def _directive(self, number: int, before: str, opening: re.Match[str]) -> int:
        """Write code or the edge of a directive; return 0 for a line that is neither."""
        mark = opening["fence"] or ""
        if mark and not opening[0].strip(f"{mark[0]} \t"):
            for level in range(len(self._opened) - 1, -1, -1):
                opened = self._opened[level].mark
                if opened and (mark.startswith(opened) or opened[0] == mark[0] == ":"):
                    self._close(level, number + 1)
                    return number + 1

        is_unclosed = mark.startswith(":") and number not in self._divs
        if is_unclosed or len(self._opened) > _DEEPEST:
            return 0
        name, label, title = _header(opening)
        gate, _, edge = name.rpartition("-")
        is_gate = edge in ("start", "end")  # of an exercise or a solution
        is_code = mark[:1] in ("`", "~") and name not in _READ
        is_whole = is_code or is_gate or name == "math" or name in markup.NAMES["dropped"]
        end, after = number + 1 + _MOST_OPTIONS, number + 1
        if is_whole:
            end, after = self._extent(number, before, mark)
        lines = self._content(number + 1, end, before)
        options = 0
        if opening["braces"] or (opening["word"] or "").startswith("ad-"):
            options, values = _options(lines)
            label = values.get("label") or values.get("name") or label
            title = values.get("title") or title
        if edge == "start":
            return self._open(before, _Open(gate, gate, label, title, number), after)
        if is_gate:
            for level, around in enumerate(self._opened):
                if around.mark == gate:
                    self._close(level, after)
            return after
        if not is_whole:
            directive = _Open(mark, name, label, title, number)
            return self._open(before, directive, after + options)

        code = "\n".join(lines[options:])
        html = ""
        if name == "math":
            html = f"<p>{markup.place(label)}{markup.formula(f'{title} {code}', True)}</p>\n"
        elif name == "eval-rst":
            from arqmath_bm25.analysis.rst_html import rst_html  # docutils loads slowly

            html = rst_html(code)
        elif is_code:
            html = markup.code_block(code.rstrip("\n"))
        self._write(before, self._cuts.cut(html, code, _BLOCK))
        return after

    def _extent(self, number: int, before: str, mark: str) -> tuple[int, int]:
        """Return the line after the content of a fence, and the line after the fence."""
        depth = before.count(">")
        last = self._divs.get(number, len(self._lines))
        for end in range(number + 1, last):
            line = self._lines[end]
            marks = line.lstrip(" \t>")
            if line[: len(line) - len(marks)].count(">") < depth:
                return end, end
            if marks.startswith(mark) and not marks.strip(f"{mark[0]} \t"):
                return end, end + 1
        return last, last + 1

    def _open(self, before: str, directive: _Open, after: int) -> int:
        """Write the begin of a directive; return the line after that."""
        name, title = directive.name, directive.title
        if not directive.mark:
            line = self._lines[directive.line].expandtabs(4)
            directive.indent = len(line) - len(line.lstrip()) + 4
        directive.prefix = _LIST_MARK.sub(" ", before)
        is_named = name in markup.NAMED and name not in markup.NAMES["boxes"]
        if is_named and not title:
            heading = _FIRST_HEADING.match("\n".join(self._lines[after : after + 3]))
            if heading is not None:
                title = directive.title = heading[1]
                after += heading[0].count("\n") + 1
        opening, end, directive.end = markup.box(name, directive.label, title)
        directive.cut = self._cuts.cut(opening, "", _BLOCK)
        self._write(before, f"{directive.cut}{title}{self._cuts.cut(end, '', _BLOCK)}")
        self._opened.append(directive)
        return after

    def _close(self, level: int, number: int) -> None:
        """Write the ends of all directives from a level on, which end before a line."""
        for opened in reversed(self._opened[level:]):
            begin, end = self._starts[opened.line], self._starts[number]
            opening, _, _ = markup.box(opened.name, opened.label, opened.title, begin, end)
            self._cuts.set_html(opened.cut, opening)
            self._write(opened.prefix, self._cuts.cut(opened.end, "", _BLOCK))
        del self._opened[level:]

    # Other blocks

    def _latex(self, number: int, before: str, rest: str) -> int:
        r"""Write an environment of LaTeX that is no mathematics, or the definition of a macro."""
        begin = self._starts[number + 1] - self._starts[0] - 1 - len(rest)
        edge = _BEGIN.match(rest)
        if edge is None:
            end = definition_end(self._text, begin)
        elif BEGINS_MATH.match(rest):
            return 0
        else:
            inner, limit = begin + edge.end(), begin + _LONGEST
            begin, end = end_of_environment(self._text, edge[1], inner, limit)
        if end <= begin:
            return 0
        after = bisect_left(self._starts, end + self._starts[0])
        source = "\n".join([rest, *self._content(number + 1, after, before)])
        html = latex_html(source, self._starts[number])
        self._write(before, self._cuts.cut(html, source, _BLOCK))
        return after

    def _mark(self, number: int, before: str, rest: str) -> int:
        """Write a label, a comment, a callout or a heading; return 0 for any other line."""
        after = number + 1
        target = _TARGET.match(rest)
        if target is not None:
            while after < len(self._lines) and not self._lines[after].strip():
                after += 1
            if after < len(self._lines) and self._lines[after].startswith("#"):
                self._label = target[1]
            else:
                self._write(before, self._cuts.cut(markup.place(target[1]), rest, _BLOCK))
            return number + 1
        if _GRID.match(rest):
            if "=" in rest:  # below the header
                self._written.append(before + rest.replace("+", "|").replace("=", "-"))
            return after
        if self._loose and (_COMMENT.match(rest)):
            return after
        if rest.startswith("%%") and "%%" not in rest[2:]:
            for end in range(after, len(self._lines)):
                if "%%" in self._lines[end]:
                    return end + 1
        callout = _CALLOUT.match(rest)
        if callout is not None and ">" in before:
            named = markup.generated(callout["name"].capitalize())
            if callout["title"]:
                named = ""
            strong = self._cuts.cut(f"<strong>{named}"), self._cuts.cut("</strong>")
            self._write(before, _PLACE_OF_NOTE.sub("", callout["title"]).join(strong))
            return after

        heading = _HEADING.match(before + rest)
        if heading is not None:
            self._written.append(heading[1] + self._heading(heading[2], number, after))
            return after
        if not before.strip() and _UNDERLINE.match("".join(self._lines[after : after + 1])):
            self._written += [before + self._heading(rest, number, after + 1), self._lines[after]]
            return after + 1
        return 0

    def _heading(self, title: str, first: int, after: int) -> str:
        """Return a title without its attributes; a heading of the text has its place before it."""
        label, self._label = self._label, ""
        attributes = _ATTRIBUTES.search(title)
        if attributes is not None:
            title = title[: attributes.start()]
            named = _ID.search(attributes[0])
            if named is not None:
                label = label or named[1]
        if self._opened:
            return title
        place = f"{self._starts[first]}:{self._starts[after]}:{label}"
        return f"{_OF_HEADING}{place}{_OF_HEADING}{title}"


def _header(opening: re.Match[str]) -> tuple[str, str, str]:
    """Return name, label and title of a directive, a div or an admonition."""
    if opening["fence"] is None:
        name = opening["admonition"] or "tab"
        return name.lower(), "", opening["title"] or opening["tab"] or ""
    title = opening["argument"].strip(" \t:")
    braces = opening["braces"]
    if title.startswith("[") and title.endswith("]"):  # of Docusaurus
        title = title[1:-1]
    if braces is None:
        return (opening["word"] or "").lower().removeprefix("ad-"), "", title

    values = dict(_QUOTED_VALUE.findall(braces))
    words = _ANY_VALUE.sub(" ", braces).replace(",", " ").split()
    labels = [word[1:] for word in words if word[0] == "#"]
    names = [
        word.lstrip(".").rpartition(":")[2].rstrip("*").removeprefix("callout-")
        for word in words
        if word[0] != "#"
    ]
    name = next((name for name in names if name in _READ), "".join(names[:1]))
    if labels and name not in markup.NAMED:
        prefix = labels[0].partition("-")[0]
        if prefix in markup.NAMED:
            name = prefix
    if not labels and len(names) > 1 and words[0][0] not in "#.":
        labels = [names[1]]
    if name in markup.NAMES["solved"] and title:
        title = f"{{ref}}`{title}`"
    elif name in markup.NAMES["labelled"]:  # the argument is no text
        title = ""
    label = values.get("label") or values.get("id") or "".join(labels[:1])
    return name, label, values.get("name") or values.get("title") or title


def _with_divs(line: str) -> str:
    """Return a line whose tag or shortcode is the edge of code or of a div."""
    if _HIGHLIGHT.fullmatch(line):
        return "```"
    code = _SHORTCODE.fullmatch(line)
    if code is None or code["name"] not in markup.NAMED | dict.fromkeys(markup.NAMES["boxes"]):
        return line
    if code["end"]:
        return ":::"
    return f"::: {{.{code['name']}{code['values']}}}"


def plain_values(text: str) -> dict[str, str]:
    """Return the values of lines `key: value`."""
    return {key: value.strip() for key, value in _PLAIN_VALUE.findall(text)}


def _options(lines: list[str]) -> tuple[int, dict[str, str]]:
    """Return how many lines the options of a directive take, and their values."""
    stripped = [line.strip() for line in lines]
    if stripped[:1] == ["---"] and "---" in stripped[1:]:
        end = stripped.index("---", 1)
        return end + 1, plain_values("\n".join(lines[1:end]))
    values: dict[str, str] = {}
    for number, line in enumerate(lines):
        option = _OPTION.match(line)
        if option is None:
            return number, values
        values[option["key"] or option["bare"] or ""] = option["value"].strip()
    return len(lines), values
