"""Shared by all pages: template, style, font, security policy, and writing a folder of them.

The content security policy of pages forbids whatever they do not have: they ask nothing of the
network, and run no script but for the one beside them that some have.
"""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from arqmath_bm25.core.building import building
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.version import __version__

STYLE: Final = "style.css"
_MARKER: Final = ".arqmath-bm25-"  # tells pages, which may be replaced, from other folders


def policy(script: bool, source: str = "'self' file:") -> str:
    """Return a content security policy: the style from `source`, and a script if there is one."""
    rules = ["default-src 'none'", f"style-src {source}", "font-src data:"]
    if script:
        rules.append(f"script-src {source}")
    rules.append("base-uri 'none'")
    return "; ".join(rules)


def templates(kind: str, script: str = "", served: bool = False, origin: str = "") -> Environment:
    """Return the templates of a kind of page; they escape all values.

    Pages that are `served` find their files in /static. Others have them in their own folder, and
    name their policy themselves. `origin` is the site of the posts.
    """
    home, static_files, own_policy = "index.html", "", f"{policy(bool(script))}; form-action 'none'"
    if served:
        home, static_files, own_policy = "/", "/static/", ""

    environment = Environment(
        loader=PackageLoader("arqmath_bm25.pages"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals |= {
        "version": __version__, "kind": kind, "script": script, "root": "", "origin": origin,
        "home": home, "static": static_files, "policy": own_policy,
    }  # fmt: skip
    environment.filters["signed"] = lambda value: f"{value:+.4f}".replace("-", "−")
    environment.filters["p_value"] = lambda p: f"{p:.4f}" if p >= 0.0001 else "< 0.0001"
    return environment


@cache
def static(name: str) -> bytes:
    """Return a file that pages load; the style has the math font embedded.

    Browsers to which every file on a disk is a site of its own would not load the font otherwise.
    """
    content = files("arqmath_bm25.pages").joinpath("static", name).read_bytes()
    if name != STYLE:
        return content
    font = b"data:font/woff2;base64," + b64encode(static("math.woff2"))
    return content.replace(b"math.woff2", font)


class Pages(NamedTuple):
    """A folder of pages that is being written."""

    place: Path
    templates: Environment

    def write(self, file: str, template: str, **values: Any) -> None:
        """Write a page."""
        path = self.place / file
        path.parent.mkdir(exist_ok=True)
        text = self.templates.get_template(template).render(values)
        path.write_text(text, encoding="utf-8")


@contextmanager
def site(directory: Path, kind: str, script: str = "", origin: str = "") -> Iterator[Pages]:
    """Yield a folder for pages of a kind, which becomes `directory` when they are complete.

    It gets the style and the script too. Raises InputError if `directory` holds something else.
    """
    if directory.exists() and not (directory / f"{_MARKER}{kind}").is_file():
        raise InputError(f"{directory}: this exists and holds no {kind}; choose another -o")
    with building(directory) as place:
        for name in filter(None, (STYLE, script)):
            (place / name).write_bytes(static(name))
        yield Pages(place, templates(kind, script, origin=origin))
        (place / f"{_MARKER}{kind}").write_text(f"{__version__}\n", encoding="utf-8")
