"""Files of Lean, split into declarations with their docstrings, and comments on the file.

Such a comment is written `/-! … -/`. A declaration begins at the start of a line and ends where the
next command begins. Its name is the full one, with the namespaces around it; its proof may refer to
the names that occur in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from arqmath_bm25.analysis.lean import HEAD, read_declaration

# Other commands, which end the declaration before them.
_COMMANDS: Final = (
    "namespace|section|end|open|variables?|universes?|import|export|attribute|notation|infix[lr]?|"
    "prefix|postfix|macro(?:_rules)?|syntax|elab(?:_rules)?|initialize|set_option|deriving|mutual|"
    "noncomputable|include|omit|local|scoped|run_cmd|parameters?|constants?|add_decl_doc"
)
_COMMAND: Final = re.compile(
    rf"^(?:{HEAD}|(?P<command>(?:{_COMMANDS})(?![\w.'])|\#[a-z]\w*)"
    r"(?:[ \t]+(?P<argument>[^\s({\[]{1,500}))?)",
    re.MULTILINE,
)
_OUTSIDE_COMMENTS: Final = re.compile(r"--[^\n]*|/-|'\"'|\"(?>(?:[^\"\\]+|\\.)*)\"", re.DOTALL)
_INSIDE_COMMENT: Final = re.compile(r"/-|-/")
_SPACE: Final = re.compile(r"\s*")
_NOT_NEWLINE: Final = re.compile(r"[^\n]")
_NAME: Final = re.compile(r"[^\W\d_][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(?P<heading>[^\n]+)$", re.MULTILINE)


@dataclass(frozen=True)
class LeanPart:
    """A declaration, or a comment that describes a file."""

    name: str  # with its namespaces; "" for an anonymous declaration and for a comment
    title: str
    text: str
    used: tuple[str, ...] = ()  # full names that its proof may mean


@dataclass
class _Scopes:
    """The namespaces and sections around a declaration."""

    opened: list[str] = field(default_factory=list)  # "" for a section

    def command(self, command: str, argument: str) -> None:
        """Follow a command that opens or closes a scope."""
        if command == "namespace":
            self.opened.append(argument)
        elif command == "section" or (command == "noncomputable" and argument == "section"):
            self.opened.append("")
        elif command == "end" and self.opened:
            self.opened.pop()

    def full_name(self, name: str) -> str:
        """Return a declared name with the namespaces around it."""
        if name.startswith("_root_."):
            return name.removeprefix("_root_.")
        scopes = [*self.opened, name]
        return ".".join(filter(None, scopes))

    def meanings(self, name: str) -> Iterator[str]:
        """Yield the full names that a name may mean here, the innermost first."""
        namespaces = [scope for scope in self.opened if scope]
        for depth in range(len(namespaces), -1, -1):
            yield ".".join([*namespaces[:depth], name])


def lean_parts(text: str) -> list[LeanPart]:
    """Return the declarations of a file and the comments that describe it, in order."""
    code, comments = _without_comments(text)
    docstrings = _docstrings(text, code, comments)
    descriptions = [span for span in comments if text.startswith("/-!", span[0])]
    commands = list(_COMMAND.finditer(code))

    # A declaration begins with its docstring.
    starts = []
    for command in commands:
        begin = command.start()
        starts.append(docstrings.get(begin, begin))
    stops = {len(text), *starts}
    stops.update(begin for begin, _ in descriptions)

    parts = {}
    for begin, end in descriptions:
        parts[begin] = _description(text[begin:end])
    for begin, name, scopes, end in _declarations(commands, starts, sorted(stops)):
        source = text[begin:end].strip()
        parts[begin] = _declaration(source, name, scopes)
    return [parts[begin] for begin in sorted(parts)]


def _declarations(
    commands: Sequence[re.Match[str]], starts: Sequence[int], stops: Sequence[int]
) -> Iterator[tuple[int, str, _Scopes, int]]:
    """Yield begin, name, scopes and end of each declaration among commands.

    `starts` has the begin of each command, `stops` every position where a declaration may end.
    """
    scopes = _Scopes()
    next_stop = 0
    for command, start in zip(commands, starts, strict=True):
        while stops[next_stop] <= start:
            next_stop += 1
        if command["keyword"] is None:
            scopes.command(command["command"] or "", command["argument"] or "")
        else:
            yield start, command["name"] or "", scopes, stops[next_stop]


def _without_comments(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text of the same length with blanks for comments and strings, and the comments.

    Comments may be nested; the spans are of the outermost ones.
    """
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    done = 0

    token = _OUTSIDE_COMMENTS.search(text)
    while token is not None:
        begin, end = token.span()
        if token[0] == "/-":
            end = _end_of_comment(text, end)
            spans.append((begin, end))
        pieces.append(text[done:begin])
        blank = _NOT_NEWLINE.sub(" ", text[begin:end])
        pieces.append(blank)
        done = end
        token = _OUTSIDE_COMMENTS.search(text, done)

    pieces.append(text[done:])
    return "".join(pieces), spans


def _end_of_comment(text: str, begin: int) -> int:
    depth = 1
    for token in _INSIDE_COMMENT.finditer(text, begin):
        if token[0] == "/-":
            depth += 1
        else:
            depth -= 1
        if depth == 0:
            return token.end()
    return len(text)


def _docstrings(text: str, code: str, comments: list[tuple[int, int]]) -> dict[int, int]:
    """Map the begin of a command to the begin of the docstring before it."""
    docstrings: dict[int, int] = {}
    following = len(code)  # the begin of the code after a comment
    limit = len(code)  # the begin of the next comment
    for begin, end in reversed(comments):
        space = _SPACE.match(code, end, limit)
        if space and space.end() < limit:
            following = space.end()
        if text.startswith("/--", begin):
            docstrings.setdefault(following, begin)
        limit = begin
    return docstrings


def _description(comment: str) -> LeanPart:
    content = comment.removeprefix("/-!").removesuffix("-/").strip()
    heading = _HEADING.match(content)
    if heading is None:
        return LeanPart("", "", content)

    title = heading["heading"].strip()
    text = content[heading.end() :].strip()
    return LeanPart("", title, text)


def _declaration(source: str, name: str, scopes: _Scopes) -> LeanPart:
    if not name:
        return LeanPart("", "", source)

    used: list[str] = []
    proof = read_declaration(source).proof
    for name_in_proof in dict.fromkeys(_NAME.findall(proof)):
        used += scopes.meanings(name_in_proof)

    full_name = scopes.full_name(name.rstrip("."))
    return LeanPart(full_name, full_name, source, tuple(used))
