r"""Where MathJax finds mathematics on a page: its documentation read apart from the package.

docs.mathjax.org, "The tex2jax Preprocessor" (2.7), with the options of Stack Exchange's pages:
inlineMath `$…$` and `\\(…\\)`, displayMath `$$…$$` and `\[…\]`, processEscapes, environments; and
`\(…\)`, which MathJax takes by default. Formulas lie within text: text nodes beside each other form
one run, with a blank for `<br>` and nothing for a comment, and every other element ends the run.
What is in skipTags is not looked at; the spans that Stack Exchange puts around a formula hold just
that. A formula ends at the first end delimiter outside braces, or
if all are within braces, at the first; where there is none, the search goes on after the start.

It takes quadratic time and more, and is for tests only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from bs4.element import Comment, NavigableString, Tag

if TYPE_CHECKING:
    from collections.abc import Iterator

_SKIPPED: Final = {"script", "noscript", "style", "textarea", "pre", "code", "annotation"}
_DELIMITERS: Final = {"$$": "$$", r"\[": r"\]", "$": "$", r"\\(": r"\\)", r"\(": r"\)"}
_START: Final = re.compile(
    "|".join(re.escape(start) for start in sorted(_DELIMITERS, key=len, reverse=True))
    + r"|\\begin\{([^}]*)\}"
    + r"|\\*\\\$"
)
_DOLLARS: Final = re.compile(r"^\${1,2}|(?<!\\)\${1,2}$")


def body_formulas(html: str) -> list[str]:
    """Return the formulas of a body in reading order, with single blanks for white space."""
    return list(_in_element(BeautifulSoup(html, "lxml")))


def text_formulas(text: str) -> list[str]:
    """Return the formulas of plain text."""
    return list(_in_text(text))


def _in_element(element: Tag) -> Iterator[str]:
    run = ""
    for child in element.children:
        if isinstance(child, Comment):
            continue
        if isinstance(child, NavigableString):
            run += child
        elif isinstance(child, Tag) and child.name == "br":
            run += " "
        elif isinstance(child, Tag) and child.name != "wbr":
            yield from _in_text(run)
            run = ""
            if "math-container" in (child.get("class") or []):
                yield " ".join(_DOLLARS.sub("", child.get_text().strip()).split())
            elif child.name not in _SKIPPED:
                yield from _in_element(child)
    yield from _in_text(run)


def _in_text(text: str) -> Iterator[str]:
    position = 0
    while start := _START.search(text, position):
        position = start.end()
        if start[0] in _DELIMITERS:
            end = _DELIMITERS[start[0]]
        elif start[0].startswith(r"\begin"):
            end = rf"\end{{{start[1]}}}"
        else:  # a dollar after backslashes: escaped if they are odd in number
            position -= len(start[0]) % 2
            continue
        if (found := _end(text, position, end)) is None:
            continue
        environment = start[0].startswith(r"\begin")
        latex = text[start.start() : found + len(end)] if environment else text[position:found]
        position = found + len(end)
        yield " ".join(latex.split())


def _end(text: str, begin: int, end: str) -> int | None:
    depth, first = 0, None
    for token in re.compile(re.escape(end) + r"|\\.|[{}]", re.DOTALL).finditer(text, begin):
        if token[0] == end:
            if not depth:
                return token.start()
            first = token.start() if first is None else first
        elif token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth = max(0, depth - 1)
    return first
