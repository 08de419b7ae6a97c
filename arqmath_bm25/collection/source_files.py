r"""Source files as documents: LaTeX, Markdown, HTML, formal languages, notebooks, PDF, plain text.

A file is split where its author did: at headings and, in LaTeX, at labelled statements with the
proofs that follow them. A part of `week1.tex` has the id `week1.tex#LABEL`, with the label of a
statement or a section, or else its heading in lower case with hyphens; the text before the first
heading has the name of the file alone. The title of a part begins with that of the file and the
headings above it, so that a "Definition" says of what. A part without words is left out, and so is
a heading that only stands above others.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from html import escape, unescape
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.formal import LanguageName
from arqmath_bm25.analysis.html import read_text, source_html
from arqmath_bm25.analysis.kinds import Kind
from arqmath_bm25.analysis.latex_html import (
    BALANCED,
    BESIDE_TITLE,
    body_end,
    latex_html,
    latex_line,
)
from arqmath_bm25.analysis.macros import Macro, Macros, preamble_macros
from arqmath_bm25.analysis.markdown_html import front_matter
from arqmath_bm25.collection.book_macros import definitions
from arqmath_bm25.collection.formal_files import formal_parts
from arqmath_bm25.collection.pdf_files import pdf_sections
from arqmath_bm25.collection.taken_in import BEGIN, SourceInputs
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import parse_json

_WORD = re.compile(r"[^\W_]")
_WORD_OF_HTML = re.compile(r"\A(?>(?:<[^<>]*>|[\W_])*)[^\W_]")


class FilePart(NamedTuple):
    """A part of a file."""

    anchor: str  # its id within the file; "" for the text before the first heading
    title: str
    text: str
    kind: Kind | None  # None: to be seen from the text
    references: tuple[str, ...] = ()  # labels that it refers to
    labels: tuple[str, ...] = ()  # labels that others may refer to
    statement: str = ""  # the text without the proof, of a statement that has one
    level: int = 0  # of its heading: it is below the last one that has a smaller level
    html: str = ""  # the text as the HTML of a post, where it is source
    type: str = ""  # theorem, …; section; "" for the text before the first heading
    tags: tuple[str, ...] = ()  # of its file
    line: int = 0  # where it begins, from 1; 0: unknown
    file: str = ""  # the name of the file that holds it, if that is taken in
    head: str = ""  # its first line


class SourceFile(NamedTuple):
    """The parts of a file."""

    parts: list[FilePart]
    latin: set[Path]  # files whose encoding nothing declares
    is_alone: bool  # whether it names no file to be taken in
    title: str  # of LaTeX; of a PDF the lines with which it begins


def read_source(path: Path, root: Path, whole: bool = False, macros: str = "") -> SourceFile:
    """Return the parts of a file below `root`, or with `whole` the file as one part.

    `macros` are the definitions of the book that it belongs to.
    Raises InputError for a file that is not UTF-8, or is not of the form that its ending says.
    """
    inputs = SourceInputs(root, macros)
    reader = READERS[path.suffix.lower()]
    title = ""
    if reader is _pdf_parts:
        parts = reader("", path, inputs)
        title = unescape(markup.words(parts[0].text[:_LONGEST_HEAD]))
    else:
        text = inputs.read(path)
        parts = _with_lines(reader(text, path, inputs), text, inputs)
    if reader is _latex_parts:
        title = parts[0].title
    if whole and parts:
        parts = [_joined(parts)]
    parts = _with_own_anchors(list(_titled(parts)))
    return SourceFile(parts, inputs.latin, inputs.is_alone, title)


def _with_lines(parts: list[FilePart], text: str, inputs: SourceInputs) -> list[FilePart]:
    """Find the files and the first lines of parts; a line of 0 is unknown."""
    texts = {"": text}
    for file in inputs.taken:
        if READERS.get(file.suffix.lower(), _pdf_parts) is not _pdf_parts:
            texts[file.relative_to(inputs.root).as_posix()] = inputs.read(file)

    lines = []
    for name, of_file in texts.items():
        lines += [(name, number, line) for number, line in enumerate(of_file.split("\n"), 1)]

    @cache
    def places() -> dict[str, list[int]]:
        """Return the places of each head, the first one at the end; most parts need none."""
        found: dict[str, list[int]] = {}
        for place in range(len(lines) - 1, -1, -1):
            found.setdefault(_head(lines[place][2]), []).append(place)
        return found

    length = text.count("\n") + 1
    last = {False: -1, True: -1}  # places, the second one within files that are taken in
    found: list[FilePart] = []
    for part in parts:
        if not (found or part.anchor):
            found.append(part._replace(line=1))
            continue

        head = _head(part.head)
        place = part.line - 1
        if not head:
            place = -1
        elif not 0 <= place < length or _head(lines[place][2]) != head:
            waiting = places().get(head, [])
            while waiting and waiting[-1] <= last[waiting[-1] >= length]:
                waiting.pop()
            place = -1
            if waiting:
                place = waiting[-1]
        name, line = "", 0
        if place >= 0:
            name, line, _ = lines[place]
            last[place >= length] = max(last[place >= length], place)
        found.append(part._replace(file=name, line=line))
    return found


def _head(line: str) -> str:
    """Return a line without its comment and the marks of a heading."""
    return line.partition("%")[0].strip("#*= \t\r")


def _titled(parts: list[FilePart]) -> Iterator[FilePart]:
    """Yield the parts that say something, the headings above each before its title."""
    above: list[FilePart] = []
    labels: tuple[str, ...] = ()  # of headings that are left out
    for part, says_something in zip(parts, _say_something(parts), strict=True):
        while above and above[-1].level >= part.level:
            above.pop()

        above.append(part)
        titles = dict.fromkeys(each.title for each in above if each.title)
        if says_something:
            yield part._replace(title=" › ".join(titles), labels=labels + part.labels)
            labels = ()
        else:
            labels += part.labels


def _say_something(parts: list[FilePart]) -> list[bool]:
    """Return of each part whether it has words of its own, beyond a heading above others."""
    answers = []
    following: FilePart | None = None  # that says something
    for part in reversed(parts):
        is_above_others = following is not None and following.level > part.level
        has_title = bool(part.anchor and _WORD.search(part.title))
        has_words = _WORD.search(part.text) is not None
        if part.kind in ("latex", "markdown", "post"):
            has_words = _WORD_OF_HTML.match(part.html) is not None
        says_something = has_words or (has_title and not is_above_others)
        answers.append(says_something)
        if says_something:
            following = part
    answers.reverse()
    return answers


def _joined(parts: list[FilePart]) -> FilePart:
    """Return parts as one, with the title of the first that has one."""
    titles = [part.title for part in parts if part.title]
    return FilePart(
        anchor="",
        title="".join(titles[:1]),
        text="\n\n".join(f"{part.title}\n\n{part.text}" for part in parts),
        html="".join(part.html and f"<h2>{part.title}</h2>{part.html}" for part in parts),
        tags=parts[0].tags,
        line=1,
        kind=parts[0].kind,
        references=tuple(label for part in parts for label in part.references),
        labels=tuple(label for part in parts for label in part.labels),
    )


def _with_own_anchors(parts: list[FilePart]) -> list[FilePart]:
    """Number the anchors that occur more than once."""
    taken = set()
    last: Counter[str] = Counter()
    numbered = []

    for part in parts:
        anchor = part.anchor
        while anchor in taken:
            last[part.anchor] += 1
            anchor = f"{part.anchor or 'text'}-{last[part.anchor] + 1}"

        taken.add(anchor)
        numbered.append(part._replace(anchor=anchor))

    return numbered


def anchor_of(heading: str) -> str:
    """Return a heading as an anchor: letters and digits in lower case, with hyphens."""
    plain = unicodedata.normalize("NFC", heading).lower()
    return "-".join(re.findall(r"[^\W_]+", plain))[:80].strip("-") or "section"


# Parts of the HTML of a source

Span = tuple[int, int]
# The edges of a statement of LaTeX that is a document of its own.
_EDGES = re.compile(
    rf"\A\s*\\begin\{{[^{{}}\s]+\}}(?:<[^<>]{{0,40}}>)?(?:{BALANCED})?(?:\{{[^{{}}]*\}}\{{[^{{}}]*\}})?"
    r"(?:\s*\\label\{[^{}]*\})?|\\end\{(?!proof)[^{}\s]+\}\s*\Z"
)
_ID = re.compile(r'<(?:span|div class="named") id="([^"<>]+)"')
_LONGEST_HEAD = 1000  # characters
_LINK = re.compile(r'<a href="#([^"<>]+)"')


def _parts(
    html: str,
    source: str,
    kind: Kind,
    title: str,
    preamble: Mapping[str, Macro] = MappingProxyType({}),
    span: Span | None = None,
) -> list[FilePart]:
    """Cut a source at its headings and labelled statements; macros hold for all that follows."""
    span = span or (0, len(source))
    macros = Macros(preamble)
    parts = []
    line, done, heading = 1, 0, span[0]
    for section in markup.sections(html, *span):
        for each in (section, *section.statements):
            begin = max(done, each.begin)
            if each is section:
                begin = max(done, heading)
                heading = section.end
            line += source.count("\n", done, begin)
            done = begin
            head, _, _ = source[begin : begin + _LONGEST_HEAD].partition("\n")
            before = Macros(macros)
            written = markup.expanded(each.html, macros)
            labels = [unescape(label) for label in (each.label, *_ID.findall(written)) if label]
            targets = map(unescape, _LINK.findall(written))
            text = _source(each, source, kind, before)
            if kind == "post":
                text = written
            part = FilePart(
                anchor="",
                title=title,
                text=text,
                kind=kind,
                labels=tuple(labels),
                references=tuple(dict.fromkeys(name for name in targets if name not in labels)),
                html=written,
                level=each.level,
                line=line,
                head=head,
            )
            if each.title is not None:
                part = part._replace(**_heading(each, macros))
                if kind == "post":
                    part = part._replace(head=part.title, line=0)
            if each.without_proof:
                alone = replace(each, end=each.without_proof)
                part = part._replace(statement=_source(alone, source, kind, before))
            parts.append(part)
    return parts


def _source(section: markup.Section, source: str, kind: Kind, macros: Macros) -> str:
    """Return the source of a section, after the definitions of earlier ones that it uses."""
    text = section.source(source)
    if "\\begin{" in text or "\\end{" in text:
        text = _EDGES.sub("", text).strip()
    if not macros or not text:
        return text
    definitions = macros.definitions_used(text)
    if definitions and kind == "markdown":
        return f"${definitions}$\n{text}"
    if definitions:
        return f"{definitions}\n{text}"
    return text


def _heading(section: markup.Section, macros: Macros) -> dict[str, Any]:
    """Return what the heading of a section or statement says of it."""
    title = _readable(markup.expanded(section.title or "", macros))
    anchor = section.label or anchor_of(title)
    if not section.name:
        return {"title": title, "anchor": anchor, "type": "section"}
    if title:
        title = f": {title}"
    return {"title": section.name + title, "anchor": anchor, "type": section.name.lower()}


def _readable(title: str) -> str:
    """Return the HTML of a title as text, with dollars around its formulas."""
    content = read_text(title, "post", "mathjax")
    written = content.written(
        lambda formula: f"${formula.latex}$", lambda prose: prose.replace("$", r"\$")
    )
    return " ".join(written.split())


# LaTeX

_NESTED = r"(?>(?:[^{}]+|\{(?>(?:[^{}]+|\{[^{}]*+\})*)\})*)"
_TITLE = re.compile(rf"\\title\s{{0,9}}+(?:\[[^\[\]]{{0,200}}+\]\s{{0,9}}+)?\{{({_NESTED})\}}")


def _latex_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split LaTeX at headings and labelled statements; macros of the preamble go to each part."""
    source = inputs.expanded(text, path)
    preamble, begin, _ = source.partition(BEGIN)
    macros = Macros()
    span = None
    if begin:
        start = len(preamble) + len(begin)
        span = start, body_end(source, start)
        macros = preamble_macros(preamble)
    title = ""
    named = _TITLE.search(source)
    if named:
        line = latex_line(BESIDE_TITLE.sub("", named[1]), macros)
        title = _readable(markup.expanded(line, Macros(macros)))
    return _parts(latex_html(source, 0, macros), source, "latex", title, macros, span)


# Markdown, notebooks, reStructuredText

_WIKI_LINK = re.compile(r"\[\[[^\W\d_][^\[\]\n]*\]\]")
OF_BOOKS = ("myst.yml", "_toc.yml", "conf.py")


def _markdown_parts(
    text: str, path: Path, inputs: SourceInputs, loose: bool = False
) -> list[FilePart]:
    """Split Markdown at its headings and labelled statements."""
    text = inputs.expanded(text, path)
    values, begin = front_matter(text)
    loose = loose or is_in_book(path.parent, inputs.root)
    if loose and text.startswith("%"):  # a comment of MyST
        values = {}
    html = source_html(text, "markdown", loose)
    title = str(values.get("title") or "")
    header = values.get("header-includes", "")
    if not isinstance(header, list):
        header = [header]
    macros = preamble_macros("\n".join([inputs.macros, *map(str, header), *definitions(values)]))
    parts = _parts(html, text, "markdown", title, macros, (begin, len(text)))
    listed = [values.get(key) for key in ("tags", "keywords", "categories")]
    if "layout" in values:  # of Jekyll, which has blanks between tags
        listed = [each.split() if isinstance(each, str) else each for each in listed]
    tags = tuple(dict.fromkeys(_tags(listed)))
    first = parts[0]
    if _WIKI_LINK.search(text) and not first.title and all(part.level != 1 for part in parts):
        first = first._replace(title=path.stem)
    parts[0] = first._replace(labels=(*first.labels, path.stem))
    return [part._replace(tags=tags) for part in parts]


def is_in_book(folder: Path, root: Path) -> bool:
    """Return whether a folder is below the configuration of Jupyter Book, MyST or Sphinx."""
    if any((folder / name).is_file() for name in OF_BOOKS):
        return True
    return folder != root and root in folder.parents and is_in_book(folder.parent, root)


def _tags(value: Any) -> Iterator[str]:
    """Yield tags of front matter; "algebra/groups" is within "algebra"."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _tags(each)
    elif value is not None:
        for tag in str(value).split(","):
            names = tag.strip().lstrip("#").split("/")
            for number in range(1, len(names) + 1):
                if names[0]:
                    yield "/".join(names[:number])


def _notebook_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split a notebook at the headings of its Markdown cells; code and its output are code."""
    sources = []
    try:
        notebook = parse_json(text)
        sheets = notebook.get("worksheets", [notebook])  # of nbformat 3
        for cell in chain.from_iterable(sheet["cells"] for sheet in sheets):
            source = "".join(cell["input"] if "input" in cell else cell["source"])
            if cell["cell_type"] == "heading":
                sources.append(("markdown", f"{'#' * cell['level']} {source}"))
            else:
                sources.append((cell["cell_type"], source))
            outputs = cell.get("outputs")
            if isinstance(outputs, list):
                sources += chain.from_iterable(map(_outputs, outputs))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path}: expected a Jupyter notebook, as nbformat 3 or 4 has it"
        ) from None

    blocks = []

    for cell_type, source in sources:
        if cell_type == "markdown":
            blocks.append(source.encode("utf-8", "replace").decode())  # no half of a character
        elif cell_type == "code":
            fence = "`" * (3 + len(max(re.findall(r"`+", source), key=len, default="")))
            blocks.append(f"{fence}\n{source}\n{fence}")

    return _markdown_parts("\n\n".join(blocks), path, inputs, loose=True)


def _outputs(output: Any) -> Iterator[tuple[str, str]]:
    """Yield the printed text of a cell as code, and its Markdown and LaTeX as Markdown."""
    if not isinstance(output, dict):
        return
    if "stdout" in (output.get("name"), output.get("stream")):
        yield "code", _lines_of(output.get("text"))
    data = output.get("data")
    if isinstance(data, dict):
        yield "markdown", _lines_of(data.get("text/markdown") or data.get("text/latex"))


def _lines_of(text: Any) -> str:
    """Return a text of a notebook, which has the lines of most; "" for anything else."""
    if isinstance(text, list):
        text = "".join(map(str, text))
    if isinstance(text, str):
        return text
    return ""


def _rst_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split reStructuredText at its headings and labelled statements."""
    from arqmath_bm25.analysis.rst_html import rst_html  # docutils loads slowly

    return _parts(rst_html(text), text, "post", "", preamble_macros(inputs.macros))


def _light_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split org or Typst as Markdown."""
    from arqmath_bm25.analysis.light_markup import org_markdown, typst_markdown

    read = org_markdown if path.suffix.lower() == ".org" else typst_markdown
    light = read(text)
    html = source_html(light.markdown, "markdown", True)
    parts = _parts(html, light.markdown, "markdown", light.title)
    return [part._replace(tags=light.tags) for part in parts]


# XML, HTML and plain text


def _pretext_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split PreTeXt at its divisions and statements."""
    from arqmath_bm25.analysis.pretext_html import pretext_html

    try:
        html, macros = pretext_html(inputs.expanded(text, path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return _parts(html, "", "post", "", preamble_macros(macros))


def _html_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split the content of a page at its headings."""
    page = as_post(text)
    return _parts(page.body, "", "post", page.title)


_NUMERIC = re.compile(r"[0-9.,;:|+\-/]")
_SAMPLE = 100_000  # characters
_LEAST_TABLE = 500
_SHARE_OF_TABLE = 0.5


def _plain_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Return a text with its first line as the title, if an empty line follows that."""
    sample = "".join(text[:_SAMPLE].split())
    share = len(_NUMERIC.findall(sample)) / max(1, len(sample))
    if len(sample) >= _LEAST_TABLE and share >= _SHARE_OF_TABLE:
        raise InputError(f"{path}: a table: {share:.0%} of it are numbers and separators")
    first, _, rest = text.strip().partition("\n")
    is_title = rest.startswith("\n") and len(first) <= 100
    if is_title:
        return [FilePart("", first.strip(), rest.strip(), None)]
    return [FilePart("", "", text.strip(), None)]


_LANGUAGES: dict[str, LanguageName] = {".lean": "lean", ".thy": "isabelle", ".v": "coq"}
# Its first word outside comments.
_VERILOG = re.compile(
    r"\A(?>(?:\s+|//[^\n]*|\(\*[^\n]*\*\)|/\*(?>(?:[^*]+|\*(?!/))*)\*/)*)(?:module\b|`)"
)


def _formal_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    """Split a file of a formal language at its declarations."""
    language = _LANGUAGES[path.suffix.lower()]
    if language == "coq" and _VERILOG.match(text):
        raise InputError(f"{path}: this is Verilog; a file of Coq was expected")
    parts = []
    for name, title, source, used in formal_parts(text, language):
        anchor = name
        if title and not name:
            anchor = anchor_of(title)
        labels = tuple(filter(None, [name]))
        head, _, _ = source.partition("\n")
        parts.append(FilePart(anchor, title, source, language, used, labels, head=head))
    return parts


def _pdf_parts(text: str, path: Path, inputs: SourceInputs) -> list[FilePart]:
    parts = []
    for page, title, words in pdf_sections(path):
        title = title or f"{path.stem}, page {page}"
        html = f"<p>{escape(words)}</p>"
        anchor = f"page={page}"
        parts.append(FilePart(anchor, title, html, "post", html=html, line=page))
    return parts


FileReader = Callable[[str, Path, SourceInputs], list[FilePart]]
# A further form of files is a reader and a line here.
_ENDINGS: dict[FileReader, str] = {
    _formal_parts: ".lean .thy .v",
    _html_parts: ".htm .html .xhtml",
    _latex_parts: ".ltx .tex",
    _light_parts: ".org .typ",
    _markdown_parts: ".markdown .md .mdx .qmd .rmd",
    _notebook_parts: ".ipynb",
    _plain_parts: ".txt",
    _pretext_parts: ".ptx .xml",
    _rst_parts: ".rst",
}
READERS = {ending: reader for reader, endings in _ENDINGS.items() for ending in endings.split()}
if find_spec("pypdfium2"):
    READERS[".pdf"] = _pdf_parts
