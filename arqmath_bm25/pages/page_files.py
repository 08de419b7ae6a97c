"""Shared by all pages: template, style, font, security policy, and writing a folder of them.

The content security policy allows only the files that pages need: they access no network, and run
no script other than their own, which some pages have next to them.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from arqmath_bm25.core.building import PAGES, building
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.version import __version__

STYLE = "style.css"

_MAX_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def policy(script: bool, source: str = "'self' file:") -> str:
    """Return a content security policy: the style from `source`, and a script if there is one."""
    rules = ["default-src 'none'", f"style-src {source}", f"img-src {source}", "font-src data:"]
    if script:
        rules.append(f"script-src {source}")
    rules.append("base-uri 'none'")
    return "; ".join(rules)


def templates(kind: str, script: str = "", served: bool = False, origin: str = "") -> Environment:
    """Return the templates of a kind of page; they escape all values.

    Pages that are `served` load their files from /static. Others load them from their own folder,
    and declare their policy themselves. `origin` is the site of the posts.
    """
    if served:
        home = "/"
        static_files = "/static/"
        own_policy = ""
    else:
        home = "index.html"
        static_files = ""
        own_policy = f"{policy(bool(script))}; form-action 'none'"

    environment = Environment(
        loader=PackageLoader("arqmath_bm25.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "version": __version__,
        "brand": "arqmath-bm25",
        "kind": kind,
        "script": script,
        "root": "",
        "origin": origin,
        "home": home,
        "static": static_files,
        "policy": own_policy,
    }
    environment.filters["signed"] = _format_signed
    environment.filters["p_value"] = _format_p_value
    return environment


def _format_signed(value: float) -> str:
    """Return a difference with its sign, a minus sign in place of a hyphen."""
    return f"{value:+.4f}".replace("-", "−")


def _format_p_value(p: float) -> str:
    """Return a p-value to four digits."""
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.4f}"


@cache
def static(name: str) -> bytes:
    """Return a file that pages load; the style has the math font embedded.

    Some browsers treat every file on a disk as a site of its own, and would not load the font.
    """
    content = files("arqmath_bm25.pages").joinpath("static", name).read_bytes()
    if name != STYLE:
        return content

    font = b"data:font/woff2;base64," + b64encode(static("math.woff2"))
    return content.replace(b"math.woff2", font)


class Pages(NamedTuple):
    """A folder of pages that is being written."""

    folder: Path
    templates: Environment

    def write(self, file: str, template: str, **values: Any) -> None:
        """Write a page."""
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        source = self.templates.get_template(template)
        text = source.render(values)
        path.write_text(text, encoding="utf-8")


def page_names(things: Iterable[str]) -> dict[str, str]:
    """Name a file for each thing: its id, without characters that could leave the folder."""
    names = {}
    taken = set()
    for number, thing in enumerate(things, 1):
        safe = _UNSAFE.sub("_", thing).strip(".")
        stem = safe[:_MAX_NAME] or "_"
        name = f"{stem}.html"
        if name.lower() in taken:
            name = f"{number}-{name}"
        taken.add(name.lower())
        names[thing] = name
    return names


@contextmanager
def site(directory: Path, kind: str, script: str = "", origin: str = "") -> Iterator[Pages]:
    """Yield a folder for pages of a kind, which becomes `directory` when they are complete.

    It also gets the style and the script. Raises InputError if `directory` holds something else.
    """
    marker = f"{PAGES}{kind}"
    is_new = not directory.exists() or (directory.is_dir() and not any(directory.iterdir()))
    if not (is_new or (directory / marker).is_file()):
        raise InputError(f"{directory}: this exists and holds no {kind}; choose another -o")

    with building(directory) as folder:
        for name in filter(None, (STYLE, script)):
            (folder / name).write_bytes(static(name))

        yield Pages(folder, templates(kind, script, origin=origin))

        (folder / marker).write_text(f"{__version__}\n", encoding="utf-8")
