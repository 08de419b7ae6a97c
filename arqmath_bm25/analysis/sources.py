r"""Sources other than posts, LaTeX and Markdown, prepared for finding their formulas.

**LaTeX.** Comments and the text of `verbatim` and similar environments are dropped. Formulas begin
at `$`, `$$`, `\(`, `\[` and at environments of mathematics alone; all other environments are text,
with a line for each of their edges. In prose a command is dropped and its argument stays
(`\emph{compact}`), except for commands whose argument is a name (`\label`, `\cite`, `\usepackage`).
Accents become letters (`H\"older`). Definitions (`\newcommand`) are formulas, so that they apply to
the formulas after them. A text begins at its `\begin{document}`; definitions before it are kept.

**Markdown.** Code between backticks or fences is prose. As in Pandoc, a dollar opens a formula
unless a blank follows, and closes one unless a blank precedes or a digit follows; `$`x`$` and
fences of `math` are formulas.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final, Literal

from arqmath_bm25.analysis.macros import (
    Macro,
    argument_at,
    definitions,
    environment_names,
    preamble_macros,
)
from arqmath_bm25.core.tables import read_table

SourceName = Literal["latex", "markdown"]

# Private-use characters, which were removed from the input.
BLOCK_END: Final = "\ue001"
CODE_DOLLAR: Final = "\ue004"
CODE_BACKSLASH: Final = "\ue005"
_HIDE_CODE: Final = str.maketrans("$\\", CODE_DOLLAR + CODE_BACKSLASH)

_TABLE: Final[dict[str, Any]] = read_table(__file__)["latex"]


def _any_of(names: str) -> str:
    return "|".join(_TABLE[names].split())


MATH_ENVIRONMENT: Final = rf"\\begin\{{(?P<name>(?:{_any_of('math')})\*?)\}}"
_PARAGRAPH: Final = re.compile(r"\n[ \t]*+(?:\n\s*+|\Z)")
# Some programs write blank lines within displays, which TeX does not allow. No match reaches beyond
# the begin of another display, so that time is linear.
_DISPLAY: Final = re.compile(
    r"(?<!\\)\$\$(?:[^$]|\$(?!\$)){1,3000}?\$\$|\\\[(?:(?!\\\[).){1,3000}?\\\]"
    rf"|{MATH_ENVIRONMENT}(?:(?!\\begin\{{(?P=name)\}}).){{1,3000}}?\\end\{{(?P=name)\}}",
    re.DOTALL,
)
_UNREAD: Final = rf"{_any_of('code')}|{_any_of('dropped')}"
_HIDDEN: Final = re.compile(
    rf"\\begin\{{(?P<name>{_UNREAD})\*?\}}"
    rf"(?P<code>(?>(?:[^\\]+|\\(?!(?:begin|end)\{{(?:{_UNREAD})\*?\}}))*))"
    r"\\end\{(?P=name)\*?\}"
    r"|\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,99}\])?)(?P<bar>[^\sA-Za-z*{\[])"
    r"(?P<verb>[^\n]{0,200}?)(?P=bar)"
    r"|\\lstinline(?:\[[^\]\n]{0,99}\])?\{(?P<inline>[^{}\n]{0,200})\}"
    r"|\\iffalse(?![A-Za-z])(?P<unread>(?>(?:[^\\]+|\\(?!iffalse|fi(?![A-Za-z])))*))\\fi(?![A-Za-z])"
    r"|\\(?:url|path|href|(?:eq|page|auto|[cC])?ref|label|cite[pt]?)"
    r"\{(?P<address>[^{}\n$]{0,300}+\$[^{}\n]{0,300}+)\}"
    r"|(?<!\\)(?>(?:\\\\)*)(?P<comment>%[^\n]*+(?:\n[ \t]*+(?!\n))?)",
    re.DOTALL,
)
_OPTION: Final = r"(?:\s*+\[[^\[\]]{0,200}\])"
_ARGUMENT: Final = rf"(?:(?>{_OPTION}*)\s*+\{{[^{{}}]{{0,999}}\}})"
_PROSE: Final = re.compile(
    rf"\\(?:{_any_of('without_arguments')})(?![A-Za-z])\*?(?>{_ARGUMENT}*){_OPTION}?"
    rf"|\\(?:begin|end)\{{(?P<environment>[A-Za-z]{{1,40}}+)\*?\}}(?P<look>{_ARGUMENT})?"
    r"|\\(?P<accent>[`'^~=.\"]|[uHvcrk](?=[\s{]))\s*+(?:\{\\?(?P<in_braces>[A-Za-z]?)\}"
    r"|\\?(?P<bare>[A-Za-z]))"
    r"|\\href\s*+\{[^{}]{0,999}\}"
    r"|\\\\\s*+\[[^\[\]]{0,20}\]"
    r"|\\(?P<command>[A-Za-z]{1,40}+)\*?\s?"
    r"|\\(?P<sign>[%&#_$])|\\[-/]|[{}]|(?P<blank>\\.|~)",
    re.DOTALL,
)
_WITHOUT_LOOK: Final = frozenset(_TABLE["without_first_argument"].split())
_FONTS: Final = frozenset(_TABLE["fonts"].split())
_ENVIRONMENT: Final = re.compile(
    rf"\\begin\{{(?!(?:{_any_of('math')})\*?\}})([A-Za-z]{{1,40}}+)\*?\}}"
)
_COMMAND: Final = re.compile(
    r"\\(?:documentclass|(?:sub){0,2}section|chapter|emph|item|cite|footnote|newtheorem)(?![A-Za-z])"
    r"|\\[\"'`]\{?[aeiouAEIOU]"
)
# The rests of \alpha, \beta, … if a program read the backslash and the letter as an escape.
_LOST_ESCAPES: Final = {
    "\x07": ("a", "lpha|pprox|ngle|rcsin|rctan|rccos|st"),
    "\x08": ("b", "eta|ar|inom|egin|igl|igr|igcup|igcap|ig|oldsymbol|mod|ullet|matrix|f"),
    "\t": ("t", r"imes|heta|ext|au(?=[_^$})\\])|ilde|riangle|frac|anh"),
    "\x0b": ("v", "arepsilon|ec|arphi|ee|dots|ert|artheta"),
    "\x0c": ("f", "rac|orall|lat"),
    "\r": ("r", "ho|ight|angle|ightarrow|floor|ceil"),
}
_LOST: Final = re.compile(
    "|".join(rf"{sign}(?:{rests})(?![A-Za-z])" for sign, (_, rests) in _LOST_ESCAPES.items())
)
_ENSUREMATH: Final = re.compile(r"\\ensuremath(?![A-Za-z])")
_IS_ENSURED: Final = re.compile(r"\s{0,9}\\ensuremath\s{0,9}\{")
_NEW_ENVIRONMENT: Final = re.compile(
    r"\\(?:re)?newenvironment\*?\s*+\{(?P<name>[A-Za-z]{1,40}\*?)\}"
    r"(?:\[[0-9]\])?(?:\[[^\[\]]{0,99}\])?"
)
_FENCE: Final = re.compile(
    r"^ {0,3}(?P<fence>```|~~~)[`~]*+(?P<language>[^\n]*+)\n"
    r"(?P<code>(?>(?:(?! {0,3}(?P=fence))[^\n]*+\n)*))(?: {0,3}(?P=fence)[`~]*+)?",
    re.MULTILINE,
)
_CODE: Final = re.compile(
    r"\$`(?P<math>[^`\n]{1,999}+)`\$|(?P<ticks>`{1,2}+)(?P<code>[^`]{1,999}+)(?P=ticks)"
)
_MARKDOWN: Final = re.compile(
    r"^ {0,3}(?:#{1,6} \S|```|~~~)|\*\*[^*\s][^*\n]{0,200}+\*\*"
    r"|\]\([^()\s]{1,200}+\)",
    re.MULTILINE,
)
_LINK: Final = re.compile(r"\]\([^()\s]{1,200}+\)")


def with_lost_escapes(text: str) -> tuple[str, int]:
    r"""Repair commands that an escape has cut, such as a form feed and `rac` of `\frac`.

    Returns the text, and how many commands were repaired.
    """
    return _LOST.subn(_whole_command, text)


def _whole_command(lost: re.Match[str]) -> str:
    letter, _ = _LOST_ESCAPES[lost[0][0]]
    return f"\\{letter}{lost[0][1:]}"


def hide_math(code: str) -> str:
    """Protect code, so that no mathematics is found in it."""
    return code.translate(_HIDE_CODE)


def prepared(text: str, source: SourceName) -> str:
    """Return a text with marks at the ends of blocks, in which `html` finds the formulas."""
    if source == "latex":
        text = _prepared_latex(text)
    else:
        text = _FENCE.sub(_fenced, text)
        text = _CODE.sub(_quoted, text)
        text = _LINK.sub("]", text)
    return _PARAGRAPH.sub(BLOCK_END, text)


def _prepared_latex(text: str) -> str:
    text = _with_environments(_HIDDEN.sub(_without_code, text))
    text = _DISPLAY.sub(_without_paragraphs, text)
    head, document, rest = text.partition(r"\begin{document}")
    if not document:
        return _with_marked_definitions(text)

    body, _, _ = rest.partition(r"\end{document}")
    return f"{_marked_definitions(head)}\n\n{body}"


def _without_paragraphs(display: re.Match[str]) -> str:
    return _PARAGRAPH.sub("\n", display[0])


def _with_environments(text: str) -> str:
    r"""Replace `\be … \ee` and environments that a source defines by the environments they mean."""
    text, names = _without_new_environments(text)
    spans = list(definitions(text))
    if not names and not spans:
        return text
    preamble = "\n".join([text[begin:end] for begin, end in spans])
    for name, edge in environment_names(preamble).items():
        names[f"\\{name}"] = edge
    ensured = _ensured_macros(preamble)
    if not names and not ensured:
        return text

    parts: list[str] = []
    done = 0
    for begin, end in [*spans, (len(text), len(text))]:
        part = text[done:begin]
        if names:
            use = re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?![A-Za-z])")
            part = use.sub(lambda name: names[name[0]], part)
        if ensured:
            part = _with_ensured(part, ensured)
        parts += [part, text[begin:end]]
        done = end
    return "".join(parts)


def _ensured_macros(preamble: str) -> dict[str, Macro]:
    r"""Return the macros that are mathematics in prose as well: their bodies are `\ensuremath`."""
    macros: dict[str, Macro] = {}
    for name, macro in preamble_macros(preamble).items():
        if name.isalpha() and _IS_ENSURED.match(macro.body):
            macros[name] = macro
    return macros


def _with_ensured(text: str, macros: dict[str, Macro]) -> str:
    r"""Put `\ensuremath{…}` around each use of a macro, arguments included."""
    parts: list[str] = []
    done = 0
    for use in re.finditer(rf"\\({'|'.join(macros)})(?![A-Za-z])", text):
        expanded = macros[use[1]].expanded_use(text, use.end())
        if expanded is None or use.start() < done:
            continue

        _, end = expanded
        parts += [text[done : use.start()], rf"\ensuremath{{{text[use.start() : end]}}}"]
        done = end
    parts.append(text[done:])
    return "".join(parts)


def ensured(prose: str) -> Iterator[tuple[int, int, str]]:
    r"""Yield begin, end and LaTeX of each `\ensuremath{…}` in prose."""
    done = 0
    for command in _ENSUREMATH.finditer(prose):
        argument = argument_at(prose, command.end())
        if argument is None or command.start() < done:
            continue
        latex, done = argument
        yield command.start(), done, latex


def _without_new_environments(text: str) -> tuple[str, dict[str, str]]:
    r"""Cut out `\newenvironment`.

    Returns the text, and the edges of environments of mathematics by the edges that are defined.
    """
    edges: dict[str, str] = {}
    parts: list[str] = []
    done = 0
    for new in _NEW_ENVIRONMENT.finditer(text):
        opening = argument_at(text, new.end())
        closing = opening and argument_at(text, opening[1])
        if new.start() < done or not opening or not closing:
            continue

        begin = re.search(MATH_ENVIRONMENT, opening[0])
        if begin is not None:
            edges[rf"\begin{{{new['name']}}}"] = begin[0]
            edges[rf"\end{{{new['name']}}}"] = rf"\end{{{begin['name']}}}"
        parts.append(text[done : new.start()])
        done = closing[1]

    parts.append(text[done:])
    return "".join(parts), edges


_LIGATURES: Final = {"---": "—", "--": "–", "``": "“", "''": "”"}
_LIGATURE: Final = re.compile("---|--|``|''")


def prose(text: str) -> str:
    """Return LaTeX outside formulas as readers see it."""
    visible = _PROSE.sub(_visible_text, text)
    return unicodedata.normalize("NFC", visible)


def typeset(prose_of_latex: str) -> str:
    """Return prose of LaTeX with the dashes and quotation marks that TeX makes of their letters."""
    return _LIGATURE.sub(lambda found: _LIGATURES[found[0]], prose_of_latex)


def is_latex(text: str) -> bool:
    """Return whether a text holds an environment or a command of prose in LaTeX."""
    return bool(_ENVIRONMENT.search(text) or _COMMAND.search(text))


def is_markdown(text: str) -> bool:
    """Return whether a text holds Markdown; code counts only in a text that has dollars."""
    # Few texts have a sign of Markdown, and to look for all is a tenth of the search.
    has_sign = "#" in text or "**" in text or "](" in text or "```" in text or "~~~" in text
    if has_sign and _MARKDOWN.search(text):
        return True
    return "$" in text and "`" in text and _CODE.search(text) is not None


def _without_code(hidden: re.Match[str]) -> str:
    if hidden["comment"] is not None:
        return hidden[0][: -len(hidden["comment"])]
    if hidden["address"] is not None:
        return hidden[0].replace("$", CODE_DOLLAR)
    if hidden["unread"] is not None:
        return " "
    if hidden["name"] in _TABLE["dropped"].split():
        return "\n"
    return hide_math(hidden["code"] or hidden["verb"] or hidden["inline"] or "")


def _with_marked_definitions(text: str) -> str:
    """Return a text whose definitions are formulas."""
    parts: list[str] = []
    done = 0
    for begin, end in definitions(text):
        parts += [text[done:begin], _as_formula(text[begin:end])]
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _marked_definitions(text: str) -> str:
    """Return the definitions of a text, as formulas."""
    formulas = [_as_formula(text[begin:end]) for begin, end in definitions(text)]
    return "".join(formulas)


def _as_formula(definition: str) -> str:
    return f"${definition.replace('$', '')}$ "


def _fenced(code: re.Match[str]) -> str:
    if code["language"].strip() == "math":
        return f"$${code['code']}$$"
    return hide_math(code["code"])


def _quoted(code: re.Match[str]) -> str:
    if code["math"]:
        return f"${code['math']}$"
    return hide_math(code["code"])


def _visible_text(piece: re.Match[str]) -> str:
    """Return the text that readers see of a command or brace in prose."""
    if piece["accent"]:
        letter = piece["in_braces"] or piece["bare"] or ""
        return letter + str(_TABLE["accents"][piece["accent"]])

    if piece["environment"]:
        if piece["environment"] in _WITHOUT_LOOK:
            return "\n"
        return f"\n{piece['look'] or ''}"

    if piece["command"]:
        return _visible_command(piece["command"])
    if piece["sign"]:
        return piece["sign"]
    if piece["blank"] or piece[0].startswith(r"\\"):
        return " "
    return ""


def _visible_command(command: str) -> str:
    if command in _TABLE["letters"]:
        return str(_TABLE["letters"][command])
    if command in _FONTS:
        return ""
    return " "
