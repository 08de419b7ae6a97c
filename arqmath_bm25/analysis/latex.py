r"""LaTeX → normalised tokens → n-grams.

Two ways to write the same formula should give the same tokens, and LaTeXML's normal form (the
collection's) the same as an author's source (the topics'). In one pass over the source:

* presentation goes, synonyms become one (`latex_table`), numbers stay whole, text becomes words;
* braces go, scripts come in the order sub, super (`\sum^n_{i=1}` is `\sum_{i=1}^n`), a prime is a
  superscript, `{a \over b}` is `\frac{a}{b}`;
* tables keep marks of their cells, which `symbol_layout` reads;
* what is broken (unbalanced braces, LaTeXML's error text, HTML that a formula swallowed) costs its
  own tokens at most. Nothing raises; time is linear in the length of the source.

A token is a command's name (`frac`, `alpha`, `bbR`), a number, a letter or a symbol; commands of
one letter keep their backslash. n-grams of tokens are joined by `~`, which LaTeX reads as a blank.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from arqmath_bm25.analysis import latex_table as table

MAX_TOKEN = 40  # characters of one token: five of them stay below Lucene's 255


class Tokens(NamedTuple):
    """What one formula says."""

    symbols: tuple[str, ...]
    words: str  # text inside \text{…} and the like, not yet analysed


_HTML = re.compile(r"</[a-z]+[1-6]?>|<(?:p|br|em|strong|li|ol|ul|pre|code|blockquote)\s*/?>")
_LATEXML = re.compile(r"(?<=&)(?:\\displaystyle\s*)?amp;|\\qvar@construct\{.?\}|%\s*\n")
_UNPRINTABLE = r"\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"  # besides white space
_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<letters>[A-Za-z]+)"
    r"|(?P<structure>[{}^_&])"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    rf"|\\(?P<alphabet>{'|'.join(table.ALPHABETS)})\s*(?P<of>[A-Za-z0-9]|\{{\s*[A-Za-z0-9]+\s*\}})"
    rf"|\\(?:{'|'.join(table.OPERATOR_NAMES)})\*?\s*\{{\s*(?P<operator>[A-Za-z]{{2,}})\s*\}}"
    r"|\\(?P<edge>begin|end)\s*\{\s*(?P<environment>[A-Za-z]*)\*?\s*\}"
    rf"|\\(?P<command>[A-Za-z@]+|[^A-Za-z{_UNPRINTABLE}])"
    r"|(?P<primes>'+)"
    r"|(?P<dots>\.{2,})"
    rf"|(?P<symbol>[^\s~$&\\{_UNPRINTABLE}])"
    r"|."
    r")",
    re.DOTALL,
)
# Marks among the symbols of a formula: braces, scripts, and the parts of a table.
OPEN, CLOSE, SUPER, SUB = "\1", "\2", "\3", "\4"
TABLE, CELL, ROW, TABLE_END = "\5", "\6", "\7", "\x0e"
_TABLE_MARKS = frozenset((TABLE, CELL, ROW, TABLE_END))
_MARKS = frozenset((OPEN, CLOSE, SUPER, SUB)) | _TABLE_MARKS
_STRUCTURE = {"{": OPEN, "}": CLOSE, "^": SUPER, "_": SUB, "&": CELL}
_DIGIT_TAKERS = frozenset((SUPER, SUB, "frac", "binom", "sqrt"))
_DIGITS = frozenset("0123456789")
_COLUMNS = re.compile(r"(?:\s*\[[^\]]*\])?\s*(?=\{)")
_OPTION = re.compile(r"\s*\[[^\[\]]*\]")
_DIMENSION = re.compile(r"\s*[-+]?[0-9.]+\s*[a-z]{2}")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_AMBIGUOUS = frozenset("^_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TRAILING = frozenset(".,;:")  # the sentence's, not the formula's
_MAX_DEPTH = 64  # deeper braces are read as if they were not there


def tokenize(latex: str) -> Tokens:
    """Return the normalised tokens of one formula, given without its delimiters."""
    items, words = read(latex)
    return Tokens(tuple(arrange(items)), words)


def read(latex: str) -> tuple[list[str], str]:
    """Return the symbols and marks of one formula in the order of its source, and its words."""
    if not latex.isascii():
        latex = unicodedata.normalize("NFKC", latex.translate(table.UNICODE))
    if "<" in latex:
        latex = _HTML.sub(" ", latex)
    if "amp;" in latex or "@" in latex or "%" in latex:
        latex = _LATEXML.sub(" ", latex)
    words: list[str] = []
    return _scan(latex, words), " ".join(words)


def _scan(latex: str, words: list[str], nested: bool = False) -> list[str]:
    """Read the source into symbols and structure marks; text goes to `words`."""
    items: list[str] = []
    at = 0
    while match := _TOKEN.match(latex, at):
        at = match.end()
        kind = match.lastgroup
        if kind == "letters":
            letters = match["letters"]
            items.extend((letters,) if letters in table.BARE_NAMES else letters)
        elif kind == "structure":
            items.append(_STRUCTURE[match["structure"]])
        elif kind == "symbol":
            items.append(match["symbol"])
        elif kind == "number":
            number = match["number"]
            if items and _takes_one_digit(items):  # \frac12 is 1/2, x^23 is x^2 3
                at += 1 - len(number)
                number = number[:1]
            items.append(number[:MAX_TOKEN])
        elif kind == "command":
            command = match["command"]
            if command in table.TEXT:
                text, at = _argument(latex, at)
                # \text{if $x$ is odd} holds words and, between dollars, mathematics.
                for number, part in enumerate(text.split("$")):
                    if number % 2 and not nested:
                        items.extend(_scan(part, words, nested=True))
                    else:
                        words.append(part)
            elif command in table.DROPPED_WITH_ARGUMENT:
                at = _skip(latex, at, command in table.DEFINITIONS)
            elif command in ("left", "right") and latex.startswith(".", at):
                at += 1  # an invisible delimiter
            elif command == "\\":
                items.append(ROW)
            elif command not in table.DROPPED and "@" not in command and not command.isspace():
                items.append(table.SYNONYMS.get(command) or _own_name(command))
        elif kind == "of":
            alphabet = table.ALPHABETS[match["alphabet"]]
            items.extend(alphabet + letter for letter in match["of"].strip("{} \n"))
        elif kind == "operator":
            items.append(match["operator"][:MAX_TOKEN])
        elif kind == "environment":
            name = match["environment"]
            if match["edge"] == "begin":
                if name in table.ENVIRONMENTS:
                    items += (table.ENVIRONMENTS[name], TABLE)
                if (
                    columns := _COLUMNS.match(latex, at)
                    if name in table.COLUMN_ENVIRONMENTS
                    else None
                ):
                    at = _skip(latex, columns.end())
            elif name in table.ENVIRONMENTS:
                items.append(TABLE_END)
        elif kind == "dots":
            items.append("dots")
        elif kind == "primes":
            items.extend((SUPER, OPEN, *["prime"] * len(match["primes"][:9]), CLOSE))
    if "not" in items:
        return _negate(items)
    return items


def _takes_one_digit(items: list[str]) -> bool:
    return items[-1] in _DIGIT_TAKERS or (
        len(items) > 1 and items[-2] in ("frac", "binom") and items[-1] in _DIGITS
    )


def _negate(items: list[str]) -> list[str]:
    r"""Join `not` with what it negates: `\not=` is `\ne`."""
    joined: list[str] = []
    for item in items:
        if joined and joined[-1] == "not" and item not in _MARKS:
            joined[-1] = table.NEGATED.get(item, "not" + item)
        else:
            joined.append(item)
    return joined


def _own_name(command: str) -> str:
    # \i and \_ are not the letter i and the subscript mark.
    return f"\\{command}" if len(command) == 1 and command in _AMBIGUOUS else command[:MAX_TOKEN]


def _argument(latex: str, at: int) -> tuple[str, int]:
    """Return the argument in braces that begins at `at`, and where it ends."""
    while at < len(latex) and latex[at].isspace():
        at += 1
    if not latex.startswith("{", at):
        return latex[at : at + 1], at + 1
    depth = 0
    for brace in _BRACE.finditer(latex, at):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return latex[at + 1 : brace.start()], brace.end()
    return latex[at + 1 :], len(latex)  # cut off


def _skip(latex: str, at: int, definition: bool = False) -> int:
    """Return where the argument (of a definition: everything that belongs to it) ends."""
    if dimension := _DIMENSION.match(latex, at):
        return dimension.end()
    if option := _OPTION.match(latex, at):  # \color[rgb]{1,0,0}
        at = option.end()
    _, at = _argument(latex, at)
    while definition and latex[at : at + 1] in ("{", "["):
        at = latex.find("]", at) + 1 or len(latex) if latex[at] == "[" else _argument(latex, at)[1]
    return at


class _Group:
    """Tokens of one brace group, with the superscript that waits for a subscript to pass it."""

    __slots__ = ("script", "super", "tokens")

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.super: list[str] = []
        self.script = ""  # the mark whose argument comes next

    def add(self, tokens: list[str]) -> None:
        if self.script == SUPER:
            self.super += tokens
        else:
            if self.script == SUB:
                self.tokens.append("_")
            else:
                self.settle()
            self.tokens += tokens
        self.script = ""

    def settle(self) -> None:
        """Put a waiting superscript in its place."""
        if self.super:
            self.tokens.append("^")
            self.tokens += self.super
            self.super = []


def arrange(items: list[str]) -> list[str]:
    """Drop braces, order scripts, turn infix forms round."""
    groups = [_Group()]
    ignored = 0  # open braces below _MAX_DEPTH
    for item in items:
        group = groups[-1]
        if item == OPEN:
            if len(groups) < _MAX_DEPTH:
                groups.append(_Group())
            else:
                ignored += 1
        elif item == CLOSE:
            if ignored:
                ignored -= 1
            elif len(groups) > 1:
                group.settle()
                groups.pop()
                groups[-1].add(group.tokens)
        elif item in (SUPER, SUB):
            group.script = item
        elif item in table.INFIX:
            group.settle()
            group.tokens.insert(0, table.INFIX[item])
        elif item not in _TABLE_MARKS:
            group.add([item])
    while len(groups) > 1:  # braces left open
        group = groups.pop()
        group.settle()
        groups[-1].add(group.tokens)
    groups[0].settle()
    tokens = groups[0].tokens
    while tokens and tokens[-1] in _TRAILING:
        tokens.pop()
    return tokens


def ngrams(tokens: tuple[str, ...], low: int, high: int, joint: str = "~") -> list[str]:
    """Return all n-grams of `low` … `high` tokens, shorter ones first, each joined by `joint`."""
    grams: list[str] = []
    for n in range(low, high + 1):
        grams.extend(map(joint.join, zip(*(tokens[i:] for i in range(n)), strict=False)))
    return grams


def as_word(token: str) -> str:
    """Spell a token with letters and digits only: `+` is `plus`, `0.5` is `0dot5`."""
    return token if token.isalnum() else "".join(map(_spelled, token))


def _spelled(character: str) -> str:
    return (
        character if character.isalnum() else table.SPELLED.get(character, f"u{ord(character):x}")
    )
