r"""LaTeX → MathML, which browsers draw by themselves; the LaTeX itself where that fails.

math-core makes the MathML. It is stricter than MathJax, so LaTeX is first rewritten into what it
reads. Of its output only elements and attributes of MathML Core are kept; styles become classes of
style.css, since the content security policy of pages allows no style within an element.
"""

from __future__ import annotations

import re
from colorsys import rgb_to_hls
from functools import cache, lru_cache
from itertools import accumulate
from threading import Lock, Thread, stack_size
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.safe_html import plain

try:
    from math_core import LatexError, LatexToMathML
except ImportError:  # some platforms have no wheel: formulas are shown as LaTeX
    LatexToMathML = None  # type: ignore[assignment, misc]

if TYPE_CHECKING:
    from collections.abc import Callable

_CACHED: Final = 1 << 14  # formulas; half of all are repeats
_MAX_LATEX: Final = 5_000  # characters that are drawn
# math-core calls itself for what is nested, and a stack that overflows ends the process. A level
# takes 2 kB at most and at least one of these characters: 150 levels go on every stack, and those
# of a longer formula on one of their own.
_NESTING: Final = re.compile(r"[\\{^_]")
_SHALLOW: Final = 150
_DEEP_STACK: Final = 64 << 20
_starting: Final = Lock()  # the size of a stack is set for all threads
# math-core looks for the end of a bracket twice, and twice again for each within it that has none.
_MAX_UNCLOSED: Final = 8  # real formulas have at most 3
_BRACKETS: Final = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?)\s*(?:\\[A-Za-z]+|\\?.)|\\pm?od\s*\\|\\[A-Za-z]+|\\.|[{}()\[\]⟨⟩]",
    re.DOTALL,
)
_OPENING: Final = frozenset(
    r"( [ ⟨ \{ \langle \lbrace \lbrack \lvert \lVert \lceil \lfloor \lgroup \lmoustache \ulcorner "
    r"\llcorner".split()
)
_CLOSING: Final = frozenset(
    r") ] ⟩ \} \rangle \rbrace \rbrack \rvert \rVert \rceil \rfloor \rgroup \rmoustache \urcorner "
    r"\lrcorner".split()
)
_MAX_DEPTH: Final = 100  # elements within each other, for the sake of browsers
_DEFINITIONS: Final = re.compile(
    r"\\(?:[egx]?def|(?:re|provide)?newcommand|DeclareMathOperator|newenvironment|let)(?![A-Za-z])"
)

_GROUP: Final = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"  # with two more levels within
_ARGUMENT: Final = rf"({_GROUP.replace('((', '(?:(', 1)}|\\[A-Za-z]+|[^\\{{}}\s])"
_BIG: Final = r"(\\(?:left|right|middle|[bB]igg?[lrm]?)\s*)"
_LABEL: Final = "@tag@"  # distinguishes a \tag from the numbers that math-core gives
_NUMBERED: Final = {
    "gather": "gathered", "align": "aligned", "flalign": "aligned",
    "alignat": "aligned", "multline": "multline*",
    "equation": "",
}  # fmt: skip
_NAMES: Final = {
    name: meaning
    for names, meaning in {
        "displaylimits hfil hfill hss par goodbreak allowbreak nobreak noindent strut mathstrut "
        "tiny Tiny small normalsize large Large LARGE huge Huge scriptsize footnotesize relax "
        "boldmath nonumber notag smash": "",
        "dotsc dotso": r"\ldots ",
        "dotsb dotsm dotsi": r"\cdots ",
        "centerdot": r"\cdot ",
        "mbox hbox textup textnormal": r"\text ",
        "scr": r"\cal ",
        "smallsetminus": r"\setminus ",
        "pmb": r"\boldsymbol ",
        "varprojlim": r"\underleftarrow{\lim}",
        "varinjlim": r"\underrightarrow{\lim}",
    }.items()
    for name in names.split()
}
_COLOURS: Final = (
    "red orange green blue purple black white brown teal cyan magenta violet yellow lime olive pink"
).split()


def _columns(match: re.Match[str]) -> str:
    columns = re.sub(r"[@!>]\s*\{[^{}]*\}", "", match[1])
    columns = re.sub(r"\*\s*\{?(\d{1,2})\}?\s*\{([^{}]*)\}", lambda m: int(m[1]) * m[2], columns)
    columns = re.sub(r"[mpb]\{[^{}]*\}", "l", columns).replace("||", "|")
    columns = re.sub("[^lcr|]", "", columns)
    return rf"\begin{{array}}{{{columns or 'c'}}}"


def _plain_tex(match: re.Match[str]) -> str:
    name = "aligned" if match[1] == "eqalign" else match[1]
    rows = re.sub(r"\\cr(?![A-Za-z])", r"\\\\", match[2])
    if name == "cases":
        rows = re.sub(r"&((?:[^\\&]|\\[^\\])*)", r"&\\text{\1}", rows)
    return rf"\begin{{{name}}}{rows}\end{{{name}}}"


def _operator(match: re.Match[str]) -> str:
    base, scripts = match[1], {match[2]: match[3], match[4]: match[5]}
    drawn = rf"\underset{{{scripts['_']}}}{{{base}}}" if scripts.get("_") else base
    return rf"\overset{{{scripts['^']}}}{{{drawn}}}" if scripts.get("^") else drawn


def _colour(match: re.Match[str]) -> str:
    # A group after it is what is coloured, as in the MathJax of Math Stack Exchange.
    model, colour, group = match[1] or "", match[2].strip(), match[3] or ""
    if colour.startswith("#"):
        digits = colour[1:] if len(colour) > 4 else "".join(2 * digit for digit in colour[1:])
        model, colour = "[HTML]", digits
    elif not model:
        colour = next((name for name in _COLOURS if name in colour.lower()), "gray")
    return rf"{group}\color{model}{{{colour}}}"


_REWRITES: Final[list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]] = [
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"&(?:\\displaystyle\s*)?amp;", "&"),  # posts of the lab: escaped once too often
        (r"([⊥√])", r"\\text{\1}"),
        (r"^\s*\$([^$]*)\$\s*$", r"\1"),
        (r"_\s*\\limits\s*", r"\\limits_"),
        (r"(?:\\hline\s*)+", r"\\hline "),
        (r"\\LaTeX(?![A-Za-z])", r"\\text{LaTeX}"),
        (
            r"\\dots(?=\s*(?:[-+=<>]|\\(?:[lg]eq?|[lg]t|cdot|times|to|pm|cup|cap|(?:sub|sup)set|oplus|otimes|wedge)))",
            r"\\cdots",
        ),
        (r"(?<!\\)((?:\\\\)*)\\\s*$", r"\1"),  # a blank after a backslash was lost
        (r"\\(?:label|require|qvar@construct)\s*\{[^{}]*\}", ""),
        (r"\\(?:smash|bbox)\s*\[[^\[\]]*\]", ""),
        (r"\\(?:style|class)\s*\{[^{}]*\}(?=\s*\{)", ""),
        (r"\\hspace\*", r"\\hspace"),
        (r"\\\\\*?\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\]", r"\\\\"),
        (r"\\\\\s*\\hline\s*\\end\{array\}", r"\\end{array}"),
        (r"(\\(?!operatorname|tag)[A-Za-z]+)\*", r"\1{}*"),
        (r"\\begin\{eqnarray\*?\}", r"\\begin{array}{rcl}"),
        (r"\\end\{eqnarray\*?\}", r"\\end{array}"),
        (r"\\begin\{(array|aligned|gathered)\}\s*\[[^\[\]]*\]", r"\\begin{\1}"),
        (rf"\\begin\{{array\}}\s*{_GROUP}", _columns),
        (r"\\begin\{(x?alignat\*?|alignedat)\}\s*\{[^{}]*\}", r"\\begin{\1}"),
        (r"\\(begin|end)\{(?:split|alignedat)\}", r"\\\1{aligned}"),
        (r"\\(begin|end)\{smallmatrix\}", r"\\\1{matrix}"),
        (rf"\\substack\s*{_GROUP}", r"\\begin{subarray}{c}\1\\end{subarray}"),
        (rf"\\(cases|matrix|pmatrix|eqalign)\s*{_GROUP}", _plain_tex),
        (_BIG + r"\{(\\[A-Za-z]+|\\.|[^\\{}])\}", r"\1\2 "),
        (_BIG + "<", r"\1\\langle "),
        (_BIG + ">", r"\1\\rangle "),
        (r"\\varlimsup(?![A-Za-z])", r"\\mathop{\\overline{\\lim}}"),
        (r"\\varliminf(?![A-Za-z])", r"\\mathop{\\underline{\\lim}}"),
        (r"\\root\s*+([^\\{}]{0,20}?|\{[^{}]{1,20}\})\s*\\of(?![A-Za-z])", r"\\sqrt[\1]"),
        (r"\\buildrel\s*(.{1,40}?)\\over\s*(\\[A-Za-z]+|[^\\{])", r"\\overset{\1}{\2}"),
        (
            rf"\\mathop\s*{_GROUP}\s*(?:\\limits\s*)?([_^])\s*{_ARGUMENT}(?:([_^])\s*{_ARGUMENT})?",
            _operator,
        ),
        (r"\\operatorname\*?\s*\{(?=[^{}]*(?:\\[A-Za-z]+|[\[\]_^()]))", r"\\mathrm{"),
        (r"\\(?:text)?color\s*(\[[A-Za-z]+\])?\{([^{}]*)\}(\s*\{)?", _colour),
        (r"\\tag(\*?)\s*\{", rf"\\tag\1{{{_LABEL}"),
        (r"\\([A-Za-z]+)\s?", lambda m: _NAMES.get(m[1], m[0])),
    )
]
_ENVIRONMENT: Final = re.compile(rf"\\(begin|end)\{{({'|'.join(_NUMBERED)})\*?\}}")
_TEXT_WITH_MATH: Final = re.compile(
    r"(\\text(?:rm|bf|it)?\s*)\{((?:[^{}$\\]|\\.)*)\$([^$]*)\$", re.DOTALL
)

_ELEMENTS: Final = frozenset(
    "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms "
    "mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover".split()
)
_ATTRIBUTES: Final = {
    name: re.compile(pattern)
    for names, pattern in {
        "accent accentunder displaystyle largeop movablelimits": "true|false",
        "separator stretchy symmetric": "true|false",
        "display": "block",
        "form": "prefix|infix|postfix",
        "linethickness lspace rspace width height depth minsize maxsize": r"\d{0,2}(?:\.\d{1,8})?"
        "(?:em|rem|px|pt|ex)?",
        "mathvariant": "normal",
        "notation": "[a-z]+(?: [a-z]+)*",
        "scriptlevel": "[0-3]",
    }.items()
    for name in names.split()
}
_CLASSES: Final = {
    "text-align: left": "left", "text-align: right": "right", "width: 100%": "numbered",
    "padding-left: 0": "close-left", "padding-right: 0": "close-right",
    "padding-left:1em": "apart", "margin-left:-0.16666667em": "back",
    "padding-top: 0": "close-top", "border-left: 0.05em solid currentcolor": "line-left",
    "border-right: 0.05em solid currentcolor": "line-right",
    "border-top: 0.05em solid currentcolor": "line-top",
    "border-bottom: 0.05em solid currentcolor": "line-bottom",
}  # fmt: skip
_TAG: Final = re.compile(r"<(/?)([a-z]+)((?: [a-z]+=\"[^\"]*\")*)\s*(/?)>")
_ATTRIBUTE: Final = re.compile(r' ([a-z]+)="([^"]*)"')
_TIDYING: Final = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        ("&ApplyFunction;", "\u2061"),
        ("[\ufe00\ufe01]", ""),  # variants of script letters that the font does not have
        (
            r'<mtd style="width: 50%;[^"]*"><mtext>(?=[^<]*' + _LABEL + ")",
            '<mtd class="label"><mtext>',
        ),
        (r'<mtd style="width: 50%;[^"]*"><mtext>[^<]*</mtext></mtd>', ""),
        (r'<mtd style="width: [0-9.]+%"></mtd>', '<mtd class="side"></mtd>'),
        (_LABEL, ""),
        # The glyph of a prime is raised already: as a script it would be tiny and too high.
        (
            "<msup>(<mi[^>]*>[^<]*</mi>)<mo>([′″‴⁗])</mo></msup>",
            r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>',
        ),
        # Browsers draw a tall bracket small where it has a script.
        (
            r"(<ms(?:ub|up|ubsup)>)(<mo [^>]*minsize[^>]*>[^<]*</mo>)",
            r"\1<mrow>\2<mrow></mrow></mrow>",
        ),
    )
]
_LEFT_OVER: Final = re.compile(r"<m[in][^<>]*>[^<]*(?:[\\{}]|&amp;)|<mtext[^<>]*>[^<]*\\")
_HUES: Final = (
    (0.06, "red"),
    (0.18, "orange"),
    (0.46, "green"),
    (0.72, "blue"),
    (0.94, "purple"),
    (1.1, "red"),
)


@lru_cache(maxsize=_CACHED)
def render(latex: str, display: bool = False) -> str:
    """Return a formula as a `<math>` element, or as `<code>` where it cannot be read.

    Nothing raises, and nothing in the LaTeX can become an element or attribute of its own.
    """
    mathml = _convert(latex, display)
    if not mathml:
        return f'<code class="latex">{plain(latex)}</code>'
    return mathml.replace("<math", f'<math title="{plain(latex)}"', 1)


def _convert(latex: str, display: bool) -> str:
    if LatexToMathML is None or not latex.strip() or len(latex) > _MAX_LATEX:
        return ""
    if _DEFINITIONS.search(latex):
        return ""
    rewritten = _rewrite(latex)
    if _unclosed(rewritten) > _MAX_UNCLOSED:
        return ""
    if len(_NESTING.findall(rewritten)) <= _SHALLOW:
        mathml = _call(rewritten, display)
    else:
        mathml = _call_on_deep_stack(rewritten, display)
    for pattern, replacement in _TIDYING:
        mathml = pattern.sub(replacement, mathml)
    mathml = _TAG.sub(_safe_tag, mathml)
    return "" if _LEFT_OVER.search(mathml) or _depth(mathml) > _MAX_DEPTH else mathml


def _unclosed(latex: str) -> int:
    """Return how many brackets are open at the end of their group."""
    groups = [0]
    for bracket in _BRACKETS.findall(latex):
        if bracket == "{":
            groups.append(0)
        elif bracket == "}" and len(groups) > 1:
            unclosed = groups.pop()
            groups[-1] += unclosed
        elif bracket in _OPENING or bracket.startswith((r"\pmod", r"\pod")):
            groups[-1] += 1
        elif bracket in _CLOSING:
            groups[-1] = max(0, groups[-1] - 1)
    return sum(groups)


def _call(latex: str, display: bool) -> str:
    """Return what math-core makes of LaTeX, nothing where it cannot read it."""
    try:
        return _converter().convert_with_local_state(latex, displaystyle=display)
    except LatexError:
        return ""


def _call_on_deep_stack(latex: str, display: bool) -> str:
    written: list[str] = []
    thread = Thread(target=lambda: written.append(_call(latex, display)))
    with _starting:
        before = stack_size(_DEEP_STACK)
        thread.start()
        stack_size(before)
    thread.join()
    return written[0]


def _depth(mathml: str) -> int:
    steps = (-1 if tag[1] else 0 if tag[4] else 1 for tag in _TAG.finditer(mathml))
    return max(accumulate(steps), default=0)


def _rewrite(latex: str) -> str:
    for pattern, replacement in _REWRITES:
        latex = pattern.sub(replacement, latex)
    while (parted := _TEXT_WITH_MATH.sub(r"\1{\2}{\3}\1{", latex, count=1)) != latex:
        latex = parted
    tagged = r"\tag" in latex
    environment = _ENVIRONMENT.search(latex)
    if tagged and not environment:
        return rf"\begin{{equation}}{latex}\end{{equation}}"
    return _ENVIRONMENT.sub(lambda m: _environment(m[1], m[2], tagged), latex)


def _environment(edge: str, name: str, tagged: bool) -> str:
    """Return an environment that has numbers only if they are tags."""
    if tagged:
        return rf"\{edge}{{{'align' if name == 'alignat' else name}}}"
    other = _NUMBERED[name]
    return rf"\{edge}{{{other}}}" if other else "{" if edge == "begin" else "}"


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(allow_unreliable_rendering=True, fancy_error=False)


def _safe_tag(tag: re.Match[str]) -> str:
    slash, name, attributes, empty = tag.groups()
    if name not in _ELEMENTS:
        return ""
    if slash:
        return f"</{name}>"
    kept = ""
    classes: list[str] = []
    for attribute, value in _ATTRIBUTE.findall(attributes):
        if attribute == "style":
            classes += filter(None, map(_class, value.split(";")))
        elif attribute == "class" and re.fullmatch("menclose-[a-z]+|label|side", value):
            classes += [value]
        elif attribute in _ATTRIBUTES and _ATTRIBUTES[attribute].fullmatch(value):
            kept += f' {attribute}="{value}"'
    if classes:
        kept += f' class="{" ".join(classes)}"'
    return f"<{name}{kept}{empty}>"


def _class(declaration: str) -> str:
    """Return the class that stands for a declaration of a style."""
    if declaration.startswith("color:#"):
        red, green, blue = (int(declaration[i : i + 2], 16) / 255 for i in (7, 9, 11))
        hue, lightness, saturation = rgb_to_hls(red, green, blue)
        coloured = saturation * lightness > 0.1
        return next(name for end, name in _HUES if hue < end) if coloured else ""
    return _CLASSES.get(declaration.strip(), "")
