r"""Lean, Isabelle and Coq as words, so that English, LaTeX and formal statements find each other.

A declaration is its docstring, its name and its statement. A name counts as its parts, cut at dots,
underscores and capitals, and again as a whole: `Nat.gcd_comm` gives `nat`, `gcd`, `comm`, `gcdcomm`
and `natgcdcomm`. Its last component says what is declared, so it counts twice. Implicit arguments
(in braces and brackets) and the header of a text (`open Nat`) name the setting: their words count
once, and only if the declarations lack them. A symbol is one word in all languages: `∑`, `\sum` and
`\<Sum>` are `sum`. Proofs are left out by default. A language is a table in `formal.toml`.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, zip_longest
from typing import Literal, NamedTuple, get_args

from arqmath_bm25.analysis.latex import arrange, read
from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.analysis.text import Memo, normalize
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import read_table

LanguageName = Literal["isabelle", "coq", "lean"]
FORMAL: tuple[LanguageName, ...] = get_args(LanguageName)
_TABLE = read_table(__file__)
_SYMBOLS: dict[str, str] = _TABLE["symbols"]
_POWER = "^"
_MARKS = frozenset(_TABLE["marks"])
_NEAR = 4_000  # characters of a declaration that show its language
_DEEPEST = 100  # namespaces around a declaration

_BRACKETS = {
    opening: expression(rf"(?P<open>{re.escape(opening)})|(?P<close>{re.escape(closing)})")
    for opening, closing in ("()", "{}", "[]", "⦃⦄")
}
_OPENING = expression(r"(?<!\s)\s*+(?P<bracket>[({\[⦃])")
_SPACE = expression(r"\s*")
_NOT_NEWLINE = expression(r"[^\n]")
_TYPE = expression(r"\s:\s|\[[A-Z][\w.]*[\s\]]")

# Letters that are symbols: Greek ones, and those of the double-struck and script alphabets.
_SYMBOL_LETTERS = "\u0370-\u03ff\u1f00-\u1fff\u2100-\u214f\U0001d400-\U0001d7ff"
_LETTER = rf"[^\W\d_{_SYMBOL_LETTERS}]"
_BEGINS_NAME = expression(_LETTER)
# A name, a number or a symbol.
_TOKEN_FORM = (
    rf"{_LETTER}(?:[\w'!?]|\.(?=[^\W\d]))*|\d+"
    r"|OWN(?<=[\w)\]])%(?:[A-Z]|[a-z]{3,9})\b"
    rf"|\\(?:[A-Za-z]+|<\^?[A-Za-z]+>)|->|<-|=>|:=|<=|>=|[^\w\s]|[{_SYMBOL_LETTERS}]"
)
_TOKEN = expression(_TOKEN_FORM.replace("OWN", ""))
_PART = expression(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_][^\W\d_A-Z]*|\d+")
_LETTERS = expression(rf"{_LETTER}+")
_ISABELLE = expression(r"\\<\^?([A-Za-z]+)>")
_QUOTES = '"‹\\'
_KEPT = 1 << 15  # tokens with their words, and the characters of the longest
_LONGEST = 100


class Declaration(NamedTuple):
    """A declaration by its parts."""

    begin: int  # its offset
    text: str  # with its docstring and its proof
    comment: str  # its docstring
    name: str  # "" for an anonymous one
    implicit: str  # arguments in braces and brackets
    statement: str  # the other arguments, and the proposition
    proof: str
    namespaces: tuple[str, ...] = ()  # that are open around it


class FormalText(NamedTuple):
    """A text by its declarations."""

    declarations: list[Declaration]
    descriptions: list[tuple[int, str]]  # other comments for readers, with their offsets


class Language:
    """How a formal language is written, by its table."""

    def __init__(self, name: str) -> None:
        table = _TABLE[name]
        self.words: dict[str, str] = table["words"]  # for names and symbols of its own
        self.with_body = frozenset[str](table["with_body"].split())
        self.docstring: str = table["docstring"]
        self.description: str = table["description"]
        self.scopes: list[str] = table["scopes"]

        heads = "|".join(table["heads"].split())
        command = (
            rf"(?P<begin>{table['modifiers']})(?:(?P<keyword>{heads})(?![\w.'])(?:\s{{1,99}}{table['name']})?"
            rf"|(?P<command>{table['commands']})(?:[ \t]+(?P<argument>[^\s({{\[]{{1,500}}))?)"
        )
        opening, closing = table["comments"]
        header = rf"{table['modifiers']}(?:{table['commands']}){table['rest']}"
        self.command = expression(rf"{table['before']}{command}", re.MULTILINE)
        self.comment = expression(rf"(?P<open>{opening})|{table['blanks']}", re.DOTALL)
        self.edge = expression(rf"(?P<open>{opening})|(?P<close>{closing})")
        self.edges = expression(rf"\A(?:{opening})[-!*]*|(?:{closing})\Z")
        self.statement_end = expression(table["statement_end"])
        self._begin = expression(rf"\s*(?:{opening}|{table['blanks']}|{command})", re.DOTALL)
        self._header = expression(rf"(?>(?:\s+|{header})*)")
        self._head = expression(command)
        self._english = expression(_TABLE["english"])
        self._needed = expression(table["needed"])
        self._proofs = {
            key: expression(table[key].replace("HEADS", f"(?:{heads})")) for key in _PROOFS
        }

        own = sorted(filter(_NO_NAME.search, self.words), key=len, reverse=True)
        symbols = "".join(f"{re.escape(symbol)}|" for symbol in own)
        self._token = expression(_TOKEN_FORM.replace("OWN", symbols))
        self._words = Memo(self._words_of, _KEPT, _LONGEST)

    def words_in(self, text: str) -> list[str]:
        """Return the words of a document in order."""
        tokens = self._token.findall(text)
        return list(chain.from_iterable(map(self._words.__getitem__, tokens)))

    def _words_of(self, token: str) -> list[str]:
        if token in self.words:
            return self.words[token].split()
        parts, wholes = _words_of_token(token)
        return parts + wholes

    def is_of(self, text: str) -> bool:
        """Return whether a text begins with a header or a declaration of this language."""
        if not self._begin.match(text) or not self._needed.search(text):
            return False
        code, _ = _without_comments(text, self)
        header = self._header.match(code)
        begin = 0
        if header:
            begin = header.end()
        sure = self._proofs["sure"].search(text, 0, begin)
        if sure and (begin == len(code) or not sure.lastgroup):
            return True
        head = self._head.match(code, begin)
        return head is not None and self.is_declaration(text, code, head, sure is not None)

    def is_declaration(
        self, text: str, code: str, head: re.Match[str], is_sure: bool = False
    ) -> bool:
        """Return whether a head begins a declaration.

        `is_sure` if the text before it is surely of the language.
        """
        begin = head.start("begin")
        text = text[begin : begin + _NEAR]
        if head["keyword"] is None or self._proofs["unlike"].match(text):
            return False
        near = code[begin : begin + _NEAR]
        implicit, explicit, end = _arguments(text, near, head.end() - begin)
        if not self._proofs["follows"].match(text, end) or self._english.match(near, end):
            return False
        if is_sure or _TYPE.search(implicit + explicit):
            return True
        if self._proofs["names"].search(head["name"] or ""):
            return True
        return self._proofs["signs"].search(text) is not None


# What is written so is of a language; see the table.
_PROOFS = ("sure", "unlike", "follows", "names", "signs")
_NO_NAME = expression(r"\W")
_language = cache(Language)


@lru_cache(maxsize=8)
def language_of(text: str) -> LanguageName | None:
    """Return the formal language that a text begins with, None if it is none."""
    for name in FORMAL:
        if _language(name).is_of(text):
            return name
    return None


def formal_words(
    text: str, title: str = "", proofs: bool = False, kind: LanguageName = "lean"
) -> str:
    """Return a formal text as words with blanks between; any string is read.

    A text that shows its language is read as such, another one as `kind`. `title` may be the full
    name of a declaration whose text has a part of it; another title is read as words. With
    `proofs`, the words of the proofs count too.
    """
    kind = language_of(text) or kind
    language = _language(kind)
    text = text.strip()
    declarations = read_formal(text, kind, is_file=False).declarations
    if not declarations:
        declarations = [Declaration(0, text, "", "", "", text, "")]

    parts = []
    if not any(_is_full_name(title, each.name) for each in declarations):
        parts.append(title)
    setting = [text[: declarations[0].begin]]
    for declaration in declarations:
        name = declaration.name
        if _is_full_name(title, name):
            name = title
        parts += name, name.rpartition(".")[2], declaration.statement, declaration.comment
        if proofs:
            parts.append(declaration.proof)
        setting.append(declaration.implicit)

    words = language.words_in("\n".join(parts))
    said = set(words)
    beside = dict.fromkeys(language.words_in("\n".join(setting)))
    words.extend(word for word in beside if word not in said)
    return " ".join(words)


def _is_full_name(title: str, name: str) -> bool:
    return bool(name) and f".{title}".endswith(f".{name}")


def read_formal(text: str, kind: LanguageName, is_file: bool = True) -> FormalText:
    """Return the declarations of a text, and the comments that describe it, in order.

    A declaration begins with its docstring. In a file it ends where the next command begins, in
    another text, which may go on in English, where the next certain declaration does.
    """
    language = _language(kind)
    code, comments = _without_comments(text, language)
    commands = list(language.command.finditer(code))
    if not is_file:
        heads = [command for command in commands if command["keyword"]]
        commands = heads[:1]
        commands += [head for head in heads[1:] if language.is_declaration(text, code, head)]
    docstrings = _docstrings(text, code, comments, language)
    begins = []
    attached = set()  # docstrings of declarations
    for command in commands:
        begin = command.start("begin")
        begins.append(docstrings.get(begin, begin))
        if command["keyword"]:
            attached.add(begins[-1])

    descriptions = []
    for begin, end in comments:
        is_alone = text.startswith(language.docstring, begin) and begin not in attached
        if is_alone and text[max(0, begin - 1) : begin] not in ("", "\n"):
            continue  # of a field or a constructor
        if is_alone or text.startswith(language.description, begin):
            descriptions.append((begin, language.edges.sub("", text[begin:end]).strip()))
    ends = sorted({len(text), *begins, *(begin for begin, _ in descriptions)})

    declarations = []
    opened: list[str] = []  # namespaces, and "" for each section
    for command, begin in zip(commands, begins, strict=True):
        if command["keyword"] is None:
            _follow(command, opened, language.scopes)
        else:
            end = ends[bisect_right(ends, begin)]
            part = _declaration(text[begin:end], code[begin:end], begin, command, language)
            declarations.append(part._replace(namespaces=tuple(filter(None, opened[-_DEEPEST:]))))
    return FormalText(declarations, descriptions)


def _follow(command: re.Match[str], opened: list[str], scopes: Sequence[str]) -> None:
    """Follow a command that opens or closes a scope."""
    namespace, section, end = scopes
    word, argument = command["command"], command["argument"] or ""
    if word == namespace:
        opened.append(argument.rstrip("."))
    elif word == section or argument == section:  # `noncomputable section`
        opened.append("")
    elif word == end and opened:
        opened.pop()


def _declaration(
    text: str, code: str, begin: int, command: re.Match[str], language: Language
) -> Declaration:
    """Return the declaration that a text is; the text begins at an offset of its file."""
    comment = text[: command.start("begin") - begin].strip()
    implicit, explicit, statement = _arguments(text, code, command.end() - begin)
    proof = len(code.rstrip())  # a comment that follows is no part of it
    if command["keyword"] not in language.with_body:
        proof = len(code)
        depth = 0
        for token in language.statement_end.finditer(code, statement):
            if token["open"]:
                depth += 1
            elif token["close"]:
                depth = max(0, depth - 1)
            elif depth == 0:
                proof = token.start()
                break
    return Declaration(
        begin=begin,
        text=text.strip(),
        comment=language.edges.sub("", comment),
        name=(command["name"] or "").rstrip("."),
        implicit=implicit,
        statement=f"{explicit} {text[statement:proof]}",
        proof=text[proof:],
    )


@lru_cache(maxsize=4)
def _without_comments(text: str, language: Language) -> tuple[str, list[tuple[int, int]]]:
    """Return a text of the same length with blanks for comments and strings, and the comments.

    Comments may be nested; the spans are of the outermost ones. Quotes remain.
    """
    pieces = []
    spans = []
    done = 0

    token = language.comment.search(text)
    while token is not None:
        begin, end = token.span()
        if token["open"]:
            _, end = closing_edge(language.edge, text, end)
            spans.append((begin, end))
        pieces.append(text[done:begin])
        blank = _NOT_NEWLINE.sub(" ", text[begin:end])
        if text[begin] in _QUOTES:
            blank = text[begin] + blank[1:]
        pieces.append(blank)
        done = end
        token = language.comment.search(text, done)

    pieces.append(text[done:])
    return "".join(pieces), spans


def _docstrings(
    text: str, code: str, comments: list[tuple[int, int]], language: Language
) -> dict[int, int]:
    """Map the begin of the code after a docstring to the begin of the docstring."""
    docstrings: dict[int, int] = {}
    following = len(code)  # the begin of the code after a comment
    limit = len(code)  # the begin of the next comment
    for begin, end in reversed(comments):
        space = _SPACE.match(code, end, limit)
        if space and space.end() < limit:
            following = space.end()
        if text.startswith(language.docstring, begin):
            docstrings.setdefault(following, begin)
        limit = begin
    return docstrings


def _arguments(text: str, code: str, begin: int) -> tuple[str, str, int]:
    """Return the implicit and the explicit arguments that begin here, and where they end."""
    implicit, explicit = list[str](), list[str]()
    while True:
        opening = _OPENING.match(code, begin)
        if opening is None:
            return " ".join(implicit), " ".join(explicit), begin

        _, end = closing_edge(_BRACKETS[opening["bracket"]], code, opening.end())
        if opening["bracket"] == "(":
            explicit.append(text[begin:end])
        else:
            implicit.append(text[begin:end])
        begin = end


def query_words(prose: str) -> str:
    """Return the prose of a query as the words by which it finds declarations."""
    words: list[str] = []
    for token in _TOKEN.findall(prose):
        parts, wholes = _words_of_token(token)
        words += parts
        words += (whole for whole in wholes if whole not in parts)
    return " ".join(words)


def formula_words(latex: str) -> str:
    """Return the words of formal languages for the symbols of a formula, each once."""
    return " ".join(dict.fromkeys(_words_of_symbol(latex)))


def _words_of_token(token: str) -> tuple[list[str], list[str]]:
    """Return a number, the words of a symbol, or the parts of a name.

    A name gives its components as well, each of more than a letter as one word, and all as one.
    """
    if token.isdecimal():
        return [token], []
    if not _BEGINS_NAME.match(token):
        return _words_of_symbol(token), []
    parts = [part.lower() for part in _PART.findall(normalize("NFKC", token))]
    components = [component for component in token.split(".") if component]
    wholes = [_joined(component) for component in components]
    if len(components) > 1:
        wholes.append(_joined(token))
    return parts, [whole for whole in wholes if len(whole) > 1]


def _joined(name: str) -> str:
    return "".join(_LETTERS.findall(normalize("NFKC", name))).lower()


def _words_of_symbol(symbol: str) -> list[str]:
    """Return the words of a symbol, or of all symbols of a formula in LaTeX."""
    if symbol in _SYMBOLS:
        return _SYMBOLS[symbol].split()
    symbol = _ISABELLE.sub(r"\\\1 ", symbol)
    items, text = read(symbol)
    tokens = arrange(items)
    words = []
    for token, following in zip_longest(tokens, tokens[1:]):
        if following in _MARKS and token == _POWER:
            continue
        if token in _SYMBOLS:
            words += _SYMBOLS[token].split()
        elif token.isalnum():
            words.append(token.lower())
    return words + _LETTERS.findall(text)
