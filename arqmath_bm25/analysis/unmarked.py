r"""Mathematics that nobody marked: the formulas of a text without delimiters.

Queries are typed as `x^2+y^2=z^2`, `sqrt(2)`, `Why does \sum \frac1n diverge`, `∑1/n²` or, in
AsciiMath, between backticks. A formula is a run of what formulas are made of (letters on their own,
numbers, signs, commands with their arguments, names of functions), up to a word or to punctuation
before a blank. A command, a script, a sign that prose does not have or a function with its argument
proves that it is one, as do two weaker marks: sums and relations of letters, values such as f(x),
Greek letters. Beside a formula, runs with any letter are formulas too. So "and/or", "C++",
`file_name` and "p = .05" remain prose.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from arqmath_bm25.analysis.html import Content, Formula
from arqmath_bm25.core.tables import read_table

_TABLE: Final[dict[str, Any]] = read_table(__file__)
_WORDS: Final[dict[str, list[str]]] = {key: text.split() for key, text in _TABLE["words"].items()}
_KIND_OF: Final = {name: kind for kind, names in _TABLE["kinds"].items() for name in names.split()}
_SIGNS: Final = "".join(sign for sign in _KIND_OF if len(sign) == 1 and sign.isalnum())  # ², ℝ
_SIGN_KINDS: Final = frozenset("pru=+^_")
_LETTERS: Final = rf"[^\W\d_{_SIGNS}]+"


def _signs_of_kinds() -> Iterator[str]:
    """Yield the characters of the signs of which every proof has one."""
    for sign, kind in _KIND_OF.items():
        if kind in _SIGN_KINDS and not sign.isascii():
            yield sign
        elif kind in "=+^_":
            yield from (character for character in sign if character not in "-.:!")


_TOKEN: Final = re.compile(
    r"(?P<x>(?:\b[CD]:\\|https?://|[\w.]{1,99}@)\S*"
    rf"|\\\\|\\(?:{'|'.join(_WORDS['commands'])})(?![A-Za-z])(?:\{{[^{{}}]{{0,999}}\}})?)"
    r"|(?P<c>\\(?:(?:left|right)\s?\.|[A-Za-z]{2,}|[{}|,;!]))"
    r"|(?P<n>[0-9]*\.?[0-9]+|[½⅓¼¾⅔])"
    rf"|(?P<w>{_LETTERS}(?:['’]{_LETTERS})?)"
    r"|(?P<s>(?:\s|\\ )+)"
    r"|(?P<sign><=>|[-=]>|[<>!:]=|\*\*|\.\.\.|.)",
    re.DOTALL,
)
_INNER: Final = r"\((?:[^()wx]|\([^()wx]{0,99}\)){0,99}\)"
_GROUP: Final = rf"\((?:[^()wx]|{_INNER}){{0,200}}\)"
_ITEM: Final = rf"(?:{_GROUP}|[cvngOFpurB=+\-^_|']|[,:](?=[cvngOFp(])|(?<=v):s(?=[vcp]s?[=c]))"
_RUN: Final = re.compile(rf"{_ITEM}(?:(?:s(?![vng(])|(?<![vng)'])s)?{_ITEM})*+")
_BEFORE: Final = re.compile(r"(?:[=+r^_,:'su]|-s)+")
_AFTER: Final = frozenset("=+-r^_,:s")
_HAS_LETTER: Final = re.compile("[cvgpOFB]")
_PROOF: Final = re.compile(
    r"[cOp]|[vngF)']\^|(?<!_)v_[B(]|F\(|(?<!ns)[vn)]u|[vgB)']s?r|rs?[vgp(]"
    r"|ns?\+s?ns?[+\-=]s?n|[vg]s?\+s?[vgn]|v\([vgn](?:,[vgn])*\)|v,v"
    r"|[vgn]s?[+\-]s?[vgn]s?=|=s?[vgn]s?[+\-]s?[vgn]"
)
_MARK: Final = re.compile(
    r"(?=[vgB)']s?[=+]s?-?[vngcp(]|ns?[=+\-]s?[vg(]|[vg]s?-s?n)|v(?=\()|g|Fs?(?=[vn])"
)
_TAKES_ARGUMENT: Final = frozenset("c^_BO")
_OPERANDS: Final = frozenset("cvgnB)'up")
_FACTORS: Final = frozenset("=+^")  # beside these a short word is a product
_OPERATOR_BEFORE: Final = re.compile(r"[=+*<>^~](\s?)$")
_OPERATOR: Final = re.compile(r"(\s?)(?:[=+*<>^~]|-[^\s-])")
_BOUND: Final = r"[_^](?:[0-9({\\-]|[A-Za-z](?![A-Za-z_]))"
_FOLLOWED: Final = {
    "O": re.compile(_BOUND),
    "R": re.compile(rf"{_BOUND}|[({{]"),
    "F": re.compile(rf"{_BOUND}|\s?(?:[A-Za-z0-9α-ω](?![A-Za-z])|\\)|\([^)]"),
}
_AFTER_LETTER: Final = re.compile(rf"[_),'/:|\\]|\.?$|\s(?:{'|'.join(_WORDS['after_letter'])})\b")
_BRACE: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_LONGEST: Final = 999  # characters of an argument in braces
_ARGUMENT: Final = re.compile(r"(sqrt|[\^_])\((?P<inner>(?:[^()]|\([^()]{0,99}\)){0,99})\)")
_MANY_DIGITS: Final = re.compile(r"(?<=[\^_])[0-9]{2,99}")
_TYPED: Final = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,9}(?![A-Za-z])|<=>|[-=]>|!=|\*\*")


# What each proof and each mark needs: a sign, a letter beside a bracket, a comma or a minus between
# letters and numbers, or the name of a letter or a function. Few texts of prose have one.
_NEEDED_SIGNS: Final = re.compile(
    "[" + re.escape("".join(sorted({*"\\^_", *_signs_of_kinds()}))) + "\u0391-\u03c9]"
)
_LETTER: Final = r"[^\W\d_]"
_DIGIT: Final = "[\\d½⅓¼¾⅔]"
# It begins with a class of signs, for which expressions are searched fastest.
_NEEDED_PLACES: Final = re.compile(
    rf"[(\[{{,\-−/](?:(?<={_LETTER}[(\[{{])|(?<=[\w'’!],)(?={_LETTER})"
    rf"|(?<={_DIGIT}[-−/])|(?<={_DIGIT}\s[-−/])|(?<=\s\s[-−/])"
    rf"|(?:(?<={_LETTER}[-−/])|(?<={_LETTER}\s[-−/]))(?=\s*+(?:\.|{_DIGIT})))"
)
_NEEDED_NAMES: Final = frozenset(
    name for name, kind in _KIND_OF.items() if kind in "gFR" and name.isalpha()
)
_NAME: Final = re.compile("[A-Za-z]+")


class _Token(NamedTuple):
    kind: str
    begin: int
    end: int


def formulas_in(text: str, proved: bool = False) -> list[tuple[int, int]]:
    """Find formulas in a text without delimiters; `proved`: other texts beside it have some."""
    tokens = list(_tokens(text))
    kinds = "".join(token.kind for token in tokens)
    spans = []
    for run in _RUN.finditer(kinds):
        begin, end = run.span()
        if edge := _BEFORE.match(kinds, begin, end):
            begin = edge.end()
        while begin < end and kinds[end - 1] in _AFTER:
            end -= 1
        proof = _PROOF.search(kinds, begin, end) or len(_MARK.findall(kinds, begin, end)) > 1
        if proof or _HAS_LETTER.search(kinds, begin, end):
            spans.append((tokens[begin].begin, tokens[end - 1].end))
            proved |= bool(proof)
    return spans if proved else []


def with_formulas(*contents: Content) -> list[Content]:
    """Find and mark the formulas of a text in which none is marked.

    Backticks around one go.
    """
    texts = ["".join(map(str, content.pieces)) for content in contents]
    if not any(may_hold_formula(text) and formulas_in(text) for text in texts):
        return [Content((text,) if text else ()) for text in texts]
    return [Content(tuple(_pieces(text, proved=True))) for text in texts]


def may_hold_formula(text: str) -> bool:
    """Return whether a text has anything that a proof of a formula needs, which is quickly told."""
    if _NEEDED_SIGNS.search(text) or _NEEDED_PLACES.search(text):
        return True
    return not _NEEDED_NAMES.isdisjoint(_NAME.findall(text))


def with_marks(content: Content, mark: str = "$") -> str:
    """Return content as a text with a mark on both sides of its formulas."""
    pieces = (p if isinstance(p, str) else f"{mark}{p.latex}{mark}" for p in content.pieces)
    return "".join(pieces)


def _pieces(text: str, proved: bool) -> Iterator[str | Formula]:
    done = 0
    for begin, end in formulas_in(text, proved):
        quoted = text[begin - 1 : begin] == text[end : end + 1] == "`"
        if prose := text[done : begin - quoted]:
            yield prose
        yield Formula(as_latex(text[begin:end]), None)
        done = end + quoted
    if prose := text[done:]:
        yield prose


def as_latex(typed: str) -> str:
    r"""Return the LaTeX of a formula as people type it: `\sqrt{x}` for `sqrt(x)`."""
    latex = _ARGUMENT.sub(lambda part: f"{part[1]}{{{part['inner']}}}", typed)
    latex = _MANY_DIGITS.sub(r"{\g<0>}", latex)
    return _TYPED.sub(_named, latex)


def _named(name: re.Match[str]) -> str:
    spelled = _TABLE["spelled"].get(name[0])
    return str(spelled or (f"\\{name[0]} " if name[0] in _KIND_OF else name[0]))


def _tokens(text: str) -> Iterator[_Token]:
    """Yield tokens with their kinds; an argument in braces is one."""
    closing = _closing(text)
    done, last = 0, ""  # last: the kind of the token before, but for blanks
    for token in _TOKEN.finditer(text):
        begin, end = token.span()
        if begin < done:
            continue
        kind = token.lastgroup or ""
        if kind == "w":
            kind = _kind_of_word(
                token[0], text[max(0, begin - 2) : begin], text[end : end + 20], last
            )
        elif kind == "sign":
            kind = _KIND_OF.get(token[0], "x")
            if token[0] == "{" and last in _TAKES_ARGUMENT and begin in closing:
                kind, end = "B", closing[begin]
        elif kind == "s" and "\n" in token[0]:
            kind = "x"
        if last in {"^", "_"} and kind in {"v", "n", "g", "c"}:
            kind = "B"
        yield _Token(kind, begin, end)
        done, last = end, last if kind == "s" else kind


def _closing(text: str) -> dict[int, int]:
    """Map the opening brace of each argument to its end."""
    closing, opened = dict[int, int](), list[int]()
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened and (begin := opened.pop()) > brace.end() - _LONGEST:
            closing[begin] = brace.end()
    return closing


def _kind_of_word(word: str, before: str, after: str, last: str) -> str:
    """Return the kind of a word: a letter, a name, factors as in ax + b, or still a word."""
    kind = _KIND_OF.get(word, "")
    if kind == "g" or (kind in _FOLLOWED and _FOLLOWED[kind].match(after) and before[-1:] != "_"):
        return "O" if kind == "R" else kind
    left, right = _OPERATOR_BEFORE.search(before), _OPERATOR.match(after)
    attached = before[-1:] in _FACTORS or after[:1] in _FACTORS
    if len(word) == 1:
        if word in "aAI" and not (left or right or _AFTER_LETTER.match(after)):
            return "v" if word != "a" and after[:1] == "(" else "w"
        return "v" if word.isascii() else "g" if "Α" <= word <= "ω" else "w"
    if kind == "l":
        return "g" if left else "w"
    if not word.isascii():
        return "w"
    if len(word) == 2 and word.lower() not in _WORDS["english"]:
        followed = last == "c" or (word[0] == "d" and last in _OPERANDS)
        called = before[:1].isalnum() or not word.isupper()
        argument = last == "(" and after[:1] == ")" and called
        counted = before[-1:].isdecimal()
        attached |= bool(left or right or followed or argument or counted)
    return "v" if (attached and len(word) < 4) or (left and right and len(word) == 2) else "w"
