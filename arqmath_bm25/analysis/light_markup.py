r"""Org and Typst as Markdown with the directives of MyST, which has a reader (markdown_html.py).

Of org: headings with their ids, blocks, drawers, keywords, links, code. Of Typst: headings, labels,
references, calls with content, comments; its formulas, which are no LaTeX, become words.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.nesting import closing_edge
from arqmath_bm25.core.lazy import expression

_FENCE = "::::::"
_DEEPEST = 9  # calls within calls


class LightText(NamedTuple):
    """A source as Markdown, with its title and tags."""

    markdown: str
    title: str = ""
    tags: tuple[str, ...] = ()


# org

_KEYWORD = expression(r"#\+(?P<key>[A-Za-z_]+):[ \t]*(?P<value>.*)")
_BLOCK = expression(r"#\+(?P<edge>begin|end)_(?P<name>\w+)[ \t]*(?P<title>.*)", re.IGNORECASE)
_ORG_HEADING = expression(r"(?P<stars>\*{1,9})[ \t]+(?P<title>.*?)(?:[ \t]+:[\w@#%:]+:)?[ \t]*")
# States of a heading that is a task, and what may follow them.
_STATES = ("TODO", "DONE", "NEXT", "WAITING")
_OWN_STATES = expression(r"^[ \t]*#\+(?:SEQ_|TYP_)?TODO:(.*)", re.MULTILINE | re.IGNORECASE)
_STATE = expression(r"[\w-]+")
_PRIORITY = expression(r"\A\[#\w{1,2}\][ \t]*")
_DRAWER = expression(r":(?P<key>[\w-]+):[ \t]*(?P<value>.*)")
# Pictures, links, code, citations, references, footnotes and rules of tables, as in Markdown.
_IN_LINES = [
    (expression(pattern), written)
    for pattern, written in (
        (r"\[\[[^\[\]\n]+\.(?:png|jpe?g|gif|svg|pdf)\]\]", ""),
        (r"\[\[(?:#|(?=(?:eq|fig|tab|tbl|thm|lem|sec|def):))([^\[\]\n]+)\]\]", r"{ref}`\1`"),
        (r"\[\[(?:\w+:|[#*])?([^\[\]\n]+)\]\]", r"\1"),
        (r"\[\[[^\[\]\n]+\]\[([^\[\]\n]*)\]\]", r"\1"),
        (r"(?<![^\s(])([~=])(\S(?:[^~=\n]*\S)?)\1(?=[\s.,;:!?)]|\Z)", r"`\2`"),
        (r"\bcite[a-z]*:&?\w[\w:.&,-]*", ""),
        (r"\b(?:eq|auto)?ref:(\w[\w:.-]*\w)", r"{ref}`\1`"),
        (r"\[fn:[\w-]*:[ \t]?([^\[\]]+)\]", r"^[\1]"),
        (r"\A\[fn:([\w-]+)\]", r"[^\1]:"),
        (r"\[fn:([\w-]+)\]", r"[^\1]"),
        (r"(?<=-)\+(?=-)", "|"),
    )
]
_CODE = "```````"
_CODE_BLOCKS = ("src", "example")
_HIDDEN_BLOCKS = ("export", "comment")
_LITERAL = ":"  # before each line of code
_PLANNING = expression(r"(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):[ \t]")
_OPTIONS = expression(r":options[ \t]{1,9}\[([^\[\]]*)\]")  # of a block: its title
_RULE = expression(r"\A(?:-{2,}|={2,})\Z")  # which underlines no heading


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of org; those after colons become a block of code."""
    block = ""
    for line in map(str.strip, text.split("\n")):
        is_literal = line == _LITERAL or line.startswith(f"{_LITERAL} ")
        if block == "" and is_literal:
            block = _LITERAL
            yield "#+begin_example"
        elif block == _LITERAL and not is_literal:
            block = ""
            yield "#+end_example"

        edge = _BLOCK.fullmatch(line)
        if block == _LITERAL:
            line = line[2:]
        elif edge and edge["name"].lower() in _CODE_BLOCKS + _HIDDEN_BLOCKS:
            block = edge["name"] if edge["edge"].lower() == "begin" else ""
        yield line


def _printed(text: str) -> Iterator[str]:
    """Yield the lines of org, but no tree whose heading begins with the word COMMENT."""
    hidden = 0  # the stars of such a heading
    for line in _lines(text):
        heading = _ORG_HEADING.fullmatch(line)
        if heading and (not hidden or len(heading["stars"]) <= hidden):
            hidden = 0
            if heading["title"].split()[:1] == ["COMMENT"]:
                hidden = len(heading["stars"])
        if not hidden:
            yield line


def _without_marks(line: str) -> str:
    """Return a line of org with the marks of Markdown in place of its own."""
    for pattern, markdown in _IN_LINES:
        line = pattern.sub(markdown, line)
    return line


def org_markdown(text: str) -> LightText:
    """Return org as Markdown."""
    written = []
    values: dict[str, str] = {}
    heading = code = ""
    in_drawer = False
    states = {*_STATES, *_STATE.findall(" ".join(_OWN_STATES.findall(text)))}
    for line in _printed(text):
        block = _BLOCK.fullmatch(line)
        if code and (block is None or block["edge"].lower() != "end"):
            if code in _CODE_BLOCKS:
                written.append(line)
        elif block:
            name = block["name"].lower()
            is_end = block["edge"].lower() == "end"
            if name in _CODE_BLOCKS + _HIDDEN_BLOCKS:
                code = "" if is_end else name
                written.append(_CODE if name in _CODE_BLOCKS else "")
            elif name in markup.NAMED and is_end:
                written.append(f"{_FENCE}\n")
            elif name in markup.NAMED:
                title = "".join(_OPTIONS.findall(values.pop("ATTR_LATEX", "")))
                label = values.pop("NAME", "") or values.pop("LABEL", "")
                written.append(_directive(name, block["title"] or title, label))
        elif keyword := _KEYWORD.fullmatch(line):
            key = keyword["key"].upper()
            values[key] = keyword["value"].strip()
            if key in ("LATEX_HEADER", "LATEX_HEADER_EXTRA"):
                written.append(f"${keyword['value']}$")
            elif key == "CAPTION":
                written.append(f"\n{values[key]}\n")
        elif line in (":PROPERTIES:", ":LOGBOOK:"):
            in_drawer = True
        elif in_drawer:
            in_drawer = line != ":END:"
            own = _DRAWER.fullmatch(line)
            if own and own["key"].upper() == "CUSTOM_ID" and heading:
                written[-1] = f"{heading} {{#{own['value'].strip()}}}\n"
        elif not line.startswith("# ") and line != "#" and not _PLANNING.match(line):
            found = _ORG_HEADING.fullmatch(line)
            heading = _org_heading(found, states) if found else ""
            line = _without_marks(heading or line)
            if line and "NAME" in values:
                written.append(f"\n({values.pop('NAME')})=\n")
            if line.startswith("|") and not "".join(written[-1:]).strip().startswith("|"):
                line = f"\n{line}"
            apart = found or _RULE.match(line)
            written.append(f"\n{line}\n" if apart else line)
    tags = tuple(filter(None, values.get("FILETAGS", "").split(":")))
    return LightText("\n".join(written), values.get("TITLE", ""), tags)


def _org_heading(heading: re.Match[str], states: set[str]) -> str:
    """Return a heading in Markdown, without the state and the priority of a task."""
    state, _, title = heading["title"].partition(" ")
    if state not in states:
        title = heading["title"]
    title = _PRIORITY.sub("", title.strip())
    return f"{'#' * min(6, len(heading['stars']))} {title}"


def _directive(name: str, title: str, label: str) -> str:
    if label:
        label = f":label: {label}\n"
    return f"\n{_FENCE}{{prf:{name}}} {title.strip()}\n{label}\n"


# Typst

_SKIPPED = expression(
    r"(?P<code>`+[^`]*`+)|(?P<string>\"(?:[^\"\\\n]|\\.)*\")|(?P<address>https?://[^\s\[\]()]*)"
    r"|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*"
)
_SETTING = expression(r"^[ \t]*#(?:import|include|set|show|let)\b", re.MULTILINE)
_TYPST_HEADING = expression(r"^(=+)[ \t]+([^\n<]*)(?:<([\w:.-]+)>)?[ \t]*$", re.MULTILINE)
_CALL = expression(r"(?<!\\)#(?:([A-Za-z](?:[\w-]|\.(?=\w))*)|(?=[({]))")
_CONDITION = r"(?>(?:[^\[({\n]|\([^()\n]{0,200}\))*)"  # before the content that is shown under it
_CONDITIONAL = ("if", "for", "while", "context")
_HEAD = expression(_CONDITION)
_ELSE = expression(rf"\s{{0,99}}else\b{_CONDITION}")
_DOCUMENT = expression(
    r"^[ \t]*#(?:set[ \t]+document|show[ \t]*:[ \t]*[\w.-]+)\([^()]{0,999}?\btitle[ \t]*:[ \t]*"
    r"(?:\"([^\"\n]*)\"|\[([^\[\]\n]*)\])",
    re.MULTILINE,
)
_TITLE = expression(
    r"(?:title|name)[ \t]*:[ \t]*(?:\"([^\"\n]*)\"|\[([^\[\]\n]*)\])|^\"([^\"\n]*)\""
)
_LABEL = expression(r"(?<!\s)\s*<([\w:.-]+)>")
_REFERENCE = expression(r"(?<![\w@\\])@([A-Za-z][\w:-]*(?:\.\w+)*)(?:\[[^\[\]\n]{0,99}\])?")
_BRACKET = expression(r"(?P<open>[(\[{])|(?P<close>[)\]}])")
_FORMULA = expression(r"(?<!\\)\$((?:[^$\\]|\\.)*)\$", re.DOTALL)


def typst_markdown(text: str) -> LightText:
    """Return Typst as Markdown; its formulas become words."""
    text = _SKIPPED.sub(lambda found: found[0] if found.lastgroup else " ", text)
    title = _DOCUMENT.search(text)
    text = _without_settings(text)
    text = _FORMULA.sub(lambda found: found[1].replace("#", ""), text)
    text = _TYPST_HEADING.sub(_heading, _calls(text))
    markdown = _LABEL.sub("", _REFERENCE.sub(r"{ref}`\1`", text))
    return LightText(markdown, title[title.lastindex or 0] if title else "")


def _heading(found: re.Match[str]) -> str:
    label = ""
    if found[3]:
        label = f" {{#{found[3]}}}"
    return f"\n{'#' * min(6, len(found[1]))} {found[2].strip()}{label}\n"


def _without_settings(text: str) -> str:
    """Remove lines of code, each up to its end outside all brackets."""
    written = []
    done = 0
    for setting in _SETTING.finditer(text):
        if setting.start() < done:
            continue
        written.append(text[done : setting.start()])
        done = setting.end()
        while done < len(text) and text[done] != "\n":
            if text[done] in "([{":
                _, done = closing_edge(_BRACKET, text, done + 1)
            else:
                done += 1
    return "".join([*written, text[done:]])


def _contents(arguments: str) -> str:
    """Return the texts in brackets among arguments, such as a caption."""
    found = []
    done = 0
    for opening in re.finditer(r"\[", arguments):
        if opening.start() >= done:
            _, done = closing_edge(_BRACKET, arguments, opening.end())
            found.append(arguments[opening.end() : done - 1])
    return " ".join(found)


def _calls(text: str, depth: int = 0) -> str:
    """Replace calls by their content; statements become directives."""
    if depth > _DEEPEST:
        return text
    written = []
    done = 0
    for call in _CALL.finditer(text):
        if call.start() < done:
            continue
        written.append(text[done : call.start()])
        done = call.end()
        name = (call[1] or "").lower()
        head = None
        if name in _CONDITIONAL:
            head = _HEAD.match(text, done)
        if head:
            done = head.end()
        arguments = content = ""
        while text[done : done + 1] in ("(", "[", "{"):
            _, end = closing_edge(_BRACKET, text, done + 1)
            if text[done] == "[":
                content += f" {text[done + 1 : end - 1]}"
            else:
                arguments += text[done + 1 : end - 1]
            done = end
            other = _ELSE.match(text, done)
            if head and other:
                done = other.end()
        if name not in markup.NAMED:
            content = f"{_contents(arguments)} {content}"
        content = _calls(content, depth + 1)
        if name in markup.NAMED:
            label = _LABEL.match(text, done)
            found = _TITLE.search(arguments)
            title = ""
            if found:
                title = found[found.lastindex or 0]
            written.append(_directive(name, title, label[1] if label else ""))
            if label:
                done = label.end()
            written.append(f"{content.strip()}\n{_FENCE}\n")
        else:
            written.append(content)
    return "".join([*written, text[done:]])
