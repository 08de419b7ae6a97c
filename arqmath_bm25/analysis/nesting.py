"""Where what may hold more of its kind ends: braces, brackets, comments, environments."""

import re
import sys


def closing_edge(
    edges: re.Pattern[str], text: str, begin: int, limit: int = sys.maxsize, deepest: int = 1000
) -> tuple[int, int]:
    """Return the span of the edge that closes what is open at `begin`.

    The groups `open` and `close` say what an edge is. The span is empty, and at the end of the
    text, if no edge closes it before `limit`, or if more than `deepest` levels are open.
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
