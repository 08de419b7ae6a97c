"""Hooks of MkDocs: pages from the root, links into the sources, formulas drawn as MathML."""

from __future__ import annotations

import ast
import html
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

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
    files.append(File.generated(config, "api.md", content=_API))
    files.append(File.generated(config, "modules.md", content=_modules()))
    return files


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
    directory = PurePosixPath() if name in FROM_ROOT else PurePosixPath("docs")

    def link(match: re.Match[str]) -> str:
        return match[1] + target_of(match[2], directory, files, config) + match[3]

    return _MATH.sub(_drawn, _LINK.sub(link, markdown))


def target_of(target: str, directory: PurePosixPath, files: Files, config: MkDocsConfig) -> str:
    """Return what a link of a page in a directory of the repository says in the site.

    A file that is no page becomes a file of the site.
    """
    parts = urlsplit(target)
    if parts.scheme or not parts.path:
        return target

    path = _resolved(directory / parts.path)
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    for uri, source in FROM_ROOT.items():
        if path == source:
            return uri + fragment

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
