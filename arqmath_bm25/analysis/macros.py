r"""Expands the macros that a post defines: `\newcommand`, `\def`, `\DeclareMathOperator`.

As in MathJax, a definition holds for the rest of the post, in other formulas too; a definition of a
preamble holds for every post. Definitions are removed, and every use is replaced by the body with
its arguments. The cost is bounded by the number of definitions and uses of a post and by the length
of definitions, arguments and results. A formula beyond these bounds is left unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.core.lazy import expression

_STEPS = 1000  # definitions and uses of one post
_LONGEST = 1000  # characters of a definition or an argument
_LONGEST_FORMULA = 20_000  # characters of a formula after expansion, unless it was longer

_DEFINES = expression(
    r"\\(?:(?P<command>(?:(?:re)?new|provide)(?:robust)?c(?:omman|m)d|DeclareRobustCommand)"
    r"|(?P<operator>DeclareMathOperator)|DeclarePairedDelimiter(?P<pair>X(?:PP)?|)"
    r"|(?P<document>(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand)"
    r"|(?P<alias>let)|(?P<def>[egx]?def))"
    r"(?![A-Za-z])"
)
_OR_COMMENT = expression(rf"(?P<comment>(?<!\\)%[^\n]*+)|{_DEFINES.pattern}")
_FOLLOWS = expression(rf"[ \t]{{0,99}}+{_DEFINES.pattern}")  # another on the same line
_COMMAND = expression(r"\\([A-Za-z]+|.)", re.DOTALL)
_NAME = expression(r"(\*?)\s{0,9}(?:\{\s{0,9})?\\([A-Za-z]+|[^\s{}])\s{0,9}\}?")
_COUNT = expression(r"\s{0,9}\[([0-9])\](?:\s{0,9}\[([^\[\]]{0,100})\])?")
_NUMBER = expression(r"#[1-9]")
# Of \def: numbers, and signs around them.
_PARAMETERS = expression(r"(?:[^{}#]{0,99}#[1-9]){0,9}[^{}#]{0,99}(?=\{)")
_PAIR_PARTS = {"": 2, "X": 3, "XPP": 5}
_SIZE = expression(r"\*|\s{0,9}\[[^\[\]]{0,100}\]")  # of a pair of delimiters
_OPTION = expression(r"\s{0,9}\[([^\[\]]{0,100})\]")
_SIGNATURE = expression(r"O\{[^{}]{0,100}\}|[mOos]")  # of \NewDocumentCommand
_FIRST = expression(r"\s{0,9}(?P<star>s?)\s{0,9}(?P<option>o|O\{(?P<default>[^{}]{0,100})\})?")
_ALIASED = expression(r"\s{0,9}=?\s{0,9}(\\(?:[A-Za-z]+|.)|[^\s{}])")
_TOKEN = expression(r"\s{0,9}(\{|\\(?:[A-Za-z]+|.)|[^\s}])", re.DOTALL)
_BRACE = expression(r"\\.|(?P<open>\{)|(?P<close>\})", re.DOTALL)
_PARAMETER = expression(r"(\\[A-Za-z]+)?#([1-9])")
_EDGE = expression(r"\\(?:begin|end)\s*\{[A-Za-z]{1,40}\*?\}(?:\{[^{}]{0,40}\})?")
_LAST_COMMAND = expression(r"\\[A-Za-z]+\Z")


class Macro(NamedTuple):
    """The definition of a command in a post."""

    body: str  # `#1`, `#2`, … are its arguments
    arguments: int = 0
    default: str | None = None  # of the first argument, which is then optional and in brackets
    is_final: bool = False  # the body is not expanded again
    is_pair: bool = False  # of delimiters, which may have a star or a size
    parameters: str = ""  # with signs around them
    has_star: bool = False  # as the first argument, which may be missing

    def definition(self, name: str) -> str:
        """Return a definition of this macro in LaTeX."""
        if self.is_final:
            return rf"\let\{name}{self.body}"
        if self.parameters:
            return rf"\def\{name}{self.parameters}{{{self.body}}}"
        if self.has_star:
            optional = f"O{{{self.default}}}"
            if self.default is None:
                optional = ""
            others = "m" * (self.arguments - 1 - bool(optional))
            return rf"\NewDocumentCommand{{\{name}}}{{s{optional}{others}}}{{{self.body}}}"
        if self.is_pair:
            pair = rf"\DeclarePairedDelimiterX{{\{name}}}"
            return f"{pair}[{self.arguments}]{{}}{{}}{{{self.body}}}"
        arguments = ""
        if self.arguments:
            arguments = f"[{self.arguments}]"
        if self.default is not None:
            arguments += f"[{self.default}]"
        return rf"\newcommand{{\{name}}}{arguments}{{{self.body}}}"

    def expanded_use(self, text: str, begin: int) -> tuple[str, int] | None:
        """Expand a use whose arguments begin at `begin`; return the text and their end."""
        arguments: list[str] = []
        signs = _NUMBER.split(self.parameters) + [""] * self.arguments
        if signs[0]:
            before = _argument_before(signs[0], text, begin)
            if before is None or before[0]:
                return None
            begin = before[1]
        size = _SIZE.match(text, begin)
        if self.is_pair and size is not None:
            begin = size.end()
        if self.has_star:
            arguments.append("")
            begin += text.startswith("*", begin)
        if self.default is not None:
            option = _OPTION.match(text, begin)
            if option is None:
                arguments.append(self.default)
            else:
                arguments.append(option[1])
                begin = option.end()

        while len(arguments) < self.arguments:
            argument = _argument_before(signs[len(arguments) + 1], text, begin)
            if argument is None:
                return None
            arguments.append(_separated(argument[0]))
            begin = argument[1]

        def argument_of(parameter: re.Match[str]) -> str:
            command, number = parameter[1], int(parameter[2])
            argument = "".join(arguments[number - 1 : number])
            if command:
                return f"{command} {argument}"
            return argument

        return _separated(_PARAMETER.sub(argument_of, self.body)), begin


class Macros(dict[str, Macro]):
    """The macros that a post has defined so far, by their names without the backslash."""

    _steps = _STEPS  # remaining ones

    def begin(self) -> None:
        """Begin another post, in which the macros hold too."""
        self._steps = _STEPS

    def expand_macros(self, latex: str) -> str:
        """Return the next formula of the post without definitions and uses of macros."""
        longest = max(_LONGEST_FORMULA, len(latex))
        text = latex
        begin = 0
        while True:
            # Without macros, the next definition is the first command that matters.
            commands = _DEFINES
            if self:
                commands = _COMMAND
            command = commands.search(text, begin)
            if command is None:
                break
            start, begin = command.span()
            definition = _DEFINES.match(text, start)
            if definition is not None:
                written = ""
                end = self._define(definition, text)
            elif command[1] in self:
                use = self[command[1]].expanded_use(text, begin)
                if use is None:
                    return latex
                written, end = use
                if text[:start].rstrip()[-1:] in ("^", "_"):
                    written = f"{{{written}}}"
            else:
                continue

            self._steps -= 1
            text = text[:start] + written + text[end:]
            begin = start
            if definition is None and self[command[1]].is_final:
                begin += len(written)
            if self._steps < 0 or len(text) > longest:
                return latex

        if text is latex:
            return latex
        return text.strip()

    def definitions_used(self, text: str) -> str:
        """Return definitions of the macros that a text uses, directly or by others, in LaTeX."""
        used: set[str] = set()
        texts = [text]
        while texts:
            names = set(_COMMAND.findall(texts.pop())) - used
            for name in names.intersection(self):
                used.add(name)
                if not self[name].is_final:
                    texts.append(self[name].body)
        return "\n".join(macro.definition(name) for name, macro in self.items() if name in used)

    def _define(self, definition: re.Match[str], text: str) -> int:
        """Keep a definition, and return where it ends."""
        name = _NAME.match(text, definition.end())
        if name is None:
            return definition.end()
        begin = name.end()
        if definition["alias"]:  # a name of another command, to its meaning at this point
            other = _ALIASED.match(text, begin)
            if other is None:
                return begin
            self[name[2]] = self.get(other[1][1:], Macro(other[1], is_final=True))
            return other.end()

        arguments = 0
        default = None
        has_star = False
        parameters = ""
        count = _COUNT.match(text, begin)
        if definition["document"]:
            signature = argument_at(text, begin)
            if signature is None:
                return begin
            begin = signature[1]
            arguments = len(_SIGNATURE.findall(signature[0]))
            first = _FIRST.match(signature[0])
            if first is not None:
                has_star = bool(first["star"])
                default = first["default"] or ("" if first["option"] else None)
        elif definition["def"]:
            signs = _PARAMETERS.match(text, begin)
            if signs is None:
                return begin
            begin = signs.end()
            arguments = signs[0].count("#")
            if _NUMBER.sub("", signs[0]).strip():
                parameters = signs[0].strip()
        elif count is not None:
            begin = count.end()
            arguments, default = int(count[1]), count[2]
        if definition["pair"] is not None:
            return self._pair(name[2], definition["pair"], arguments or 1, text, begin)

        argument = argument_at(text, begin)
        if argument is None:
            return begin
        body, end = argument
        if definition["operator"]:
            body = f"\\operatorname{name[1]}{{{body}}}"
        self[name[2]] = Macro(body, arguments, default, False, False, parameters, has_star)
        return end

    def _pair(self, name: str, kind: str, arguments: int, text: str, begin: int) -> int:
        """Keep a pair of delimiters as a command."""
        written: list[str] = []
        while len(written) < _PAIR_PARTS[kind]:
            part = argument_at(text, begin)
            if part is None:
                return begin
            written.append(part[0].replace(r"\delimsize", ""))
            begin = part[1]

        body = "#1"
        if kind:
            body = written.pop()
        written.insert(len(written) // 2, body)
        self[name] = Macro(" ".join(written), arguments, is_pair=True)
        return begin


def defines_macro(text: str) -> bool:
    """Return whether a text may define a macro."""
    return _DEFINES.search(text) is not None


def expanded_formulas(formulas: Sequence[str], preamble: str = "") -> Sequence[str]:
    """Expand the macros of a post and of a preamble in the formulas of the post."""
    if not preamble and not defines_macro(" ".join(formulas)):
        return formulas

    macros = Macros(preamble_macros(preamble))
    return [macros.expand_macros(latex) for latex in formulas]


@lru_cache(maxsize=4)
def preamble_macros(preamble: str) -> Macros:
    """Return the macros that a preamble defines; callers add a post's macros to a copy."""
    macros = Macros()
    for begin, end in definitions(preamble):
        macros.expand_macros(preamble[begin:end])
    return macros


def definitions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the definitions of a preamble, outside of comments and of each other."""
    macros = Macros()
    done = 0
    for opening in _OR_COMMENT.finditer(text):
        if opening["comment"] or opening.start() < done:
            continue
        definition: re.Match[str] | None = opening
        while definition is not None:
            done = macros._define(definition, text)
            yield definition.start(), done
            definition = _FOLLOWS.match(text, done)


def environment_names(preamble: str) -> dict[str, str]:
    r"""Return the names that a preamble defines as `\begin{…}` or `\end{…}`, often `\be`, `\ee`."""
    names = {}
    for name, macro in preamble_macros(preamble).items():
        body = macro.body.strip()
        if not macro.arguments and _EDGE.fullmatch(body):
            names[name] = body
    return names


def argument_at(text: str, begin: int) -> tuple[str, int] | None:
    """Return the argument at a position, without its braces, and where it ends."""
    token = _TOKEN.match(text, begin)
    if token is None:
        return None
    if token[1] != "{":
        return token[1], token.end()

    inner = token.end()
    begin, end = closing_edge(_BRACE, text, inner, inner + _LONGEST)
    if begin == end:
        return None
    return text[inner:begin], end


def _argument_before(sign: str, text: str, begin: int) -> tuple[str, int] | None:
    """Return the argument before a sign, outside braces, and where the sign ends."""
    if not sign:
        return argument_at(text, begin)
    end = text.find(sign, begin, begin + _LONGEST)
    argument = text[begin : max(begin, end)].strip()
    if end < 0 or argument.count("{") != argument.count("}"):
        return None
    return argument, end + len(sign)


def _separated(latex: str) -> str:
    """Return LaTeX to which a letter can be appended."""
    if _LAST_COMMAND.search(latex):
        return f"{latex} "
    return latex
