r"""Lean as words, so that English, LaTeX and Lean find each other.

A declaration is its docstring, its name and its statement. A name counts as its parts, cut at dots,
underscores and capitals, and again as a whole: `Nat.gcd_comm` gives `nat`, `gcd`, `comm`, `gcdcomm`
and `natgcdcomm`. Its last component says what is declared, so it counts twice. Implicit arguments
(in braces and brackets) name the setting: their words count once, and only if the rest of the
declaration lacks them. A symbol is one word, whether it is typed in Unicode or in LaTeX: `∑` and
`\sum` are `sum`. The proof is left out by default. The tables are in `lean.toml`.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from arqmath_bm25.analysis.latex import arrange, read
from arqmath_bm25.analysis.text import normalize
from arqmath_bm25.core.tables import read_table

_TABLE: Final[dict[str, Any]] = read_table(__file__)
_SYMBOLS: Final[dict[str, str]] = _TABLE["symbols"]
_KEYWORDS: Final = "|".join(_TABLE["declarations"].split())
_MODIFIERS: Final = "|".join(_TABLE["modifiers"].split())
# Declarations whose body is their statement: it lists fields or constructors.
_WITH_BODY: Final = frozenset(_TABLE["with_body"].split())

HEAD: Final = (
    r"(?:/--(?P<comment>(?>(?:[^-]+|-(?!/))*))-/\s{0,99})?"
    r"(?:@\[(?>(?:[^\[\]]|\[[^\[\]]{0,200}\]){0,999})\]\s{0,99}){0,9}"
    rf"(?:(?:{_MODIFIERS})\s{{1,99}}){{0,9}}"
    rf"(?P<keyword>{_KEYWORDS})(?![\w.'])"
    r"(?:\s{1,99}(?!where\b|extends\b)(?P<name>(?:_root_\.)?[^\W\d_][^\s:(\[{⦃,;]{0,499}))?"
)
_HEAD: Final = re.compile(rf"\s{{0,99}}{HEAD}")
_TYPED: Final = r"\s*(?:[({⦃][^(){}⦃⦄\[\]:\n]{1,200}\s:\s|\[[A-Z][\w.]*[\s\]])"
_BODY: Final = r"\s*(?:where\b|extends\s|:=|\|\s)"
# A match proves that a head is Lean, not a sentence such as "theorem A : every ring is".
_PROOF: Final = re.compile(rf"{_TYPED}|{_BODY}")
# Python has no blank before the brackets or the colon after a name, and braces of Java and C++
# contain semicolons.
_FOLLOWED: Final = re.compile(r"\s*\Z|[ \t]*\n|\s+(?:[(\[⦃]|\{[^{};\n]{1,99}\}|:\s|--)")
_LEAN_NAME: Final = re.compile(r"[^\W_][._](?!\Z)|[a-z][A-Z]")
_LEAN_SIGN: Final = re.compile(rf":=|[{_TABLE['signs']}]|\b(?:Type|Prop|Sort)\b")
_SIGNS_WITHIN: Final = 2_000  # characters of a statement

_CLOSING: Final = {"(": ")", "{": "}", "[": "]", "⦃": "⦄"}
_BRACKET: Final = re.compile(r"[(){}\[\]⦃⦄]")
_SPACE: Final = re.compile(r"\s*")
_STATEMENT_END: Final = re.compile(
    r"(?P<open>[(\[{⦃⟨])|(?P<close>[)\]}⦄⟩])|:=|\bwhere\b|\n[ \t]*\|[^\n]{0,200}=>"
)

# Letters that are symbols: Greek ones, and those of the double-struck and script alphabets.
_SYMBOL_LETTERS: Final = "\u0370-\u03ff\u1f00-\u1fff\u2100-\u214f\U0001d400-\U0001d7ff"
_LETTER: Final = rf"[^\W\d_{_SYMBOL_LETTERS}]"
_TOKEN: Final = re.compile(
    rf"(?P<name>{_LETTER}(?:[\w'!?]|\.(?=[^\W\d]))*)|(?P<number>\d+)"
    rf"|(?P<symbol>\\[A-Za-z]+|->|<-|=>|:=|<=|>=|[^\w\s]|[{_SYMBOL_LETTERS}])"
)
_PART: Final = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_][^\W\d_A-Z]*|\d+")
_LETTERS: Final = re.compile(rf"{_LETTER}+")
_KEPT: Final = 1 << 14


class Declaration(NamedTuple):
    """A declaration in Lean by its parts."""

    comment: str  # its docstring
    name: str  # "" for an anonymous one
    implicit: str  # arguments in braces and brackets
    statement: str  # the other arguments, and the proposition
    proof: str


def is_lean(text: str) -> bool:
    """Return whether a text begins with a declaration in Lean."""
    head = _HEAD.match(text)
    if head is None:
        return False
    if _PROOF.match(text, head.end()):
        return True
    if not _FOLLOWED.match(text, head.end()):
        return False
    if head["name"] and _LEAN_NAME.search(head["name"]):
        return True
    return _LEAN_SIGN.search(text, head.end(), head.end() + _SIGNS_WITHIN) is not None


def lean_words(text: str, title: str = "", proofs: bool = False) -> str:
    """Return a text in Lean as words with blanks between; any string is read.

    `title` may be the full name of a declaration whose text has a part of it; another title is read
    as words. With `proofs`, the words of the proof count too.
    """
    declaration = read_declaration(text)
    name = declaration.name
    words: list[str] = []
    if _is_full_name(title, name):
        name = title
    else:
        words.extend(_document_words(title))

    words.extend(_document_words(name))
    words.extend(_document_words(name.rpartition(".")[2]))
    words.extend(_document_words(declaration.statement))
    words.extend(_document_words(declaration.comment))
    if proofs:
        words.extend(_document_words(declaration.proof))

    said = set(words)
    setting = dict.fromkeys(_document_words(declaration.implicit))
    words.extend(word for word in setting if word not in said)
    return " ".join(words)


def _is_full_name(title: str, name: str) -> bool:
    return bool(name) and f".{title}".endswith(f".{name}")


def read_declaration(text: str) -> Declaration:
    """Return the parts of a declaration; any other text is a statement."""
    head = _HEAD.match(text)
    if head is None:
        return Declaration("", "", "", text, "")
    implicit, explicit, begin = _arguments(text, head.end())
    end = len(text)
    if head["keyword"] not in _WITH_BODY:
        end = _end_of_statement(text, begin)
    name = (head["name"] or "").rstrip(".")
    statement = f"{explicit} {text[begin:end]}"
    return Declaration(head["comment"] or "", name, implicit, statement, text[end:])


def _arguments(text: str, begin: int) -> tuple[str, str, int]:
    """Return the implicit and the explicit arguments that begin here, and where they end."""
    implicit, explicit = list[str](), list[str]()
    while True:
        begin = _after_space(text, begin)
        opening = text[begin : begin + 1]
        if opening not in _CLOSING:
            return " ".join(implicit), " ".join(explicit), begin

        end = _end_of_group(text, begin)
        if opening == "(":
            explicit.append(text[begin:end])
        else:
            implicit.append(text[begin:end])
        begin = end


def _after_space(text: str, begin: int) -> int:
    space = _SPACE.match(text, begin)
    if space is None:
        return begin
    return space.end()


def _end_of_group(text: str, begin: int) -> int:
    """Return where the brackets that open here are closed; an open group is the rest of a text."""
    opening = text[begin]
    closing = _CLOSING[opening]
    depth = 0

    for bracket in _BRACKET.finditer(text, begin):
        if bracket[0] == opening:
            depth += 1
        elif bracket[0] == closing:
            depth -= 1
        if depth == 0:
            return bracket.end()
    return len(text)


def _end_of_statement(text: str, begin: int) -> int:
    """Return where the statement that begins here ends and its proof or body begins."""
    depth = 0
    for token in _STATEMENT_END.finditer(text, begin):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif depth == 0:
            return token.start()
    return len(text)


def _document_words(text: str) -> Iterator[str]:
    for token in _TOKEN.finditer(text):
        name, number, symbol = token.group("name", "number", "symbol")
        if name:
            yield from _words_of_name(name)
            yield from _wholes_of_name(name)
        elif number:
            yield number
        else:
            yield from _words_of_symbol(symbol)


def query_words(prose: str) -> str:
    """Return the prose of a query as the words by which it finds declarations in Lean."""
    words: list[str] = []
    for token in _TOKEN.finditer(prose):
        name, number, symbol = token.group("name", "number", "symbol")
        if name:
            parts = _words_of_name(name)
            words.extend(parts)
            words.extend(whole for whole in _wholes_of_name(name) if whole not in parts)
        elif number:
            words.append(number)
        else:
            words.extend(_words_of_symbol(symbol))

    return " ".join(words)


def formula_words(latex: str) -> str:
    """Return the words of Lean for the symbols of a formula."""
    return " ".join(_words_of_symbol(latex))


@lru_cache(maxsize=_KEPT)
def _words_of_name(name: str) -> tuple[str, ...]:
    """Return the parts of a name."""
    return tuple(part.lower() for part in _PART.findall(normalize("NFKC", name)))


@lru_cache(maxsize=_KEPT)
def _wholes_of_name(name: str) -> tuple[str, ...]:
    """Return each component of a name of more than a letter as one word, and all as one."""
    components = [component for component in name.split(".") if component]
    wholes = [_joined(component) for component in components]
    if len(components) > 1:
        wholes.append(_joined(name))
    return tuple(whole for whole in wholes if len(whole) > 1)


def _joined(name: str) -> str:
    return "".join(_LETTERS.findall(normalize("NFKC", name))).lower()


@lru_cache(maxsize=_KEPT)
def _words_of_symbol(symbol: str) -> tuple[str, ...]:
    """Return the words of a symbol, or of all symbols of a formula in LaTeX."""
    if symbol in _SYMBOLS:
        return tuple(_SYMBOLS[symbol].split())
    items, text = read(symbol)
    words = list(_words_of_tokens(arrange(items)))
    words.extend(_LETTERS.findall(text))
    return tuple(words)


def _words_of_tokens(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        if token in _SYMBOLS:
            yield from _SYMBOLS[token].split()
        elif token.isalnum():
            yield token.lower()
