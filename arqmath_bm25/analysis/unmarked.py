r"""Formulas of a text without delimiters.

Queries are typed as `x^2+y^2=z^2`, `sqrt(2)`, `Why does \sum \frac1n diverge`, `∑1/n²` or, in
AsciiMath, between backticks. A formula is a run of single letters, numbers, signs, commands with
their arguments, names of functions, and names of operators next to = or +, up to a word or to
punctuation before a blank. A command, a script, a sign that prose does not have or a function with
its argument proves that a run is a formula, as do two weaker marks: sums and relations of letters,
values such as f(x), operators before a letter, Greek letters. In a text with a formula, all runs
with a letter are formulas. So "and/or", "C++", `file_name` and "p = .05" remain prose.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from arqmath_bm25.analysis.html import Content, Formula
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import by_name, read_table

_TABLE = read_table(__file__)
_WORDS = {key: text.split() for key, text in _TABLE["words"].items()}


_KIND_OF = by_name(_TABLE["kinds"])
_SIGNS = "".join(sign for sign in _KIND_OF if len(sign) == 1 and sign.isalnum())  # ², ℝ
_SIGN_KINDS = frozenset("pru=+^_")
_LETTERS = rf"[^\W\d_{_SIGNS}]+"


def _signs_of_kinds() -> Iterator[str]:
    """Yield the characters of signs; every proof has one of these signs."""
    for sign, kind in _KIND_OF.items():
        if kind in _SIGN_KINDS and not sign.isascii():
            yield sign
        elif kind in "=+^_":
            yield from (character for character in sign if character not in "-.:!")


def _one_of(names: Iterable[str]) -> str:
    """Return the expression for one of some names, which tries those with the first letter only."""
    groups = []
    for first, group in groupby(sorted(names), itemgetter(0)):
        groups.append(f"{first}(?:{'|'.join(name[1:] for name in group)})")
    return "|".join(groups)


_TOKEN = expression(
    r"(?P<x>(?:\b[CD]:\\|https?://|[\w.]{1,99}@)\S*"
    rf"|\\\\|\\(?:{'|'.join(_WORDS['commands'])})(?![A-Za-z])(?:\{{[^{{}}]{{0,999}}\}})?)"
    r"|(?P<c>\\(?:(?:left|right)\s?\.|[A-Za-z]{2,}|[{}|,;!]))"
    r"|(?P<n>[0-9]*\.?[0-9]+|[½⅓¼¾⅔])"
    r"|(?P<p>(?<![A-Za-z])d(?:\^[0-9])?[A-Za-z]?/d[a-z](?:\^[0-9])?(?![A-Za-z]))"
    rf"|(?P<w>{_LETTERS}(?:['’]{_LETTERS})?)"
    r"|(?P<s>(?:\s|\\ )+)"
    r"|(?P<sign><=>|[-=]>|[<>!:]=|\*\*|\.\.\.|.)",
    re.DOTALL,
)
_INNER = r"\((?:[^()wx]|\([^()wx]{0,99}\)){0,99}\)"
_GROUP = rf"\((?:[^()wx]|{_INNER}){{0,200}}\)"
_ITEM = (
    rf"(?:{_GROUP}|[cvngOFDpurBdi=+\-^_|']|[,:](?=[cvngOFp(])"
    r"|(?<=v):s(?=[vcp](?:\^B)?s?[=c]))"
)
# A blank ends a run between letters and numbers, but for f(x) g(x), lim n->oo a_n, dy/dx = x y.
_JOINT = (
    r"s(?![vng(])|(?<![vng)'])s|(?<=\))s(?=v\()|(?<=Osv=[gn])s|(?<=Osvs=s[gn])s"
    r"|(?<=ps=sv)s|(?<=ps=s-v)s"
)
_RUN = expression(rf"{_ITEM}(?>(?:(?:{_JOINT})?{_ITEM})*)")
_BEFORE = expression(r"(?:[=+r^_,:'su]|-s)+")
_AFTER = frozenset("=+-r^_,:s")
_HAS_LETTER = expression("[cvgpOFB]")
_PROOF = expression(
    r"[cOp]|[vngF)']\^|(?<!_)v_[B(]|F\(|(?<!ns)[vn)]u|[vgB)']s?r|rs?[vgp(]"
    r"|ns?\+s?ns?[+\-=]s?n|[vg]s?\+s?[vgn]|v'{0,3}\([vgn](?:,[vgn])*\)|v,v"
    r"|[vgn]s?[+\-]s?[vgn]s?=|=s?[vgn]s?[+\-]s?[vgn]"
    r"|sis|v\(v\|v|\|s?[=r]s?[vgn|(]|v:s?v(?:\^B)?s?="
)
_MARK = expression(
    r"(?=[vgB)'D]s?[=+]s?-?[vngcp(D]|ns?[=+\-]s?[vgD(]|[vg]s?-s?n)|v(?=\()|g|Fs?(?=[vn])"
    r"|Ds?(?=[vD])"
)
_TAKES_ARGUMENT = frozenset("c^_BO")
_OPERANDS = frozenset("cvgnB)'up")
# What stands before and after a word that is an operator: x in A, a = b mod n, n choose k.
_LETTER_OR_NUMBER = r"\s(?:[0-9]+|[A-Za-z])(?![A-Za-z0-9])"
_INFIX = {
    "in": (
        expression(r"[a-z]\s$"),
        expression(r"\s(?:[A-Z](?![\w.]|\s[a-z]{3})|[\[{][\w-]|\\(?:math|left|\{))"),
    ),
    "mod": (expression(r"\s$"), expression(_LETTER_OR_NUMBER)),
    "choose": (expression(r"(?<![A-Za-z])(?!I)\w\s$"), expression(_LETTER_OR_NUMBER)),
}
_FACTORS = frozenset("=+^")  # A short word next to one of these is a product.
_OPERATOR_BEFORE = expression(r"[=+*<>^~](\s?)$")
_OPERATOR = expression(r"(\s?)(?:[=+*<>^~]|-[^\s-])")
_BOUND = r"[_^](?:[0-9({\\-]|[A-Za-z](?![A-Za-z_]))"
# What makes a name before a blank an operator: sum q^n, int x^2 dx, lim a_n, max 1/x.
_SUMMAND = rf"[A-Za-z](?:{_BOUND}|'?\(|\s?->)|1/[A-Za-z](?![A-Za-z])"
_FOLLOWED = {
    "O": expression(rf"{_BOUND}|\s(?:{_SUMMAND})"),
    "R": expression(rf"{_BOUND}|[({{]"),
    "N": expression(r"\((?!s\))"),  # norm(s) is a plural
    "F": expression(rf"{_BOUND}|\s?(?:[A-Za-z0-9α-ω](?![A-Za-z])|\\)|\([^)]"),
}
_NAMES_OF_OPERATORS = frozenset(_WORDS["operators"])
# What makes a name an operator: dim V = …, ker + …
_OPERAND_AFTER = expression(
    rf"(?:\s(?:{'|'.join(_WORDS['operators'])})){{0,3}}(?:\s[A-Za-z]{{1,2}})?\s?[=+<>≤≥≠]"
)
_RELATION_BEFORE = expression(r"[=+<>≤≥≠]\s?$")
_CAPITAL_AFTER = expression(r"\s[A-Z](?![A-Za-z])")
_AFTER_LETTER = expression(rf"[_),'/:|\\]|\.?$|\s(?:{'|'.join(_WORDS['after_letter'])})\b")
_BRACE = expression(r"\\.|[{}]", re.DOTALL)
_LONGEST = 999  # characters of an argument in braces
_ARGUMENT = expression(
    r"(?P<name>sqrt|(?<![A-Za-z\\])(?:norm|abs)|[\^_])"
    r"\((?P<inner>(?:[^()]|\([^()]{0,99}\)){0,99})\)"
)
_LONG_SCRIPT = expression(r"(?<=[\^_])[0-9]{2,99}|(?<=_)[a-z]{2,3}(?![A-Za-z])")
# Before a capital or after another operator; elsewhere they are products of letters.
_IMAGE_OR_TRACE = expression(
    r"(?<![\w\\^])(?:im|tr)(?=\s[A-Z])|(?<=(?:dim|ker|det|deg) )(?:im|tr)(?![A-Za-z])"
)
_TYPED = expression(r"(?<![A-Za-z\\])[A-Za-z]{2,9}(?![A-Za-z])|<=>|[-=]>|!=|\*\*")


# Each proof and each mark needs one of these: a sign, a letter beside a bracket, a comma or a minus
# between letters and numbers, or the name of a letter or a function. Few texts of prose have one.
_NEEDED_SIGNS = expression(
    "[" + re.escape("".join(sorted({*"\\^_", *_signs_of_kinds()}))) + "\u0391-\u03c9]"
)
_LETTER = r"[^\W\d_]"
_DIGIT = "[\\d½⅓¼¾⅔]"
# The search is fastest for an expression that begins with a class of signs.
_NEEDED_PLACES = expression(
    rf"[(\[{{,\-−/](?:(?<={_LETTER}[(\[{{])|(?<=['’][(\[{{])|(?<=[\w'’!],)(?={_LETTER})"
    rf"|(?<={_DIGIT}[-−/])|(?<={_DIGIT}\s[-−/])|(?<=\s\s[-−/])"
    rf"|(?:(?<={_LETTER}[-−/])|(?<={_LETTER}\s[-−/]))(?=\s*+(?:\.|{_DIGIT})))"
)
_NEEDED_INFIXES = expression(r" (?<=[\w)] )(?:in [A-Z\[{\\]|(?:mod|choose) \w)")
_NEEDED_NAMES = frozenset(
    name for name, kind in _KIND_OF.items() if kind in "gFR" and name.isalpha()
)
_NAME = expression("[A-Za-z]{2,}")
# Words of prose between blanks, which belong to no formula; short ones after another word.
_NAMES = _one_of(filter(str.isalpha, (*_KIND_OF, *_WORDS["operators"])))
_WORD = rf"(?!(?:{_NAMES})\b)[A-Za-z]{{3,}}+"
_END = r"[.,:;?]?(?=\s)"
_PROSE = expression(
    rf"(?<!\s)\s+{_WORD}{_END}(?:\s+(?:{_WORD}|{'|'.join(_WORDS['english'])}){_END})*"
)


_Span = tuple[int, int]


def formulas_in(text: str, proved: bool = False) -> list[_Span]:
    """Return the spans of the formulas of a text without delimiters.

    `proved` says that another part of the same document has a formula.
    """
    spans: list[_Span] = []
    if not (proved or may_hold_formula(text)):
        return spans

    for start, stop in _stretches(text):
        if not (proved or may_hold_formula(text[start:stop])):
            continue
        for begin, end, is_proof in _runs(text, start, stop):
            if proved:
                spans.append((begin, end))
            elif is_proof:
                return formulas_in(text, proved=True)
    return spans


def _stretches(text: str) -> Iterator[_Span]:
    """Yield the stretches between words of prose, which alone can hold a run."""
    begin = 0
    if "{" not in text:  # an argument in braces may hold words
        for prose in _PROSE.finditer(text):
            yield begin, prose.start()
            begin = prose.end()
    yield begin, len(text)


def _runs(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the span of each run with a letter, and whether it is a proof."""
    kinds, spans = _tokens(text, start, stop)
    for run in _RUN.finditer(kinds):
        begin, end = run.span()
        edge = _BEFORE.match(kinds, begin, end)
        if edge is not None:
            begin = edge.end()
        while begin < end and kinds[end - 1] in _AFTER:
            end -= 1

        has_marks = len(_MARK.findall(kinds, begin, end)) > 1
        is_proof = has_marks or _PROOF.search(kinds, begin, end) is not None
        if is_proof or _HAS_LETTER.search(kinds, begin, end):
            yield spans[begin][0], spans[end - 1][1], is_proof


def with_formulas(*contents: Content) -> list[Content]:
    """Find and mark the formulas of a text that has no delimiters.

    Backticks around a formula are removed.
    """
    texts = ["".join(map(str, content.pieces)) for content in contents]
    found = list(map(formulas_in, texts))
    proved = any(found)

    marked = []
    for text, spans in zip(texts, found, strict=True):
        pieces: tuple[str | Formula, ...] = ()
        if proved:
            pieces = tuple(_pieces(text, spans or formulas_in(text, proved)))
        elif text:
            pieces = (text,)
        marked.append(Content(pieces))
    return marked


def may_hold_formula(text: str) -> bool:
    """Return False for a text that cannot prove a formula; much faster than `formulas_in`."""
    if any(needed.search(text) for needed in (_NEEDED_SIGNS, _NEEDED_PLACES, _NEEDED_INFIXES)):
        return True
    return not _NEEDED_NAMES.isdisjoint(_NAME.findall(text))


def _pieces(text: str, spans: list[_Span]) -> Iterator[str | Formula]:
    done = 0
    for begin, end in spans:
        is_quoted = text[begin - 1 : begin] == text[end : end + 1] == "`"
        before = text[done : begin - is_quoted]
        if before:
            yield before
        yield Formula(as_latex(text[begin:end]), None)
        done = end + is_quoted

    rest = text[done:]
    if rest:
        yield rest


def as_latex(typed: str) -> str:
    r"""Return the LaTeX of a formula as people type it: `\sqrt{x}` for `sqrt(x)`."""
    latex = _ARGUMENT.sub(_enclosed, typed)
    latex = _LONG_SCRIPT.sub(r"{\g<0>}", latex)
    latex = _IMAGE_OR_TRACE.sub(r"\\operatorname{\g<0>} ", latex)
    return _TYPED.sub(_latex_of_name, latex)


def _enclosed(part: re.Match[str]) -> str:
    """Return an argument in the braces or bars that LaTeX has for the brackets after its name."""
    begin, end = _TABLE["enclosing"][part["name"]]
    inner = _ARGUMENT.sub(_enclosed, part["inner"])
    return f"{begin}{inner}{end}"


def _latex_of_name(name: re.Match[str]) -> str:
    if name[0] in _TABLE["spelled"]:
        return str(_TABLE["spelled"][name[0]])
    if name[0] in _KIND_OF:
        return f"\\{name[0]} "
    return name[0]


def _tokens(text: str, start: int, stop: int) -> tuple[str, list[_Span]]:
    """Return the kinds of the tokens of a part, and their spans; an argument is one token."""
    kinds: list[str] = []
    spans = []
    closing = {}
    if "{" in text:
        closing = _closing(text)
    done = 0
    last = ""  # the kind of the token before, except blanks
    for token in _TOKEN.finditer(text, start, stop):
        begin, end = token.span()
        if begin < done:
            continue

        kind = token.lastgroup or ""
        if kind == "w":
            before = text[max(0, begin - 2) : begin]
            after = text[end : end + 20]
            kind = _kind_of_word(token[0], before, after, last)
            if last == "_" and len(token[0]) < 4 and kinds[-2:-1] == ["v"]:
                kind = "B"  # u_xx
        elif kind == "sign":
            kind = _KIND_OF.get(token[0], "x")
            if token[0] == "{" and last in _TAKES_ARGUMENT and begin in closing:
                kind, end = "B", closing[begin]
        elif kind == "s" and "\n" in token[0]:
            kind = "x"
        if last in {"^", "_"} and kind in {"v", "n", "g", "c"}:
            kind = "B"

        kinds.append(kind)
        spans.append((begin, end))
        done = end
        if kind != "s":
            last = kind

    return "".join(kinds), spans


def _closing(text: str) -> dict[int, int]:
    """Map the opening brace of each argument to its end."""
    closing = {}
    opened = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            begin = opened.pop()
            if begin > brace.end() - _LONGEST:
                closing[begin] = brace.end()
    return closing


def _kind_of_word(word: str, before: str, after: str, last: str) -> str:
    """Return the kind of a word: a letter, a name, factors as in ax + b, or a plain word."""
    kind = _KIND_OF.get(word, "")
    if kind == "g":
        return "g"
    if kind == "i":
        preceding, following = _INFIX[word]
        if last in _OPERANDS and preceding.search(before) and following.match(after):
            return "i"
        return "w"
    if kind in _FOLLOWED and _FOLLOWED[kind].match(after) and before[-1:] != "_":
        if kind in {"R", "N"}:
            return "O"
        return str(kind)

    left = _OPERATOR_BEFORE.search(before) is not None
    right = _OPERATOR.match(after) is not None
    if word in _NAMES_OF_OPERATORS:
        if last == "D" or _RELATION_BEFORE.search(before) or _OPERAND_AFTER.match(after):
            return "D"
        if last == "v" and _CAPITAL_AFTER.match(after):
            return "D"
    if len(word) == 1:
        is_argument = last == "(" and before[:1].isalnum()  # det(A - …
        return _kind_of_letter(word, after, left or right or last == "D" or is_argument)
    if kind == "l" and left:
        return "g"
    if kind == "l" or not word.isascii():
        return "w"

    is_factor = before[-1:] in _FACTORS or after[:1] in _FACTORS
    if len(word) == 2:
        if (left and right) or (last == "D" and word.isupper()):
            return "v"
        if word.lower() not in _WORDS["english"]:
            if word[0] == "d" and last in _OPERANDS:
                return "d"
            is_name = before[:1].isalnum() or not word.isupper()
            is_called = is_name and last == "(" and after[:1] == ")"
            is_factor |= left or right or last == "c" or before[-1:].isdecimal() or is_called
    if is_factor and len(word) < 4:
        return "v"
    return "w"


def _kind_of_letter(letter: str, after: str, has_operator: bool) -> str:
    """Return the kind of a single letter: a variable, a Greek letter, or a word."""
    if letter in "aAI" and not has_operator and not _AFTER_LETTER.match(after):
        if letter != "a" and after[:1] == "(":
            return "v"
        return "w"

    if letter.isascii():
        return "v"
    if "Α" <= letter <= "ω":
        return "g"
    return "w"
