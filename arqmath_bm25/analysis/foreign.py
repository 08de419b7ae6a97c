r"""HTML of other programs → the HTML of a post, with the same words and formulas.

Whole pages, HTML5, and pages of KaTeX, MathJax 2 and 3, pandoc, LaTeXML (ar5iv, DLMF), MediaWiki,
GitLab and WordPress are parsed once, by lexbor. Visible elements are kept: known tags unchanged,
others as blocks or as their text. Each formula becomes one span, even if a page has copies of it.
Only the content of a whole page counts: `<main>`, or else its only `<article>`, or the body without
navigation, header and footer. `kinds` decides which texts are such pages.
"""

import re
from html import escape
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.mathml import node_latex
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

_TABLE = {key: names_in(names) for key, names in read_table(__file__).items()}
_MATHML_PREFIX = expression(
    r"(</?)[a-z]{1,9}:(?=(?:math|semantics|annotation|m[a-z]{1,12})\b)", re.IGNORECASE
)
_DELIMITERS = (
    (r"\(", r"\)"),
    (r"\[", r"\]"),
    ("$$", "$$"),
    ("$", "$"),
)
_DELIMITER = expression(r"\\[(\[]|\$")
_TEX_SCRIPT = expression(r"<script\b[^<>]*\bmath/tex", re.IGNORECASE)
_TAG = expression(r"<(?P<end>/?)(?P<name>[a-z][^\s<>/]{0,40})[^<>]*+>", re.IGNORECASE)
_NOT_NESTED = names_in("br hr img p li dt dd tr td th meta link input wbr col")
_DEEPEST_READ = 200  # nested tags; a parser takes quadratic time for more
_DEEPEST = 100  # nested tags to write; of deeper ones only the text is written
# The heads of statements of LaTeXML, sphinx-proof, PreTeXt, Quarto, bookdown and pandoc.
_HEADS = (
    "h6.ltx_title_theorem, h6.ltx_title_proof, .admonition-title, .heading, "
    "p:first-child > :is(span, strong, em):first-child"
)
# What no browser shows, no content of a page, numbers of footnotes, labels of references (pandoc).
_HIDDEN = (
    ":is([hidden], [aria-hidden=true], [role=navigation], [role=banner], [role=contentinfo], "
    "[id*=fnref], [data-reference-type]):not(header, footer)"
)
_HEAD = expression(
    r"(?P<name>[^\W\d_]+)(?:[^\d(]{0,99}?\d[\d.]*)?[\s.:]*(?:\((?P<title>.*)\)\Z|(?P<rest>.*))"
)
_WORD = expression(r"[^\W_]")
_SCRIPTS = {"sub": "_", "sup": "^"}
_TEXT_CHILD = "-text"
TagAttributes = dict[str, str | None]


class Page(NamedTuple):
    """A page as a post."""

    title: str  # of a whole page: its <title>, or else its first <h1>
    body: str


def as_post(html: str) -> Page:
    """Return a page or a fragment of HTML as a post. Any string is read."""
    if ":math" in html:
        html = _MATHML_PREFIX.sub(r"\1", html)
    tree = LexborHTMLParser(_not_too_deep(html))
    if tree.body is None:
        return Page("", "")

    writer = _Writer(tree, html)
    macros = tree.css_first("#latex-macros > span")  # of PreTeXt
    if macros is not None:
        writer.parts.append(markup.formula(_content_latex(macros) or ""))
    content = tree.css_first("main, [role=main]")
    articles = tree.css("body > article, body > div > article")
    if content is None and len(articles) == 1:
        content = articles[0]
    writer.write(content or tree.body)
    title = tree.css_first("head > title")
    words = []
    if title:
        words = title.text().split()
    return Page(" ".join(words), "".join(writer.parts))


def _not_too_deep(html: str) -> str:
    """Return HTML without the tags that are within very many others."""
    depth = 0

    def written(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag["name"].lower() in _NOT_NESTED or tag[0].endswith("/>"):
            return tag[0]
        if tag["end"]:
            depth = max(0, depth - 1)
            return tag[0]
        if depth == _DEEPEST_READ:
            return " "
        depth += 1
        return tag[0]

    return _TAG.sub(written, html)


class _Writer:
    """Writes a page with the elements that a post may have."""

    def __init__(self, tree: LexborHTMLParser, html: str) -> None:
        self.parts: list[str] = []
        # With MathJax 2, a formula is in a script and in its copies.
        self._has_scripts = _TEX_SCRIPT.search(html) is not None
        self._depth = 0  # tags that are not closed yet
        # What no browser shows; heads of statements are added, which are written with these.
        self._hidden = {node.mem_id for node in tree.css(_HIDDEN)}

    def write(self, root: Any) -> None:
        """Write an element with everything below it, without recursion: pages may be deep."""
        node = root.child
        inside = int(root.tag != "body")  # how many sections or articles are open
        path: list[tuple[Any, str, int]] = []
        while True:
            while node is None:
                if not path:
                    return
                node, end, inside = path.pop()
                self._close(end)

            following = node.next
            if node.tag == _TEXT_CHILD:
                self.parts.append(escape(node.text_content or "", quote=False))
                node = following
                continue

            attributes = node.attributes
            latex = self._latex(node, attributes)
            if latex is not None:
                kind = (attributes.get("type") or "").replace(" ", "")
                is_display = (
                    attributes.get("display") in ("block", "true")
                    or _has_class(attributes, "displays")
                    or (node.tag == "script" and "mode=display" in kind)
                )
                formula = markup.formula(latex, is_display)
                self.parts.append(formula if latex.strip() else " ")
                node = following
            elif node.mem_id in self._hidden or _is_hidden(node, attributes, inside):
                node = following
            elif node.tag in _TABLE["boxes"] and self._write_statement(node, attributes):
                path.append((following, "div", inside))
                node = node.child
            else:
                if node.tag in _TABLE["headings"] and "id" not in attributes:
                    above = node.parent.attributes  # of the section that the heading names
                    classes = (above.get("class") or "").split()
                    if node.parent.tag == "section" or "section" in classes:
                        attributes = above
                end = self._write_tag(node.tag, attributes)
                path.append((following, end, inside))
                inside += node.tag in _TABLE["sections"]
                node = node.child

    def _write_statement(self, node: Any, attributes: TagAttributes) -> bool:
        """Write the start tag and the title of a statement or a proof, if it is one."""
        classes = (attributes.get("class") or "").split()
        names = {markup.NAMED.get(each.removeprefix("hidden")) for each in classes} - {None}
        if not names and not _has_class(attributes, "statements"):
            return False
        heading = node.css_first(_HEADS)
        head = heading and _HEAD.match(" ".join(heading.text().split()).rstrip(" .:"))
        if not head:
            return False
        is_of_latexml = "ltx_title" in (heading.attributes.get("class") or "")
        if not is_of_latexml and markup.NAMED.get(head["name"].lower()) not in names:
            return False

        self._hidden.add(heading.mem_id)
        label = attributes.get("id") or heading.attributes.get("id") or ""
        title = head["title"] or head["rest"] or ""
        opening, after = markup.statement(head["name"].lower(), label, title)
        self.parts += opening, escape(title, quote=False), after
        self._depth += 1
        return True

    def _write_tag(self, tag: str, attributes: TagAttributes) -> str:
        """Write the start tag of an element as a post may have it; return the tag to close."""
        if tag in _TABLE["empty"]:
            self.parts.append(f"<{tag}{_kept(attributes, ('src', 'alt'))}>")
            return ""
        if tag in _TABLE["blocks"]:
            tag = "div"
        elif tag not in _TABLE["known"]:
            return ""
        if self._depth >= _DEEPEST:
            self.parts.append(" ")
            return ""

        self._depth += 1
        kept = ""
        if tag == "a":
            kept = _kept(attributes, ("href",))
        elif tag in _TABLE["headings"]:
            kept = _kept(attributes, ("id",))
        if attributes.get("class") == "ltx_note_outer":  # within a word
            self.parts.append(" ")
        self.parts.append(f"<{tag}{kept}>")
        return tag

    def _close(self, tag: str) -> None:
        if tag:
            self._depth -= 1
            self.parts.append(f"</{tag}>")

    def _latex(self, node: Any, attributes: TagAttributes) -> str | None:
        """Return the LaTeX of an element that is a formula; None for other elements."""
        tag = node.tag
        if tag == "math":
            return node_latex(node)
        if tag == "script":
            if (attributes.get("type") or "").startswith("math/tex"):
                return str(node.text())
            return None

        if tag == "img":
            if not _has_class(attributes, "images"):
                return None
            before = node.prev
            if before is not None and before.tag in ("math", "span") and "</math>" in before.html:
                return ""  # it shows the same formula
            return attributes.get("alt")
        for name in ("data-math", "data-latex", "data-tex", "data-expr"):
            if attributes.get(name):
                return attributes[name]
        if _has_class(attributes, "renderers") or tag == "mjx-container":
            if self._has_scripts:
                return ""
            math = node.css_first("math")
            if math is not None:
                return node_latex(math)
            with_latex = node.css_first("[data-latex]")
            if with_latex is not None:
                return str(with_latex.attributes["data-latex"])
            return str(node.text())
        if tag in _TABLE["holders"] and _has_class(attributes, "formulas"):
            return _content_latex(node)
        if tag in ("math-renderer", "math-inline", "math-display", "tex-math"):
            return _content_latex(node)
        return None


def _content_latex(node: Any) -> str | None:
    """Return the LaTeX in an element made for formulas, with or without delimiters."""
    math = node.css_first("math")
    if math is not None:
        return node_latex(math)
    if node.css_first("script, img, mjx-container, .katex, .MathJax") is not None:
        return None

    text = ""
    for child in node.iter(include_text=True):
        inner = str(child.text())
        mark = _SCRIPTS.get(child.tag, "")  # of a formula in HTML, as by pandoc
        if mark and len(inner) > 1:
            inner = f"{{{inner}}}"
        text += mark + inner
    text = text.strip()
    for begin, end in _DELIMITERS:
        inner = text[len(begin) : -len(end)]
        if text.startswith(begin) and text.endswith(end) and end not in inner:
            return inner
    opening = _DELIMITER.search(text)
    # A block may hold formulas, and perhaps the number of an equation.
    if opening and (opening.start() == 0 or node.tag in ("div", "p", "pre")):
        return None
    return text


def _has_class(attributes: TagAttributes, kind: str) -> bool:
    """Return whether an element has a class of a kind in the table."""
    return not _TABLE[kind].isdisjoint((attributes.get("class") or "").split())


def _is_hidden(node: Any, attributes: TagAttributes, inside: int) -> bool:
    """Return whether an element is invisible in a browser, or no content of a page."""
    tag = node.tag
    if tag is None:  # a processing instruction
        return True
    if tag in _TABLE["dropped"] or tag.startswith("!") or tag.startswith("-"):
        return True
    if tag in ("header", "footer"):
        return not inside

    if tag == "a" and node.parent.tag in _TABLE["headings"] and not _WORD.search(node.text()):
        return True
    return _has_class(attributes, "hidden_classes")


def _kept(attributes: TagAttributes, names: tuple[str, ...]) -> str:
    kept = ""
    for name in names:
        value = attributes.get(name)
        if value is not None:
            kept += f' {name}="{escape(value)}"'
    return kept
