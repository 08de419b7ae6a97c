r"""The HTML of a post, the one form in which index, page and snippet read LaTeX and Markdown.

Formulas are in spans as on the site, statements in `<div class="statement">`, references are links
to labels (`#thm:x`), and labels are ids. Headings and statements know where they are in the source.
What a page writes by itself, such as "Theorem" or the number of a footnote, is the title of an
empty span: `shown` makes it text, and the index has no word of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Any

from arqmath_bm25.analysis.macros import Macros, defines_macro
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

TABLE: dict[str, Any] = read_table(__file__)
STATEMENTS: dict[str, str] = TABLE["statements"]
# Named on a page as statements are, and no documents of their own.
NAMED: dict[str, str] = STATEMENTS | TABLE["named"]
# Of directives and roles, by what becomes of them.
NAMES: dict[str, frozenset[str]] = {
    kind: names_in(names) for kind, names in TABLE["directives"].items()
}
PRIVATE = expression("[\ue000-\uf8ff]")
_SIGNS = expression(r"[$\\]++")  # signs that could begin a formula
_SHOWN = expression(r'<span title="([^"<>]*)"></span>')
_FORMULA = expression(r'(<span class="math-container">\$\$?)([^<>]*?)(\$\$?</span>)')
_TAG = expression(r"<[^<>]*>")
_EDGE = expression(
    r'<h(?P<level>[1-6])(?P<of_heading>(?: [a-z-]+="[^"<>]*")*)>'
    r"(?P<heading>(?>(?:(?!</?h[1-6]\b).)*))</h(?P=level)>"
    r"|<div(?P<of_div>[^<>]*)>|(?P<end></div>)",
    re.DOTALL,
)
_OF_TARGET = expression(r"\s?(?:\{(?:number|name)\}|%s)")  # in the text of a reference
_NAMED_TARGET = expression(r"\A!?(.*)<([^<>]*)>\Z", re.DOTALL)
_TITLE = expression(r"<strong>((?>(?:(?!</?(?:strong|div|p)\b).)*))</strong>", re.DOTALL)
_ENDS = ("Proof", "Solution", "Answer")  # of the statement before them
_LOWEST = 7  # level of statements
_ATTRIBUTE = expression(r'([a-z-]{1,40})="([^"<>]*)"')


def formula(latex: str, display: bool = False) -> str:
    """Return a formula as the site marks it."""
    mark = "$"
    if display:
        mark = "$$"
    inner = escape(" ".join(latex.split()), quote=False)
    return f'<span class="math-container">{mark}{inner}{mark}</span>'


def plain(text: str) -> str:
    """Return text as HTML in which no sign begins a formula."""
    html = escape(text, quote=False)
    if "$" in html or "\\" in html:
        html = _SIGNS.sub(r"<code>\g<0></code>", html)
    return html


def words(html: str) -> str:
    """Return HTML without its tags."""
    return _TAG.sub(" ", html)


def expanded(html: str, macros: Macros) -> str:
    """Expand the macros in the formulas of HTML, and remove the formulas that define them.

    Their definitions are added to `macros`.
    """
    macros.begin()
    if not macros and not defines_macro(unescape(html)):
        return html

    def without_macros(span: re.Match[str]) -> str:
        latex = unescape(span[2])
        written = macros.expand_macros(latex)
        if written == latex:
            return span[0]
        if not written:
            return ""
        return span[1] + escape(written, quote=False) + span[3]

    return _FORMULA.sub(without_macros, html)


def code_block(code: str) -> str:
    """Return lines of code."""
    return f"<pre><code>{escape(code)}</code></pre>\n"


def generated(text: str) -> str:
    """Return text that pages show and the index does not read."""
    return f'<span title="{escape(text)}"></span>'


def shown(html: str) -> str:
    """Return HTML with its generated text as text."""
    return _SHOWN.sub(r"\1", html)


def place(label: str) -> str:
    """Return the place that a label names."""
    if not label:
        return ""
    return f'<span id="{escape(label.strip())}"></span>'


def reference(label: str, text: str = "") -> str:
    """Return a reference; its only words are in `text`."""
    return f'<a href="#{escape(label.strip())}">{plain(text)}</a>'


def heading(level: int, label: str, title: str, begin: int = 0, end: int = 0) -> str:
    """Return a heading; on a page it is below the heading of that."""
    tag = f"h{min(level + 1, 6)}"
    return f'<{tag} id="{escape(label)}" data-span="{begin}:{end}">{title}</{tag}>\n'


def statement(
    name: str, label: str, title: str, begin: int = 0, end: int = 0, printed: str = ""
) -> tuple[str, str]:
    """Return the HTML of a statement before its title and after it.

    `printed` is the name of a statement that the source declares.
    """
    printed = printed.strip() or NAMED.get(name, name.capitalize())
    kind = "statement"
    if name in TABLE["named"]:
        kind = "named"
    follows = "."
    after = "</strong> "
    if title:
        follows = " ("
        after = f"{generated(').')}</strong> "
    opening = (
        f'<div class="{kind}" id="{escape(label)}" data-name="{escape(printed)}" '
        f'data-span="{begin}:{end}"><strong>{generated(printed + follows)}'
    )
    return opening, after


def box(name: str, label: str, title: str, begin: int = 0, end: int = 0) -> tuple[str, str, str]:
    """Return the HTML before the title of a directive, after it, and after the content."""
    if name in NAMES["boxes"]:
        named = generated(name.capitalize())
        if title:
            named = ""
        return f"<blockquote><p><strong>{named}", "</strong></p>\n", "</blockquote>\n"
    if name in NAMED:
        opening, after = statement(name, label, title, begin, end)
        return opening, after, "</div>\n"
    return f"<div>{place(label)}<p>", "</p>\n", "</div>\n"


def role(name: str, content: str) -> str:
    """Return the content of a role: a formula, a reference or words."""
    if name == "math":
        return formula(content)
    if name in NAMES["silent_roles"]:
        return ""
    text = " ".join(content.split())
    target = text
    named = _NAMED_TARGET.match(text)
    if named is not None:
        text, target = named[1].rstrip(), named[2]
    if name not in NAMES["references"]:
        return plain(text)
    return reference(target, _OF_TARGET.sub("", text) if named else "")


@dataclass
class Section:
    """A section of a source, or a statement in it with the proof that follows."""

    begin: int  # where it is in the source
    end: int = 0
    name: str = ""  # of a statement: Theorem, …
    title: str | None = None  # HTML; None: before the first heading
    label: str = ""
    level: int = 0  # of its heading
    html: str = ""
    without_proof: int = 0  # where a statement that has a proof ends in the source
    statements: list["Section"] = field(default_factory=list)

    def source(self, text: str) -> str:
        """Return the source without that of the statements, which are apart."""
        parts = []
        done = self.begin
        for part in self.statements:
            parts.append(text[done : part.begin])
            done = part.end
        return "\n\n".join([*parts, text[done : self.end]]).strip()


def sections(html: str, begin: int, length: int) -> Iterator[Section]:
    """Yield the sections of a source between two places; labelled statements are apart."""
    section = Section(begin)
    statement: Section | None = None
    depth = depth_of_statement = done = 0

    for edge in _EDGE.finditer(html):
        if edge["end"]:
            if statement is not None and depth == depth_of_statement:
                statement.html += html[done : edge.end()]
                done = edge.end()
                statement = None
            depth = max(0, depth - 1)
        elif edge["heading"] is not None:
            values = dict(_ATTRIBUTE.findall(edge["of_heading"]))
            if statement is None and values.get("class") != "inner":
                section.html += html[done : edge.start()]
                section.end, begin = map(int, values.get("data-span", "0:0").split(":"))
                yield section
                done = edge.end()
                level = int(edge["level"]) - 1
                section = Section(
                    begin, title=edge["heading"], label=values.get("id", ""), level=level
                )
        else:
            depth += 1
            values = dict(_ATTRIBUTE.findall(edge["of_div"]))
            if statement is not None or "data-span" not in values:
                continue
            start, end = map(int, values["data-span"].split(":"))
            if values["class"] == "statement" and values["id"]:
                section.html += html[done : edge.start()]
                done = edge.end()
                title = _TITLE.match(html, done)
                statement = Section(start, end, values["data-name"], "", values["id"], _LOWEST)
                if title is not None:
                    statement.title = title[1]
                    done = title.end()
                section.statements.append(statement)
            elif (
                values["data-name"] in _ENDS
                and section.statements
                and not html[done : edge.start()].strip()
            ):
                statement = section.statements[-1]
                statement.without_proof = statement.end
                statement.end = end
            depth_of_statement = depth

    section.html += html[done:]
    section.end = length
    yield section
