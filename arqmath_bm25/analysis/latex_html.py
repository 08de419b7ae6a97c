r"""LaTeX source as the HTML of a post (markup).

One pass over the tokens of the source writes paragraphs, headings, lists, tables and statements.
Comments, verbatim code, groups and optional arguments are those of TeX; a command that no table has
is dropped, and its argument stays. Macros are expanded in prose; in formulas they stay, and their
definitions (`\newcommand`) become formulas before them. A text begins at its `\begin{document}`;
definitions before it are kept. Any string is read, in linear time.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape, unescape
from typing import Any, NamedTuple

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.macros import Macro, Macros, argument_at, definitions, environment_names
from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

_TABLE: dict[str, Any] = read_table(__file__)
_MATH = names_in(_TABLE["math"])
_CODE = names_in(_TABLE["code"])
_DROPPED = names_in(_TABLE["dropped"])
_REFERENCES = names_in(_TABLE["references"])
_SILENT = dict.fromkeys(_REFERENCES, 1)
for _count, _names in enumerate(_TABLE["silent"]):
    _SILENT.update(dict.fromkeys(_names.split(), _count))
_IN_WORDS = names_in(_TABLE["in_words"])
_DEFINITIONS = names_in(_TABLE["definitions"])
# Commands that Markdown may have too.
_KNOWN = _IN_WORDS | {*_SILENT, *_TABLE["fonts"], "ensuremath", "footnote", "href", "url"}
_HEADINGS = ("part", "chapter", "section", "subsection", "subsubsection", "frametitle")
MATH_ENVIRONMENT = rf"\\begin\{{(?P<name>(?:{'|'.join(sorted(_MATH))})\*?)\}}"

_OPTION = r"(?:[ \t]{0,9}\[[^\[\]]{0,200}\])"
_TOKEN = expression(
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
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
# Text in braces, which may hold some more with one more within.
_INNERMOST = r"\{[^{}]{0,200}\}"
_INNER = rf"\{{(?>[^{{}}]{{0,200}}(?:{_INNERMOST}[^{{}}]{{0,200}}){{0,9}})\}}"
_ARGUMENT = rf"\{{(?>[^{{}}]{{0,999}}(?:{_INNER}[^{{}}]{{0,200}}){{0,9}})\}}"
_ARGUMENTS = expression(rf"{_OPTION}{{0,3}}(?:{_ARGUMENT}{_OPTION}{{0,2}}){{0,9}}")
_OPTIONS = expression(rf"(?:{_OPTION}|<[^<>]{{0,40}}>|\([lr]{{1,2}}\)){{0,3}}")
_SLIDES = expression(r"<(?:[0-9.+-]|\w{1,20}@)[^<>\n]{0,40}>")  # of beamer
# After a command that no table has: options before its argument, points, a value.
_UNREAD = expression(r"\[[^\[\]\n]{0,200}\](?=\{)|\[[0-9.]{1,5}\]|[ \t]?=[ \t]?-?[0-9.]+[a-z]{0,2}")
_LENGTH = (
    r"[ \t]?(?:-?[0-9.]{1,9}[ \t]?(?:[a-z]{2,4}|\\[a-z]{4,8}(?:width|height|skip))\b"
    r"|\\stretch\{[0-9.]{1,9}\}|\\v?fill\b)"
)
_LENGTHS = expression(rf"{_LENGTH}(?:[ \t](?:plus|minus){_LENGTH}){{0,2}}")
_GROUP = r"\{(?:[^{}]|\{[^{}]{0,400}\}){0,400}\}"
BALANCED = rf"\s{{0,9}}\[((?:[^\[\]{{}}]|{_GROUP}){{0,400}})\]"
_OPTIONAL = expression(BALANCED)
_LABEL = expression(r"\s{0,99}\\label\s{0,9}\{([^{}\n]{1,200})\}")
# No symbols of a formula: ends of proofs, numbers, slides of beamer, words between lines.
_NO_SYMBOL = expression(
    r"\\(?:action|alert|alt|only|onslide|uncover|visible)\s*<[^<>]{0,40}>"
    r"|\\(?:alert|(?:allow)?displaybreaks?(?:\[[0-4]\])?|hfill(?:\s*\\(?:(?:black)?square|Box))?"
    r"|numberthis|pause|qed(?:here|symbol)?)(?![A-Za-z])"
    r"|\\l?eqno(?![A-Za-z])(?>(?:(?!\\\\|\\end)[^&])*)"
    rf"|\\(?:short)?intertext\s{{0,9}}({_ARGUMENT})"
)
_LABEL_INSIDE = expression(r"\\label\s{0,9}\{([^{}\n]{1,200})\}")
_COMMENT = expression(r"(?<!\\)((?>(?:\\\\)*))%[^\n]*+(?:\n[ \t]*+)?")
VERBATIM = (
    rf"\\begin\{{(?P<name>(?:{'|'.join(sorted(_CODE))})\*?)\}}(?>(?:(?!\\end\{{(?P=name)\}})(?s:.))*)"
    r"|\\(?:verb\*?|lstinline(?:\[[^\[\]\n]{0,200}\])?)"
    r"(?:(?P<bar>[^\sA-Za-z*{\[])[^\n]{0,999}?(?P=bar)|\{[^{}\n]{0,999}\})"
)
_BODY_END = expression(rf"{VERBATIM}|\\end\{{document\}}")
_OR_COMMENT = expression(
    rf"{VERBATIM}|\\(?:url|href|path|nolinkurl)[ \t]*\{{[^{{}}\n]*+\}}|\\(?s:.)|%[^\n]*+"
)
_DOCUMENT = expression(
    r"^(?:[^%\\\n]|\\(?!begin\{document\}).){0,999}\\begin\{document\}", re.MULTILINE
)
# The text of a frame before its title.
_LATE_TITLE = expression(
    r"(\\begin\{frame\}(?>(?:<[^<>]{0,40}>|\[[^\[\]]{0,200}\])*))(?!\s*\\frametitle)"
    r"((?>(?:(?!\\(?:begin|end)\{frame\}|\\frametitle).)*))"
    rf"(\\frametitle\s{{0,9}}{_GROUP})",
    re.DOTALL,
)
_CONDITION = expression(r"(?P<open>\\if[A-Za-z@]*+)|(?P<close>\\fi(?![A-Za-z@]))")
_IN_FORMULA = expression(r"\\.|[${}]|\n[ \t]*+\n", re.DOTALL)
_NEW_ENVIRONMENT = expression(
    r"\\(?:re)?newenvironment\*?\s{0,9}\{(?P<name>[A-Za-z]{1,40}\*?)\}"
    r"(?:\[(?P<count>[0-9])\])?(?:\[(?P<default>[^\[\]]{0,99})\])?"
)
_EXCLUDED = expression(r"\\excludecomment\{([A-Za-z]{1,40})\}")
# \newtheorem{satz}[thm]{Satz}, \declaretheorem[name=Satz]{satz}, \newtcbtheorem{satz}{Satz}{}{th}.
_NEW_STATEMENT = expression(
    r"\\(?:(?:sp)?newtheorem|new(?:md|framed|shaded)theorem(?:env)?|(?P<by_options>declaretheorem)"
    r"|(?P<box>newtcbtheorem))(?![A-Za-z])\*?"
    rf"(?P<options>{BALANCED})?\s{{0,9}}\{{(?P<names>[^{{}}\n]{{1,99}})\}}"
    rf"(?P<more>{BALANCED})?"
)
# Options of statements and of their declarations that name them.
_VALUE = expression(
    r"(?:\A|[\[,])\s{0,9}(?:frame|sub)?(?P<key>[A-Za-z]{2,40})\s{0,9}=\s{0,9}"
    r"(?:\{(?P<braced>(?:[^{}]|\{[^{}]{0,400}\}){0,400})\}|(?P<bare>[^,{}\[\]]*))"
)
_TITLES = ("name", "title", "heading", "note")
BESIDE_TITLE = expression(rf"\\(?:thanks|footnote)({_GROUP})")
_NEXT_ARGUMENT = expression(r"\[[0-9.]{1,5}\]|(?=\{)")  # or points
_PATH = expression(r"[^;]{0,999};")  # of a picture in a line
_MEANS = expression(r"\\begin\{|\\(?:sub){0,2}section|#1")
_END = expression(r"\\end\{[^{}\s]{1,40}\}")
_BRACED = expression(r"\s{0,9}\{")
BEGINS_MATH = expression(MATH_ENVIRONMENT)
_EMPTY_ROW = expression(r"<tr><td>\s*+</td></tr></table>")
_LONGEST = 20_000  # characters of a formula
_LONGEST_DEFINITION = 3_000
_DEEPEST = 20  # macros within macros, arguments within arguments
_MOST_USES = 20_000  # of macros in prose


def latex_html(text: str, offset: int = 0, preamble: Macros | None = None) -> str:
    """Return LaTeX source as HTML; `offset` is its place in a longer text.

    The macros of its preamble are written before it, unless they are known as `preamble`.
    """
    text = markup.PRIVATE.sub(" ", text)
    if "frametitle" in text:
        text = _LATE_TITLE.sub(r"\1\3\2", text)
    writer = _LatexWriter(text, preamble, offset)
    writer.is_file = preamble is not None
    document = _DOCUMENT.search(text)
    if document is not None:
        begin = document.end()
        for start, stop in definitions(text[:begin]):
            writer.define(text[start:stop], is_written=preamble is None)
        writer.offset += begin
        text = text[begin : body_end(text, begin)]

    writer.write(text)
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


def body_end(text: str, begin: int) -> int:
    """Return where the body of a document ends; code may show such an end."""
    for edge in _BODY_END.finditer(text, begin):
        if edge[0] == r"\end{document}":
            return edge.start()
    return len(text)


def command_end(text: str, begin: int) -> int:
    """Return where a known command with its arguments ends, -1 for any other text."""
    token = _TOKEN.match(text, begin)
    if token is None:
        return -1
    if token["edge"]:
        return token.end()
    name = token["command"]
    if name is None or name not in _KNOWN:
        return -1
    if not _SILENT.get(name, 1):
        return token.end()
    arguments = _ARGUMENTS.match(text, token.end("command"))
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


def end_of_environment(
    text: str, name: str, begin: int, limit: int, commands: Iterable[str] = ()
) -> tuple[int, int]:
    """Return the span of what ends an environment; some commands may end it too.

    The content of the environment begins at `begin`. The span is empty if it does not end.
    """
    environment = re.escape(f"{{{name}}}")
    others = "".join(rf"|{re.escape(command)}(?![A-Za-z])" for command in commands)
    edges = rf"(?P<open>\\begin{environment})|(?P<close>\\end{environment}{others})"
    return closing_edge(re.compile(edges), text, begin, limit, _DEEPEST)


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
    """Writes LaTeX as HTML: a cursor goes through the text, and commands take their arguments."""

    def __init__(self, text: str, macros: Macros | None, offset: int = 0) -> None:
        self._text = text
        self._place = 0
        self._macros = Macros(macros or {})
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._groups: list[str] = []  # tags that end with the open groups
        # Of open environments: name, its end in HTML, and of a statement its begin.
        self._environments: list[tuple[str, str, _Statement | None]] = []
        self._edges: dict[str, str] = {}  # commands and environments by the edge that they mean
        self._missing: set[str] = set()  # what does not occur in the rest of the source
        self._within_line = 0  # titles, cells
        self._within_macros = 0
        self._after_macro = 0  # in the source
        self.offset = offset
        self.is_file = False
        self._position = offset  # in the source
        self._uses = _MOST_USES
        self._headings = [name for name in _HEADINGS if f"\\{name}" in text]
        if r"\begin{frame}" in text and "frametitle" not in self._headings:
            self._headings.append("frametitle")
        self._declared: dict[str, _Declared] = {}
        # Environments of the source: what begins and ends them.
        self._own: dict[str, tuple[Macro, str]] = {}
        self._dropped = _DROPPED.union(_EXCLUDED.findall(text))
        if "theorem" in text:
            self._read_new_statements()
        if "newenvironment" in text:
            self._read_new_environments()

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
        self.write(text)
        self._within_line -= 1
        written = "".join([*self._line, *reversed(self._groups)])
        self._line, self._groups = outside, groups
        return written

    def define(self, definition: str, is_written: bool = True) -> None:
        """Keep a definition, and write it as a formula."""
        definition = _COMMENT.sub(r"\1", definition)
        if r"\begin" in definition or r"\end" in definition:
            for name, edge in environment_names(definition).items():
                self._edges[f"\\{name}"] = edge
        if is_written:
            self._macros.expand_macros(definition)
            self._add(markup.formula(definition.replace("$", "")))

    def write(self, text: str) -> None:
        """Write a text unless it is within too many others."""
        if self._within_line + self._within_macros >= _DEEPEST:
            return
        outside = self._text, self._place
        self._text, self._place = text, 0
        while True:
            token = _TOKEN.search(text, self._place)
            if token is None:
                break
            self._add(escape(text[self._place : token.start()], quote=False))
            if self._is_in_source:
                self._position = self.offset + token.start()
            self._place = token.end()
            self._write_token(token)
        self._add(escape(text[self._place :], quote=False))
        self._text, self._place = outside

    def _write_token(self, token: re.Match[str]) -> None:
        """Write a token with what belongs to it."""
        kind = token.lastgroup
        if kind == "blank":
            self._command(token["command"], token)
        elif kind == "dollars":
            self._delimited(token[0], token[0])
        elif kind == "ligature":
            self._add(_LIGATURES[token[0]])
        elif token[0] == "{":
            self._groups.append("")
        elif token[0] == "}":
            self._add("".join(self._groups[-1:]))
            del self._groups[-1:]
            if self._text.startswith(("{", "["), self._place) and self._take(_NEXT_ARGUMENT):
                self._add(" ")
        elif kind == "paragraph":
            self._end_paragraph()
        elif kind == "star":
            self._edge(token)
        elif token[0] == r"\(":
            self._delimited(r"\(", r"\)")
        elif token[0] == r"\[":
            self._delimited(r"\[", r"\]")
        elif token[0] == r"\\":
            self._add("</td></tr><tr><td>" if self._is_in("tables") else "<br>")
            self._take(_OPTIONS)
        elif kind == "sign" and token["sign"] in "$%&#_{}":
            self._add(markup.plain(token["sign"]))
        elif kind == "sign":
            self._add("" if token["sign"] in "-/!@" else " ")
        elif kind == "cell":
            self._add("</td><td>" if self._is_in("tables") else "&amp;")
        elif token["accent"] and self._is_in("tabs"):
            self._place = token.end("accent")
            self._add(" ")
        elif token["accent"]:
            letter = token["in_braces"] or token["letter"] or ""
            self._add(letter + _TABLE["accents"][token["accent"]])
        elif kind != "comment":
            self._add(f"<code>{escape(token['verb'] or token['inline'] or '')}</code>")

    def _add(self, html: str) -> None:
        self._line.append(html)

    # What follows

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return what follows if it matches, and go on after it."""
        found = pattern.match(self._text, self._place)
        if found is not None:
            self._place = found.end()
        return found

    def _argument(self) -> str | None:
        """Return the argument that follows, and go on after it."""
        argument = argument_at(self._text, self._place)
        if argument is None:
            return None
        self._place = argument[1]
        return argument[0]

    def _option(self) -> re.Match[str] | None:
        """Return the option that follows, and go on after it and the slides around it."""
        self._take(_SLIDES)
        option = self._take(_OPTIONAL)
        if option is not None:
            self._take(_SLIDES)
        return option

    def _braced(self) -> str:
        """Return the argument in braces that follows, "" for none, without blanks around it."""
        if _BRACED.match(self._text, self._place):
            return (self._argument() or "").strip()
        return ""

    def _find(self, sought: str) -> int:
        """Return where a text begins next, -1 if nowhere; a missing text is not sought again."""
        if sought in self._missing:
            return -1
        place = self._text.find(sought, self._place)
        if place < 0 and self._is_in_source:
            self._missing.add(sought)
        return place

    # Formulas

    def _formula(self, latex: str, display: bool) -> None:
        if "%" in latex:
            latex = _COMMENT.sub(r"\1", latex)
        left_out = _NO_SYMBOL.findall(latex)
        if left_out:
            latex = _NO_SYMBOL.sub("", latex)
        written = markup.formula(latex, display)
        label = _LABEL_INSIDE.search(latex)
        if label is not None:
            written = self._label(label[1]) + written
        if not display or self._within_line:
            self._add(written)
        else:
            self._end_paragraph()
            self._blocks.append(f"<p>{written}</p>\n")
        for text in filter(None, left_out):
            self._add(f"{self.line(text)} ")

    def _delimited(self, opening: str, closing: str) -> None:
        """Write a formula between delimiters, or the first of them if it is alone."""
        begin = self._place
        limit = begin + _LONGEST
        if opening == "$":
            end = _end_of_inline(self._text, begin, limit)
        else:
            end = self._text.find(closing, begin, limit)
        if end < 0 or not self._text[begin:end].strip():
            self._add(markup.plain(opening))
            return
        self._place = end + len(closing)
        self._formula(self._text[begin:end], opening in ("$$", r"\["))

    def _math_environment(self, name: str) -> None:
        closing = rf"\end{{{name}}}"
        commands = [command for command, edge in self._edges.items() if edge == closing]
        if all(self._find(each) < 0 for each in [closing, *commands]):
            return
        inner = self._place
        begin, end = end_of_environment(self._text, name, inner, inner + _LONGEST, commands)
        if begin < end:
            self._place = end
            self._formula(rf"\begin{{{name}}}{self._text[inner:begin]}{closing}", True)

    # Commands

    def _command(self, name: str, token: re.Match[str]) -> None:
        """Write a command with its arguments."""
        self._take(_SLIDES)
        if name in _DEFINITIONS:
            self._definition(token.start())
        elif f"\\{name}" in self._edges:
            self._defined_edge(self._edges[f"\\{name}"])
        elif name in self._macros and self._uses:
            if self._macros[name].arguments:
                self._place = token.start("blank")
            self._use(self._macros[name])
            if self._within_macros and len(token["blank"]) > 1:  # one is of the body, after #1
                self._add(" ")
        elif name in self._headings:
            self._heading(name)
        elif name in _SILENT:
            self._silent(name)
        elif name == "title" and self.is_file:  # its parts have it
            self._skipped(1)
        elif name in _TABLE["fonts"] and self._text.startswith("{", self._place):
            tag = _TABLE["fonts"][name]
            self._add(f"<{tag}>")
            self._groups.append(f"</{tag}>")
            self._place += 1
        elif name == "item":
            self._item()
        elif name == "tikz":
            self._take(_OPTIONAL)
            if not self._braced():
                self._take(_PATH)
        elif name in ("href", "url", "nolinkurl", "path"):
            address = self._argument()
            if address is not None:
                self._begin_link(address, name == "href")
        elif name == "ensuremath":
            self._formula(self._argument() or "", False)
        elif name == "texorpdfstring":  # the second argument is for bookmarks
            self._add(self.line(self._argument() or ""))
            self._argument()
        elif name == "iffalse":
            self._skipped_condition()
        elif name == "par":
            self._end_paragraph()
        elif name in _TABLE["letters"]:
            self._add(_TABLE["letters"][name])
        elif name not in _IN_WORDS and name not in _TABLE["fonts"]:
            self._take(_UNREAD)
            self._add(" ")

    def _definition(self, begin: int) -> None:
        environment = _NEW_ENVIRONMENT.match(self._text, begin)
        end = definition_end(self._text, begin)
        if environment is not None:
            self._place = environment.end()
            self._argument()
            self._argument()
        elif end >= 0:
            self.define(self._text[begin:end])
            self._place = end

    def _use(self, macro: Macro) -> None:
        """Write a macro, or the begin of an environment, with the arguments that follow."""
        use = macro.expanded_use(self._text, self._place)
        if use is not None:
            self._place = use[1]
            self._expand(use[0])

    def _expand(self, text: str) -> None:
        """Write the expansion of a macro or an environment of the source."""
        self._uses -= 1
        if self._is_in_source:
            self._after_macro = self.offset + self._place
        self._within_macros += 1
        if self._uses > 0:
            self.write(text)
        self._within_macros -= 1

    def _heading(self, name: str) -> None:
        self._take(_OPTIONS)
        self._take(_OPTIONAL)
        if not _BRACED.match(self._text, self._place):  # \part[2] is of an exam
            return
        argument = self._argument() or ""
        label = _LABEL_INSIDE.search(argument) or self._take(_LABEL)
        place = self._position
        while self._environments and self._environments[-1][1]:
            self._end_environment()
        self._end_paragraph()
        title = self.line(_LABEL_INSIDE.sub("", BESIDE_TITLE.sub("", argument)))
        level = self._headings.index(name) + 1
        named = ""
        if label:
            named = label[1]
        end = self.offset + self._place
        if self._within_macros:
            end = self._after_macro
        self._blocks.append(markup.heading(level, named, title, place, end))
        for text in BESIDE_TITLE.findall(argument):
            self._add(f"{self.line(text)} ")

    def _silent(self, name: str) -> None:
        """Drop a command with its first arguments; references and labels are kept without words."""
        if name == "label":
            self._add(self._label(self._argument() or ""))
            return
        if name == "hyperref":
            option = self._take(_OPTIONAL)
            if option is not None:
                self._begin_link(f"#{option[1].strip()}", True)
                return
        if not _SILENT[name]:
            self._add(" ")
        argument = self._skipped(_SILENT[name])
        if name == "includegraphics":
            self._add(f'<img src="{escape(argument)}" alt="">')
        if name in _REFERENCES:
            for label in argument.split(","):
                self._add(markup.reference(label))

    def _skipped(self, count: int) -> str:
        """Go on after some arguments with the options among them, and return these with commas."""
        arguments = []
        self._take(_OPTIONS)
        self._take(_LENGTHS)
        for _ in range(count):
            arguments.append(self._braced())
            self._take(_OPTIONS)
        return ",".join(arguments)

    def _label(self, label: str) -> str:
        """Return a label, unless the statement around it takes it."""
        for _, _, statement in reversed(self._environments):
            if statement is not None and not statement.label:
                statement.label = label
                return ""
        return markup.place(label)

    def _item(self) -> None:
        self._end_paragraph()
        if self._is_in("lists"):
            self._blocks.append("<li>")
        else:
            self._add(" ")
        option = self._option()
        if option is not None:
            self._add(f"<strong>{self.line(option[1])}</strong> ")

    def _begin_link(self, address: str, has_text: bool) -> None:
        """Begin a link whose text is the group that follows, if it has one."""
        self._add(f'<a href="{escape(address)}">')
        if has_text and self._text.startswith("{", self._place):
            self._groups.append("</a>")
            self._place += 1
        else:
            self._add(f"{markup.generated(address)}</a>")

    def _skipped_condition(self) -> None:
        if r"\fi" in self._missing:
            return
        begin, end = closing_edge(_CONDITION, self._text, self._place)
        if begin == end:
            self._missing.add(r"\fi")
        else:
            self._add(" ")
            self._place = end

    # Environments, paragraphs

    def _edge(self, token: re.Match[str]) -> None:
        """Write the begin or end of an environment."""
        name = token["environment"]
        whole = name + token["star"]
        begin = self._place
        own = self._own.get(whole)
        if token["edge"] == "end":
            if self._is_in_source:
                self._position = self.offset + begin
            if own is not None:
                self._expand("".join(_END.findall(own[1])))
            elif any(name == opened for opened, _, _ in self._environments[-_DEEPEST:]):
                while self._end_environment() != name:
                    pass
            else:
                self._end_paragraph()
        elif own is not None:
            if own[0].default is not None or _BRACED.match(self._text, self._place):
                self._use(own[0])
            elif not own[0].arguments:
                self._expand(own[0].body)
        elif rf"\begin{{{whole}}}" in self._edges:
            self._defined_edge(self._edges[rf"\begin{{{whole}}}"])
        elif name in _MATH:
            self._math_environment(whole)
        elif name in _CODE or name in self._dropped:
            closing = self._find(rf"\end{{{whole}}}")
            if closing >= 0:
                self._place = closing + len(whole) + 6
            if closing >= 0 and name in _CODE:
                code = self._text[begin:closing]
                if name not in ("alltt", "verbatim"):
                    code = _ARGUMENTS.sub("", code, count=1)
                if self._within_line:
                    self._add(f"<code>{escape(code)}</code>")
                else:
                    self._end_paragraph()
                    self._blocks.append(markup.code_block(code.strip()))
        else:
            self._begin_environment(name)

    def _defined_edge(self, edge: str) -> None:
        begin = BEGINS_MATH.match(edge)
        if begin is None:
            self._expand(edge)
        else:
            self._math_environment(begin["name"])

    def _begin_environment(self, name: str) -> None:
        self._end_paragraph()
        statement = None
        opening = closing = ""
        kind = name if name in self._declared else name.lower()
        if kind in markup.NAMED or kind in self._declared or kind == "restatable":
            statement = self._begin_statement(kind)
            closing = "</div>\n"
        elif name in _TABLE["lists"]:
            opening = f"<{_TABLE['lists'][name]}>"
            closing = f"</{_TABLE['lists'][name]}>\n"
        elif name in _TABLE["tables"]:
            opening = "<table><tr><td>"
            closing = "</td></tr></table>\n"

        if statement is None:
            option = self._option()
            title = _values(option[1]).get("title") if option else None
            if title:  # of a box
                opening += f"<p><strong>{self.line(title)}</strong></p>\n"
            self._take(_OPTIONS)
        if name == "frame" and _BRACED.match(self._text, self._place):  # a heading of a talk
            self._heading("frametitle")
        if name in _SILENT:
            self._skipped(_SILENT[name])
        if closing.startswith("</td>"):
            self._within_line += 1
            self._add(opening)
        else:
            self._blocks.append(opening)
        self._environments.append((name, closing, statement))

    def _begin_statement(self, name: str) -> _Statement:
        """Return a statement with its title and label."""
        statement = _Statement(len(self._blocks), self._position, name)
        option = self._option()
        if option is not None and not _LENGTHS.fullmatch(option[1]):
            values = _values(option[1])
            statement.label = values.get("label", "")
            statement.title = self.line(_first(values, option[1]))
        if name == "restatable":
            statement.name = self._braced()
            self._braced()

        declared = self._declared.get(statement.name)
        if declared is not None:
            statement.printed = unescape(markup.words(self.line(declared.printed)))
            if declared.prefix is not None:
                statement.title = self.line(self._braced())
                label = self._braced()
                if label:
                    statement.label = f"{declared.prefix}:{label}"
        return statement

    def _end_environment(self) -> str:
        name, closing, statement = self._environments.pop()
        if closing.startswith("</td>"):
            self._within_line -= 1
            self._add(closing)
            if not self._within_line:
                table = _EMPTY_ROW.sub("</table>", "".join(self._line))
                self._blocks.append(table)
                self._line = []
            return name
        self._end_paragraph()
        if statement is not None:
            title = statement.title
            opening, after = markup.statement(
                statement.name,
                statement.label,
                title,
                statement.begin,
                self._position,
                statement.printed,
            )
            self._blocks[statement.block] = f"{opening}{title}{after}"
        self._blocks.append(closing)
        return name

    @property
    def _is_in_source(self) -> bool:
        """Whether the cursor is in the source itself: in no line apart, in no expansion."""
        return not (self._within_line or self._within_macros)

    def _is_in(self, kind: str) -> bool:
        """Return whether the innermost environment is one of the table `kind`."""
        return bool(self._environments) and self._environments[-1][0] in _TABLE[kind]

    def _end_paragraph(self) -> None:
        if self._within_line:
            self._add(" ")
            return
        content = "".join(self._line).strip()
        self._line = []
        if content:
            self._blocks.append(f"<p>{content}</p>\n")

    def _read_new_statements(self) -> None:
        """Keep the statements that a source declares, with their printed names."""
        for new in _NEW_STATEMENT.finditer(self._text):
            self._place = new.end()
            prefix = None
            if new["by_options"]:
                values = _values(new["options"] or "") | _values(new["more"] or "")
                printed = _first(values, "") or new["names"].capitalize()
            else:
                printed = self._braced()
            if new["box"]:
                self._braced()
                prefix = self._braced()
            for name in new["names"].split(","):
                self._declared[name.strip(" *\n")] = _Declared(printed, prefix)

    def _read_new_environments(self) -> None:
        """Keep the environments that a source defines by others, headings or arguments."""
        for new in _NEW_ENVIRONMENT.finditer(self._text):
            self._place = new.end()
            opening = self._argument() or ""
            closing = self._argument() or ""
            begin = BEGINS_MATH.search(opening)
            if begin:
                self._edges[rf"\begin{{{new['name']}}}"] = begin[0]
                self._edges[rf"\end{{{new['name']}}}"] = rf"\end{{{begin['name']}}}"
            elif _MEANS.search(opening):
                macro = Macro(opening, int(new["count"] or 0), new["default"])
                self._own[new["name"]] = macro, closing


def _values(options: str) -> dict[str, str]:
    """Return options by their names."""
    return {
        value["key"]: (value["braced"] or value["bare"] or "").strip()
        for value in _VALUE.finditer(options)
    }


def _first(values: Mapping[str, str], instead: str) -> str:
    """Return the title among options; without options, `instead`."""
    for name in _TITLES:
        if name in values:
            return values[name]
    return "" if values else instead


def _end_of_inline(text: str, begin: int, limit: int) -> int:
    """Return where a formula ends that began with a dollar: outside braces, if it can."""
    closing = text.find("$", begin, limit)
    if closing < 0:
        return -1
    latex = text[begin:closing]
    if "\\" not in latex and "{" not in latex and "\n" not in latex:
        return closing

    depth = 0
    first = -1
    for token in _IN_FORMULA.finditer(text, begin, limit):
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
