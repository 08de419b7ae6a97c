"""What shows that a text is LaTeX source or Markdown, and commands that an escape has cut."""

import re
from typing import Literal

from arqmath_bm25.analysis.latex_html import MATH_ENVIRONMENT
from arqmath_bm25.core.lazy import expression

SourceName = Literal["latex", "markdown"]

# Private-use characters, which were removed from the input.
BLOCK_END = "\ue001"
CODE_DOLLAR = "\ue004"
CODE_BACKSLASH = "\ue005"
_HIDE_CODE = str.maketrans("$\\", CODE_DOLLAR + CODE_BACKSLASH)

_ENVIRONMENT = expression(rf"(?!{MATH_ENVIRONMENT})\\begin\{{[A-Za-z]{{1,40}}+\*?\}}")
_COMMAND = expression(
    r"\\(?:documentclass|(?:sub){0,2}section|chapter|emph|item|cite|footnote|newtheorem)(?![A-Za-z])"
    r"|\\[\"'`]\{?[aeiouAEIOU]"
)
# The rests of \alpha, \beta, … if a program read the backslash and the letter as an escape.
_LOST_ESCAPES = {
    "\x07": ("a", "lpha|pprox|ngle|rcsin|rctan|rccos|st"),
    "\x08": ("b", "eta|ar|inom|egin|igl|igr|igcup|igcap|ig|oldsymbol|mod|ullet|matrix|f"),
    "\t": ("t", r"imes|heta|ext|au(?=[_^$})\\])|ilde|riangle|frac|anh"),
    "\x0b": ("v", "arepsilon|ec|arphi|ee|dots|ert|artheta"),
    "\x0c": ("f", "rac|orall|lat"),
    "\r": ("r", "ho|ight|angle|ightarrow|floor|ceil"),
}
_LOST = expression(
    "|".join(rf"{sign}(?:{rests})(?![A-Za-z])" for sign, (_, rests) in _LOST_ESCAPES.items())
)
_CODE = expression(
    r"\$`(?P<math>[^`\n]{1,999}+)`\$|(?P<ticks>`{1,2}+)(?P<code>[^`]{1,999}+)(?P=ticks)"
)
_MARKDOWN = expression(
    r"^ {0,3}(?:#{1,6} \S|```|~~~)|\*\*[^*\s][^*\n]{0,200}+\*\*"
    r"|\]\([^()\s]{1,200}+\)",
    re.MULTILINE,
)


def with_lost_escapes(text: str) -> tuple[str, int]:
    r"""Repair commands that an escape has cut, such as a form feed and `rac` of `\frac`.

    Returns the text, and how many commands were repaired.
    """
    if not any(sign in text for sign in _LOST_ESCAPES):
        return text, 0
    return _LOST.subn(lambda lost: f"\\{_LOST_ESCAPES[lost[0][0]][0]}{lost[0][1:]}", text)


def hide_math(code: str) -> str:
    """Protect code, so that no mathematics is found in it."""
    return code.translate(_HIDE_CODE)


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
