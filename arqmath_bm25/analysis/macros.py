r"""Macros that a post defines, written out: `\newcommand`, `\def`, `\DeclareMathOperator`.

As in MathJax, a definition holds for what follows in the post, in other formulas too; those of a
preamble hold for every post. Definitions
go, and every use becomes what it stands for, with its arguments. The cost is bounded: by the number
of definitions and uses of a post, and by the length of definitions, of arguments and of what comes
out. A formula that goes beyond stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STEPS: Final = 1000  # definitions and uses of one post
_LONGEST: Final = 1000  # characters of a definition or an argument
_LONGEST_FORMULA: Final = 20_000  # characters, unless it was longer to begin with

_DEFINES: Final = re.compile(
    r"\\(?:(?P<command>(?:(?:re)?new|provide)command)|(?P<operator>DeclareMathOperator)"
    r"|(?P<document>(?:New|Renew|Provide|Declare)DocumentCommand)|(?P<pair>DeclarePairedDelimiter)"
    r"|(?P<alias>let)|[gx]?def)"
    r"(?![A-Za-z])"
)
_OPENS_LINE: Final = re.compile(rf"^[ \t]*+{_DEFINES.pattern}", re.MULTILINE)
_FOLLOWS: Final = re.compile(rf"[ \t]{{0,99}}+{_DEFINES.pattern}")  # another on the same line
_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_NAME: Final = re.compile(r"(\*?)\s{0,9}(?:\{\s{0,9})?\\([A-Za-z]+|[^\s{}])\s{0,9}\}?")
_COUNT: Final = re.compile(r"\s{0,9}\[([0-9])\](?:\s{0,9}\[([^\[\]]{0,100})\])?")
_HASHES: Final = re.compile(r"(?:\s{0,9}#[1-9])+")
_OPTION: Final = re.compile(r"\s{0,9}\[([^\[\]]{0,100})\]")
_SIGNATURE: Final = re.compile(r"O\{[^{}]{0,100}\}|[mOos]")  # of \NewDocumentCommand
_OPTIONAL: Final = re.compile(r"\s{0,9}(?:o|O\{(?P<default>[^{}]{0,100})\})")
_ALIASED: Final = re.compile(r"\s{0,9}=?\s{0,9}(\\(?:[A-Za-z]+|.)|[^\s{}])")
_TOKEN: Final = re.compile(r"\s{0,9}(\{|\\(?:[A-Za-z]+|.)|[^\s}])", re.DOTALL)
_BRACE: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_PARAMETER: Final = re.compile(r"(\\[A-Za-z]+)?#([1-9])")
_EDGE: Final = re.compile(r"\\(?:begin|end)\s*\{[A-Za-z]{1,40}\*?\}(?:\{[^{}]{0,40}\})?")
_LAST_COMMAND: Final = re.compile(r"\\[A-Za-z]+\Z")


class Macro(NamedTuple):
    """The definition of a command in a post."""

    body: str  # `#1`, `#2`, … are its arguments
    arguments: int = 0
    default: str | None = None  # of the first argument, which is optional then, in brackets

    def written_out(self, text: str, begin: int) -> tuple[str, int] | None:
        """Expand a use whose arguments begin there; return the text and where they end."""
        arguments = []
        if self.default is not None:
            option = _OPTION.match(text, begin)
            arguments.append(option[1] if option else self.default)
            begin = option.end() if option else begin
        while len(arguments) < self.arguments:
            argument = argument_at(text, begin)
            if argument is None:
                return None
            arguments.append(_apart(argument[0]))
            begin = argument[1]

        def put_in(place: re.Match[str]) -> str:
            number = int(place[2])
            argument = arguments[number - 1] if number <= len(arguments) else ""
            return f"{place[1]} {argument}" if place[1] else argument

        return _apart(_PARAMETER.sub(put_in, self.body)), begin


class Macros(dict[str, Macro]):
    """The macros that a post has defined so far, by their names without the backslash."""

    _steps = _STEPS  # that are left

    def write_out(self, latex: str) -> str:
        """Return the next formula of the post without definitions and uses of macros."""
        text, begin = latex, 0
        while command := (_COMMAND if self else _DEFINES).search(text, begin):
            begin, start = command.end(), command.start()
            if definition := _DEFINES.match(text, start):
                end = self._define(definition, text)
                written = ""
            elif macro := self.get(command[1]):
                use = macro.written_out(text, begin)
                if use is None:
                    return latex
                written, end = use
                if text[:start].rstrip()[-1:] in ("^", "_"):
                    written = f"{{{written}}}"
            else:
                continue
            self._steps -= 1
            text, begin = text[:start] + written + text[end:], start
            if self._steps < 0 or len(text) > max(_LONGEST_FORMULA, len(latex)):
                return latex
        return text.strip() if text is not latex else latex

    def _define(self, definition: re.Match[str], text: str) -> int:
        """Keep a definition, and return where it ends."""
        name = _NAME.match(text, definition.end())
        if name is None:
            return definition.end()
        begin, arguments, default = name.end(), 0, None
        if definition["alias"]:
            return self._alias(name[2], text, begin)
        if definition["pair"]:
            return self._pair(name[2], text, begin)
        if definition["document"]:
            signature = argument_at(text, begin)
            if signature is None:
                return begin
            begin = signature[1]
            arguments = len(_SIGNATURE.findall(signature[0]))
            option = _OPTIONAL.match(signature[0])
            if option is not None:
                default = option["default"] or ""
        if definition["command"] and (count := _COUNT.match(text, begin)):
            arguments, default, begin = int(count[1]), count[2], count.end()
        elif hashes := _HASHES.match(text, begin):
            arguments, begin = hashes[0].count("#"), hashes.end()
        body = argument_at(text, begin)
        if body is None:
            return begin
        operator = f"\\operatorname{name[1]}{{{body[0]}}}"
        self[name[2]] = Macro(operator if definition["operator"] else body[0], arguments, default)
        return body[1]

    def _alias(self, name: str, text: str, begin: int) -> int:
        r"""Keep what `\let` says: a name is another command."""
        other = _ALIASED.match(text, begin)
        if other is None:
            return begin
        target = self.get(other[1][1:])
        self[name] = target or Macro(other[1])
        return other.end()

    def _pair(self, name: str, text: str, begin: int) -> int:
        """Keep a pair of delimiters as a command of one argument."""
        left = argument_at(text, begin)
        right = left and argument_at(text, left[1])
        if not left or not right:
            return begin
        self[name] = Macro(f"{left[0]} #1 {right[0]}", 1)
        return right[1]


def written_out(formulas: Sequence[str], preamble: str = "") -> Sequence[str]:
    """Return the formulas of a post with its macros, and those of a preamble, written out."""
    if not (preamble or _DEFINES.search(" ".join(formulas))):
        return formulas
    macros = Macros(preamble_macros(preamble))
    return [macros.write_out(latex) for latex in formulas]


@lru_cache(maxsize=4)
def preamble_macros(preamble: str) -> Macros:
    """Return the macros that a preamble defines; callers add those of a post to a copy."""
    macros = Macros()
    for begin, end in definitions(preamble):
        macros.write_out(preamble[begin:end])
    return macros


def definitions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of definitions that open a line of LaTeX source, or follow another."""
    macros, done = Macros(), 0
    for opening in _OPENS_LINE.finditer(text):
        if opening.start() < done:
            continue
        definition: re.Match[str] | None = opening
        while definition is not None:
            done = macros._define(definition, text)
            yield definition.start(), done
            definition = _FOLLOWS.match(text, done)


def environment_names(preamble: str) -> dict[str, str]:
    r"""Return the names that stand for `\begin{…}` or `\end{…}`, as `\be` and `\ee` often do."""
    names: dict[str, str] = {}
    for name, macro in preamble_macros(preamble).items():
        if not macro.arguments and _EDGE.fullmatch(macro.body.strip()):
            names[name] = macro.body.strip()
    return names


def argument_at(text: str, begin: int) -> tuple[str, int] | None:
    """Return the argument that begins there, without its braces, and where it ends."""
    token = _TOKEN.match(text, begin)
    if token is None or token[1] != "{":
        return (token[1], token.end()) if token else None
    depth = 1
    for brace in _BRACE.finditer(text, token.end(), token.end() + _LONGEST):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return text[token.end() : brace.start()], brace.end()
    return None


def _apart(latex: str) -> str:
    """Return LaTeX to which a letter can be appended."""
    return f"{latex} " if _LAST_COMMAND.search(latex) else latex
