"""Files of formal languages, split into declarations with their docstrings, and other comments.

The name of a declaration is the full one, with the namespaces around it; its proof may refer to the
names that occur in it.
"""

import re
from typing import NamedTuple

from arqmath_bm25.analysis.formal import Declaration, LanguageName, read_formal

_NAME = re.compile(r"[^\W\d_][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")
_HEADING = re.compile(r"^(?:#{1,6}|\*{1,4})[ \t]+(?P<heading>[^\n]+)$", re.MULTILINE)
_LONGEST_TITLE = 100  # characters
_ROOT = "_root_."  # before a name that is a full one


class FormalPart(NamedTuple):
    """A declaration, or a comment that describes a file."""

    name: str  # with its namespaces; "" for an anonymous declaration and for a comment
    title: str
    text: str
    used: tuple[str, ...] = ()  # full names that its proof may mean


def formal_parts(text: str, language: LanguageName) -> list[FormalPart]:
    """Return the declarations of a file and the comments that describe it, in order."""
    declarations, descriptions = read_formal(text, language)
    parts = {}
    for begin, comment in descriptions:
        title = ""
        heading = _HEADING.match(comment)
        if heading:
            title = heading["heading"].strip()
            comment = comment[heading.end() :].strip()
        parts[begin] = FormalPart("", title, comment)
    for declaration in declarations:
        parts[declaration.begin] = _part(declaration)
    return [parts[begin] for begin in sorted(parts)]


def _part(declaration: Declaration) -> FormalPart:
    name = declaration.name
    if not name:
        title = " ".join(declaration.statement.split()).removeprefix(":").strip()
        return FormalPart("", title[:_LONGEST_TITLE], declaration.text)

    full_name = ".".join([*declaration.namespaces, name])
    if name.startswith(_ROOT):
        full_name = name.removeprefix(_ROOT)
    used = []
    for name_in_proof in dict.fromkeys(_NAME.findall(declaration.proof)):
        # It may be of any namespace around the proof, of the innermost first.
        for depth in range(len(declaration.namespaces), -1, -1):
            used.append(".".join([*declaration.namespaces[:depth], name_in_proof]))
    return FormalPart(full_name, full_name, declaration.text, tuple(used))
