"""Hooks of MkDocs: pages from the root, links into the sources, formulas drawn as MathML."""

from __future__ import annotations

import ast
import html
import inspect
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import yaml
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from arqmath_bm25.pages.latex_to_mathml import render  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# Pages of the root, by the name that they have in the site.
FROM_ROOT: Final = {
    "index.md": "README.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
# Pages that few visitors ask for: their search shows these last.
OF_PROJECT: Final = FROM_ROOT.keys() - {"index.md"} | {"modules.md", "RESULTS.md", "LABS.md"}
_API: Final = """# The library

```python
import arqmath_bm25 as arq
```

::: arqmath_bm25.api
    options: {show_root_heading: false, show_root_toc_entry: false}

::: arqmath_bm25.analysis.formula_similarity
    options: {members: [formula_similarity, formula_similarities]}

::: arqmath_bm25.core.errors
    options: {members: [InputError, ScoreWarning]}
"""
# Pages by person: title and sections of the user guide.
BY_PERSON: Final = {
    "notes.md": ("Search my notes", "The search page", "I have documents of my own", "Install it"),
    "lab.md": (
        "Take part in a lab",
        "Score a run",
        "See what a run did",
        "I have the data",
        "Change the ranking, tune its parameters",
        "Glossary",
    ),
    "python.md": ("Use it from Python", "I work in Python"),
    "large.md": (
        "Large collections",
        "Engines: one ranking, faster or on more machines",
        "From nothing to a cluster search",
    ),
}
_LINK: Final = re.compile(r"(\]\()([^)\s]+)(\))")
# Code is left as it is: a fence, a span, then a displayed and an inline formula.
_MATH: Final = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\$(?P<inline>[^\s$](?:[^$\n]*[^\s$])?)\$(?!\d)",
    re.DOTALL | re.MULTILINE,
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for name, source in FROM_ROOT.items():
        content = (ROOT / source).read_text()
        files.append(File.generated(config, name, content=content))
    made = {
        "api.md": _API,
        "modules.md": _modules(),
        "commands.md": _commands(),
        "settings.md": _settings(),
    }
    sections = _sections()
    for name, (title, *parts) in BY_PERSON.items():
        made[name] = "\n\n".join([f"# {title}", *map(sections.__getitem__, parts)])
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def _sections() -> dict[str, str]:
    """Return the sections of the user guide by their headings, "" for its beginning."""
    beginning, *parts = re.split(r"^## ", (ROOT / "docs/USAGE.md").read_text(), flags=re.MULTILINE)
    return {"": beginning} | {part.partition("\n")[0]: f"## {part}" for part in parts}


def _place(anchor: str) -> str:
    """Return the page that has a section of the user guide."""
    sections = _sections()
    for name, (_, *parts) in BY_PERSON.items():
        headings = re.findall(
            r"^#+ (.+)$", "\n".join(map(sections.__getitem__, parts)), re.MULTILINE
        )
        if anchor in [slugify(heading, "-") for heading in headings]:
            return name
    return "USAGE.md"


def _commands() -> str:
    """Return a page with the help of every command, as the program has it."""
    help_of = yaml.safe_load((ROOT / "arqmath_bm25/cli/options.yaml").read_text())
    lines = ["# Commands", "", "`arqmath-bm25 COMMAND --help` prints the same, with defaults."]
    groups = _classes(ROOT / "arqmath_bm25/cli/shared/options.py")
    groups["SearchPlace"] = groups["Place"] + groups["SearchPlace"]
    found: dict[str, list[str]] = {}
    for path in (ROOT / "arqmath_bm25/cli").glob("[a-z]*.py"):
        for node in ast.parse(path.read_text()).body:
            if not (isinstance(node, ast.FunctionDef) and node.decorator_list):
                continue
            said = inspect.cleandoc(ast.get_docstring(node) or "")
            said = re.sub(r"^Example: (.*)$", r"`\1`", said, flags=re.MULTILINE)
            rows = ["", said, "", "| option | |", "|---|---|"]
            texts = help_of["any"] | (help_of.get(node.name) or {})
            for argument in node.args.args:
                for field in groups.get(ast.unparse(argument.annotation), [argument.arg]):
                    rows.append(_option(field, texts.get(field, "")))
            found["eval" if node.name == "evaluate" else node.name] = rows

    program = (ROOT / "arqmath_bm25/cli/__init__.py").read_text()
    for name in re.findall(r'^    "(\w+)": CommandEntry', program, re.MULTILINE):
        lines += ["", f"## {name}", *found[name]]
    return "\n".join(lines) + "\n"


def _option(name: str, text: str | dict[str, object]) -> str:
    """Return a row of a table for a parameter of a command."""
    more = {"help": text} if isinstance(text, str) else text
    flags = more.get("flags", [f"--{name.replace('_', '-')}"])
    shown = more.get("argument") or ", ".join(flags)
    said = " ".join(str(more.get("help", "")).split()).replace("$$", "$")
    return f"| `{shown.replace('|', ' or ')}` | {_code(said)} |"


def _code(text: str) -> str:
    """Return text for a cell: its signs begin no formula and end no cell."""
    return text.replace("$", "&#36;").replace("|", "&#124;")


def _classes(path: Path) -> dict[str, list[str]]:
    """Return the names of the fields of each class of a module."""
    return {
        node.name: [row.target.id for row in node.body if isinstance(row, ast.AnnAssign)]
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }


def _settings() -> str:
    """Return a page with the keys of configurations and the shipped files."""
    lines = ["# Settings", "", "The keys of a configuration (`--config`), by its parts."]
    for name in ("tasks/settings.py", "analysis/settings.py"):
        source = (ROOT / "arqmath_bm25" / name).read_text()
        written = source.splitlines()
        for node in ast.parse(source).body:
            fields = []
            if isinstance(node, ast.ClassDef):
                fields = [row for row in node.body if isinstance(row, ast.AnnAssign)]
            fields = [row for row in fields if "ClassVar" not in ast.unparse(row.annotation)]
            if not fields:
                continue
            lines += ["", f"## {node.name}", "", ast.get_docstring(node) or ""]
            lines += ["", "| key | values | default | |", "|---|---|---|---|"]
            for row in fields:
                said = _comment(written, row)
                values = ast.unparse(row.annotation).replace(" | ", " or ")
                default = ast.unparse(row.value) if row.value else "required"
                lines.append(f"| `{row.target.id}` | `{values}` | `{default}` | {_code(said)} |")
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        lines += ["", f"## configs/{path.name}", "", "```yaml", path.read_text().strip(), "```"]
    return "\n".join(lines) + "\n"


def _comment(written: list[str], field: ast.AnnAssign) -> str:
    """Return the comment above a field, and the one at its end."""
    above: list[str] = []
    number = field.lineno - 2
    while written[number].strip().startswith("#"):
        above.insert(0, written[number].strip("# "))
        number -= 1
    _, _, after = written[(field.end_lineno or field.lineno) - 1].partition("  # ")
    return " ".join([*above, after]).strip()


def _modules() -> str:
    """Return a page with the first sentence of every module, by folder."""
    package = ROOT / "arqmath_bm25"
    lines = ["# Every module"]

    for directory in (package, *sorted(path for path in package.rglob("*") if path.is_dir())):
        rows = [row for path in sorted(directory.glob("*.py")) if (row := _row(path))]
        if rows:
            name = directory.relative_to(ROOT).as_posix()
            lines += ["", f"## `{name}/`", "", "| module | |", "|---|---|", *rows]

    return "\n".join(lines) + "\n"


def _row(path: Path) -> str:
    """Return a row of a table for a module, empty if it has no docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return f"| `{path.name}` | {paragraph} |" if paragraph else ""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at pages and files of the site, and draw formulas."""
    name = page.file.src_uri
    if name == "USAGE.md":
        markdown = _sections()[""]
    if name in BY_PERSON:
        page.meta["search"] = {"boost": 2}
    elif name in OF_PROJECT:
        page.meta["search"] = {"boost": 0.2}
    directory = PurePosixPath() if name in FROM_ROOT else PurePosixPath("docs")

    def link(match: re.Match[str]) -> str:
        return match[1] + target_of(match[2], directory, files, config) + match[3]

    return _MATH.sub(_drawn, _LINK.sub(link, markdown))


def target_of(target: str, directory: PurePosixPath, files: Files, config: MkDocsConfig) -> str:
    """Return what a link of a page in a directory of the repository says in the site.

    A file that is no page becomes a file of the site.
    """
    parts = urlsplit(target)
    if parts.scheme:
        return target
    if not parts.path:
        of_guide = directory.name == "docs" and _place(parts.fragment)
        return target if of_guide in (False, "USAGE.md") else f"{of_guide}{target}"

    path = _resolved(directory / parts.path)
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    for uri, source in FROM_ROOT.items():
        if path == source:
            return uri + fragment

    if path == "docs/USAGE.md" and parts.fragment:
        return f"{_place(parts.fragment)}{fragment}"
    in_site = path.removeprefix("docs/")
    file = files.get_file_from_path(in_site)
    if file and file.inclusion.is_included():
        return in_site + fragment
    if (ROOT / path).is_file():
        copy = path
        if path.endswith(".md"):
            copy = f"{path}.txt"  # or it would be a page
        if files.get_file_from_path(copy) is None:
            files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
        return copy
    return target  # MkDocs names it, and the build fails


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fail for a picture that is no file of the site, such as a page of another host about one."""
    for source in re.findall(r'<img\b[^<>]*\bsrc="([^"]*)"', content):
        parts = urlsplit(html.unescape(source))
        found = files.get_file_from_path(_resolved(PurePosixPath(page.url, parts.path)))
        if "/blob/" in source or not (parts.scheme or found):
            raise PluginError(f"{page.file.src_uri}: there is no picture {source}")
    return content


def _resolved(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _drawn(match: re.Match[str]) -> str:
    if match["code"]:
        return match[0]
    if match["display"]:
        return f"\n\n<div>{_mathml(match['display'], display=True)}</div>\n\n"
    return _mathml(match["inline"], display=False)


def _mathml(latex: str, *, display: bool) -> str:
    return render(html.unescape(latex), display)
