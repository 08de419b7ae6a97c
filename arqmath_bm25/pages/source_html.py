r"""LaTeX source, Markdown and plain text as the HTML of a page.

The result has the structure that readers see: headings, paragraphs, lists, tables, code, emphasis
and the names of statements. Displayed formulas (`$$`, `\[`, environments) have paragraphs of their
own. The result is not trusted: `safe_html` reads it as it reads a post.

While a text is read, HTML that is written already is kept aside, and replaced by its number between
private-use characters.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.analysis.macros import definitions
from arqmath_bm25.analysis.sources import MATH_ENVIRONMENT, prose
from arqmath_bm25.collection.own_documents import UserDocument

# Characters of the longest formula.
_LONGEST_FORMULA: Final = 20_000
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_INLINE: Final = "\ue010{}\ue011"
_BLOCK: Final = "\n\n\ue012{}\ue013\n\n"
_KEPT: Final = re.compile("[\ue010\ue012]([0-9]+)[\ue011\ue013]")
_BLOCKS_ALONE: Final = re.compile("(?>(?:\ue012[0-9]+\ue013\\s*+)+)")
_SIGN: Final = re.compile(r"\$|\\(?=[\[(]|begin\{)")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*+\n\s*+")

_OPENING: Final = re.compile(rf"\\\\|\\\$|\$\$|\$|\\\[|\\\(|{MATH_ENVIRONMENT}")
_CLOSING: Final = {"$$": "$$", "$": "$", r"\[": r"\]", r"\(": r"\)"}

_DISPLAY: Final = re.compile(
    r'<span class="math-container">\$\$[^<>]{1,4000}+</span>'
    r"|\$\$[^$<>]{1,999}+\$\$|\\\[(?>(?:(?!\\\])[^<>]){1,999})\\\]"
)

_COMMENT: Final = re.compile(r"(?<!\\)((?>(?:\\\\)*))%[^\n]*+(?:\n[ \t]*+(?!\n))?")
_VERBATIM: Final = re.compile(
    r"\\begin\{(?P<name>verbatim|Verbatim|lstlisting|minted|alltt)\*?\}"
    r"(?P<code>(?>(?:[^\\]+|\\(?!(?:begin|end)\{))*))\\end\{(?P=name)\*?\}",
    re.DOTALL,
)
_TABULAR: Final = re.compile(
    r"\\begin\{(?P<name>tabular|tabularx|longtable)\*?\}(?:\{[^{}]{0,99}+\}){1,2}"
    r"(?P<rows>(?>(?:[^\\]+|\\(?!(?:begin|end)\{))*))\\end\{(?P=name)\*?\}",
    re.DOTALL,
)
_TABLE_LINE: Final = re.compile(r"\\(?:hline|toprule|midrule|bottomrule)(?![A-Za-z])")
_ARGUMENT: Final = r"\{(?P<text>[^{}]{0,999}+)\}"
_SECTION: Final = re.compile(
    r"\\(?P<level>chapter|section|subsection|subsubsection|paragraph)\*?\s?"
    rf"(?:\[[^\[\]]{{0,200}}+\])?{_ARGUMENT}"
)

# All other levels become h4.
_LEVELS: Final = {"chapter": "h2", "section": "h2", "subsection": "h3"}
_EDGE: Final = re.compile(
    r"\\(?P<edge>begin|end)\{(?P<name>[A-Za-z]{1,40}+)\*?\}(?:\[(?P<title>[^\[\]]{0,200}+)\])?"
)
_LIST_ITEM: Final = re.compile(r"\\item(?![A-Za-z])\s?(?:\[(?P<label>[^\[\]]{0,200}+)\])?")
_LISTS: Final = {"itemize": "ul", "enumerate": "ol", "description": "ul"}
_STATEMENTS: Final = frozenset(
    "abstract answer axiom claim conjecture corollary definition example exercise fact lemma note"
    " notation observation problem proof proposition question remark solution theorem".split()
)
_SHORT_NAMES: Final = {
    "thm": "theorem",
    "lem": "lemma",
    "prop": "proposition",
    "cor": "corollary",
    "defn": "definition",
    "dfn": "definition",
    "ex": "example",
    "rem": "remark",
}
_FONT: Final = re.compile(rf"\\(?P<font>emph|textit|textsl|textbf|texttt){_ARGUMENT}")

# All other fonts become em.
_FONTS: Final = {"textbf": "strong", "texttt": "code"}
_HREF: Final = re.compile(rf"\\href\{{(?P<link>[^{{}}\s]{{1,999}}+)\}}{_ARGUMENT}")
_URL: Final = re.compile(r"\\url\{(?P<link>[^{}\s]{1,999}+)\}")

_FENCE: Final = re.compile(
    r"^ {0,3}(?P<fence>```|~~~)[`~]*+(?P<language>[^\n]*+)\n"
    r"(?P<code>(?>(?:(?! {0,3}(?P=fence))[^\n]*+\n)*))(?: {0,3}(?P=fence)[^\n]*+)?",
    re.MULTILINE,
)
_CODE: Final = re.compile(r"(?P<ticks>`{1,2}+)(?P<code>[^`\n]{1,999}+)(?P=ticks)")
_HEADING: Final = re.compile(r"^ {0,3}(?P<marks>#{1,6}) (?P<text>[^\n]*+)", re.MULTILINE)
_RULE: Final = re.compile(r"^ {0,3}(?:(?:- ?){3,}|(?:\* ?){3,}|_{3,}) *$", re.MULTILINE)
_ITEM: Final = re.compile(r"(?:[-*+]|(?P<number>[0-9]{1,4}+[.)])) (?P<text>.*)")
_TABLE_RULE: Final = frozenset("|-: ")
_STRONG: Final = re.compile(r"\*\*(?P<text>[^*\s](?:[^*\n]{0,500}[^*\s])?)\*\*")
_EM: Final = re.compile(
    r"(?<![\w*_])(?P<mark>[*_])(?P<text>[^*_\s](?:[^*_\n]{0,500}[^*_\s])?)(?P=mark)(?![\w*_])"
)
_LINK: Final = re.compile(
    r"!?\[(?P<text>[^\[\]]{0,500}+)\]\((?P<link>[^()\s]{1,999}+)(?: +\"[^\"\n]{0,200}+\")?\)"
)


def document_html(document: UserDocument, delimiters: Delimiters) -> str:
    """Return the text of an own document as HTML, which is still to be made safe."""
    kind = document.kind_under(delimiters)
    if kind == "latex":
        return latex_html(document.text)
    if kind == "markdown":
        return markdown_html(document.text)
    if kind == "plain":
        return plain_html(document.text)

    html = document.body(delimiters)
    return _DISPLAY.sub(r"<br>\g<0><br>", html)


def latex_html(text: str) -> str:
    """Return LaTeX source as HTML; of a whole file, the environment `document`."""
    writer = _HtmlWriter()
    text = _PRIVATE.sub(" ", text)
    text = _VERBATIM.sub(writer.code_block, text)
    text = _COMMENT.sub(r"\1", text)
    text = _document_body(text)

    text = writer.macros(text)
    text = writer.formulas(text)
    text = _SECTION.sub(writer.section, text)
    text = _TABULAR.sub(writer.tabular, text)
    text = _EDGE.sub(writer.edge, text)
    text = _LIST_ITEM.sub(writer.item, text)
    text = _URL.sub(writer.bare_link, text)
    text = _HREF.sub(writer.link, text)

    # A font within another one is found once the inner one is replaced.
    text = _FONT.sub(writer.font, text)
    text = _FONT.sub(writer.font, text)

    text = escape(prose(text), quote=False)
    return writer.html(text)


def _document_body(text: str) -> str:
    """Return the body of a whole file after the macros of its preamble; other text as it is."""
    preamble, begin, body = text.partition(r"\begin{document}")
    if not begin:
        return text

    parts = [preamble[start:end] for start, end in definitions(preamble)]
    body, _, _ = body.partition(r"\end{document}")
    parts.append(body)
    return "\n".join(parts)


def markdown_html(text: str) -> str:
    """Return Markdown as HTML; elements of HTML in it stay."""
    writer = _HtmlWriter()
    text = text.replace("\r\n", "\n")
    text = _PRIVATE.sub(" ", text)
    text = _FENCE.sub(writer.fence, f"{text}\n")
    text = _CODE.sub(writer.code, text)
    text = writer.formulas(text, closely=True)
    text = _RULE.sub(writer.rule, text)
    text = _LINK.sub(writer.link, text)
    text = _STRONG.sub(writer.strong, text)
    text = _EM.sub(writer.em, text)
    text = _HEADING.sub(writer.heading, text)
    lines = writer.lines(text)
    return writer.html("\n".join(lines))


def plain_html(text: str) -> str:
    """Return plain text as HTML: paragraphs and formulas."""
    writer = _HtmlWriter()
    text = text.replace("\r\n", "\n")
    text = _PRIVATE.sub(" ", text)
    text = writer.formulas(text)
    return writer.html(escape(text, quote=False))


class _HtmlWriter:
    """Writes HTML and keeps it aside; its methods return placeholders."""

    def __init__(self) -> None:
        self._html: list[str] = []

    def inline(self, html: str) -> str:
        """Keep HTML within a paragraph; return its placeholder."""
        self._html.append(html)
        return _INLINE.format(len(self._html) - 1)

    def block(self, html: str) -> str:
        """Keep HTML outside paragraphs; return its placeholder."""
        self._html.append(html)
        return _BLOCK.format(len(self._html) - 1)

    def html(self, text: str) -> str:
        """Return a text as paragraphs, with the kept HTML in place of its placeholders."""
        written = []
        # All formulas are kept aside, so no remaining sign begins one.
        text = _SIGN.sub(r"<code>\g<0></code>", text.strip())
        for paragraph in _PARAGRAPH.split(text):
            if _BLOCKS_ALONE.fullmatch(paragraph):
                written.append(self._restore(paragraph))
            elif paragraph.strip():
                written.append(f"<p>{self._restore(paragraph)}</p>")

        return "\n".join(written)

    def _restore(self, text: str) -> str:
        """Replace placeholders by their HTML, which may have placeholders too."""

        def kept_html(placeholder: re.Match[str]) -> str:
            number = int(placeholder[1])
            return self._restore(self._html[number])

        return _KEPT.sub(kept_html, text)

    # Formulas

    def formulas(self, text: str, closely: bool = False) -> str:
        """Keep all formulas; with `closely` no blank may follow an opening dollar (Markdown)."""
        parts = []
        done = 0
        opening = _OPENING.search(text)
        while opening is not None:
            offset = opening.end()
            replacement = ""
            if opening[0] == r"\$":
                replacement = self.inline("<code>$</code>")
            else:
                span = _formula_span(text, opening, closely)
                if span is not None:
                    begin, end, offset = span
                    replacement = self._formula(text[begin:end], opening[0])

            if replacement:
                parts += [text[done : opening.start()], replacement]
                done = offset
            opening = _OPENING.search(text, offset)

        parts.append(text[done:])
        return "".join(parts)

    def _formula(self, latex: str, opening: str) -> str:
        """Keep a formula, inline or as a paragraph by its opening delimiter."""
        span = f'<span class="math-container">${escape(latex.strip(), quote=False)}$</span>'
        if opening in ("$", r"\("):
            return self.inline(span)
        return self.block(f"<p>{span}</p>")

    def macros(self, text: str) -> str:
        """Keep the definitions of macros as formulas without a visible part."""
        parts = []
        done = 0
        for begin, end in definitions(text):
            definition = text[begin:end].replace("$", "")
            parts += [text[done:begin], self._formula(definition, "$")]
            done = end

        parts.append(text[done:])
        return "".join(parts)

    # LaTeX

    def code_block(self, found: re.Match[str]) -> str:
        """Write code that has lines of its own."""
        return self.block(f"<pre><code>{escape(found['code'].strip())}</code></pre>")

    def section(self, found: re.Match[str]) -> str:
        """Write the heading of a section."""
        tag = _LEVELS.get(found["level"], "h4")
        text = escape(prose(found["text"]), quote=False)
        return self.block(f"<{tag}>{text}</{tag}>")

    def tabular(self, found: re.Match[str]) -> str:
        """Write a table."""
        written = []
        rows = _TABLE_LINE.sub("", found["rows"])
        for row in rows.split(r"\\"):
            if row.strip():
                cells = escape(prose(row), quote=False).split("&amp;")
                written.append(_row(cells, "td"))

        return self.block(f"<table>{''.join(written)}</table>")

    def edge(self, found: re.Match[str]) -> str:
        """Write the begin or end of a list or statement; other environments end a paragraph."""
        name = found["name"]
        is_end = found["edge"] == "end"
        if name in _LISTS:
            tag = _LISTS[name]
            if is_end:
                return self.block(f"</{tag}>")
            return self.block(f"<{tag}>")

        name = _SHORT_NAMES.get(name, name)
        if is_end or name not in _STATEMENTS:
            return "\n\n"

        title = ""
        if found["title"]:
            text = escape(prose(found["title"]), quote=False)
            title = f" ({text})"
        heading = self.inline(f"<strong>{name.capitalize()}{title}.</strong>")
        return f"\n\n{heading} "

    def item(self, found: re.Match[str]) -> str:
        """Write the begin of an item of a list."""
        begin = self.block("<li>")
        if not found["label"]:
            return begin
        label = escape(prose(found["label"]), quote=False)
        return f"{begin}{self.inline(f'<strong>{label}</strong>')} "

    def font(self, found: re.Match[str]) -> str:
        """Write words in another font."""
        tag = _FONTS.get(found["font"], "em")
        return self._within(tag, found["text"])

    def bare_link(self, found: re.Match[str]) -> str:
        """Write a link whose text is its address."""
        return self._anchor(found["link"], escape(found["link"]))

    # Markdown, and links of both

    def link(self, found: re.Match[str]) -> str:
        """Write a link."""
        begin = self._anchor(found["link"], "")
        end = self.inline("</a>")
        return f"{begin}{found['text']}{end}"

    def _anchor(self, link: str, text: str) -> str:
        """Write a link with its text, or only its begin if there is no text."""
        begin = f'<a href="{escape(link)}">'
        if text:
            return self.inline(f"{begin}{text}</a>")
        return self.inline(begin)

    def fence(self, found: re.Match[str]) -> str:
        """Write a block of code, or of mathematics."""
        if found["language"].strip() == "math":
            return self._formula(found["code"], "$$")
        return self.code_block(found)

    def code(self, found: re.Match[str]) -> str:
        """Write code within a line."""
        return self.inline(f"<code>{escape(found['code'].strip())}</code>")

    def rule(self, _: re.Match[str]) -> str:
        """Write a horizontal rule."""
        return self.block("<hr>")

    def heading(self, found: re.Match[str]) -> str:
        """Write a heading, one level below the heading of the page."""
        level = min(len(found["marks"]) + 1, 4)
        text = found["text"].strip(" #")
        return self.block(f"<h{level}>{text}</h{level}>")

    def strong(self, found: re.Match[str]) -> str:
        """Write words with strong emphasis."""
        return self._within("strong", found["text"])

    def em(self, found: re.Match[str]) -> str:
        """Write words with emphasis."""
        return self._within("em", found["text"])

    def _within(self, tag: str, text: str) -> str:
        """Write an element whose text is still to be read."""
        begin = self.inline(f"<{tag}>")
        end = self.inline(f"</{tag}>")
        return f"{begin}{text}{end}"

    def lines(self, text: str) -> Iterator[str]:
        """Yield lines of Markdown with its lists, tables and quotations written."""
        # The tag of the list that the lines are in, and the last line of the last table.
        tag = ""
        last_of_table = -1
        after_blank = False
        lines = text.split("\n")

        for number, line in enumerate(lines):
            item = _ITEM.fullmatch(line.strip())
            outside = bool(line.strip()) and not line[0].isspace()
            if tag and after_blank and outside and not item:
                yield self.block(f"</{tag}>")
                tag = ""

            after_blank = not line.strip()

            if number <= last_of_table:
                continue

            if item:
                if not tag:
                    tag = "ul"
                    if item["number"]:
                        tag = "ol"
                    yield self.block(f"<{tag}>")

                yield self.block("<li>") + item["text"]
            elif _begins_table(lines, number):
                last_of_table = _end_of_table(lines, number)
                table = _table(lines[number : last_of_table + 1])
                yield self.block(table)
            elif line.startswith(">"):
                yield self.block(f"<blockquote><p>{line.lstrip('> ')}</p></blockquote>")
            elif tag:
                yield line.strip()
            else:
                yield line

        if tag:
            yield self.block(f"</{tag}>")


def _formula_span(text: str, opening: re.Match[str], closely: bool) -> tuple[int, int, int] | None:
    """Return begin and end of a formula, and the end of its delimiter; None if it is not closed.

    A formula has no blank line, and is not longer than the limit.
    """
    mark = opening[0]
    begin = opening.end()
    name = opening["name"]
    if name:
        closing = rf"\end{{{name}}}"
    elif mark in _CLOSING:
        closing = _CLOSING[mark]
    else:
        # The sign is escaped, so it begins no formula.
        return None

    limit = begin + _LONGEST_FORMULA
    if mark == "$":
        blank_line = _PARAGRAPH.search(text, begin, limit)
        if blank_line:
            limit = blank_line.start()

    stop = text.find(closing, begin, limit)
    while stop > 0 and text[stop - 1] == "\\" and mark == "$":
        stop = text.find(closing, stop + 1, limit)

    if stop < 0 or not text[begin:stop].strip():
        return None
    if closely and mark == "$":
        follows = text[stop + 1 : stop + 2]
        if text[begin].isspace() or text[stop - 1].isspace() or follows.isdigit():
            return None

    if name:
        return opening.start(), stop + len(closing), stop + len(closing)
    return begin, stop, stop + len(closing)


def _begins_table(lines: list[str], number: int) -> bool:
    """Return whether a line is the head of a table: a line of dashes follows it."""
    if "|" not in lines[number] or number + 1 == len(lines):
        return False
    rule = lines[number + 1]
    return "|" in rule and "-" in rule and _TABLE_RULE.issuperset(rule)


def _end_of_table(lines: list[str], number: int) -> int:
    """Return the last line of a table whose head is given."""
    last = number + 1
    while last + 1 < len(lines) and "|" in lines[last + 1]:
        last += 1
    return last


def _table(lines: list[str]) -> str:
    """Return the HTML of a table: its head, a line of dashes, its rows."""
    head, _, *rows = lines
    written = [_row(_cells(head), "th")]
    for row in rows:
        written.append(_row(_cells(row), "td"))
    return f"<table>{''.join(written)}</table>"


def _cells(line: str) -> list[str]:
    """Return the cells of a row of Markdown."""
    inner = line.strip().strip("|")
    return inner.split("|")


def _row(cells: list[str], tag: str) -> str:
    """Return the HTML of a row, with `tag` around each cell."""
    written = [f"<{tag}>{cell.strip()}</{tag}>" for cell in cells]
    return f"<tr>{''.join(written)}</tr>"
