r"""LaTeX → normalised tokens.

Two ways to write the same formula should give the same tokens, and so should LaTeXML's normal form
(in the collection) and an author's source (in the topics). In one pass over the source:

* presentation is dropped, synonyms become one (`latex.toml`), numbers stay whole, text becomes
  words;
* braces are dropped, subscripts precede superscripts (`\sum^n_{i=1}` is `\sum_{i=1}^n`), a prime is
  a superscript, `{a \over b}` is `\frac{a}{b}`;
* tables keep marks of their cells, which `symbol_layout` reads;
* faults (unbalanced braces, LaTeXML's error text, HTML that a formula swallowed) affect their own
  tokens only. Nothing raises; time is linear in the length of the source.

A token is a command's name (`frac`, `alpha`, `bbR`), a number, a letter or a symbol; commands of
one letter keep their backslash.
"""

import re
from itertools import chain
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.analysis.text import Memo, normalize
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import by_name, names_in, read_table

_TABLE: Final = read_table(__file__)


INVISIBLE: Final = names_in(_TABLE["nothing"])
DROPPED: Final = names_in(_TABLE["dropped"]) | INVISIBLE
_TEXT: Final = names_in(_TABLE["text"])
_WITH_ARGUMENT: Final = names_in(_TABLE["dropped_with_argument"])
_OPERATOR_NAMES: Final = names_in(_TABLE["operator_names"])
_BARE_NAMES: Final = names_in(_TABLE["bare_names"])
_DEFINITIONS: Final = names_in(_TABLE["definitions"])
ACCENTS: Final = names_in(_TABLE["accents"])
VARIABLES: Final = names_in(_TABLE["variables"])
INFIX: Final[dict[str, str]] = _TABLE["infix"]
SYNONYMS: Final = by_name(_TABLE["synonyms"])
_ALPHABETS: Final = by_name(_TABLE["alphabets"])
_ENVIRONMENTS: Final = by_name(_TABLE["environments"])
_TYPED: Final = _TABLE["unicode"].split()  # symbols and names by turns


def _unicode_table() -> dict[int, str]:
    """Map code points of letters of alphabets, of symbols and of invisible signs to LaTeX."""
    latex: dict[int, str] = {}
    for alphabet, firsts in _TABLE["blocks"].items():
        for first in firsts:
            for code, letter in enumerate(ascii_uppercase + ascii_lowercase, ord(first)):
                latex[code] = f" \\{alphabet}{letter} "

    for symbol, name in zip(_TYPED[::2], _TYPED[1::2], strict=True):
        if name.isalpha():
            latex[ord(symbol)] = f" \\{name} "
        else:
            latex[ord(symbol)] = name

    for digits in _TABLE["invisible"].split():
        latex[int(digits, 16)] = ""
    return latex


_UNICODE: Final = _unicode_table()
_RAISED, _LOWERED = _TABLE["scripts"]["raised"], _TABLE["scripts"]["lowered"]
_PLAIN: Final = str.maketrans(_RAISED[0] + _LOWERED[0], _RAISED[1] + _LOWERED[1])
# Scripts as Unicode; a prime is a script unless it is in a script already.
_SCRIPT_TYPED: Final = expression(rf"([{_RAISED[0]}]+)|([{_LOWERED[0]}]+)|(?<![\^{{′″])[′″]+")

# A sign that a formula must contain, a pattern, and its replacement; pages draw the forms as well.
FORMS: Final[list[tuple[str, re.Pattern[str], str]]] = [
    (sign, expression(pattern), other) for sign, pattern, other in _TABLE["forms"]
]
_SPELLINGS: Final = FORMS + [
    (sign, expression(pattern), other) for sign, pattern, other in _TABLE["spellings"]
]
# Of formulas without commands, as half of all are.
_PLAIN_SPELLINGS: Final = [
    (sign, pattern, other)
    for sign, pattern, other in _SPELLINGS
    if "\\" not in sign and not pattern.pattern.startswith(r"\\")
]

PLAIN_TABLES: Final[dict[str, str]] = _TABLE["plain_tables"]
_PLAIN_TABLE: Final = expression(rf"\\({'|'.join(PLAIN_TABLES)})\s*+(?=\{{)")
_PLAIN_ROW: Final = expression(r"\\cr(?![A-Za-z])")
_MOST_PLAIN_TABLES: Final = 50  # in one formula, so that time is linear

MAX_TOKEN = 40  # characters of one token: five of them stay below Lucene's 255


_HTML = expression(r"</[a-z]+[1-6]?>|<(?:p|br|em|strong|li|ol|ul|pre|code|blockquote)\s*/?>")
_LATEXML = expression(r"(?<=&)(?:\\displaystyle\s*)?amp;|\\qvar@construct\{.?\}|%\s*\n")
_UNPRINTABLE = r"\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"  # besides white space
_FRACTIONS = [name for name in SYNONYMS if SYNONYMS[name] in ("frac", "binom")]
# A match has a meaning by itself; characters between matches (white space, `~`, `$`) mean nothing.
# A command or script that takes one digit is matched with it: x^23 is x^2 3, \frac12 is 1/2.
# Scripts and braces of one symbol are frequent, so they are one match; but d{x} is no differential.
_PIECE = expression(
    r"[A-Za-z]+"
    r"|\{(?<!d\{)(?<!d\}\{)\s*(?:[A-Za-z]|[0-9]+)\s*\}"
    r"|[{}&]"
    r"|[\^_](?:\s*(?:[0-9]|\{\s*(?:[A-Za-z]|[0-9]+)\s*\}))?"
    r"|[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
    r"|\\(?:"
    rf"(?:frac|binom|{'|'.join(_FRACTIONS)})\s*[0-9](?:\s*[0-9])?|sqrt\s*[0-9]"
    rf"|(?:{'|'.join(_ALPHABETS)})\s*(?:[A-Za-z0-9]|\{{\s*[A-Za-z0-9]+\s*\}})"
    rf"|(?:{'|'.join(_OPERATOR_NAMES)})\*?\s*\{{\s*[A-Za-z]{{2,}}\s*\}}"
    rf"|begin\s*\{{\s*(?:{'|'.join(_TABLE['column_environments'].split())})\*?\s*\}}"
    r"(?:\s*\[[^\]]{0,9}\])?(?:\s*\{(?:[^{}]|\{[^{}]{0,40}\}){0,80}\})?"
    r"|(?:begin|end)\s*+\{\s*+[A-Za-z]*+\*?\s*\}"
    rf"|(?:left|right)\.|[A-Za-z@]+|[^A-Za-z{_UNPRINTABLE}])"
    r"|'+"
    r"|\.{2,}"
    rf"|[^\s~$&\\{_UNPRINTABLE}]"
)
_NAMED = expression(r"\\(?P<name>[A-Za-z]+)\*?\s*\{?\s*(?P<argument>[A-Za-z0-9]*)")
_ARGUMENT_AHEAD = expression(
    rf"\\(?:(?P<text>{'|'.join(_TEXT)})|(?P<other>{'|'.join(_WITH_ARGUMENT)}))"
    r"(?![A-Za-z@])|\\.",
    re.DOTALL,
)
# Characters by their numbers: \unicode{x222B}, \char"222B, \char'101, \char65.
_NUMBERED: Final = expression(
    r"\\unicode\s*+(?>(?:\[[^\[\]]{0,40}\])*)\s*+\{\s*+(?:[xX\"](?P<hex>[0-9A-Fa-f]{1,6})|(?P<number>[0-9]{1,7}))\s*+\}"
    r"|\\char\s*+(?:\"(?P<char_hex>[0-9A-F]{1,6})|'(?P<octal>[0-7]{1,7})|(?P<char>[0-9]{1,7}))\s?"
)
_SPECIAL: Final = frozenset("{}$%&#_")
_TAKES_ARGUMENT = frozenset(f"\\{name}" for name in _TEXT | _WITH_ARGUMENT | {"unicode", "char"})
# Marks among the symbols of a formula: braces, scripts, and the parts of a table.
OPEN, CLOSE, SUPER, SUB = "\1", "\2", "\3", "\4"
TABLE, CELL, ROW, TABLE_END = "\5", "\6", "\7", "\x0e"
_MARKS = frozenset((OPEN, CLOSE, SUPER, SUB, TABLE, CELL, ROW, TABLE_END))
_STRUCTURE = {"{": OPEN, "}": CLOSE, "^": SUPER, "_": SUB, "&": CELL}
_NOT_ADDED = _MARKS.union(INFIX)
_SCRIPTS = frozenset((SUPER, SUB))
_BRACES = frozenset((OPEN, CLOSE))
_DIGIT_TAKERS = frozenset(("frac", "binom", "sqrt", *_FRACTIONS))
_OPTION = expression(r"\s*\[[^\[\]]*\]")
_DIMENSION = expression(r"\s*[-+]?[0-9.]+\s*[a-z]{2}")
_BRACE = expression(r"\\.|(?P<open>\{)|(?P<close>\})", re.DOTALL)
_AMBIGUOUS = frozenset("^_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TRAILING = frozenset(".,;:")  # They belong to the sentence, not to the formula.
_MAX_DEPTH = 64  # Deeper braces are ignored.


def tokenize(latex: str) -> list[str]:
    """Return the normalised tokens of one formula, given without its delimiters."""
    items, _ = read(latex)
    return arrange(items)


def read(latex: str) -> tuple[list[str], str]:
    r"""Return the symbols and marks of one formula in the order of its source, and its words.

    Words are the text inside `\text{…}` and the like, not yet analysed.
    """
    if not latex.isascii():
        latex = normalize("NFC", latex)  # An equals sign with a stroke becomes one sign.
        latex = _SCRIPT_TYPED.sub(_script, latex)
        latex = normalize("NFKC", latex.translate(_UNICODE))
    if "<" in latex:
        latex = _HTML.sub(" ", latex)
    if "amp;" in latex or "@" in latex or "%" in latex:
        latex = _LATEXML.sub(" ", latex)
    spellings = _PLAIN_SPELLINGS
    if "\\" in latex:
        spellings = _SPELLINGS
    for sign, pattern, other in spellings:
        if sign in latex:
            latex = pattern.sub(other, latex)
    if _PLAIN_TABLE.search(latex):
        latex = _with_environments(latex)

    words: list[str] = []
    pieces = _PIECE.findall(latex)
    if not _TAKES_ARGUMENT.isdisjoint(pieces):
        replaced = with_characters(latex)
        if replaced != latex:
            return read(replaced)
        pieces = _PIECE.findall(_without_arguments(latex, words))

    meanings = map(_MEANING.__getitem__, pieces)
    items = list(chain.from_iterable(meanings))
    if "not" in latex and "not" in items:
        items = _negate(items)
    return items, " ".join(words)


def _with_environments(latex: str) -> str:
    r"""Write plain TeX's tables, such as `\pmatrix{a&b\cr c&d}`, as environments."""
    begin = 0
    for _ in range(_MOST_PLAIN_TABLES):
        table = _PLAIN_TABLE.search(latex, begin)
        if table is None:
            break

        body, end = _argument(latex, table.end())
        name = PLAIN_TABLES[table[1]]
        rows = _PLAIN_ROW.sub(r"\\\\ ", body).strip().removesuffix(r"\\")
        begin = table.start()
        latex = f"{latex[:begin]}\\begin{{{name}}}{rows}\\end{{{name}}}{latex[end:]}"
    return latex


def with_characters(latex: str) -> str:
    r"""Replace characters that are given by their numbers: `\unicode{x222B}`, `\char"222B`."""
    return _NUMBERED.sub(_character, latex)


def _character(written: re.Match[str]) -> str:
    digits = written["hex"] or written["char_hex"]
    if digits:
        code = int(digits, 16)
    elif written["octal"]:
        code = int(written["octal"], 8)
    else:
        code = int(written["number"] or written["char"])

    if code < 0x20 or 0xD800 <= code < 0xF900 or code > 0x10FFFF:
        return " "
    character = chr(code)
    if character == "\\":
        return r"\backslash "
    if character in _SPECIAL:
        return f"\\{character}"
    return f"{character} "


def _script(typed: re.Match[str]) -> str:
    """Convert a Unicode subscript or superscript to LaTeX."""
    plain = typed[0].translate(_PLAIN)
    if typed[1]:
        return f"^{{{plain}}}"
    if typed[2]:
        return f"_{{{plain}}}"
    return typed[0].replace("″", "′′").replace("′", "'")


def _meaning(piece: str) -> tuple[str, ...]:
    """Convert a match of _PIECE to symbols and marks."""
    first = piece[0]
    if first == "\\":
        return _meaning_of_command(piece)
    if first in _STRUCTURE:
        argument = "".join(filter(str.isalnum, piece))[:MAX_TOKEN]
        mark = _STRUCTURE[first]
        if not argument:
            return (mark,)
        if first == "{":
            return (argument,)
        return (mark, argument)

    if first == "'":
        primes = ["prime"] * len(piece[:9])
        return (SUPER, OPEN, *primes, CLOSE)

    if piece.isalpha() and piece not in _BARE_NAMES:
        return tuple(piece)
    if piece.startswith(".."):
        return ("dots",)
    return (piece[:MAX_TOKEN],)


# Longer pieces are hardly ever repeated.
_MEANING: Final = Memo(_meaning, most=1 << 14, longest=100)


def _meaning_of_command(piece: str) -> tuple[str, ...]:
    command = piece[1:]
    if command == "\\":
        return (ROW,)
    named = _NAMED.match(piece)
    if named is not None:
        name = named["name"]
        argument = named["argument"]
        if name == "begin" or name == "end":  # of an environment; all but tables mean nothing
            kind = _ENVIRONMENTS.get(argument)
            if not kind:
                return ()
            if name == "begin":
                return (kind, TABLE)
            return (TABLE_END,)
        if argument and name in _ALPHABETS:
            alphabet = _ALPHABETS[name]
            return tuple(alphabet + letter for letter in argument)
        if argument and name in _OPERATOR_NAMES:
            return (argument[:MAX_TOKEN],)
        if argument and name in _DIGIT_TAKERS:
            digits = piece[len(name) + 1 :].split()
            return (SYNONYMS.get(name, name), *"".join(digits))
        if name != command:  # \left. is an invisible delimiter.
            return ()

    if command in DROPPED or "@" in command or command.isspace():
        return ()
    # \i and \_ are not the letter i and the subscript mark.
    own_name = command[:MAX_TOKEN]
    if command in _AMBIGUOUS:
        own_name = piece
    return (SYNONYMS.get(command, own_name),)


def _without_arguments(latex: str, words: list[str], nested: bool = False) -> str:
    r"""Cut out commands whose arguments are not mathematics; the text of \text goes to `words`."""
    kept: list[str] = []
    done = begin = 0
    while True:
        command = _ARGUMENT_AHEAD.search(latex, begin)
        if command is None:
            break
        begin = command.end()
        if not command.lastgroup:
            continue

        kept += (latex[done : command.start()], " ")
        if command["text"]:
            # \text{if $x$ is odd} holds words and, between dollars, mathematics.
            text, begin = _argument(latex, begin)
            for number, part in enumerate(text.split("$")):
                if number % 2 and not nested:
                    kept += (_without_arguments(part, words, nested=True), " ")
                else:
                    words.append(part)
        else:
            begin = _skip(latex, begin, command["other"] in _DEFINITIONS)
        done = begin
    kept.append(latex[done:])
    return "".join(kept)


def _negate(items: list[str]) -> list[str]:
    r"""Join `not` with the relation after it: `\not=` is `\ne`."""
    joined: list[str] = []
    for item in items:
        if joined and joined[-1] == "not" and item not in _MARKS:
            joined[-1] = _TABLE["negated"].get(item, "not" + item)
        else:
            joined.append(item)
    return joined


def _argument(latex: str, begin: int) -> tuple[str, int]:
    """Return the argument at a position, without its braces, and where it ends.

    An argument that is never closed is the rest of the LaTeX.
    """
    while begin < len(latex) and latex[begin].isspace():
        begin += 1
    if not latex.startswith("{", begin):
        return latex[begin : begin + 1], begin + 1

    closing, end = closing_edge(_BRACE, latex, begin + 1)
    return latex[begin + 1 : closing], end


def _skip(latex: str, begin: int, definition: bool) -> int:
    """Return where the argument of a command ends; a definition has several."""
    dimension = _DIMENSION.match(latex, begin)
    if dimension is not None:
        return dimension.end()
    option = _OPTION.match(latex, begin)  # \color[rgb]{1,0,0}
    if option is not None:
        begin = option.end()

    _, begin = _argument(latex, begin)
    while definition:
        if latex.startswith("[", begin):
            begin = latex.find("]", begin) + 1 or len(latex)
        elif latex.startswith("{", begin):
            _, begin = _argument(latex, begin)
        else:
            break
    return begin


def arrange(items: list[str]) -> list[str]:
    """Drop braces, order scripts, and turn infix forms into prefix ones."""
    tokens: list[str] = []
    turned: list[str] = []  # prefix forms of the infix forms of the group, last first
    raised: list[str] = []  # a superscript, which waits for a subscript to precede it
    script = ""  # the mark of the script whose argument is next
    around: list[tuple[list[str], list[str], list[str], str]] = []  # the state of each open group
    for item in _balanced(items):
        if item not in _NOT_ADDED:
            if not script and not raised:
                tokens.append(item)
                continue
            inner = [item]
        elif item == CLOSE:
            inner = turned[::-1] + tokens + _settled(raised)
            tokens, turned, raised, script = around.pop()
        else:
            if item == OPEN:
                around.append((tokens, turned, raised, script))
                tokens = []
                turned = []
                raised = []
                script = ""
            elif item in _SCRIPTS:
                script = item
            elif item in INFIX:
                tokens += _settled(raised)
                raised = []
                turned.append(INFIX[item])
            continue

        if script == SUPER:
            raised += inner
        elif script == SUB:
            tokens += ("_", *inner)
        else:
            tokens += _settled(raised) + inner
            raised = []
        script = ""
    tokens = turned[::-1] + tokens + _settled(raised)
    while tokens and tokens[-1] in _TRAILING:
        tokens.pop()
    return tokens


def _balanced(items: list[str]) -> list[str]:
    """Close open braces; drop braces that close nothing or are nested too deeply."""
    if OPEN not in items and CLOSE not in items:
        return items

    kept: list[str] = []
    depth = 0
    for item in items:
        if item == OPEN:
            depth += 1
        if item not in _BRACES or 0 < depth <= _MAX_DEPTH:
            kept.append(item)
        if item == CLOSE:
            depth = max(0, depth - 1)
    return kept + [CLOSE] * min(depth, _MAX_DEPTH)


def _settled(raised: list[str]) -> list[str]:
    if raised:
        return ["^", *raised]
    return []
