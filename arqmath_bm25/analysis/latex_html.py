r"""LaTeX source as the HTML of a post (markup).

One pass over the tokens of the source writes paragraphs, headings, lists, tables and statements.
Comments, verbatim code, groups and optional arguments are those of TeX; a command that no table has
is dropped, and its argument stays. Macros are expanded in prose; in formulas they stay, and their
definitions (`\newcommand`) become formulas before them. A text begins at its `\begin{document}`;
definitions before it are kept. Any string is read, in linear time.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from typing import Any, Final, NamedTuple

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.macros import Macros, argument_at, definitions, environment_names
from arqmath_bm25.core.tables import read_table

_TABLE: Final[dict[str, Any]] = read_table(__file__)
_MATH: Final = frozenset(_TABLE["math"].split())
_CODE: Final = frozenset(_TABLE["code"].split())
_DROPPED: Final = frozenset(_TABLE["dropped"].split())
_WITH_LOOK: Final = frozenset(_TABLE["without_first_argument"].split())
_SILENT: Final = frozenset(_TABLE["without_arguments"].split())
_REFERENCES: Final = frozenset(_TABLE["references"].split())
_IN_WORDS: Final = frozenset(_TABLE["in_words"].split())
_DEFINITIONS: Final = frozenset(_TABLE["definitions"].split())
# Commands that Markdown may have too.
_KNOWN: Final = _SILENT | _REFERENCES | _IN_WORDS | {*_TABLE["fonts"], "ensuremath", "href", "url"}
_HEADINGS: Final = ("part", "chapter", "section", "subsection", "subsubsection", "frametitle")
MATH_ENVIRONMENT: Final = rf"\\begin\{{(?P<name>(?:{'|'.join(sorted(_MATH))})\*?)\}}"

_OPTION: Final = r"(?:[ \t]{0,9}\[[^\[\]]{0,200}\])"
_TOKEN: Final = re.compile(
    r"(?P<comment>%[^\n]*+(?:\n[ \t]*+(?!\n))?)"
    rf"|\\(?:verb\*?|lstinline{_OPTION}?|mintinline{_OPTION}?\{{[^{{}}\n]{{0,40}}\}})"
    r"(?:(?P<bar>[^\sA-Za-z*{\[])(?P<verb>[^\n]{0,999}?)(?P=bar)|\{(?P<inline>[^{}\n]{0,999})\})"
    r"|\\(?P<edge>begin|end)[ \t]*+\{(?P<environment>[\w@:.-]{1,40}+)(?P<star>\*?)\}"
    r"|\\(?P<accent>[`'^~=.\"]|[uHvcrk](?=[\s{]))\s{0,9}(?:\{\\?(?P<in_braces>[A-Za-z]?)\}"
    r"|\\?(?P<letter>[A-Za-z]))"
    r"|\\(?P<command>[A-Za-z@]++)\*?(?P<blank>[ \t]*+(?:\n[ \t]*+(?!\n))?)"
    r"|\\(?P<sign>.)"
    r"|(?P<dollars>\$\$?)|(?P<paragraph>\n[ \t]*+\n\s*+)|(?P<brace>[{}])|(?P<cell>&)"
    r"|(?P<ligature>---?|``|''|~)",
    re.DOTALL,
)
_LIGATURES: Final = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
_ARGUMENTS: Final = re.compile(
    rf"{_OPTION}{{0,3}}(?:\{{[^{{}}]{{0,999}}\}}{_OPTION}{{0,2}}){{0,9}}"
)
_OPTIONS: Final = re.compile(rf"(?:{_OPTION}|<[^<>]{{0,40}}>){{0,3}}")
_BALANCED: Final = r"\s{0,9}\[((?:[^\[\]{}]|\{[^{}]{0,400}\}){0,400})\]"
_OPTIONAL: Final = re.compile(_BALANCED)
_LABEL: Final = re.compile(r"\s{0,99}\\label\s{0,9}\{([^{}\n]{1,200})\}")
_LABEL_INSIDE: Final = re.compile(r"\\label\s{0,9}\{([^{}\n]{1,200})\}")
_COMMENT: Final = re.compile(r"(?<!\\)((?>(?:\\\\)*))%[^\n]*+(?:\n[ \t]*+)?")
VERBATIM: Final = (
    rf"\\begin\{{(?P<name>(?:{'|'.join(sorted(_CODE))})\*?)\}}(?>(?:(?!\\end\{{(?P=name)\}})(?s:.))*)"
    r"|\\verb\*?(?P<bar>[^\sA-Za-z*])[^\n]{0,999}?(?P=bar)"
)
_OR_COMMENT: Final = re.compile(
    rf"{VERBATIM}|\\(?:url|href|path|nolinkurl)[ \t]*\{{[^{{}}\n]*+\}}|\\(?s:.)|%[^\n]*+"
)
_DOCUMENT: Final = re.compile(
    r"^(?:[^%\\\n]|\\(?!begin\{document\}).){0,999}\\begin\{document\}", re.MULTILINE
)
_CONDITION: Final = re.compile(r"\\(?:(if)[A-Za-z@]*+|fi)(?![A-Za-z@])")
_IN_FORMULA: Final = re.compile(r"\\.|[${}]|\n[ \t]*+\n", re.DOTALL)
_NEW_ENVIRONMENT: Final = re.compile(
    r"\\(?:re)?newenvironment\*?\s{0,9}\{(?P<name>[A-Za-z]{1,40}\*?)\}"
    r"(?:\[[0-9]\])?(?:\[[^\[\]]{0,99}\])?"
)
# \newtheorem{satz}[thm]{Satz}, \declaretheorem[name=Satz]{satz}, \newtcbtheorem{satz}{Satz}{}{th}.
_NEW_STATEMENT: Final = re.compile(
    r"\\(?:(?:sp)?newtheorem|new(?:md|framed|shaded)theorem(?:env)?|(?P<by_options>declaretheorem)"
    r"|(?P<box>newtcbtheorem))(?![A-Za-z])\*?"
    rf"(?P<options>{_BALANCED})?\s{{0,9}}\{{(?P<names>[^{{}}\n]{{1,99}})\}}"
    rf"(?P<more>{_BALANCED})?"
)
# Options of statements and of their declarations that name them.
_VALUE: Final = re.compile(
    r"(?:\A|[\[,])\s{0,9}(?P<key>name|title|heading|note|label|restate|style)\s{0,9}=\s{0,9}"
    r"(?:\{(?P<braced>(?:[^{}]|\{[^{}]{0,400}\}){0,400})\}|(?P<bare>[^,{}\[\]]*))"
)
_TITLES: Final = ("name", "title", "heading", "note")
BESIDE_TITLE: Final = re.compile(r"\\(?:thanks|footnote)\{(?:[^{}]|\{[^{}]{0,400}\}){0,400}\}")
_BEGIN: Final = re.compile(r"\\begin\{([^{}\s]{1,40})\}")
_BRACED: Final = re.compile(r"\s{0,9}\{")
BEGINS_MATH: Final = re.compile(MATH_ENVIRONMENT)
_EMPTY_ROW: Final = re.compile(r"<tr><td>\s*+</td></tr></table>")
_EDGE: Final = re.compile(r"\\(?P<edge>begin|end)\{(?P<name>[A-Za-z]{1,40}\*?)\}")
_LONGEST: Final = 20_000  # characters of a formula
_LONGEST_DEFINITION: Final = 3_000
_DEEPEST: Final = 20  # macros within macros, arguments within arguments
_MOST_USES: Final = 20_000  # of macros in prose


def latex_html(text: str, offset: int = 0, preamble: Macros | None = None) -> str:
    """Return LaTeX source as HTML; `offset` is its place in a longer text.

    The macros of its preamble are written before it, unless they are known as `preamble`.
    """
    text = markup.PRIVATE.sub(" ", text)
    writer = _LatexWriter(text, preamble, offset)
    begin, end = 0, len(text)
    document = _DOCUMENT.search(text)
    if document is not None:
        begin = document.end()
        closing = text.find(r"\end{document}", begin)
        if closing >= 0:
            end = closing
        for start, stop in definitions(text[:begin]):
            writer.define(text, start, stop, is_written=preamble is None)

    writer.write(text, begin, end)
    return unicodedata.normalize("NFC", writer.html())


def latex_line(text: str, macros: Macros | None = None) -> str:
    """Return LaTeX within a line, such as a title, as HTML."""
    text = markup.PRIVATE.sub(" ", text)
    writer = _LatexWriter(text, macros)
    return unicodedata.normalize("NFC", writer.line(text))


def without_comments(text: str) -> str:
    """Return LaTeX source without its comments; lines stay."""
    if "%" not in text:
        return text
    return _OR_COMMENT.sub(lambda found: "" if found[0][0] == "%" else found[0], text)


def command_end(text: str, begin: int, end: int) -> int:
    """Return where a known command with its arguments ends, -1 for any other text."""
    token = _TOKEN.match(text, begin, end)
    if token is None:
        return -1
    if token["edge"]:
        return token.end()
    name = token["command"]
    if name is None or name not in _KNOWN:
        return -1
    arguments = _ARGUMENTS.match(text, token.end("command"), end)
    if arguments is None or not arguments[0].strip():
        return -1
    return arguments.end()


def definition_end(text: str, begin: int) -> int:
    """Return where the definition of a macro ends, -1 for any other text."""
    token = _TOKEN.match(text, begin)
    if token is None or token["command"] not in _DEFINITIONS:
        return -1
    for start, end in definitions(text[begin : begin + _LONGEST_DEFINITION]):
        if start == 0:
            return begin + end
        break
    return -1


def environment_end(text: str, name: str, begin: int, limit: int) -> int:
    """Return where the environment ends whose content begins here, -1 if it does not."""
    depth = 1
    if text.find(rf"\end{{{name}}}", begin, limit) < 0:
        return -1
    for edge in _EDGE.finditer(text, begin, limit):
        if edge["name"] == name:
            depth += 1 if edge["edge"] == "begin" else -1
        if depth == 0:
            return edge.end()
        if depth > _DEEPEST:
            break
    return -1


@dataclass
class _Statement:
    """A statement that is not written yet."""

    block: int  # where it will be
    begin: int  # in the source
    name: str
    printed: str = ""  # as the source declares it
    title: str = ""
    label: str = ""


class _Declared(NamedTuple):
    """A kind of statements as a source declares it."""

    printed: str  # LaTeX
    prefix: str | None = None  # of its labels; its title and label are then arguments


class _LatexWriter:
    """Writes LaTeX as HTML."""

    def __init__(self, text: str, macros: Macros | None = None, offset: int = 0) -> None:
        self._macros = Macros(macros or {})
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._groups: list[str] = []  # tags that end with the open groups
        # Of open environments: name, its end in HTML, and of a statement its begin.
        self._environments: list[tuple[str, str, _Statement | None]] = []
        self._edges: dict[str, str] = {}  # commands and environments by the edge that they mean
        self._missing: set[str] = set()  # what does not occur in the rest of the source
        self._within_line = 0  # titles, cells
        self._offset = offset
        self._position = offset  # in the source
        self._uses = _MOST_USES
        self._headings = [name for name in _HEADINGS if f"\\{name}" in text]
        if r"\begin{frame}" in text and "frametitle" not in self._headings:
            self._headings.append("frametitle")
        self._declared: dict[str, _Declared] = {}
        if "theorem" in text:
            self._read_new_statements(text)
        if "newenvironment" in text:
            self._read_new_environments(text)

    def html(self) -> str:
        """Return everything that was written."""
        while self._environments:
            self._end_environment()
        self._end_paragraph()
        return "".join(self._blocks)

    def line(self, text: str) -> str:
        """Return a text within a line as HTML."""
        outside, self._line = self._line, []
        groups, self._groups = self._groups, []
        self._within_line += 1
        if self._within_line < _DEEPEST:
            self.write(text, 0, len(text))
        self._within_line -= 1
        written = "".join([*self._line, *reversed(self._groups)])
        self._line, self._groups = outside, groups
        return written

    def define(self, text: str, begin: int, end: int, is_written: bool = True) -> None:
        """Keep a definition, and write it as a formula."""
        definition = _COMMENT.sub(r"\1", text[begin:end])
        if r"\begin" in definition or r"\end" in definition:
            for name, edge in environment_names(definition).items():
                self._edges[f"\\{name}"] = edge
        if is_written:
            self._macros.expand_macros(definition)
            self._line.append(markup.formula(definition.replace("$", "")))

    def write(self, text: str, begin: int, end: int) -> None:
        """Write a part of a text."""
        done = begin
        while True:
            token = _TOKEN.search(text, done, end)
            if token is None:
                break
            if token.start() > done:
                self._line.append(escape(text[done : token.start()], quote=False))
            if self._within_line == 0:
                self._position = self._offset + token.start()
            done = self._write_token(token, text, end)
        self._line.append(escape(text[done:end], quote=False))

    def _write_token(self, token: re.Match[str], text: str, end: int) -> int:
        """Write a token with what belongs to it; return where that ends."""
        kind = token.lastgroup
        done = token.end()
        if kind == "blank":
            return self._command(token["command"], token, text, end)
        if kind == "dollars":
            return self._dollars(token[0], text, done, end)
        if kind == "ligature":
            self._line.append(_LIGATURES[token[0]])
        elif kind == "brace":
            self._brace(token[0])
        elif kind == "paragraph":
            self._end_paragraph()
        elif kind == "star":
            return self._edge(token, text, end)
        elif kind == "sign":
            return self._sign(token["sign"], text, done, end)
        elif kind == "cell":
            self._cell()
        elif token["accent"]:
            letter = token["in_braces"] or token["letter"] or ""
            self._line.append(letter + _TABLE["accents"][token["accent"]])
        elif kind != "comment":
            code = token["verb"] or token["inline"] or ""
            self._line.append(f"<code>{escape(code)}</code>")
        return done

    # Formulas

    def _formula(self, latex: str, display: bool) -> None:
        if "%" in latex:
            latex = _COMMENT.sub(r"\1", latex)
        written = markup.formula(latex, display)
        label = _LABEL_INSIDE.search(latex)
        if label is not None:
            written = self._label(label[1]) + written
        if not display or self._within_line:
            self._line.append(written)
            return
        self._end_paragraph()
        self._blocks.append(f"<p>{written}</p>\n")

    def _dollars(self, mark: str, text: str, begin: int, end: int) -> int:
        if mark == "$$":
            closing = text.find(mark, begin, min(end, begin + _LONGEST))
        else:
            closing = _end_of_inline(text, begin, end)
        if closing < 0 or not text[begin:closing].strip():
            self._line.append(f"<code>{mark}</code>")
            return begin
        self._formula(text[begin:closing], mark == "$$")
        return closing + len(mark)

    def _sign(self, sign: str, text: str, begin: int, end: int) -> int:
        if sign in "([":
            close = {"(": r"\)", "[": r"\]"}[sign]
            closing = text.find(close, begin, min(end, begin + _LONGEST))
            if closing >= 0:
                self._formula(text[begin:closing], sign == "[")
                return closing + 2
            self._line.append(markup.plain(f"\\{sign}"))
        elif sign == "\\":
            self._line.append("</td></tr><tr><td>" if self._is_in("tables") else "<br>")
            option = _OPTIONS.match(text, begin, end)
            if option is not None:
                return option.end()
        elif sign == "$":
            self._line.append("<code>$</code>")
        elif sign in "%&#_{}":
            self._line.append(escape(sign))
        elif sign not in "-/!@":
            self._line.append(" ")
        return begin

    def _find(self, sought: str, text: str, begin: int, end: int) -> int:
        """Return where a text begins, -1 if nowhere; what is nowhere is not sought again."""
        if sought in self._missing:
            return -1
        place = text.find(sought, begin, end)
        if place < 0 and not self._within_line:
            self._missing.add(sought)
        return place

    def _math_environment(self, name: str, text: str, begin: int, end: int) -> int:
        """Write an environment of mathematics that begins before `begin`."""
        closing = rf"\end{{{name}}}"
        opening = rf"\begin{{{name}}}"
        closings = [closing]
        for command, edge in self._edges.items():
            if edge == closing:
                closings.append(command)
        if all(self._find(each, text, begin, end) < 0 for each in closings):
            return begin
        edges = rf"(?:{'|'.join(map(re.escape, [opening, *closings]))})(?![A-Za-z])"
        depth = 1
        for found in re.compile(edges).finditer(text, begin, min(end, begin + _LONGEST)):
            depth += 1 if found[0] == opening else -1
            if depth == 0:
                self._formula(f"{opening}{text[begin : found.start()]}{closing}", True)
                return found.end()
            if depth > _DEEPEST:
                break
        return begin

    # Commands

    def _command(self, name: str, token: re.Match[str], text: str, end: int) -> int:
        """Write a command with its arguments; return where they end."""
        done = token.end("command")
        if text.startswith("*", done):
            done += 1
        after_blank = token.end()
        if name in _DEFINITIONS:
            return self._definition(text, token.start(), after_blank)
        if f"\\{name}" in self._edges:
            return self._defined_edge(self._edges[f"\\{name}"], text, after_blank, end)
        if name in self._macros and self._uses:
            return self._macro(name, text, done, after_blank)
        if name in self._headings:
            return self._heading(name, text, after_blank, end)
        if name in _REFERENCES or name in _SILENT:
            return self._silent(name, text, after_blank, end)
        if name in _TABLE["fonts"] and text.startswith("{", after_blank):
            tag = _TABLE["fonts"][name]
            self._line.append(f"<{tag}>")
            self._groups.append(f"</{tag}>")
            return after_blank + 1

        if name == "item":
            return self._item(text, after_blank, end)
        if name in ("href", "url", "nolinkurl"):
            return self._link(name, text, after_blank)
        if name == "ensuremath":
            argument = argument_at(text, after_blank)
            if argument is not None:
                self._formula(argument[0], False)
                return argument[1]
            self._line.append(" ")
        elif name == "texorpdfstring":
            return self._first_of_two(text, after_blank)
        elif name == "iffalse":
            return self._skipped_condition(text, after_blank, end)
        elif name == "par":
            self._end_paragraph()
        elif name in _TABLE["letters"]:
            self._line.append(_TABLE["letters"][name])
        elif name not in _IN_WORDS and name not in _TABLE["fonts"]:
            self._line.append(" ")
        return after_blank

    def _definition(self, text: str, begin: int, done: int) -> int:
        environment = _NEW_ENVIRONMENT.match(text, begin)
        if environment is not None:
            opening = argument_at(text, environment.end())
            closing = opening and argument_at(text, opening[1])
            if closing:
                return closing[1]
            return done
        end = definition_end(text, begin)
        if end < 0:
            return done
        self.define(text, begin, end)
        return end

    def _macro(self, name: str, text: str, begin: int, after_blank: int) -> int:
        """Write what a macro stands for."""
        macro = self._macros[name]
        if not macro.arguments:
            begin = after_blank
        use = macro.expanded_use(text, begin)
        if use is None:
            return begin
        self._uses -= 1
        self._within_line += 1
        if self._within_line < _DEEPEST:
            self.write(use[0], 0, len(use[0]))
        self._within_line -= 1
        return use[1]

    def _heading(self, name: str, text: str, begin: int, end: int) -> int:
        option = _OPTIONS.match(text, begin, end)
        if option is not None:
            begin = option.end()
        option = _OPTIONAL.match(text, begin, end)
        if option is not None:
            begin = option.end()
        argument = argument_at(text, begin)
        if argument is None:
            return begin
        done = argument[1]
        label = _LABEL.match(text, done, end)
        place = self._position
        while self._environments and self._environments[-1][1]:
            self._end_environment()
        self._end_paragraph()
        title = self.line(BESIDE_TITLE.sub("", argument[0]))
        level = self._headings.index(name) + 1
        named = ""
        if label is not None:
            done = label.end()
            named = label[1]
        opening = markup.heading_start(level, named, place, self._offset + done)
        self._blocks.append(f"{opening}{title}</h{min(level + 1, 6)}>\n")
        return done

    def _silent(self, name: str, text: str, begin: int, end: int) -> int:
        """Drop a command with its arguments; references and labels are kept without words."""
        if name == "label":
            argument = argument_at(text, begin)
            if argument is None:
                return begin
            self._line.append(self._label(argument[0]))
            return argument[1]
        arguments = _ARGUMENTS.match(text, begin, end)
        if arguments is None:
            return begin
        option = _OPTIONAL.match(text, begin, end)
        if name == "hyperref" and option is not None:
            self._line.append(markup.reference(option[1]))
            return option.end()
        if name in _REFERENCES:
            for label in arguments[0].strip(" \t{}").split(","):
                self._line.append(markup.reference(label))
        return arguments.end()

    def _label(self, label: str) -> str:
        """Return a label, unless the statement around it takes it."""
        for _, _, statement in reversed(self._environments):
            if statement is not None and not statement.label:
                statement.label = label
                return ""
        return f'<span id="{escape(label.strip())}"></span>'

    def _item(self, text: str, begin: int, end: int) -> int:
        self._end_paragraph()
        option = _OPTIONAL.match(text, begin, end)
        if self._is_in("lists"):
            self._blocks.append("<li>")
        else:
            self._line.append(" ")
        if option is None:
            return begin
        self._line.append(f"<strong>{self.line(option[1])}</strong> ")
        return option.end()

    def _link(self, name: str, text: str, begin: int) -> int:
        address = argument_at(text, begin)
        if address is None:
            return begin
        opening = f'<a href="{escape(address[0])}">'
        if name == "href" and text.startswith("{", address[1]):
            self._line.append(opening)
            self._groups.append("</a>")
            return address[1] + 1
        self._line.append(f"{opening}{markup.generated(address[0])}</a>")
        return address[1]

    def _first_of_two(self, text: str, begin: int) -> int:
        """Write what a page shows of a title, without what bookmarks show."""
        first = argument_at(text, begin)
        second = first and argument_at(text, first[1])
        if not first or not second:
            return begin
        self._line.append(self.line(first[0]))
        return second[1]

    def _skipped_condition(self, text: str, begin: int, end: int) -> int:
        if r"\fi" in self._missing:
            return begin
        depth = 1
        for condition in _CONDITION.finditer(text, begin, end):
            depth += 1 if condition[1] else -1
            if depth == 0:
                self._line.append(" ")
                return condition.end()
        self._missing.add(r"\fi")
        return begin

    # Groups, environments, paragraphs

    def _brace(self, brace: str) -> None:
        if brace == "{":
            self._groups.append("")
        elif self._groups:
            self._line.append(self._groups.pop())

    def _edge(self, token: re.Match[str], text: str, end: int) -> int:
        """Write the begin or end of an environment."""
        name = token["environment"]
        whole = name + token["star"]
        done = token.end()
        if token["edge"] == "end":
            if not self._within_line:
                self._position = self._offset + done
            self._end_named(name)
            return done
        edge = self._edges.get(rf"\begin{{{whole}}}")
        if edge is not None:
            return self._defined_edge(edge, text, done, end)
        if name in _MATH:
            return self._math_environment(whole, text, done, end)
        if name in _CODE or name in _DROPPED:
            closing = self._find(rf"\end{{{whole}}}", text, done, end)
            if closing < 0:
                return done
            if name in _CODE:
                self._code(name, text[done:closing])
            return closing + len(whole) + 6
        return self._begin_environment(name, text, done, end)

    def _defined_edge(self, edge: str, text: str, done: int, end: int) -> int:
        begin = BEGINS_MATH.match(edge)
        if begin is not None:
            return self._math_environment(begin["name"], text, done, end)
        self._line.append(" ")
        return done

    def _code(self, name: str, code: str) -> None:
        options = _ARGUMENTS.match(code)
        if options is not None and name in ("minted", "lstlisting"):
            code = code[options.end() :]
        if self._within_line:
            self._line.append(f"<code>{escape(code)}</code>")
            return
        self._end_paragraph()
        self._blocks.append(markup.code_block(code.strip()))

    def _begin_environment(self, name: str, text: str, done: int, end: int) -> int:
        self._end_paragraph()
        statement = None
        closing = ""
        opening = ""
        if name in markup.NAMED or name in self._declared or name == "restatable":
            statement, done = self._begin_statement(name, text, done, end)
            closing = "</div>\n"
        elif name == "frame":
            done = self._frame(text, done, end)
        elif name in _TABLE["lists"]:
            opening = f"<{_TABLE['lists'][name]}>"
            closing = f"</{_TABLE['lists'][name]}>\n"
        elif name in _TABLE["tables"]:
            opening = "<table><tr><td>"
            closing = "</td></tr></table>\n"

        if statement is None:
            options = _OPTIONS.match(text, done, end)
            if options is not None:
                done = options.end()
        if name in _WITH_LOOK:
            look = _ARGUMENTS.match(text, done, end)
            if look is not None:
                done = look.end()
        if closing.startswith("</td>"):
            self._within_line += 1
            self._line.append(opening)
        else:
            self._blocks.append(opening)
        self._environments.append((name, closing, statement))
        return done

    def _begin_statement(self, name: str, text: str, done: int, end: int) -> tuple[_Statement, int]:
        """Return a statement with its title and label, and where its text begins."""
        statement = _Statement(len(self._blocks), self._position, name)
        option = _OPTIONAL.match(text, done, end)
        if option is not None:
            done = option.end()
            values = _values(option[1])
            statement.label = values.pop("label", "")
            statement.title = self.line(_first(values, option[1]))
        if name == "restatable":
            statement.name, done = self._argument(text, done)
            _, done = self._argument(text, done)

        declared = self._declared.get(statement.name)
        if declared is None:
            return statement, done
        statement.printed = unescape(markup.words(self.line(declared.printed)))
        if declared.prefix is not None:
            title, done = self._argument(text, done)
            label, done = self._argument(text, done)
            statement.title = self.line(title)
            statement.label = label and f"{declared.prefix}:{label}"
        return statement, done

    def _argument(self, text: str, begin: int) -> tuple[str, int]:
        """Return an argument in braces, without blanks around it, and where it ends."""
        argument = _BRACED.match(text, begin) and argument_at(text, begin)
        if not argument:
            return "", begin
        return argument[0].strip(), argument[1]

    def _frame(self, text: str, done: int, end: int) -> int:
        """Write the title of a frame of a talk as a heading."""
        options = _OPTIONS.match(text, done, end)
        if options is not None:
            done = options.end()
        if _BRACED.match(text, done, end):
            return self._heading("frametitle", text, done, end)
        return done

    def _end_named(self, name: str) -> None:
        """End an environment, and those that are open in it."""
        if any(name == opened for opened, _, _ in self._environments[-_DEEPEST:]):
            while self._end_environment() != name:
                pass
        else:
            self._end_paragraph()

    def _end_environment(self) -> str:
        name, closing, statement = self._environments.pop()
        if closing.startswith("</td>"):
            self._within_line -= 1
            self._line.append(closing)
            if not self._within_line:
                table = _EMPTY_ROW.sub("</table>", "".join(self._line))
                self._blocks.append(table)
                self._line = []
            return name
        self._end_paragraph()
        if statement is not None:
            titled = bool(statement.title)
            opening = markup.statement(
                statement.name,
                statement.label,
                statement.begin,
                self._position,
                titled,
                statement.printed,
            )
            title = statement.title + markup.end_of_title(titled)
            self._blocks[statement.block] = opening + title
        self._blocks.append(closing)
        return name

    def _is_in(self, kind: str) -> bool:
        """Return whether the innermost environment is one of the table `kind`."""
        return bool(self._environments) and self._environments[-1][0] in _TABLE[kind]

    def _cell(self) -> None:
        if self._is_in("tables"):
            self._line.append("</td><td>")
        else:
            self._line.append("&amp;")

    def _end_paragraph(self) -> None:
        if self._within_line:
            self._line.append(" ")
            return
        content = "".join(self._line).strip()
        self._line = []
        if content:
            self._blocks.append(f"<p>{content}</p>\n")

    def _read_new_statements(self, text: str) -> None:
        """Keep the statements that a source declares, with their printed names."""
        for new in _NEW_STATEMENT.finditer(text):
            printed = ""
            prefix = None
            if new["by_options"]:
                values = _values(new["options"] or "") | _values(new["more"] or "")
                printed = _first(values, "") or new["names"].capitalize()
            else:
                printed, done = self._argument(text, new.end())
            if new["box"]:
                _, done = self._argument(text, done)
                prefix, _ = self._argument(text, done)
            for name in new["names"].split(","):
                self._declared[name.strip(" *\n")] = _Declared(printed, prefix)

    def _read_new_environments(self, text: str) -> None:
        """Keep the environments that a source defines as those of mathematics or statements."""
        for new in _NEW_ENVIRONMENT.finditer(text):
            opening = argument_at(text, new.end())
            for within in _BEGIN.findall(opening[0] if opening else ""):
                if within in markup.NAMED or within in self._declared:
                    name = markup.NAMED.get(within, within)
                    self._declared[new["name"]] = self._declared.get(within, _Declared(name))
            begin = opening and BEGINS_MATH.search(opening[0])
            if begin:
                self._edges[rf"\begin{{{new['name']}}}"] = begin[0]
                self._edges[rf"\end{{{new['name']}}}"] = rf"\end{{{begin['name']}}}"


def _values(options: str) -> dict[str, str]:
    """Return options by their names."""
    return {
        value["key"]: (value["braced"] or value["bare"] or "").strip()
        for value in _VALUE.finditer(options)
    }


def _first(values: Mapping[str, str], instead: str) -> str:
    """Return the title among options; what is written if they are none."""
    for name in _TITLES:
        if name in values:
            return values[name]
    return "" if values else instead


def _end_of_inline(text: str, begin: int, end: int) -> int:
    """Return where a formula ends that began with a dollar: outside braces, if it can."""
    closing = text.find("$", begin, min(end, begin + _LONGEST))
    if closing < 0:
        return -1
    latex = text[begin:closing]
    if "\\" not in latex and "{" not in latex and "\n" not in latex:
        return closing

    depth = 0
    first = -1
    for token in _IN_FORMULA.finditer(text, begin, min(end, begin + _LONGEST)):
        if token[0] == "$":
            if depth <= 0:
                return token.start()
            if first < 0:
                first = token.start()
        elif token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
        elif token[0][0] == "\n":
            break
    return first
