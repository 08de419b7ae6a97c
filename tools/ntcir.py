r"""Writes NTCIR-12, formula browsing in Wikipedia, as documents of one's own: a corpus of formulas.

    python tools/ntcir.py NTCIR-12 OUT
    arqmath-bm25 run docs --data OUT

DATA holds a file of topics (`*.xml` with elements `topic`, `num` and `math`), pages with MathML
(`*.html`, `*.xhtml`) in any folders and, to evaluate, a file of judgments in the form of trec_eval
with `qrels` or `judge` in its name. Every formula of a page is a document, with the id PAGE:NUMBER,
counted from 0, or its own id of this form. The grades of two assessors are summed to 0 to 4, also
written 0.0 to 4.0: from 1 a formula is partially relevant, from 3 fully, so bpref is `Bpref(rel=1)`
and `Bpref(rel=3)`.

A wildcard (`qvar`) means any sub-expression. It becomes an empty group, which matches nothing by
itself; the terms of the rest of the formula are searched for.
"""

import json
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis.mathml import node_latex, source_latex
from arqmath_bm25.collection.layout import ntcir_topics
from arqmath_bm25.collection.own_documents import QRELS, QUERIES, write_corpus
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.writing import complete

_PAGES: Final = (".html", ".xhtml")
_PREFIX: Final = r"(?:[a-z]{1,9}:)?"
_PREFIX_OF_TAG: Final = re.compile(r"(</?)[a-z]{1,9}:(?=[a-z])", re.IGNORECASE)
# No match reaches beyond the begin of another element, so that time is linear.
_MATH: Final = re.compile(
    rf"<{_PREFIX}math\b(?:(?!<{_PREFIX}math\b).)*?</{_PREFIX}math\s*+>", re.DOTALL
)
_TOPIC: Final = re.compile(
    rf"<{_PREFIX}topic\b[^<>]*+>((?:(?!<{_PREFIX}topic\b).)*?)</{_PREFIX}topic\s*+>", re.DOTALL
)
_NUMBER: Final = re.compile(rf"<{_PREFIX}num\b[^<>]*+>([^<>]*+)<")
_OWN_ID: Final = re.compile(r"<[^<>]*?\bid=([\"'])((?:(?!\1)[^<>\s]){1,200}:[0-9]{1,9})\1")
_WILDCARD_ELEMENT: Final = re.compile(
    rf"<{_PREFIX}qvar\b[^<>]*+>(?:(?<=/>)|[^<>]*+</{_PREFIX}qvar\s*+>)"
)
_WILDCARD: Final = re.compile(r"\\qvar(?:@construct)?\s*\{[^{}]{0,20}\}")
# LaTeXML breaks long lines by `%`; a command that ends there must not run into a letter.
_COMMAND_AT_END: Final = re.compile(r"(\\[A-Za-z]++)%\n")
_LINE_END: Final = re.compile(r"(?<!\\)((?>(?:\\\\)*))%\n")
_FILLER: Final = "\ue000"  # It replaces a wildcard until the LaTeX is written.
_ID_BREAK: Final = re.compile(r"[\s\x00-\x1f\x7f]+")
_ENDINGS_OF_JUDGMENTS: Final = (".dat", ".txt", ".tsv")
_GRADE: Final = re.compile(r"([0-9]{1,9})(?:\.0)?")


def write_formulas(data: Path, directory: Path) -> None:
    """Write the corpus of formulas, the queries and the judgments in BEIR's form.

    Raises InputError for topics without formulas, judgments that are none, and pages without any
    formula.
    """
    topics = ntcir_topics(data)
    if topics is None:
        raise InputError(f"{data}: there is no file of NTCIR's topics (*.xml)")

    write_corpus(_formulas(data), directory, data)
    with complete(directory / QUERIES) as file:
        for row in _queries(topics):
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n")

    judgments = _judgments(data)
    if judgments:
        with complete(directory / QRELS[0]) as file:
            file.write("query-id\tcorpus-id\tscore\n")
            for line in judgments:
                file.write(f"{line}\n")


def _pages(data: Path) -> list[Path]:
    root = data.resolve()
    pages = []
    for path in data.rglob("*"):
        is_page = path.suffix.lower() in _PAGES
        if is_page and path.resolve().is_relative_to(root):
            pages.append(path)
    return sorted(pages)


def _judgment_files(data: Path) -> list[Path]:
    paths = []
    for path in data.iterdir():
        is_judged = "judge" in path.name and path.suffix in _ENDINGS_OF_JUDGMENTS
        if path.is_file() and ("qrels" in path.name or is_judged):
            paths.append(path)
    return sorted(paths)


def _formulas(data: Path) -> Iterator[dict[str, Any]]:
    """Yield every formula of the pages as a row of a corpus, each id once."""
    known: set[str] = set()
    for path in _pages(data):
        page = path.name.removesuffix(path.suffix)
        elements = _MATH.findall(read_text(path))
        for number, element in enumerate(elements):
            name = f"{page}:{number}"
            own_id = _OWN_ID.match(element)
            if own_id is not None:
                name = unescape(own_id[2])

            doc_id = _ID_BREAK.sub(lambda found: quote(found[0]), name)
            latex = formula_latex(element)
            if latex and doc_id not in known:
                known.add(doc_id)
                yield {
                    "id": doc_id,
                    "title": "",
                    "text": f"${latex}$",
                    "kind": "plain",
                }


def formula_latex(element: str) -> str:
    """Return the LaTeX of a `<math>` element, with an empty group for each wildcard."""
    filled = _WILDCARD_ELEMENT.sub(f"<mi>{_FILLER}</mi>", element)
    latex = source_latex(filled)
    math = LexborHTMLParser(_PREFIX_OF_TAG.sub(r"\1", filled)).css_first("math")
    if math is not None and not latex:
        latex = node_latex(math)
    latex = _COMMAND_AT_END.sub(r"\1 ", latex)
    latex = _LINE_END.sub(r"\1", latex)
    latex = _WILDCARD.sub("{}", latex)
    latex = latex.replace(_FILLER, "{}").replace("$", "")
    latex = " ".join(latex.split())
    if latex.endswith("\\"):
        latex += " "  # A blank that LaTeX keeps would else escape the dollar behind it.
    return latex


def _queries(path: Path) -> list[dict[str, Any]]:
    """Return the topics of a file as rows of queries."""
    queries: list[dict[str, Any]] = []
    for match in _TOPIC.finditer(read_text(path)):
        number = _NUMBER.search(match[1])
        formulas = [formula_latex(math[0]) for math in _MATH.finditer(match[1])]
        if number is None or not any(formulas):
            raise InputError(
                f"{path}: topic {len(queries) + 1} lacks a number or a formula; expected elements "
                "num and math"
            )
        text = " ".join(f"${latex}$" for latex in formulas if latex)
        queries.append({"id": unescape(number[1]).strip(), "text": text, "kind": "plain"})
    if not queries:
        raise InputError(f"{path}: there are no topics; expected elements topic, num and math")
    return queries


def _judgments(data: Path) -> list[str]:
    """Return the judgments of all files as lines of topic, formula and grade."""
    judgments = []
    for path in _judgment_files(data):
        for number, line in enumerate(read_text(path).splitlines(), 1):
            columns = line.split()
            if not columns:
                continue
            grade = _GRADE.fullmatch(columns[-1])
            if len(columns) != 4 or grade is None:
                raise InputError(
                    f"{path}: line {number}: expected topic, a column that is not read, formula "
                    "and the sum of two grades"
                )
            judgments.append(f"{columns[0]}\t{columns[2]}\t{grade[1]}")
    return judgments


if __name__ == "__main__":
    try:
        write_formulas(Path(sys.argv[1]), Path(sys.argv[2]))
    except (InputError, OSError) as error:
        sys.exit(str(error))
    except IndexError:
        sys.exit("usage: python tools/ntcir.py NTCIR-12 OUT")
