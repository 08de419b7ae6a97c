r"""LaTeX source, Markdown and plain text as the HTML of a page.

The result has the structure that readers see: headings, paragraphs, lists, tables, code, emphasis
and the names of statements. Displayed formulas (`$$`, `\[`, environments) have paragraphs of their
own. Nothing of it is trusted: `safe_html` reads it as it reads a post.

While a text is read, HTML that is written already is kept aside, and private-use characters with
its number stand in its place.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.analysis.macros import definitions
from arqmath_bm25.analysis.sources import MATH_ENVIRONMENT, prose
from arqmath_bm25.collection.own_documents import UserDocument

_LONGEST_FORMULA: Final = 20_000  # characters
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_INLINE: Final = "\ue010{}\ue011"
_BLOCK: Final = "\n\n\ue012{}\ue013\n\n"
_KEPT: Final = re.compile("[\ue010\ue012]([0-9]+)[\ue011\ue013]")
_BLOCKS_ALONE: Final = re.compile("(?:\ue012[0-9]+\ue013\\s*+)++")
_SIGN: Final = re.compile(r"\$|\\(?=[\[(]|begin\{)")
_PARAGRAPH: Final = re.compile(r"\n[ \t]*+\n\s*+")

_OPENING: Final = re.compile(rf"\\\\|\\\$|\$\$|\$|\\\[|\\\(|{MATH_ENVIRONMENT}")
_CLOSING: Final = {"$$": "$$", "$": "$", r"\[": r"\]", r"\(": r"\)"}

_DISPLAY: Final = re.compile(
    r'<span class="math-container">\$\$[^<>]{1,4000}+</span>'
    r"|\$\$[^$<>]{1,999}+\$\$|\\\[(?:(?!\\\])[^<>]){1,999}+\\\]"
)

_COMMENT: Final = re.compile(r"(?<!\\)((?:\\\\)*+)%[^\n]*+(?:\n[ \t]*+(?!\n))?")
_VERBATIM: Final = re.compile(
    r"\\begin\{(?P<name>verbatim|Verbatim|lstlisting|minted|alltt)\*?\}"
    r"(?P<code>(?:(?!\\(?:begin|end)\{).)*+)\\end\{(?P=name)\*?\}",
    re.DOTALL,
)
_TABULAR: Final = re.compile(
    r"\\begin\{(?P<name>tabular|tabularx|longtable)\*?\}(?:\{[^{}]{0,99}+\}){1,2}"
    r"(?P<rows>(?:(?!\\(?:begin|end)\{).)*+)\\end\{(?P=name)\*?\}",
    re.DOTALL,
)
_TABLE_LINE: Final = re.compile(r"\\(?:hline|toprule|midrule|bottomrule)(?![A-Za-z])")
_ARGUMENT: Final = r"\{(?P<text>[^{}]{0,999}+)\}"
_SECTION: Final = re.compile(
    r"\\(?P<level>chapter|section|subsection|subsubsection|paragraph)\*?\s?"
    rf"(?:\[[^\[\]]{{0,200}}+\])?{_ARGUMENT}"
)
_LEVELS: Final = {"chapter": "h2", "section": "h2", "subsection": "h3"}  # others are h4
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
    "thm": "theorem", "lem": "lemma", "prop": "proposition", "cor": "corollary",
    "defn": "definition", "dfn": "definition", "ex": "example", "rem": "remark",
}  # fmt: skip
_FONT: Final = re.compile(rf"\\(?P<font>emph|textit|textsl|textbf|texttt){_ARGUMENT}")
_FONTS: Final = {"textbf": "strong", "texttt": "code"}  # others are em
_HREF: Final = re.compile(rf"\\href\{{(?P<link>[^{{}}\s]{{1,999}}+)\}}{_ARGUMENT}")
_URL: Final = re.compile(r"\\url\{(?P<link>[^{}\s]{1,999}+)\}")

_FENCE: Final = re.compile(
    r"^ {0,3}(?P<fence>```|~~~)[`~]*+(?P<language>[^\n]*+)\n"
    r"(?P<code>(?:(?! {0,3}(?P=fence))[^\n]*+\n)*+)(?: {0,3}(?P=fence)[^\n]*+)?",
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
    """Return LaTeX source as HTML; of a whole file, what `document` holds."""
    kept = _Kept()
    text = _VERBATIM.sub(kept.code_block, _PRIVATE.sub(" ", text))
    text = _COMMENT.sub(r"\1", text)
    preamble, begun, body = text.partition(r"\begin{document}")
    if begun:
        macros = [preamble[begin:end] for begin, end in definitions(preamble)]
        text = "\n".join([*macros, body.partition(r"\end{document}")[0]])

    text = kept.macros(text)
    text = kept.formulas(text)
    text = _SECTION.sub(kept.section, text)
    text = _TABULAR.sub(kept.tabular, text)
    text = _EDGE.sub(kept.edge, text)
    text = _LIST_ITEM.sub(kept.item, text)
    text = _HREF.sub(kept.link, _URL.sub(kept.bare_link, text))
    text = _FONT.sub(kept.font, _FONT.sub(kept.font, text))  # one within another at most
    return kept.html(escape(prose(text), quote=False))


def markdown_html(text: str) -> str:
    """Return Markdown as HTML; elements of HTML in it stay."""
    kept = _Kept()
    text = _FENCE.sub(kept.fence, _PRIVATE.sub(" ", text.replace("\r\n", "\n")) + "\n")
    text = _CODE.sub(kept.code, text)
    text = kept.formulas(text, closely=True)
    text = _RULE.sub(lambda _: kept.block("<hr>"), text)
    text = _LINK.sub(kept.link, text)
    text = _STRONG.sub(kept.strong, text)
    text = _EM.sub(kept.em, text)
    text = _HEADING.sub(kept.heading, text)
    return kept.html("\n".join(kept.lines(text)))


def plain_html(text: str) -> str:
    """Return plain text as HTML: paragraphs and formulas."""
    kept = _Kept()
    text = kept.formulas(_PRIVATE.sub(" ", text.replace("\r\n", "\n")))
    return kept.html(escape(text, quote=False))


class _Kept:
    """HTML that is kept aside, and the methods that write it."""

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
        """Return a text as paragraphs, with all that was kept in its place."""
        written = []
        text = _SIGN.sub(r"<code>\g<0></code>", text.strip())  # no formula begins there

        for paragraph in _PARAGRAPH.split(text):
            if _BLOCKS_ALONE.fullmatch(paragraph):
                written.append(self._restored(paragraph))
            elif paragraph.strip():
                written.append(f"<p>{self._restored(paragraph)}</p>")

        return "\n".join(written)

    def _restored(self, text: str) -> str:
        """Replace placeholders by their HTML, which may have placeholders too."""
        return _KEPT.sub(lambda number: self._restored(self._html[int(number[1])]), text)

    # Formulas

    def formulas(self, text: str, closely: bool = False) -> str:
        """Keep all formulas; `closely`: a dollar opens one before no blank, as in Markdown."""
        parts = []
        done = 0
        place = 0

        while opening := _OPENING.search(text, place):
            place = opening.end()
            if opening[0] == r"\$":
                parts += [text[done : opening.start()], self.inline("<code>$</code>")]
                done = place
                continue

            end = _end(text, opening, closely)
            if end is None:
                continue
            begin, stop, place = end
            parts += [text[done : opening.start()], self._formula(text[begin:stop], opening[0])]
            done = place

        parts.append(text[done:])
        return "".join(parts)

    def _formula(self, latex: str, opening: str) -> str:
        span = f'<span class="math-container">${escape(latex.strip(), quote=False)}$</span>'
        if opening in ("$", r"\("):
            return self.inline(span)
        return self.block(f"<p>{span}</p>")

    def macros(self, text: str) -> str:
        """Keep the definitions of macros as formulas that show nothing."""
        parts = []
        done = 0
        for begin, end in definitions(text):
            parts += [text[done:begin], self._formula(text[begin:end].replace("$", ""), "$")]
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
        for row in _TABLE_LINE.sub("", found["rows"]).split(r"\\"):
            if row.strip():
                written.append(_row(escape(prose(row), quote=False).split("&amp;"), "td"))

        return self.block(f"<table>{''.join(written)}</table>")

    def edge(self, found: re.Match[str]) -> str:
        """Write the begin or end of a list or statement; other environments end a paragraph."""
        name = found["name"]
        if tag := _LISTS.get(name):
            slash = "/" if found["edge"] == "end" else ""
            return self.block(f"<{slash}{tag}>")

        name = _SHORT_NAMES.get(name, name)
        if found["edge"] == "end" or name not in _STATEMENTS:
            return "\n\n"
        title = ""
        if found["title"]:
            title = f" ({escape(prose(found['title']), quote=False)})"
        return f"\n\n{self.inline(f'<strong>{name.capitalize()}{title}.</strong>')} "

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
        return self._anchor(found["link"], "") + found["text"] + self.inline("</a>")

    def _anchor(self, link: str, text: str) -> str:
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

    def heading(self, found: re.Match[str]) -> str:
        """Write a heading; that of the page is above all of them."""
        level = min(len(found["marks"]) + 1, 4)
        text = found["text"].strip(" #")
        return self.block(f"<h{level}>{text}</h{level}>")

    def strong(self, found: re.Match[str]) -> str:
        """Write words that are stressed twice."""
        return self._within("strong", found["text"])

    def em(self, found: re.Match[str]) -> str:
        """Write words that are stressed."""
        return self._within("em", found["text"])

    def _within(self, tag: str, text: str) -> str:
        return self.inline(f"<{tag}>") + text + self.inline(f"</{tag}>")

    def lines(self, text: str) -> Iterator[str]:
        """Yield lines of Markdown with its lists, tables and quotations written."""
        tag = ""  # of the list that the lines are in
        after_blank = False
        lines = text.split("\n")
        row = -1  # the last line that a table has

        for number, line in enumerate(lines):
            item = _ITEM.fullmatch(line.strip())
            outside = bool(line.strip()) and not line[0].isspace()
            if tag and after_blank and outside and not item:
                yield self.block(f"</{tag}>")
                tag = ""

            after_blank = not line.strip()

            if number <= row:
                continue
            if item:
                if not tag:
                    tag = "ol" if item["number"] else "ul"
                    yield self.block(f"<{tag}>")

                yield self.block("<li>") + item["text"]
            elif _begins_table(lines, number):
                row = _end_of_table(lines, number)
                yield self.block(_table(lines[number : row + 1]))
            elif line.startswith(">"):
                yield self.block(f"<blockquote><p>{line.lstrip('> ')}</p></blockquote>")
            elif tag:
                yield line.strip()
            else:
                yield line

        if tag:
            yield self.block(f"</{tag}>")


def _end(text: str, opening: re.Match[str], closely: bool) -> tuple[int, int, int] | None:
    """Return the begin and end of a formula, and the end of its delimiter; None if it is open.

    No formula has a blank line, and none is longer than the limit.
    """
    mark = opening[0]
    begin = opening.end()
    name = opening["name"]
    if name:
        closing = rf"\end{{{name}}}"
    elif mark in _CLOSING:
        closing = _CLOSING[mark]
    else:  # a sign that is escaped
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
    written += [_row(_cells(row), "td") for row in rows]
    return f"<table>{''.join(written)}</table>"


def _cells(line: str) -> list[str]:
    return line.strip().strip("|").split("|")


def _row(cells: list[str], tag: str) -> str:
    written = [f"<{tag}>{cell.strip()}</{tag}>" for cell in cells]
    return f"<tr>{''.join(written)}</tr>"
