"""Where what may hold more of its kind ends: braces, brackets, comments, environments."""

import re
import sys


def closing_edge(
    edges: re.Pattern[str], text: str, begin: int, limit: int = sys.maxsize, deepest: int = 1000
) -> tuple[int, int]:
    """Return the span of the edge that closes the level which is open at `begin`.

    Edges match the groups `open` and `close` of the pattern. The span is empty, and at the end of
    the text, if no edge closes the level before `limit`, or if more than `deepest` are open.
    """
    depth = 1
    for edge in edges.finditer(text, begin, limit):
        if edge.lastgroup == "open":
            depth += 1
        elif edge.lastgroup == "close":
            depth -= 1
        if depth == 0:
            return edge.span()
        if depth > deepest:
            break
    return len(text), len(text)
