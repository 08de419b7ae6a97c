r"""LaTeX → MathML, which browsers render without a script; the LaTeX itself where that fails.

math-core makes the MathML. It is stricter than MathJax, so LaTeX is first rewritten into what it
reads. Of its output only elements and attributes of MathML Core are kept; styles become classes of
style.css, since the content security policy of pages allows no style within an element.
"""

import re
from colorsys import rgb_to_hls
from functools import lru_cache
from operator import methodcaller
from threading import Lock, Thread, stack_size

from arqmath_bm25.analysis.latex import FORMS, INVISIBLE, PLAIN_TABLES, with_characters
from arqmath_bm25.analysis.safe_html import plain
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import by_name, names_in, read_table

try:
    from math_core import LatexError, LatexToMathML

    _CONVERTER = LatexToMathML(allow_unreliable_rendering=True, fancy_error=False)
except ImportError:
    # Some platforms have no wheel; there formulas are shown as LaTeX.
    _CONVERTER = None  # type: ignore[assignment]

_TABLE = read_table(__file__)

# How many formulas are kept with their MathML; half of all formulas are repeats.
_CACHE_SIZE = 1 << 14

# Longer formulas, in characters, are shown as LaTeX.
_MAX_LATEX = 5_000

# math-core calls itself for what is nested, and a stack that overflows ends the process. A level
# takes 2 kB at most and at least one of these characters: 150 levels go on every stack, and those
# of a longer formula on one of their own.
_NESTING = expression(r"[\\{^_]")
_SHALLOW = 150
_DEEP_STACK = 64 << 20

# The size of a stack is set for all threads, so only one thread may change it at a time.
_stack_lock = Lock()

# math-core looks for the end of a bracket twice, and twice again for each unclosed bracket within
# it. Real formulas have at most 3 unclosed brackets.
_MAX_UNCLOSED = 8
_BRACKETS = expression(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?)\s*(?:\\[A-Za-z]+|\\?.)|\\pm?od\s*\\|\\[A-Za-z]+|\\.|[{}()\[\]⟨⟩]",
    re.DOTALL,
)
_OPENING = names_in(_TABLE["opening"])
_CLOSING = names_in(_TABLE["closing"])

# Browsers limit how deep elements may be nested.
_MAX_DEPTH = 100
_DEFINITIONS = expression(
    r"\\(?:[egx]?def|(?:re|provide)?newcommand|DeclareMathOperator|newenvironment|let)(?![A-Za-z])"
)

# A group may have two more levels of groups within it.
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_ARGUMENT = rf"({_GROUP.replace('((', '(?:(', 1)}|\\[A-Za-z]+|[^\\{{}}\s])"
_BIG = r"(\\(?:left|right|middle|[bB]igg?[lrm]?)\s*)"
_NAMES = dict.fromkeys(INVISIBLE, "") | by_name(_TABLE["names"])
_ENVIRONMENT = expression(rf"\\(begin|end)\{{({'|'.join(_TABLE['numbered'])})\*?\}}")
_TEXT_WITH_MATH = expression(r"(\\text(?:rm|bf|it)?\s*)\{((?:[^{}$\\]|\\.)*)\$([^$]*)\$", re.DOTALL)
_TAG = expression(r"<(/?)([a-z]+)((?: [a-z]+=\"[^\"]*\")*)\s*(/?)>")
_ATTRIBUTE = expression(r' ([a-z]+)="([^"]*)"')
_ELEMENTS = names_in(_TABLE["elements"])
# Nothing can be wrong with a tag that has only the name of one of them; most tags do.
_TAG_TO_CHECK = expression(rf"(?!</?(?:{'|'.join(sorted(_ELEMENTS))})>){_TAG.pattern}")
_ATTRIBUTES = {name: expression(pattern) for name, pattern in by_name(_TABLE["attributes"]).items()}
_LEFT_OVER = expression(r"<m[in][^<>]*>[^<]*(?:[\\{}]|&amp;)|<mtext[^<>]*>[^<]*\\")


def _columns(match: re.Match[str]) -> str:
    """Return the begin of an array whose columns are only l, c, r and |."""

    def repeat(repeated: re.Match[str]) -> str:
        return int(repeated[1]) * repeated[2]

    columns = re.sub(r"[@!>]\s*\{[^{}]*\}", "", match[1])
    columns = re.sub(r"\*\s*\{?(\d{1,2})\}?\s*\{([^{}]*)\}", repeat, columns)
    columns = re.sub(r"[mpb]\{[^{}]*\}", "l", columns)
    columns = columns.replace("||", "|")
    columns = re.sub("[^lcr|]", "", columns)
    return rf"\begin{{array}}{{{columns or 'c'}}}"


def _plain_tex(match: re.Match[str]) -> str:
    """Return a table of plain TeX as an environment."""
    name = PLAIN_TABLES[match[1]]
    rows = re.sub(r"\\cr(?![A-Za-z])", r"\\\\", match[2])
    if name == "cases":
        rows = re.sub(r"&((?:[^\\&]|\\[^\\])*)", r"&\\text{\1}", rows)
    return rf"\begin{{{name}}}{rows}\end{{{name}}}"


def _operator(match: re.Match[str]) -> str:
    """Return an operator with its scripts below and above it."""
    latex = match[1]
    scripts = {match[2]: match[3], match[4]: match[5]}
    below = scripts.get("_")
    if below:
        latex = rf"\underset{{{below}}}{{{latex}}}"

    above = scripts.get("^")
    if above:
        latex = rf"\overset{{{above}}}{{{latex}}}"
    return latex


def _colour(match: re.Match[str]) -> str:
    r"""Return `\color` in a form that math-core reads."""
    # The group after the colour gets it, as in the MathJax of Math Stack Exchange.
    model = match[1] or ""
    colour = match[2].strip()
    group = match[3] or ""
    if colour.startswith("#"):
        model = "[HTML]"
        colour = colour.removeprefix("#")
        if len(colour) <= 3:
            colour = "".join(2 * digit for digit in colour)
    elif not model:
        # The known colour whose name is within the name: red in darkred.
        known = [name for name in _TABLE["colours"].split() if name in colour.lower()]
        colour = "".join(known[:1]) or "gray"

    return rf"{group}\color{model}{{{colour}}}"


def _diagram(match: re.Match[str]) -> str:
    """Return a commutative diagram of amscd as a matrix."""
    rows = []
    for row in match[1].split(r"\\"):
        # An object is followed by the five parts of an arrow, and these by the next object.
        parts = _ARROW.split(row)
        cells = parts[:1]
        for number in range(1, len(parts), 5):
            sign, first, second, plain_sign, after = parts[number : number + 5]
            arrow = str(_TABLE["arrows"][sign or plain_sign])
            arrow = arrow.replace("{a}", f"{{{first or ''}}}")
            arrow = arrow.replace("{b}", f"{{{second or ''}}}")
            cells += [arrow, after]

        # Only a row of arrows begins without an object; its arrows are below objects.
        if not cells[0].strip():
            cells = cells[1:]
        rows.append("&".join(cells))

    return r"\begin{matrix}" + r"\\".join(rows) + r"\end{matrix}"


def _name(match: re.Match[str]) -> str:
    """Return a command that math-core knows for one that it does not know."""
    return _NAMES.get(match[1], match[0])


_LABEL = r"((?>(?:\{[^{}]*+\}|(?!(?P=sign))[^{}])*))(?P=sign)"
_ARROW = expression(rf"@(?:(?P<sign>[<>VA]){_LABEL}{_LABEL}|([=|.]))")
_FUNCTIONS = {
    f"={function.__name__[1:]}": function
    for function in (_columns, _plain_tex, _operator, _colour, _diagram, _name)
}
_REWRITES = [
    (
        expression(
            pattern.replace("GROUP", _GROUP)
            .replace("ARGUMENT", _ARGUMENT)
            .replace("BIG", _BIG)
            .replace("PLAIN", "|".join(PLAIN_TABLES)),
            re.DOTALL,
        ),
        # As a function: `sub` looks a template up even where nothing matches.
        _FUNCTIONS.get(replacement) or methodcaller("expand", replacement),
    )
    for pattern, replacement in _TABLE["rewrites"]
]
_TIDYING = [(expression(pattern), replacement) for pattern, replacement in _TABLE["tidying"]]


@lru_cache(maxsize=_CACHE_SIZE)
def render(latex: str, display: bool = False) -> str:
    """Return a formula as a `<math>` element, or as `<code>` where it cannot be read.

    Nothing raises, and nothing in the LaTeX can become an element or attribute of its own.
    """
    mathml = _convert(latex, display)
    if not mathml:
        return f'<code class="latex">{plain(latex)}</code>'
    return mathml.replace("<math", f'<math title="{plain(latex)}"', 1)


def _convert(latex: str, display: bool) -> str:
    """Return the MathML of a formula, or nothing if it cannot be rendered."""
    if _CONVERTER is None or not latex.strip() or len(latex) > _MAX_LATEX:
        return ""

    rewritten = _rewrite(latex)
    if _DEFINITIONS.search(latex) or _unclosed(rewritten) > _MAX_UNCLOSED:
        return ""

    if len(_NESTING.findall(rewritten)) <= _SHALLOW:
        mathml = _call(rewritten, display)
    else:
        mathml = _call_on_deep_stack(rewritten, display)

    for pattern, replacement in _TIDYING:
        mathml = pattern.sub(replacement, mathml)

    mathml = _TAG_TO_CHECK.sub(_safe_tag, mathml)
    if mathml.count("<") > _MAX_DEPTH and _depth(mathml) > _MAX_DEPTH:
        return ""
    if _LEFT_OVER.search(mathml):
        return ""
    return mathml


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
    """Return the MathML of math-core, or nothing if it cannot read the LaTeX."""
    try:
        return _CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError:
        return ""


def _call_on_deep_stack(latex: str, display: bool) -> str:
    """Call math-core in a thread with a stack for deeply nested formulas."""
    results = []

    def work() -> None:
        results.append(_call(latex, display))

    thread = Thread(target=work)
    with _stack_lock:
        before = stack_size(_DEEP_STACK)
        thread.start()
        stack_size(before)

    thread.join()
    return results[0]


def _depth(mathml: str) -> int:
    """Return how deep elements are nested."""
    depth = 0
    deepest = 0
    for tag in _TAG.finditer(mathml):
        is_end = bool(tag[1])
        is_empty = bool(tag[4])
        if is_end:
            depth -= 1
        elif not is_empty:
            depth += 1
            deepest = max(deepest, depth)

    return deepest


def _rewrite(latex: str) -> str:
    """Return LaTeX in a form that math-core reads."""
    latex = with_characters(latex)
    for sign, pattern, other in FORMS:
        if sign in latex:
            latex = pattern.sub(other, latex)

    for pattern, replacement in _REWRITES:
        latex = pattern.sub(replacement, latex)

    # Text with a formula in it is split in three until no text has a formula.
    before = ""
    while before != latex:
        before = latex
        latex = _TEXT_WITH_MATH.sub(r"\1{\2}{\3}\1{", latex, count=1)

    tagged = r"\tag" in latex
    if tagged and not _ENVIRONMENT.search(latex):
        return rf"\begin{{equation}}{latex}\end{{equation}}"
    return _ENVIRONMENT.sub(lambda m: _environment(m[1], m[2], tagged), latex)


def _environment(edge: str, name: str, tagged: bool) -> str:
    """Return an environment without numbers, unless they are tags."""
    if tagged:
        if name == "alignat":
            name = "align"
        return rf"\{edge}{{{name}}}"

    other = str(_TABLE["numbered"][name])
    if other:
        return rf"\{edge}{{{other}}}"
    return {"begin": "{", "end": "}"}[edge]


def _safe_tag(tag: re.Match[str]) -> str:
    """Return a tag with the elements and attributes of MathML Core only."""
    slash, name, attributes, empty = tag.groups()
    if name not in _ELEMENTS:
        return ""

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
    return f"<{slash}{name}{kept}{empty}>"


def _class(declaration: str) -> str:
    """Return the CSS class for a style declaration: of a colour its name, of grays none."""
    if not declaration.startswith("color:#"):
        return str(_TABLE["classes"].get(declaration.strip(), ""))
    digits = declaration.removeprefix("color:#")
    red, green, blue = (int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    if saturation * lightness <= 0.1:
        return ""
    names = [name for end, name in _TABLE["hues"] if hue < end]
    return str(names[0])
