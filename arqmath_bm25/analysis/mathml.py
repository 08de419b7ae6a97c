r"""MathML → the LaTeX that it was made from, so that formulas of all sources have one reader.

LaTeXML, which wrote the lab's SLT and OPT files, keeps that in the attribute `alttext`, with `%`
where it broke a line. Of 81,203 formulas of a subset of the collection 99.7 % give the same symbols
as in the LaTeX files; the 106 without an `alttext` are empty there. The attribute is cut out as
text, since bare `<`, `>` and quotes stand in it. It ends at a quote that another attribute or the
end of the tag follows.

Other pages keep their LaTeX in an annotation (`application/x-tex`), in a `<script type="math/tex">`
as MathJax 2 reads it, in the `alt` of Wikipedia's images, or in a `title`, as the pages of this
program do. Presentation MathML without any LaTeX is written as LaTeX by its elements.
"""

import re
from html import escape, unescape
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.core.tables import read_table

_TABLE: Final = read_table(__file__)
_BEGIN: Final = re.compile(r"\balttext=([\"'])")
_ENDS: Final = {quote: re.compile(rf"{quote}(?=\s+[a-z:]+=[\"']|\s*/?>)") for quote in "\"'"}
_BREAK: Final = re.compile(r"(?<!\\)%\s+")


def source_latex(markup: str) -> str:
    """Return the LaTeX of a formula, or nothing if the markup has none."""
    begin = _BEGIN.search(markup)
    if not begin:
        return ""

    text = markup[begin.end() :]
    end = _ENDS[begin[1]].search(markup, begin.end())
    if end is not None:
        text = markup[begin.end() : end.start()]
    return _BREAK.sub("", unescape(unescape(text)))  # escaped as an attribute, and before that


_PREFIX: Final = re.compile(r"(</?)[a-z]{1,9}:(?=[a-z])", re.IGNORECASE)
_TITLE: Final = re.compile(r'<math title="([^"<>]*+)"')
_ALT: Final = re.compile(r"\balt=([\"'])(.*?)\1", re.DOTALL)
# An element reaches beyond the begin of no other one, so that time is linear.
_ELEMENT: Final = re.compile(
    r"<(?:[a-z]{1,9}:)?math\b(?P<math>(?:(?!<(?:[a-z]{1,9}:)?math\b).)*?)</(?:[a-z]{1,9}:)?math\s*+>"
    r"|<script\s+type=[\"']?math/tex\b[^<>]*+>(?P<script>(?:(?!</?script\b).)*+)</script\s*+>"
    r'|<code class="latex">(?P<code>[^<]*+)</code>'
    r"|<img\b(?P<image>[^<>]*+)>",
    re.DOTALL | re.IGNORECASE,
)
# LaTeXML leaves quotes as they are in what it writes of the lab's formulas.
_SEMANTIC_MACRO: Final = re.compile(r"[}A-Za-z]@{1,3}\s*[{(]")
_LATEX_SIGN: Final = re.compile(r"[\\^_]")
_WORD: Final = re.compile(r"[A-Za-z]{4}")
_DEEPEST: Final = 50  # elements in elements


def mark_formulas(html: str) -> str:
    """Return HTML whose formulas (MathML, scripts, images) are marked as spans, as in posts.

    An image of Wikipedia is read unless MathML precedes it; then it is removed. A post with spans
    is returned unchanged, because the spans are all its formulas.
    """
    if "math-container" in html or not (
        "math>" in html or "math/tex" in html or "mwe-math" in html or 'class="latex"' in html
    ):
        return html
    has_mathml = False

    def marked(element: re.Match[str]) -> str:
        nonlocal has_mathml
        if element["math"] is not None:
            has_mathml = True
            latex = element_latex(element[0])
        elif element["image"] is not None:
            alt = _ALT.search(element[0])
            if not alt or "mwe-math" not in element[0]:
                return element[0]
            latex = "" if has_mathml else unescape(alt[2])
        elif element["script"] is not None:
            latex = element["script"]
        else:
            latex = unescape(element["code"])

        latex = " ".join(latex.split())
        if not latex:
            return " "
        return f'<span class="math-container">${escape(latex)}$</span>'

    return _ELEMENT.sub(marked, html)


_INVISIBLE: Final = dict.fromkeys("\u2061\u2062\u2063\u2064")  # products, values of functions
_OF_TEXT: Final = str.maketrans({"{": r"\{", "}": r"\}"} | _INVISIBLE)
_PRIMES: Final = str.maketrans({"″": r"\prime\prime ", "‴": r"\prime\prime\prime "})
_MATRIX_BRACKETS: Final = (("(", ")"), ("[", "]"), ("|", "|"), ("‖", "‖"), ("∥", "∥"))
_SYMBOL: Final = re.compile(r"\S|[a-z]+|\\(?:operatorname\{)?[A-Za-z]+\}?")


def element_latex(element: str) -> str:
    """Return the LaTeX of a `<math>` element: its author's, or else written from its tree."""
    titled = _TITLE.match(element)
    if titled:
        return unescape(titled[1])
    latex = source_latex(element)
    if latex and _is_latex(latex):
        return latex
    root = LexborHTMLParser(_PREFIX.sub(r"\1", element)).css_first("math")
    if root is None:
        return ""
    return node_latex(root)


def node_latex(math: Any) -> str:
    """Return the LaTeX of a parsed `<math>` element."""
    alttext = math.attributes.get("alttext")
    if alttext:
        latex = _BREAK.sub("", unescape(alttext))
        if _is_latex(latex):
            return latex

    semantics = math.child
    while semantics is not None and semantics.tag == "-text":
        semantics = semantics.next
    if semantics is not None and semantics.tag == "semantics":
        for part in semantics.iter():
            is_note = part.tag == "annotation"
            if is_note and (part.attributes.get("encoding") or "").endswith("x-tex"):
                return str(part.text())
    return _of_tree(math, _DEEPEST)


def _is_latex(alttext: str) -> bool:
    """Return whether an `alttext` is LaTeX that others know, not English or semantic macros."""
    if "@" in alttext and _SEMANTIC_MACRO.search(alttext):
        return False
    return _LATEX_SIGN.search(alttext) is not None or _WORD.search(alttext) is None


def _of_tree(node: Any, depth: int) -> str:
    name = node.tag
    if name == "-text":
        return str(node.text_content).strip().translate(_OF_TEXT)
    if not depth or name.startswith("annotation"):
        return ""

    children = [_of_tree(child, depth - 1) for child in node.iter(include_text=True)]
    if name == "mlabeledtr":
        del children[:1]  # the number of an equation
    parts = list(filter(None, children))
    between: str = _TABLE["joined"].get(name, " ")
    everything = between.join(parts)
    alphabet = _TABLE["alphabets"].get(node.attributes.get("mathvariant"))
    if alphabet and everything:
        return rf"\{alphabet}{{{everything}}}"
    if name == "mi" or name == "mo":
        everything = "".join(everything.split())  # lim sup
        if len(everything) > 1 and everything.isalpha() and everything.isascii():
            return rf"\operatorname{{{everything}}}"
    if name == "mtext" and everything.startswith("\\"):  # a command that LaTeXML does not know
        return everything
    if name == "mover" and len(parts) == 2 and parts[1] in _TABLE["accents"]:
        accent = _TABLE["accents"][parts[1]]
        return rf"\{accent}{{{parts[0]}}}"
    if len(parts) == 2 and parts[0] == r"\{" and parts[1].startswith(r"\begin{matrix}"):
        return parts[1].replace("{matrix}", "{cases}")
    if name == "munder" and len(parts) == 2 and parts[1] in _TABLE["lines"]:
        return rf"\underline{{{parts[0]}}}"
    if name == "mtable" and node.attributes.get("displaystyle") == "true":
        name = "aligned"
    if name == "mfrac" and (node.attributes.get("linethickness") or "").startswith("0"):
        name = "mbinom"
    if len(parts) == 3 and _is_in_brackets(parts):
        return parts[1]
    if name == "mrow" and not parts:
        return "{}"  # the base of a script may be empty
    if name in ("msup", "msubsup") and parts:
        parts[-1] = parts[-1].translate(_PRIMES)
    if name.startswith(("msu", "mund", "mov")) and parts and not _SYMBOL.fullmatch(parts[0]):
        parts[0] = f"{{{parts[0]}}}"

    written = _TABLE["elements"].get(name, "")
    expected = sum(f"{{{number}}}" in written for number in range(3))
    if written and len(parts) == expected:
        return str(written.format(*parts))
    return str(_TABLE["wrapped"].get(name, "{0}").format(everything))


def _is_in_brackets(parts: list[str]) -> bool:
    """Return whether three parts are a binomial or a matrix with its own brackets."""
    begin, inner, end = parts
    if inner.startswith(r"\binom"):
        return begin == "("
    return inner.startswith(r"\begin{matrix}") and (begin, end) in _MATRIX_BRACKETS
