r"""The kind of a document or a query, found from its text alone.

* `post`: HTML as the editor of a Stack Exchange site writes it, or plain tags like those.
* `html`: HTML of any other program. It holds an element or a marker that no post has.
* `latex`: LaTeX source. It holds an environment of prose, such as `\begin{lemma}`, or a command of
  prose, such as `\emph`.
* `markdown`: it holds a heading, a fence, a link, bold words, or code beside formulas.
* `lean`, `isabelle`, `coq`: it begins with a header (`import Mathlib`) or a declaration of one of
  these languages, such as `theorem add_zero (n : ℕ) : n + 0 = n`.
* `plain`: any other text. Code alone proves nothing, because AsciiMath is between backticks too.

Where most texts are LaTeX, so is one that could be plain or LaTeX.
"""

import re
from collections import Counter
from typing import Literal

from arqmath_bm25.analysis.formal import language_of
from arqmath_bm25.analysis.sources import is_latex, is_markdown
from arqmath_bm25.core.lazy import expression

Kind = Literal["post", "html", "latex", "markdown", "lean", "isabelle", "coq", "plain"]

# Closing tags of the site's editor. `html.read_body` reads posts.
_POST = expression(
    r"</(?:p|div|span|li|[uo]l|em|strong|code|pre|a|b|i|h[1-6]|blockquote|t[dhr])>|<br\s{0,9}/?>",
    re.IGNORECASE,
)
_ELEMENTS = (
    "html|head|body|title|meta|link|base|article|section|main|nav|header|footer|aside|hgroup|figure|"
    "figcaption|picture|video|audio|svg|canvas|iframe|object|embed|form|fieldset|button|input|select|"
    "textarea|label|mark|font|center|time|address|dialog|template|noscript|script|style|caption|"
    r"colgroup|col|tfoot|wbr|nobr|(?:[a-z]{1,9}:)?math|[a-z]{1,20}-[a-z-]{1,30}"
)
_CLASSES = "katex|MathJax|mjx-|math inline|math display|code math|mwe-math|ltx_|latex"
_FOREIGN = expression(
    r"<!doctype\b|<\?xml\b|<!\[CDATA\["
    rf"|</?(?:{_ELEMENTS})(?=[\s/>])"
    rf"|<(?:span|div|code|img|p|table)\b[^<>]{{0,500}}?\sclass=[\"']?[^\"'<>]{{0,200}}?(?:{_CLASSES})"
    r"|<[a-z][a-z0-9]{0,9}\s[^<>]{0,300}?\bdata-(?:math|latex|tex|expr)="
    r"|<(?:p|div|td|th|tr|table|ul|ol|li|a|img|h[1-6]|span)\s+(?:[a-z]+=(?:\"[^\"<>]*\"|[^\s\"'<>=]+)"
    r"\s+){0,9}[a-z]+(?:=[^\s\"'<>=]+)?\s*/?>",
    re.IGNORECASE,
)
_LATEX_DOCUMENT = expression(r"\\documentclass\b|\\begin\{document\}")
_DELIMITER = expression(r"\$|\\[(\[]|\\begin\{")
# What could be LaTeX; after a percent sign the rest of the line would be a comment.
_MAY_BE_LATEX = expression(rf"{_DELIMITER.pattern}|\\[A-Za-z]{{2,40}}\{{")
_PERCENT = expression(r"\d\s?%")
_LEAST_LATEX = 0.01  # of all documents, to show how others are written
_BEGINS_WITH_TAG = expression(r"\s{0,99}<[a-z!?]", re.IGNORECASE)


def kind_of(text: str, is_mostly_latex: bool = False) -> Kind:
    """Return the kind of a text among others that may be LaTeX mostly; every string has one."""
    language = language_of(text)
    if language:
        return language
    if "\\" in text and not _BEGINS_WITH_TAG.match(text) and _LATEX_DOCUMENT.search(text):
        return "latex"

    if "<" in text:
        if is_foreign(text):
            return "html"
        if _POST.search(text):
            return "post"

    if "\\" in text and is_latex(text):
        return "latex"
    if is_markdown(text):
        return "markdown"
    if is_mostly_latex and _MAY_BE_LATEX.search(text) and not _PERCENT.search(text):
        return "latex"
    return "plain"


def has_delimiter(text: str) -> bool:
    """Return whether a text holds what could begin a formula in LaTeX."""
    return _DELIMITER.search(text) is not None


def are_mostly_latex(counts: Counter[str]) -> bool:
    """Return whether at least half of the texts of a certain kind are LaTeX, by their counts."""
    certain = counts.total() - counts["plain"]
    return 0 < counts["latex"] >= max(certain / 2, _LEAST_LATEX * counts.total())


def is_foreign(html: str) -> bool:
    """Return whether HTML holds an element or a marker that no post has."""
    return _FOREIGN.search(html) is not None
