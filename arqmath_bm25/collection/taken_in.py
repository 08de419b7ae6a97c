r"""Sources with the files that they take in, each once.

LaTeX takes in by `\input`, `\import` and their like, relative to the main file or to the folder
that `\import` names, and what `\includeonly` and conditionals leave out stays apart. Markdown takes
in by directives and embedded notes, relative to the file itself.
"""

import hashlib
import os
import re
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arqmath_bm25.analysis.latex_html import VERBATIM, body_end, without_comments
from arqmath_bm25.analysis.macros import preamble_macros
from arqmath_bm25.analysis.markdown_html import front_matter
from arqmath_bm25.collection.folder_texts import LATIN_1, inside, text_of
from arqmath_bm25.core.lazy import expression

MARKDOWN = frozenset((".markdown", ".md", ".mdx", ".qmd", ".rmd"))
_XML = frozenset((".ptx", ".xml"))
_IN_XML = expression(
    r"<xi:include\b[^<>]*?\bhref\s*=\s*[\"']([^\"'<>]{1,200})[\"'][^<>]*>(?:\s*</xi:include>)?"
)
_PROLOGUE = expression(r"\A\s*(?:<\?xml[^<>]*\?>\s*)?(?:<!DOCTYPE[^<>\[\]]*>)?")
_TAKE_IN = MARKDOWN | _XML | {".tex", ".ltx"}
_COMMAND = expression(r"\\[A-Za-z@]+\*?(?:\[[^\[\]]*\])?(?:\{[^{}]*\})*")
_NAME = expression(r"\\([A-Za-z]+)")
_TAKES_IN = expression(r"\\(?:sub)?(?:input|include|import|file)")
_WORD = expression(r"[^\W\d_]{2,}")
_PICTURES = ("", ".png", ".jpg", ".jpeg", ".svg", ".pdf")
_DEEPEST = 100  # files within files
_MOST_REGIONS = 1000  # and files of one main file
_NUMBERS = expression(r"([0-9]{0,9})(:?)([0-9]{0,9})")
BEGIN = r"\begin{document}"
_STEP = expression(
    rf"(?P<code>{VERBATIM})"
    r"|\\newif\s*\\(?P<flag>if[A-Za-z@]+)"
    r"|\\(?P<condition>if(?!f(?![A-Za-z@])|thenelse)[A-Za-z@]*)(?![A-Za-z@])"
    r"|\\(?P<branch>else|or|fi)(?![A-Za-z@])"
    r"|\\(?P<set>[A-Za-z@]+?)(?P<value>true|false)(?![A-Za-z@])"
    r"|\\includeonly\s*\{(?P<only>[^{}]*)\}"
    r"|\\(?P<sub>sub)?(?:import|inputfrom|includefrom)\*?\s*"
    r"\{(?P<folder>[^{}\n]{0,200})\}\s*\{(?P<imported>[^{}\n]{1,200})\}"
    r"|\\(?P<command>input|include|subfile(?:include)?|InputIfFileExists)(?![A-Za-z@])\s*"
    r"(?:\{(?P<braced>[^{}\n]{1,200})\}|\"(?P<quoted>[^\"\n]{1,200})\"|(?P<plain>[^\s{}\\%$]{1,200}))"
    r"|\\(?P<style>usepackage|RequirePackage|documentclass)\s*(?:\[[^\[\]]*\]\s*)?"
    r"\{(?P<styles>[^{}]{1,999})\}"
    r"|\\graphicspath\s*\{(?P<graphics>[^\n]{0,400}\})\s*\}"
    r"|\\includegraphics\*?\s*(?P<look>\[[^\[\]]{0,400}\]\s*)?\{(?P<picture>[^{}\n]{1,200})\}"
    r"|(?P<begin>\\begin\{document\})|(?P<last>\\endinput)(?![A-Za-z@])"
)
# `{include}` and `{literalinclude}` of MyST, `include` of Quarto, embedded notes of Obsidian,
# snippets of mkdocs, `include` of mdBook, children of knitr.
_IN_MARKDOWN = expression(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<literal>literal)?include\}[ \t]+(?P<file>[^\n]{1,200})\n"
    r"(?:[ \t]*:[^\n]*\n|[ \t]*\n){0,20}(?P=fence)[ \t]*$"
    r"|^[ \t]*!\[\[(?P<note>[^\[\]|#\n]{1,200})(?:#(?P<section>[^\[\]|\n]{1,200}))?"
    r"[^\[\]\n]*\]\][ \t]*$"
    r"|^[ \t]*\{\{<[ \t]*include[ \t]+(?P<part>[^\s<>]{1,200})[ \t]*>\}\}[ \t]*$"
    r"|^[ \t]*-{1,2}8<-{1,2}[ \t]+\"(?P<snippet>[^\"\n]{1,200})\"[ \t]*$"
    r"|^[ \t]*\{\{#include[ \t]+(?P<chapter>[^\s{}:]{1,200})(?::(?P<lines>[\w:-]{1,99}))?\}\}"
    r"[ \t]*$"
    r"|^```\{r[^\n{}]{0,200}\bchild[ \t]*=[ \t]*['\"](?P<child>[^'\"\n]{1,200})['\"]"
    r"[^\n{}]{0,99}\}\n\s*```[ \t]*$",
    re.MULTILINE,
)
_MARKS = ("include", "![[", "8<", "child")  # each of them has one


class SourceInputs:
    """The files that one main file takes in; none outside the folder is read."""

    def __init__(self, root: Path, macros: str = "") -> None:
        self.root = root
        self.macros = macros  # definitions of the book, in LaTeX
        self.taken: dict[Path, None] = {}  # in order, files that are no documents of their own then
        self.body: set[Path] = set()  # those of them after \begin{document}
        self.is_frame = False  # whether most words of the body are of files that are taken in
        self.latin: set[Path] = set()  # files whose encoding nothing declares
        self.is_alone = True  # whether it names no file to be taken in, be there one or not
        self.source = ""  # a digest of the whole text, of one that names files
        self._encoding = ""  # of the main file
        self._read = hashlib.sha256()  # of all texts
        self._main = root
        self._once: set[Path] = set()
        self._flags = {"iffalse": False, "iftrue": True}
        self._graphics = [""]  # folders of pictures
        self._only: set[str] | None = None  # names that \includeonly lists
        self._in_body = False
        self._preamble = ""

    def read(self, path: Path) -> str:
        """Return the text of the main file, or of one that it takes in."""
        text, encoding = text_of(path, self._encoding)
        self._read.update(text.encode("utf-8", "surrogatepass"))
        if encoding == LATIN_1:
            self.latin.add(path)
        else:
            self._encoding = self._encoding or encoding
        return text

    def expanded(self, text: str, path: Path) -> str:
        """Return the text of the main file with the files that it takes in."""
        self._main = path
        if path.suffix.lower() in MARKDOWN:
            return self._markdown(text, path, 0)
        if path.suffix.lower() in _XML:
            return self._xml(text, path.parent, 0)
        text = without_comments(text)
        self._preamble, begin, own = text.partition(BEGIN)
        text = self._preamble + begin + self._with_macros(own)
        source = self._latex(text, (path.parent, path.parent), 0)
        if self.body:
            self.is_frame = 2 * _words(own) <= _words(source.partition(BEGIN)[2])
        return source

    def digest(self, path: Path) -> None:
        """Note a digest of the main file and of all files that it takes in."""
        text = self.expanded(self.read(path), path)
        if not self.is_alone:
            files = "\n".join([text, *sorted(map(str, self.latin))])
            self._read.update(files.encode("utf-8", "surrogatepass"))
            self.source = self._read.hexdigest()

    def _take(
        self, file: Path | None, depth: int, stays: bool = False, section: str = ""
    ) -> str | None:
        """Return the text of a file that is taken in now, perhaps for a section.

        It is None if that was taken in already. A file that `stays` is a document of its own too.
        """
        if file is None or depth >= _DEEPEST:
            return None
        part = file
        if section:
            part = Path(f"{file}#{section}")
        if part in self._once or (section and len(self._once) > _MOST_REGIONS):
            return None
        self._once.add(part)
        if not stays:
            self.taken[file] = None
        if self._in_body:
            self.body.add(file)
        return self.read(file)

    # LaTeX

    def _latex(self, text: str, folders: tuple[Path, ...], depth: int) -> str:
        """Return LaTeX with the files that it takes in; the last folder is the main file's."""
        written = []
        conditions = []  # around this place; None: nobody knows
        last_end = text.rfind(r"\fi")
        done = 0
        for step in _STEP.finditer(text):
            was_shown = False not in conditions
            if was_shown:
                written.append(text[done : step.start()])
            done = step.end()
            replaced = step[0]
            if step["last"] and was_shown:
                line, _, _ = text[done:].partition("\n")
                return "".join([*written, line])
            if step["condition"] and step.start() < last_end:
                conditions.append(self._flags.get(step["condition"]))
                replaced = replaced if conditions[-1] is None else " "
            elif step["branch"] and conditions:
                condition = conditions.pop()
                replaced = replaced if condition is None else " "
                if step["branch"] != "fi":
                    conditions.append(None if condition is None else not condition)
            elif was_shown:
                replaced = self._step(step, folders, depth)
            if was_shown or False not in conditions:
                written.append(replaced)

        written.append(text[done:])
        return "".join(written)

    def _with_macros(self, text: str) -> str:
        """Return LaTeX in which the macros that take in files are expanded."""
        macros = {}
        for name, macro in preamble_macros(self._preamble).items():
            if _TAKES_IN.search(macro.body):
                macros[name] = macro
        if not macros:
            return text

        written: list[str] = []
        done = 0
        for command in _NAME.finditer(text):
            known = macros.get(command[1])
            use = known and known.expanded_use(text, command.end())
            if use and command.start() >= done:
                written += text[done : command.start()], use[0]
                done = use[1]
        return "".join([*written, text[done:]])

    def _step(self, step: re.Match[str], folders: tuple[Path, ...], depth: int) -> str:
        """Carry out a command, and return its replacement."""
        if step["flag"]:
            self._flags[step["flag"]] = False
        elif step["set"] and f"if{step['set']}" in self._flags:
            self._flags[f"if{step['set']}"] = step["value"] == "true"
        elif step["only"] is not None:
            self._only = {name.strip() for name in step["only"].split(",")}
        elif step["graphics"]:
            self._graphics += re.findall(r"\{([^{}]*)\}", step["graphics"])
        elif step["picture"]:
            return self._picture(step, folders)
        elif step["begin"]:
            self._in_body = True
        elif step["imported"]:
            return self._imported(step, folders, depth)
        elif step["command"]:
            name = (step["braced"] or step["quoted"] or step["plain"]).strip(' "')
            if step["command"] == "include" and self._only is not None and name not in self._only:
                return " "
            taken = self._input(name, folders, depth)
            return f"\n\n{taken}\n\n" if step["command"] == "include" else taken
        elif step["style"]:
            ending = ".sty"
            if step["style"] == "documentclass":
                ending = ".cls"
            for name in step["styles"].split(","):
                file = self._file(folders[-1:], name.strip() + ending)
                text = self._take(file, depth)
                if text:
                    style = self._latex(without_comments(text), folders, depth + 1)
                    return f"{step[0]}\n{style}\n"
        return step[0]

    def _picture(self, step: re.Match[str], folders: tuple[Path, ...]) -> str:
        """Return a command that shows a picture, with its path from the folder of all files."""
        name = step["picture"].strip()
        names = [folder + name + ending for folder in self._graphics for ending in _PICTURES]
        file = self._file(folders, *names)
        if file is None:
            return step[0]
        self.taken[file] = None
        path = file.relative_to(self.root).as_posix()
        return rf"\includegraphics{{/{path}}}"

    def _input(self, name: str, folders: tuple[Path, ...], depth: int) -> str:
        """Return the body of the file that a name means; a blank if there is none."""
        if "\\" in name:
            name = preamble_macros(self._preamble).expand_macros(name)
        file = self._file(folders, f"{name}.tex", name, f"{name}.md")
        text = self._take(file, depth)
        if file is None or not text:
            return " "
        text = without_comments(text)
        if BEGIN in text and self._in_body:  # of the packages standalone and subfiles
            text = text.partition(BEGIN)[2]
            text = text[: body_end(text, 0)]
            folders = (file.parent, *folders[-1:])
        folders = (*folders[:1], file.parent, *folders[-1:])
        return f"{self._latex(text, folders, depth + 1)}\n"

    def _imported(self, step: re.Match[str], folders: tuple[Path, ...], depth: int) -> str:
        bases = folders[::-1]
        if step["sub"]:
            bases = folders
        for base in bases:
            folder = base / step["folder"].strip()
            name = step["imported"].strip()
            if self._file((folder,), f"{name}.tex", name):
                return self._input(name, (folder, folders[-1]), depth)
        return " "

    # XML

    def _xml(self, text: str, folder: Path, depth: int) -> str:
        """Return XML with the files that its xi:include name."""

        def content(include: re.Match[str]) -> str:
            file = self._file((folder,), include[1])
            taken = self._take(file, depth)
            if file is None or taken is None:
                return ""
            return self._xml(taken, file.parent, depth + 1)

        return _IN_XML.sub(content, _PROLOGUE.sub("", text, count=1))

    # Markdown

    def _markdown(self, text: str, path: Path, depth: int) -> str:
        def content(command: re.Match[str]) -> str:
            name = command["note"] or command["chapter"] or command[command.lastgroup or 0]
            name = name.strip()
            file = self._file((path.parent,), name, f"{name}.md")
            if file is None:
                return "" if command["snippet"] else command[0]
            if command["literal"]:
                return f"{command['fence']}\n{self.read(file)}\n{command['fence']}"
            included = None
            if command["lines"]:
                return self._region(file, command["lines"])
            if file.suffix.lower() in MARKDOWN:
                section = (command["section"] or "").rpartition("#")[2].strip()
                included = self._take(file, depth, command["note"] is not None, section)
            if included is None:
                return ""
            _, begin = front_matter(included)
            included = _section_of(included[begin:], section)
            included = self._markdown(included, file, depth + 1)
            if command["note"]:  # a quote has no sections
                included = "> " + included.replace("\n", "\n> ") + "\n"
            return included

        if not any(mark in text for mark in _MARKS):
            return text
        return _IN_MARKDOWN.sub(content, text)

    def _region(self, file: Path, named: str) -> str:
        """Return some lines of a file, once: of an anchor, or with the numbers `2:5`."""
        lines = (self._take(file, 0, stays=True, section=f":{named}") or "").split("\n")
        anchor = re.compile(rf"\bANCHOR(?:_END)?:[ \t]*{re.escape(named)}\b")
        edges = [number for number, line in enumerate(lines) if anchor.search(line)]
        begin, end = [*edges, 0, 0][:2]
        numbers = _NUMBERS.fullmatch(named)
        if numbers is not None:
            begin = int(numbers[1] or 1) - 2
            end = begin + 2
            if numbers[2]:
                end = int(numbers[3] or len(lines))
        return "\n".join(lines[begin + 1 : end])

    def _file(self, folders: tuple[Path, ...], *names: str) -> Path | None:
        """Return the file of the folder that names mean, None if there is none."""
        if self.is_alone:
            self.is_alone = False
            self.root = self.root.resolve()
            self._once.add(Path(os.path.realpath(self._main)))
        for folder in dict.fromkeys((*folders, self.root)):
            for name in names:
                file = inside(folder / name, self.root)
                if file is not None:
                    return file
        return None


@dataclass
class Plan:
    """Which files of a folder are documents of their own."""

    inputs: dict[str, SourceInputs]  # by their names, in order
    left_out: dict[str, str]  # names of main files that only repeat another one, with the reason

    @property
    def taken(self) -> set[str]:
        """The names of the files that others take in."""
        return names_taken(self.inputs.values())


def names_taken(inputs: Iterable[SourceInputs]) -> set[str]:
    """Return the names of the files that main files take in."""
    names = set()
    for each in inputs:
        names |= {path.relative_to(each.root).as_posix() for path in each.taken}
    return names


def planned(
    files: Sequence[str], root: Path, asked: Callable[[str], bool], alone: Container[str] = ()
) -> Plan:
    """Find the main files of a real folder by their names; files that are `asked` for stay.

    Files that are known to be `alone`, as they name none to be taken in, are not read.

    Of files that take in each other, the first one stays. Of main files that take in the same
    chapters the one that takes in most, then the one with the shorter path.
    """
    inputs = {}
    taken: set[str] = set()
    nothing = SourceInputs(root)  # one for all that take nothing in

    def add(name: str) -> None:
        inputs[name] = nothing
        if name in alone or f".{name.rpartition('.')[2].lower()}" not in _TAKE_IN:
            return
        inputs[name] = SourceInputs(root)
        with suppress(Exception):  # its reader says why it cannot be read
            inputs[name].digest(root / name)
        taken.update(names_taken([inputs[name]]))

    for name in files:
        if name not in taken:
            add(name)
    for name in taken.intersection(inputs):  # later ones take these in
        del inputs[name]
    taken = names_taken(inputs.values())
    for name in files:  # of a file that is deep within others
        if name not in taken and name not in inputs:
            add(name)

    plan = Plan({name: inputs[name] for name in files if name in inputs}, {})
    mains = [name for name, each in plan.inputs.items() if each.body and each.is_frame]
    mains.sort(key=lambda name: (-len(inputs[name].body), len(name), name))
    shown: dict[Path, str] = {}
    for name in mains:
        body = inputs[name].body
        if body <= shown.keys() and not asked(name):
            other = Path(shown[min(body)]).name
            plan.left_out[name] = f"its chapters are those of {other}"
            del plan.inputs[name]
        shown |= dict.fromkeys(body - shown.keys(), name)
    return plan


def _section_of(note: str, name: str) -> str:
    """Return the section below a heading of a note, or the paragraph with a mark like `^a1`."""
    if not name:
        return note
    if name.startswith("^"):
        return "".join(each for each in note.split("\n\n") if each.rstrip().endswith(name))
    heading = re.search(rf"^(#{{1,6}})[ \t]+{re.escape(name)}[ \t]*$", note, re.MULTILINE)
    if heading is None:
        return ""
    end = re.compile(rf"^#{{1,{len(heading[1])}}}[ \t]", re.MULTILINE).search(note, heading.end())
    return note[heading.start() : end.start() if end else len(note)]


def _words(text: str) -> int:
    """Count the words of LaTeX outside of commands and their arguments."""
    return len(_WORD.findall(_COMMAND.sub(" ", text)))
