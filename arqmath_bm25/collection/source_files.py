r"""Source files as documents: LaTeX, Markdown, HTML, formal languages, notebooks, plain text.

A file is split where its author did: at headings and, in LaTeX, at labelled statements with the
proofs that follow them. A part of `week1.tex` has the id `week1.tex#LABEL`, with the label of a
statement or a section, or else its heading in lower case with hyphens; the text before the first
heading has the name of the file alone. The title of a part begins with that of the file and the
headings above it, so that a "Definition" says of what. A part without words is left out, and so is
a heading that only stands above others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any, Final

from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.formal import LanguageName
from arqmath_bm25.analysis.html import Content, Formula, expand_macros, read_title
from arqmath_bm25.analysis.kinds import Kind
from arqmath_bm25.analysis.macros import definitions
from arqmath_bm25.analysis.sources import typeset
from arqmath_bm25.collection.formal_files import formal_parts
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import parse_json
from arqmath_bm25.core.tables import read_table

_TABLE: Final[dict[str, Any]] = read_table(__file__)
_WORD: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class FilePart:
    """A part of a file."""

    anchor: str  # its id within the file; "" for the text before the first heading
    title: str
    text: str
    kind: Kind | None  # None: to be seen from the text
    references: tuple[str, ...] = ()  # labels that it refers to
    labels: tuple[str, ...] = ()  # labels that others may refer to
    statement: str = ""  # the text without the proof, of a statement that has one
    level: int = 0  # of its heading: it is below the last one that has a smaller level


@dataclass(frozen=True)
class SourceFile:
    """The parts of a file, and the files that it takes in."""

    parts: list[FilePart]
    included: set[Path]


def read_source(path: Path, root: Path, whole: bool = False) -> SourceFile:
    """Return the parts of a file below `root`, or with `whole` the file as one part.

    Raises InputError for a file that is not UTF-8, or is not of the form that its ending says.
    """
    text = _read(path)
    inputs = _Inputs(root)
    reader = READERS[path.suffix.lower()]
    parts = reader(text, path, inputs)
    if whole and parts:
        parts = [_joined(parts)]
    parts = _with_own_anchors(list(_titled(parts)))
    return SourceFile(parts, inputs.taken)


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
            yield replace(part, title=" › ".join(titles), labels=labels + part.labels)
            labels = ()
        else:
            labels += part.labels


def _say_something(parts: list[FilePart]) -> list[bool]:
    """Return of each part whether it has words of its own, beyond a heading above others."""
    answers: list[bool] = []
    following: FilePart | None = None  # that says something
    for part in reversed(parts):
        is_above_others = following is not None and following.level > part.level
        has_title = bool(part.anchor and _WORD.search(part.title))
        says_something = bool(_WORD.search(part.text)) or (has_title and not is_above_others)
        answers.append(says_something)
        if says_something:
            following = part
    answers.reverse()
    return answers


def included_files(path: Path, root: Path) -> set[Path]:
    r"""Return the files that a LaTeX file takes in by `\input` and its like, directly or not."""
    if READERS[path.suffix.lower()] is not _latex_parts:
        return set()
    inputs = _Inputs(root)
    inputs.expanded(_COMMENT.sub("", _read(path)), path)
    return inputs.taken


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None

    return text.replace("\r\n", "\n").replace("\r", "\n")


def _joined(parts: list[FilePart]) -> FilePart:
    """Return parts as one, with the title of the first that has one."""
    titles = [part.title for part in parts if part.title]
    return FilePart(
        anchor="",
        title="".join(titles[:1]),
        text="\n\n".join(f"{part.title}\n\n{part.text}" for part in parts),
        kind=parts[0].kind,
        references=tuple(label for part in parts for label in part.references),
        labels=tuple(label for part in parts for label in part.labels),
    )


def _with_own_anchors(parts: list[FilePart]) -> list[FilePart]:
    """Number the anchors that occur more than once."""
    taken: set[str] = set()
    last: Counter[str] = Counter()
    numbered = []

    for part in parts:
        anchor = part.anchor
        while anchor in taken:
            last[part.anchor] += 1
            anchor = f"{part.anchor or 'text'}-{last[part.anchor] + 1}"

        taken.add(anchor)
        numbered.append(replace(part, anchor=anchor))

    return numbered


def anchor_of(heading: str) -> str:
    """Return a heading as an anchor: letters and digits in lower case, with hyphens."""
    plain = unicodedata.normalize("NFC", heading).lower()
    return "-".join(re.findall(r"[^\W_]+", plain))[:80].strip("-") or "section"


# LaTeX

_COMMENT: Final = re.compile(r"(?<!\\)(?>(?:\\\\)*)%[^\n]*")
_INPUT: Final = re.compile(r"\\(?:input|include|subfile)\s{0,9}+\{([^{}\n]{1,200}+)\}")
_LABEL: Final = re.compile(r"\\label\s*\{([^{}\n]{1,200})\}")
_REFERENCE: Final = re.compile(
    r"\\(?:ref|eqref|cref|Cref|autoref|nameref|vref|hyperref)\*?\s*"
    r"(?:\{([^{}\n]{1,400})\}|\[([^\[\]\n]{1,200})\])"
)
_HEADINGS: Final = ("part", "chapter", "section", "subsection", "subsubsection")
_STATEMENT_LEVEL: Final = len(_HEADINGS) + 1
_NESTED: Final = r"(?>(?:[^{}]+|\{(?>(?:[^{}]+|\{[^{}]*+\})*)\})*)"
_LATEX_HEADING: Final = re.compile(
    rf"\\(?P<name>{'|'.join(_HEADINGS)})\*?\s{{0,9}}+(?:\[[^\[\]]{{0,200}}+\]\s{{0,9}}+)?"
    rf"\{{(?P<heading>{_NESTED})\}}"
)
_LATEX_TITLE: Final = re.compile(
    rf"\\title\s{{0,9}}+(?:\[[^\[\]]{{0,200}}+\]\s{{0,9}}+)?\{{({_NESTED})\}}"
)
_STATEMENT: Final = re.compile(
    rf"\\begin\{{(?P<name>(?:{'|'.join(_TABLE['latex']['statements'].split())})\*?)\}}"
    r"(?:\s*\[(?P<title>[^\[\]]{0,200})\])?"
    r"(?P<text>(?:(?!\\begin\{(?P=name)\}).)*?)\\end\{(?P=name)\}"
    r"(?P<proof>\s*\\begin\{proof\}(?:(?!\\begin\{proof\}).)*?\\end\{proof\})?",
    re.DOTALL,
)
# What a title has for bookmarks and as notes.
_BESIDE_TITLE: Final = re.compile(
    rf"\\texorpdfstring\{{(?P<drawn>{_NESTED})\}}\{{{_NESTED}\}}|\\(?:thanks|footnote)\{{{_NESTED}\}}"
)
# Commands that leave no words on the page.
_SILENT: Final = re.compile(
    rf"\\(?:maketitle|tableofcontents|newpage|clearpage)\b|{_LABEL.pattern}"
)
_MOST_INPUTS: Final = 2_000  # of a file; a file may take itself in by way of others


def _latex_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Split LaTeX at headings and labelled statements; macros of the preamble go to each part."""
    source = inputs.expanded(_COMMENT.sub("", text), path)
    preamble, begin, body = source.partition(r"\begin{document}")
    if not begin:
        preamble, body = "", source
    body = body.partition(r"\end{document}")[0]

    macros = "".join(f"{preamble[begin:end]}\n" for begin, end in definitions(preamble))
    title = ""
    named = _LATEX_TITLE.search(source)
    if named:
        title = _readable_title(named[1], macros)

    parts: list[FilePart] = []
    for match, section in _cut(body, _LATEX_HEADING):
        if match is None:
            heading = FilePart("", title, "", "latex")
        else:
            heading = _latex_heading(match, section, macros)
        parts += _section_parts(heading, section, macros)
    return parts


def _latex_heading(match: re.Match[str], section: str, macros: str) -> FilePart:
    """Return the part of a section, without its text."""
    anchor = anchor_of(match["heading"])
    label = _LABEL.match(section.lstrip())
    if label:
        anchor = label[1]
    level = _HEADINGS.index(match["name"]) + 1
    title = _readable_title(match["heading"], macros)
    return FilePart(anchor, title, "", "latex", level=level)


def _readable_title(latex: str, macros: str) -> str:
    """Return a title without commands, with dollars around its formulas."""
    shown = _BESIDE_TITLE.sub(r"\g<drawn>", latex)
    content = expand_macros(read_title(shown, "latex"), macros)
    pieces: list[str | Formula] = []
    for piece in content.pieces:
        if isinstance(piece, Formula):
            pieces.append(piece)
        else:
            pieces.append(typeset(piece).replace("$", r"\$"))
    return Content(tuple(pieces)).text


def _cut(text: str, heading: re.Pattern[str]) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Yield the text before the first heading, then each heading with the text after it."""
    last, done = None, 0
    for match in heading.finditer(text):
        yield last, text[done : match.start()]
        last, done = match, match.end()

    yield last, text[done:]


def _section_parts(heading: FilePart, section: str, macros: str) -> Iterator[FilePart]:
    """Yield a section without its labelled statements, then these."""
    statements = [match for match in _STATEMENT.finditer(section) if _LABEL.search(match["text"])]
    rest, done = "", 0
    for match in statements:
        rest += section[done : match.start()] + "\n\n"
        done = match.end()

    rest += section[done:]
    yield _latex_part(heading, rest, macros)

    for match in statements:
        label = _LABEL.findall(match["text"])[0]
        title = match["name"].rstrip("*").capitalize()
        if match["title"]:
            title = f"{title}: {_readable_title(match['title'], macros)}"
        part = FilePart(label, title, "", "latex", level=_STATEMENT_LEVEL)

        if match["proof"]:
            part = _latex_part(part, match["text"] + match["proof"], macros)
            yield replace(part, statement=f"{macros}{match['text'].strip()}\n")
        else:
            yield _latex_part(part, match["text"], macros)


def _latex_part(part: FilePart, text: str, macros: str) -> FilePart:
    """Return a part with its text, and with the labels there."""
    labels = tuple(_LABEL.findall(text))
    named = [first or second for first, second in _REFERENCE.findall(text)]
    references = [label.strip() for names in named for label in names.split(",")]
    others = tuple(dict.fromkeys(label for label in references if label not in labels))
    content = ""
    if _WORD.search(_SILENT.sub("", text)):
        content = f"{macros}{text.strip()}\n"
    return replace(part, text=content, references=others, labels=labels)


class _Inputs:
    r"""LaTeX with the files of `\input` in their places; none outside the collection is read."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.taken: set[Path] = set()
        self._left = _MOST_INPUTS
        self._texts: dict[Path, str] = {}
        self._files: dict[tuple[str, Path], Path | None] = {}

    def expanded(self, text: str, path: Path, within: frozenset[Path] = frozenset()) -> str:
        """Return the text of a file with the files that it takes in, but for those it is within."""
        opened = within | {path.resolve()}

        def content(command: re.Match[str]) -> str:
            if self._left == 0:
                return command[0]
            file = self._file(command[1].strip(), path.parent)
            if file is None or file in opened:
                return command[0]

            self._left -= 1
            self.taken.add(file)
            return self.expanded(self._text(file), file, opened)

        return _INPUT.sub(content, text)

    def _text(self, file: Path) -> str:
        """Return a file without comments."""
        if file not in self._texts:
            self._texts[file] = _COMMENT.sub("", _read(file))
        return self._texts[file]

    def _file(self, name: str, folder: Path) -> Path | None:
        """Return the file of the collection that a name means, None if there is none."""
        if (name, folder) not in self._files:
            self._files[name, folder] = self._found(name, folder)
        return self._files[name, folder]

    def _found(self, name: str, folder: Path) -> Path | None:
        for base in (folder, self._root):
            for candidate in (base / name, base / f"{name}.tex"):
                file = candidate.resolve()
                if file.is_file() and file.is_relative_to(self._root):
                    return file
        return None


# Markdown, notebooks, reStructuredText

_FRONT_MATTER: Final = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title:(.*+)", re.MULTILINE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX: Final = re.compile(r" {0,3}(?P<signs>#{1,6})[ \t]+(?P<heading>[^\n]*)$")
_ANCHOR: Final = re.compile(r"\{#([^\s{}]{1,200})\}$")
_UNDERLINE: Final = re.compile(r"\A {0,3}(?:=++|-{2,}+)[ \t]*+$")


def _markdown_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Split Markdown at its headings."""
    title = ""
    front = _FRONT_MATTER.match(text)
    if front:
        text = text[front.end() :]
        named = _FRONT_TITLE.search(front[1])
        if named:
            title = named[1].strip(" \t\r\"'")

    return list(_markdown_sections(text.split("\n"), title))


def _markdown_sections(lines: list[str], title: str) -> Iterator[FilePart]:
    anchor, heading, section = "", title, list[str]()
    level = 0
    fence = ""

    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""

        if fence or mark:
            section.append(line)
            continue

        atx = _ATX.match(line)
        underlined = ""
        if section and _UNDERLINE.match(line):
            underlined = section[-1].strip()
        if underlined and not section[-1].lstrip().startswith(("#", ">", "-", "*", "|")):
            section.pop()
        elif atx is None:
            section.append(line)
            continue

        yield FilePart(anchor, heading, "\n".join(section).strip(), "markdown", level=level)
        if atx:
            heading = atx["heading"].strip()
            level = len(atx["signs"])
        else:
            heading = underlined
            level = 1 + ("-" in line)
        section = []
        named = _ANCHOR.search(heading)
        heading = _ANCHOR.sub("", heading).rstrip(" \t#")
        anchor = anchor_of(heading)
        if named:
            anchor = named[1]

    yield FilePart(anchor, heading, "\n".join(section).strip(), "markdown", level=level)


def _notebook_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Split a notebook at the headings of its Markdown cells; code is code."""
    try:
        cells = parse_json(text)["cells"]
        sources = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: expected a Jupyter notebook, as nbformat 4 has it") from None

    blocks = []

    for cell_type, source in sources:
        if cell_type == "markdown":
            blocks.append(source)
        elif cell_type == "code":
            fence = "`" * (3 + len(max(re.findall(r"`+", source), key=len, default="")))
            blocks.append(f"{fence}\n{source}\n{fence}")

    return _markdown_parts("\n\n".join(blocks), path, inputs)


_RST_ROLE: Final = re.compile(r":math:`([^`]{1,2000})`")
_RST_DISPLAY: Final = re.compile(
    r"^\.\. math::[ \t]*(?P<first>[^\n]*)(?P<more>(?:\n(?:[ \t]+[^\n]*|[ \t]*))*)", re.MULTILINE
)
_RST_OPTION: Final = re.compile(r"^[ \t]+:[a-z-]+:[^\n]*$", re.MULTILINE)
_RST_HEADING: Final = re.compile(
    r"^(?P<over>\ue000)?(?P<title>\S[^\n]*)\n(?P<sign>[=\-~^\"'*+#:.])(?P=sign){2,}[ \t]*$",
    re.MULTILINE,
)
_RST_OVERLINE: Final = re.compile(
    r"^([=\-~^\"'*+#:.])\1{2,}[ \t]*\n[ \t]*(?=[^\n]+\n\1{3,}[ \t]*$)", re.MULTILINE
)
_OVERLINED: Final = "\ue000"  # It stands for the line above a heading.


def _rst_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Read reStructuredText as Markdown: its formulas between dollars, its headings."""

    def display(found: re.Match[str]) -> str:
        more = _RST_OPTION.sub("", found["more"])
        return f"$${found['first']}{more.rstrip()}$$\n\n"

    signs: list[str] = []  # of headings; the first one that is used is that of the highest level

    def heading(found: re.Match[str]) -> str:
        sign = (found["over"] or "") + found["sign"]  # With a line above it is another one.
        if sign not in signs:
            signs.append(sign)
        level = min(signs.index(sign) + 1, 6)
        return f"{'#' * level} {found['title'].strip()}"

    text = _RST_OVERLINE.sub(_OVERLINED, text.replace(_OVERLINED, " "))
    text = _RST_DISPLAY.sub(display, text)
    text = _RST_ROLE.sub(r"$\1$", text)
    text = _RST_HEADING.sub(heading, text)
    return _markdown_parts(text, path, inputs)


# HTML and plain text

_HTML_HEADING: Final = re.compile(
    r"<h([1-6])>(?P<text>(?>(?:[^<]+|<(?!/?h[1-6]>))*))</h\1>", re.DOTALL
)
_HTML_TAG: Final = re.compile(r"<[^<>]*>")


def _html_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Split the content of a page at its headings."""
    page = as_post(text)
    parts = []

    for heading, section in _cut(page.body, _HTML_HEADING):
        if heading is None:
            parts.append(FilePart("", page.title, section, "post"))
            continue

        title = " ".join(unescape(_HTML_TAG.sub("", heading["text"])).split())
        level = int(heading[1]) - 1  # The first heading replaces the title of the page.
        parts.append(FilePart(anchor_of(title), title, section, "post", level=level))

    return parts


def _plain_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Return a text with its first line as the title, if an empty line follows that."""
    first, _, rest = text.strip().partition("\n")
    is_title = rest.startswith("\n") and len(first) <= 100
    if is_title:
        return [FilePart("", first.strip(), rest.strip(), None)]
    return [FilePart("", "", text.strip(), None)]


_LANGUAGES: Final[dict[str, LanguageName]] = {".lean": "lean", ".thy": "isabelle", ".v": "coq"}
# Its first word outside comments.
_VERILOG: Final = re.compile(
    r"(?>(?:\s+|//[^\n]*|\(\*[^\n]*\*\)|/\*(?>(?:[^*]+|\*(?!/))*)\*/)*)(?:module\b|`)"
)


def _formal_parts(text: str, path: Path, inputs: _Inputs) -> list[FilePart]:
    """Split a file of a formal language at its declarations."""
    language = _LANGUAGES[path.suffix.lower()]
    if language == "coq" and _VERILOG.match(text):
        raise InputError(f"{path}: this is Verilog; a file of Coq was expected")
    parts = []
    for part in formal_parts(text, language):
        labels: tuple[str, ...] = ()
        if part.name:
            labels = (part.name,)
        anchor = part.name
        if part.title and not anchor:
            anchor = anchor_of(part.title)
        parts.append(FilePart(anchor, part.title, part.text, language, part.used, labels))
    return parts


FileReader = Callable[[str, Path, _Inputs], list[FilePart]]
# A further form of files is a reader and a line here.
READERS: Final[dict[str, FileReader]] = {
    ".htm": _html_parts,
    ".html": _html_parts,
    ".ipynb": _notebook_parts,
    ".lean": _formal_parts,
    ".ltx": _latex_parts,
    ".markdown": _markdown_parts,
    ".md": _markdown_parts,
    ".qmd": _markdown_parts,
    ".rmd": _markdown_parts,
    ".rst": _rst_parts,
    ".tex": _latex_parts,
    ".thy": _formal_parts,
    ".txt": _plain_parts,
    ".v": _formal_parts,
    ".xhtml": _html_parts,
}
