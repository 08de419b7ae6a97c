"""reStructuredText as the HTML of a post (markup), by docutils.

Directives and roles of Sphinx are read by the names that Markdown has for them: statements, boxes,
formulas, references. Nothing is taken in from other files, and no message of docutils is a word.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, Parser, directives, roles
from docutils.parsers.rst.states import Inliner
from docutils.readers import standalone
from docutils.transforms.references import DanglingReferences
from docutils.utils import SystemMessage

from arqmath_bm25.analysis import markup
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.core.tables import names_in, read_table

_TABLE: dict[str, Any] = read_table(__file__)
_TAGS: dict[str, str] = _TABLE["tags"]
_DROPPED = names_in(_TABLE["dropped"])
_CODE = names_in(_TABLE["code"])
_DIRECTIVE = expression(r"^[ \t]*\.\.[ \t]+([\w:+.-]+)::", re.MULTILINE)
_ROLE = expression(r":([A-Za-z][\w:+.-]{0,40}):`")
_BARE = expression(r'<a href="#([^"<>]*)">(?=</a>)')  # a reference without a text
_SETTINGS = {
    "_disable_config": True,
    "docinfo_xform": True,
    "doctitle_xform": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "line_length_limit": 10_000_000,
    "raw_enabled": False,
    "report_level": 5,
    "syntax_highlight": "none",
}


def rst_html(text: str) -> str:
    """Return reStructuredText as HTML. Any string is read."""
    text = markup.PRIVATE.sub(" ", text)
    for name in set(map(str.lower, _DIRECTIVE.findall(text))):
        known = name in directives._directive_registry
        if not known or name in ("math", "code", "code-block", "sourcecode"):
            directives.register_directive(name, _Block)
    for name in set(_ROLE.findall(text)):
        if name.lower() not in roles._role_registry or name == "index":
            roles.register_local_role(name.lower(), _role)
    try:
        tree = publish_doctree(
            text,
            reader=_RstReader(),
            parser=Parser(inliner=_inliner()),
            settings_overrides=_SETTINGS,
        )
        titles = {}
        for section in tree.findall(nodes.section):
            titles.update(dict.fromkeys(section["names"], "".join(_children(section[0], 0))))
        html = "".join(_written(tree, 0))
        return _BARE.sub(lambda link: link[0] + titles.get(link[1], ""), html)
    except (SystemMessage, RecursionError):
        return f"<p>{markup.plain(text)}</p>"


class _RstReader(standalone.Reader):  # type: ignore[misc]
    """The reader of whole texts, without a step of quadratic time: places are written by name."""

    def get_transforms(self) -> list[Any]:
        """Return the steps after parsing."""
        return [step for step in super().get_transforms() if step is not DanglingReferences]


class _RstEnds:
    """The pattern of an end of markup, which is not looked for again where there was none."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._without = ""

    def search(self, rest: str) -> re.Match[str] | None:
        """Return the first end in the rest of a paragraph."""
        if self._without.endswith(rest):
            return None
        found = self._pattern.search(rest)
        if found is None:
            self._without = rest
        return found


def _inliner() -> Inliner:
    """Return a parser of inline markup that takes linear time.

    It finds no bare addresses, and reads faulty markup as text without a message. (docutils
    compiles its patterns by the names of the very class, so there is no class for this.)
    """
    inliner = Inliner()
    customize = inliner.init_customizations

    def customized(settings: Any) -> None:
        customize(settings)
        inliner.implicit_dispatch = []
        patterns = vars(inliner.patterns)
        for name in _TABLE["ends"].split():
            patterns[name] = _RstEnds(patterns[name])

    inliner.init_customizations = customized
    inliner.problematic = lambda text, rawsource, message: nodes.Text(text)
    return inliner


class _Block(Directive):  # type: ignore[misc]
    """A directive of Sphinx: a statement, a box, code or a formula."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = defaultdict(lambda: directives.unchanged, label=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the directive."""
        name = self.name.lower().rpartition(":")[2].rstrip("*")
        title = "".join(self.arguments)
        label = self.options.get("label") or self.options.get("name") or ""
        content = "\n".join(self.content)
        if name == "math":
            formula = markup.formula(f"{title}\n{content}", True)
            return [_raw(f"<p>{markup.place(label)}{formula}</p>\n")]
        if name in _CODE:
            return [_raw(markup.code_block(content))]
        if name in markup.NAMES["dropped"]:
            return []
        if name not in markup.NAMED and name not in markup.NAMES["boxes"]:
            _, _, title = title.partition("\n")  # the first line may be a version or a file
        opening, after_title, end = markup.box(name, label, title)
        inline, _ = self.state.inline_text(title, self.lineno)
        if title and name in markup.NAMES["solved"]:
            inline = [_raw(markup.reference(title))]
        block = nodes.container("")
        self.state.nested_parse(self.content, self.content_offset, block)
        return [_raw(opening), *inline, _raw(after_title), *block.children, _raw(end)]


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html)


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any,
    options: Any = None, content: Any = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:  # fmt: skip
    """Return the nodes of a role of Sphinx."""
    return [_raw(markup.role(name.rpartition(":")[2], text.lstrip("~!")))], []


def _written(node: Any, level: int) -> Iterator[str]:
    """Yield the HTML of a node that is below headings of that level."""
    name = node.tagname
    if name == "#text":
        yield markup.plain(node.astext())
    elif name == "raw":  # of directives and roles; those of sources are disabled
        yield node.astext()
    elif name == "math":
        yield markup.formula(node.astext())
    elif name == "literal":
        yield f"<code>{escape(node.astext())}</code>"
    elif name == "image":
        yield f'<img src="{escape(node["uri"])}" alt="{escape(node.get("alt", ""))}">'
    elif name in ("literal_block", "doctest_block"):
        yield markup.code_block(node.astext())
    elif name == "title" and node.parent.tagname == "section":
        explicit = filter(node.document.nametypes.get, node.parent["names"])
        label = "".join([*explicit][-1:])
        yield markup.heading(level, label, "".join(_children(node, level)))
    elif name == "section":
        yield from _children(node, level + 1)
    elif name == "topic" and "contents" in node["classes"]:
        return
    elif name in markup.NAMES["boxes"]:
        yield "<blockquote>"
        if not isinstance(node.next_node(), nodes.title):
            yield f"<p><strong>{markup.generated(name.capitalize())}</strong></p>\n"
        yield from _children(node, level)
        yield "</blockquote>\n"
    elif name in ("footnote_reference", "label"):
        yield f"<sup>{markup.generated(node.astext())}</sup>"
    elif name == "reference":
        name = node.get("refname", "")
        place = ""
        if name in node.document.nameids:
            place = f"#{name}"
        address = node.get("refuri") or place
        yield f'<a href="{escape(address)}">'
        yield from _children(node, level)
        yield "</a>"
    elif name not in _DROPPED:
        tag = _TAGS.get(name, "")
        if name == "target":
            yield from map(markup.place, node["names"])
        yield f"<{tag}>" if tag else ""
        yield from _children(node, level)
        yield f"</{tag}>" if tag else " "


def _children(node: Any, level: int) -> Iterator[str]:
    for child in node.children:
        yield from _written(child, level)
