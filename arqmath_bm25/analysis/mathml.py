r"""MathML → the LaTeX that it was made from, so that formulas of all sources have one reader.

LaTeXML, which wrote the lab's SLT and OPT files, keeps the LaTeX in the attribute `alttext`, with
`%` where it broke a line. Of 81,203 formulas of a subset of the collection 99.7 % give the same
symbols as in the LaTeX files; the 106 without an `alttext` are empty there. The attribute is cut
out as text, since it may contain bare `<`, `>` and quotes. It ends at a quote that is followed by
another attribute or by the end of the tag.

Other pages keep their LaTeX in an annotation (`application/x-tex`) or in a `title`, as the pages of
this program do. Presentation MathML without any LaTeX is written as LaTeX by its elements.
"""

from html import unescape
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import read_table

_TABLE = read_table(__file__)
_BEGIN = expression(r"\balttext=([\"'])")
_ENDS = {quote: expression(rf"{quote}(?=\s+[a-z:]+=[\"']|\s*/?>)") for quote in "\"'"}
_BREAK = expression(r"(?<!\\)%\s+")


def source_latex(markup: str) -> str:
    """Return the LaTeX of a formula, or nothing if the markup has none."""
    begin = _BEGIN.search(markup)
    if not begin:
        return ""

    text = markup[begin.end() :]
    end = _ENDS[begin[1]].search(markup, begin.end())
    if end is not None:
        text = markup[begin.end() : end.start()]
    # The text was escaped as an attribute, and once before.
    latex = unescape(unescape(text))
    return _BREAK.sub("", latex)


# Macros of LaTeXML for the meaning of formulas, which no other program knows.
_SEMANTIC_MACRO = expression(r"[}A-Za-z]@{1,3}\s*[{(]")
_LATEX_SIGN = expression(r"[\\^_]")
_WORD = expression(r"[A-Za-z]{4}")
_DEEPEST = 50  # elements in elements


_INVISIBLE = dict.fromkeys("\u2061\u2062\u2063\u2064")  # products, values of functions
# Signs with a stroke that only `\not` and the plain sign write in LaTeX.
_NEGATED = {sign: rf"\not {plain}" for sign, plain in _TABLE["negated"].items()}
_OF_TEXT = str.maketrans({"{": r"\{", "}": r"\}"} | _NEGATED | _INVISIBLE)
_PRIMES = str.maketrans({"″": r"\prime\prime ", "‴": r"\prime\prime\prime "})
_MATRIX_BRACKETS = ("()", "[]", "||", "‖‖", "∥∥")
_SYMBOL = expression(r"\S|[a-z]+|\\(?:operatorname\{)?[A-Za-z]+\}?")


def node_latex(math: Any) -> str:
    """Return the LaTeX of a parsed `<math>` element."""
    title = math.attributes.get("title")
    if title:
        return str(title)
    latex = _BREAK.sub("", unescape(math.attributes.get("alttext") or ""))
    # Others know it, unless it is English or has semantic macros.
    is_known = _LATEX_SIGN.search(latex) or not _WORD.search(latex)
    if latex and is_known and not _SEMANTIC_MACRO.search(latex):
        return latex

    if "<!" in math.html or "<?" in math.html:  # comments, and notes such as Word's namespaces
        for node in list(math.traverse(include_text=True)):
            if node.tag is None or node.tag == "-comment":
                node.decompose()
        math = LexborHTMLParser(math.html).css_first("math")  # whose texts around one are one
    semantics = math.child
    while semantics is not None and semantics.tag == "-text":
        semantics = semantics.next
    if semantics is not None and semantics.tag == "semantics":
        for part in semantics.iter():
            encoding = part.attributes.get("encoding") or ""
            if part.tag == "annotation" and encoding.endswith("x-tex"):
                return str(part.text())
    return _tree_latex(math, _DEEPEST)


def _tree_latex(node: Any, depth: int) -> str:
    """Return the LaTeX of a tree; elements at depth 0 are left out."""
    name = node.tag
    if name == "-text":
        return str(node.text_content).strip().translate(_OF_TEXT)
    if not depth or name.startswith("annotation"):
        return ""

    children = [_tree_latex(child, depth - 1) for child in node.iter(include_text=True)]
    if name == "mlabeledtr":
        del children[:1]  # The first cell is the number of an equation.
    parts = [child for child in children if child]
    separator: str = _TABLE["joined"].get(name, " ")
    joined = separator.join(parts)

    alphabet = _TABLE["alphabets"].get(node.attributes.get("mathvariant"))
    if alphabet and joined:
        return rf"\{alphabet}{{{joined}}}"
    if name == "mi" or name == "mo":
        joined = "".join(joined.split())  # lim sup
        if len(joined) > 1 and joined.isalpha() and joined.isascii():
            return rf"\operatorname{{{joined}}}"
    # LaTeXML writes a command that it does not know as text.
    if name == "mtext" and joined.startswith("\\"):
        return joined

    if len(parts) == 2:
        first, second = parts
        mark = _TABLE["marks"].get(name, {}).get(second)
        if mark:
            return rf"\{mark}{{{first}}}"
        if first == r"\{" and second.startswith(r"\begin{matrix}"):
            return second.replace("{matrix}", "{cases}")
    if len(parts) == 3:
        begin, inner, end = parts
        is_binomial = begin == "(" and inner.startswith(r"\binom")
        is_matrix = begin + end in _MATRIX_BRACKETS and inner.startswith(r"\begin{matrix}")
        # MathJax gives the alignment of columns for arrays of two and more, whose brackets are no
        # part of them, and for no matrix.
        is_array = "data-mjx-texclass" in node.attributes and any(
            part.tag == "mtable" and "columnalign" in part.attributes for part in node.iter()
        )
        if (is_binomial or is_matrix) and not is_array:
            return inner
    if name == "mrow" and not parts:
        return "{}"  # The base of a script may be empty.
    return _element_latex(node, parts, joined)


def _element_latex(node: Any, parts: list[str], joined: str) -> str:
    """Write an element by its pattern in the table, or its joined parts in a wrapper."""
    name = node.tag
    if name == "mtable" and node.attributes.get("displaystyle") == "true":
        name = "aligned"
    if name == "mfrac" and (node.attributes.get("linethickness") or "").startswith("0"):
        name = "mbinom"
    if parts:
        if name in ("msup", "msubsup"):
            parts[-1] = parts[-1].translate(_PRIMES)
        if name.startswith(("msu", "mund", "mov")) and not _SYMBOL.fullmatch(parts[0]):
            parts[0] = f"{{{parts[0]}}}"

    pattern = _TABLE["elements"].get(name, "")
    expected = sum(f"{{{number}}}" in pattern for number in range(3))
    if pattern and len(parts) == expected:
        return str(pattern.format(*parts))
    wrapper = _TABLE["wrapped"].get(name, "{0}")
    return str(wrapper.format(joined))
